"""Hidden units for sub-MLPs that cannot express what is wanted of them, and a sub-MLP where there is none.

A unit is a kink of a direction. Candidates are kinks at the values that the operands take, along one operand,
along sums and differences of few, along the directions that are there already and along random ones; those
that explain most of what is left are added, one after the other (orthogonal matching pursuit).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np

from weights2code.graph import DiscreteGraph, Node, OperatorNode
from weights2code.network.tuning.least_error import SPEED, Search
from weights2code.network.tuning.weights import Rows, direct_operators, steady

#: Directions that are looked at, kinks along each, and all of them.
MOST_DIRECTIONS = 96
LEAST_KINKS = 16
CANDIDATES = 1500
#: Operands that enter a direction that is a plain sum of some.
SUMMED = 3
#: A direction along which values differ by less than this share of their size is none.
FLAT = 1e-3
#: Digits in which values differ, and rows that must agree in the values that are taken for enough.
DIGITS = 11
SUPPORT = 3
#: Of a candidate, what must be new: the rest lies in what the head can do already.
NEW = 1e-3
#: Shares of the largest singular value from which on a direction is one that the head can use.
FIRM = 1e-4


def with_units(graph: DiscreteGraph, search: Search, count: int, rng: np.random.Generator) -> DiscreteGraph:
    """The graph with at most `count` more hidden units in sub-MLPs that feed the head directly.

    They have no effect yet: their output weights are to be solved for.
    """
    errors, known = search.linear_jacobian()
    stream = search.weights.stream(search.vector, search.rows)[search.rows.scored]
    candidates: list[tuple[int, np.ndarray, float]] = []
    columns: list[np.ndarray] = []
    operators = direct_operators(graph)
    for index in operators:
        node = graph.nodes[index]
        assert isinstance(node, OperatorNode)
        weight = graph.head[:, index] / search.units
        kept = steady(node, search.weights.growing)
        directions = _directions(graph, node, stream, kept, rng)[: MOST_DIRECTIONS // len(operators)]
        most = max(LEAST_KINKS, CANDIDATES // (max(len(directions), 1) * len(operators)))
        for direction in directions:
            along = stream[:, list(node.operands)] @ direction
            for kink in _kinks(along, most):
                candidates.append((index, direction, kink))
                columns.append((np.maximum(along - kink, 0.0)[:, None] * weight).ravel())
    if not columns:
        return graph
    chosen = _pursue(np.column_stack(columns), errors, known, count, search)
    nodes: list[Node] = list(graph.nodes)
    for place in chosen:
        index, direction, kink = candidates[place]
        node = nodes[index]
        assert isinstance(node, OperatorNode)
        nodes[index] = replace(
            node,
            hidden_weight=np.vstack([node.hidden_weight, direction]),
            hidden_bias=np.append(node.hidden_bias, -kink),
            output_weight=np.append(node.output_weight, 0.0),
        )
    return replace(graph, nodes=tuple(nodes))


def _directions(
    graph: DiscreteGraph, node: OperatorNode, stream: np.ndarray, kept: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Directions over the operands of one sub-MLP, as far as they are `kept`; operands that were pruned take
    no part."""
    arity = len(node.operands)
    places = {o: slot for slot, o in enumerate(node.operands) if node.hidden_weight[:, slot].any()}
    used = list(places.values())  # each value once
    values = stream[:, [node.operands[slot] for slot in used]]
    count = len(used)
    found = [np.eye(count)[i] for i in range(count)]
    units = graph.units()[[node.operands[slot] for slot in used]]
    units = units / units.max()
    kept = kept[np.ix_(used, used)]
    covariance = kept @ np.cov(values.T).reshape(count, count) @ kept
    spread, axes = np.linalg.eigh(covariance)
    white = (axes / np.sqrt(np.maximum(spread, FLAT**2 * spread.max() + 1e-300))).T[spread > 0]
    white = np.concatenate([white, np.zeros((count - len(white), count))])
    for size in range(2, min(SUMMED, count) + 1):
        for chosen in combinations(range(count), size):
            for signs in product((1.0, -1.0), repeat=size - 1):
                plain = np.zeros(count)
                plain[list(chosen)] = (1.0, *signs)
                found += [plain * units, plain @ white]
    if count > 1:
        found.append(units.copy())
        found += [row @ white for row in rng.normal(size=(count * 4, count))]
        own = node.hidden_weight[:, used]
        found += list(own[np.argsort(-np.linalg.norm(own, axis=1))])
    result = []
    for direction in found:
        direction = kept @ direction
        along = values @ direction
        size = float(along.max() - along.min()) if len(along) else 0.0
        if size > FLAT * float(np.abs(direction) @ np.abs(values).max(axis=0)):
            whole = np.zeros(arity)
            whole[used] = direction / size
            result.append(whole)
    return [result[i] for i in rng.permutation(len(result))]


def _kinks(along: np.ndarray, most: int) -> np.ndarray:
    """Values at which a unit may begin: all but the largest, or some of them."""
    values = np.unique(np.round(along, DIGITS))[:-1]
    if len(values) <= most:
        return values
    return np.quantile(values, np.linspace(0.0, 1.0, most))


def _pursue(
    candidates: np.ndarray, errors: np.ndarray, known: np.ndarray, count: int, search: Search
) -> list[int]:
    """The columns that explain most of the errors beside what is known, one after the other."""
    left, wanted = _normed(candidates), -errors
    known = _normed(known)
    vectors, values, _ = np.linalg.svd(known, full_matrices=False)
    basis = vectors[:, values > FIRM * values[0]]
    left = left - basis @ (basis.T @ left)
    wanted = wanted - basis @ (basis.T @ wanted)
    search.effort.spend(left.size * (basis.shape[1] + 24 * count) / SPEED)
    chosen: list[int] = []
    for _ in range(count):
        length = np.sqrt(np.einsum("rc,rc->c", left, left))
        gain = np.where(length > NEW, np.abs(wanted @ left) / np.maximum(length, NEW), 0.0)
        best = int(gain.argmax())
        if gain[best] <= 1e-12 * max(1.0, float(np.linalg.norm(errors))):
            break
        chosen.append(best)
        column = left[:, best] / length[best]
        left -= column[:, None] * (column @ left)
        wanted = wanted - column * (column @ wanted)
    return chosen


def _normed(columns: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(columns, axis=0)
    return columns / np.where(size > 0, size, np.inf)


def with_operator(graph: DiscreteGraph, rows: Rows, *, whole: bool) -> DiscreteGraph | None:
    """The graph with one sub-MLP more that sees all values together that the output is computed from.

    One that nothing reads is taken where there is one that has enough operands; a graph of a single layer
    without sub-MLPs gets one. None if neither can be.
    """
    live = graph.live()
    values = tuple(i for i in live if not isinstance(graph.nodes[i], OperatorNode))
    if whole:
        values = _enough_of(values, graph, rows)
    if not values or len(graph.nodes) == graph.layout.channels:
        return None
    operators = [i for i, node in enumerate(graph.nodes) if isinstance(node, OperatorNode)]
    if not operators:
        if any("_L0H" not in node.name for node in graph.nodes[graph.layout.channels :]):
            return None
        blank = _blank(f"V{len(graph.nodes)}_MLP_L0M0", values, len(values))
        head = np.insert(graph.head, -1, 1.0, axis=1)
        return replace(graph, nodes=(*graph.nodes, blank), head=head)
    idle = [i for i in operators if i not in live and i > max(values)]
    if not idle or len(values) > len(graph.nodes[idle[-1]].sources()):
        return None
    index = idle[-1]
    blank = _blank(graph.nodes[index].name, values, len(graph.nodes[index].sources()))
    head = graph.head.copy()
    head[:, index] = 1.0
    return replace(graph, nodes=(*graph.nodes[:index], blank, *graph.nodes[index + 1 :]), head=head)


def _enough_of(values: tuple[int, ...], graph: DiscreteGraph, rows: Rows) -> tuple[int, ...]:
    """Those of the values that determine what is wanted; all, if so few rows agree that any would seem to."""
    seen, wanted = rows.values[rows.scored], rows.wanted[rows.scored]
    outputs = len(np.unique(wanted, axis=0))

    def contexts(kept: list[int]) -> int | None:
        """How many different rows of these values there are; None if equal ones want different outputs."""
        inputs = np.round(seen[:, kept], DIGITS)
        alone = len(np.unique(inputs, axis=0))
        return alone if alone == len(np.unique(np.column_stack([inputs, wanted]), axis=0)) else None

    kept = list(values)
    for index in sorted(values, key=lambda i: (not graph.nodes[i].sources(), i)):  # channels go last
        fewer = [i for i in kept if i != index]
        if fewer and contexts(fewer) is not None:
            kept = fewer
    count = contexts(kept)
    return tuple(kept) if count is not None and SUPPORT * count <= max(len(seen), outputs) else values


def _blank(name: str, values: tuple[int, ...], arity: int) -> OperatorNode:
    """A sub-MLP of these values that gives 0 as yet."""
    weight = np.zeros((1, arity))
    weight[:, : len(values)] = 1.0
    return OperatorNode(name, (values * arity)[:arity], weight, np.zeros(1), np.zeros(1), 0.0)
