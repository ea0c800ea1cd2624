"""Networks that are right: hidden units where they are needed, and the weights of the smallest largest error.

The choices stay: what heads and sub-MLPs read. A sub-MLP that feeds the head and nothing else may be any sum
of units, and outputs are linear in what such units give, so weights are not searched for but solved for:
least squares, then again with more weight where errors are large (Lawson). The units that were trained come
first. If they do not do, new ones take their place: operands that take few values are told apart one by one,
so that any function of them can be had; otherwise units bend evenly along the directions that are there.
Targets are the program's outputs, past outputs given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Sequences
from weights2code.effort import charge, time_is_up
from weights2code.graph import DiscreteGraph, Node, OperatorNode

#: The largest error of a whole number that needs nothing done, and one that is too large; errors, of the
#: largest value, that are none.
AIM, WRONG, EXACT = 0.05, 0.4, 1e-9
#: Hidden units of one sub-MLP.
MOST_UNITS = 384
#: Digits in which values differ, and digits of round weights; a weight so near to a round one is it.
DIGITS, ROUND_DIGITS, NEARLY_ROUND = 11, 6, 1e-7
#: Rows that weights are solved on, rounds in which the worst of the others join them, and in which large
#: errors get more weight.
MOST_ROWS, ROUNDS, REWEIGHTED = 4000, 2, 8
#: All that for a row and a pair of columns, in seconds of a usual machine.
SOLVED = 4e-9
#: Shares of the largest singular value below which a direction is none, the firmest first; larger weights
#: than this only magnify rounding.
FIRMNESS, LARGEST = (1e-4, 1e-7, 1e-13), 1e6


def retuned(graph: DiscreteGraph, sequences: Sequences, *, whole: bool) -> DiscreteGraph:
    """The graph with units and weights whose largest error on the sequences is as small as can be had.

    Parameters
    ----------
    sequences : inputs with the program's outputs, which are also what the network is given as its past.
    whole : whether outputs are whole numbers.

    A graph whose errors are small enough is given back as it is, as is one that nothing makes better.
    """
    rows = _Rows.of(graph, sequences)
    first = rows.error(graph)
    operators = direct_operators(graph)
    if not np.isfinite(first) or (whole and first <= AIM and operators):
        return graph
    best, least = graph, first
    for fresh in (False, True)[: 2 if operators else 1]:
        if least <= EXACT * _size(rows.wanted) or time_is_up():
            break
        found = rows.solved(rows.with_units(graph) if fresh else graph)
        error = rows.error(found)
        if error < least:
            best, least = found, error
    if whole and least >= WRONG:
        return graph  # one that is wrong somewhere had better be right as often as it was
    return rows.snapped(best) if least < first else rows.snapped(graph)


def direct_operators(graph: DiscreteGraph) -> list[int]:
    """Live sub-MLPs that feed the head and nothing else."""
    read = {source for index in graph.live() for source in graph.nodes[index].used()}
    fed = np.flatnonzero(np.any(graph.head[:, :-1] != 0, axis=0))
    return [int(i) for i in fed if isinstance(graph.nodes[i], OperatorNode) and i not in read]


def _with(graph: DiscreteGraph, nodes: dict[int, Node]) -> DiscreteGraph:
    return replace(graph, nodes=tuple(nodes.get(index, node) for index, node in enumerate(graph.nodes)))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Different positions: what the nodes hold there (rows, nodes), and the outputs that are wanted, in the
    user's units."""

    values: np.ndarray
    wanted: np.ndarray

    @staticmethod
    def of(graph: DiscreteGraph, sequences: Sequences) -> _Rows:
        channels, targets, scored = graph.encode(sequences)
        values, targets = graph.stream(channels)[scored], targets[scored]
        settled = [i for i in graph.live() if i not in direct_operators(graph)]
        flat = np.concatenate([values[:, settled], targets], axis=1)
        size = np.maximum(np.abs(flat).max(axis=0, initial=0.0), 1e-300)
        kept = np.sort(np.unique(np.round(flat / size, DIGITS), axis=0, return_index=True)[1])
        return _Rows(values[kept], targets[kept] * np.array(graph.layout.output_scales))

    def errors(self, graph: DiscreteGraph) -> np.ndarray:
        """The largest error of each row."""
        values = self.values.copy()
        with np.errstate(all="ignore"):
            for index in direct_operators(graph):
                values[:, index] = graph.nodes[index].compute(self.values)  # type: ignore[union-attr]
            outputs = values @ graph.head[:, :-1].T + graph.head[:, -1]
            errors = np.abs(outputs * np.array(graph.layout.output_scales) - self.wanted)
        return np.nan_to_num(errors, nan=np.inf, posinf=np.inf).max(axis=1, initial=0.0)

    def error(self, graph: DiscreteGraph) -> float:
        return float(self.errors(graph).max(initial=0.0))

    # -- weights ---------------------------------------------------------------------------------------------

    def solved(self, graph: DiscreteGraph) -> DiscreteGraph:
        """The graph with the weights of the head, and of units that feed it, that leave the smallest largest
        error: on some rows, then with those that turn out worst."""
        flat, found = self.values, graph
        spread = np.linspace(0, len(flat) - 1, min(len(flat), MOST_ROWS)).astype(int)
        chosen = np.unique([*spread, *flat.argmax(0), *flat.argmin(0)])
        for _ in range(ROUNDS):
            found = _Rows(flat[chosen], self.wanted[chosen])._solved(graph)
            errors = self.errors(found)
            if len(chosen) == len(flat) or errors.max() <= 1.1 * errors[chosen].max():
                break
            chosen = np.union1d(chosen, np.argsort(-errors, kind="stable")[: MOST_ROWS // 4])
        return found

    def _solved(self, graph: DiscreteGraph) -> DiscreteGraph:
        scales, direct = np.array(graph.layout.output_scales), direct_operators(graph)
        head = graph.head.copy()
        columns: list[np.ndarray] = []
        for index in direct:  # their own output weights stand for their weight in the head
            hidden = _hidden(graph.nodes[index], self.values)
            columns.append(hidden[:, None, :] * (head[:, index] * scales)[:, None])
        entries = np.argwhere(np.column_stack([head[:, :-1] != 0, np.ones(len(head), bool)]))
        entries = entries[~np.isin(entries[:, 1], direct)]
        features = np.column_stack([self.values, np.ones(len(self.values))])
        linear = np.zeros((len(self.values), len(head), len(entries)))
        for place, (output, variable) in enumerate(entries):
            linear[:, output, place] = features[:, variable] * scales[output]
        design = np.concatenate([*columns, linear], axis=2).reshape(self.wanted.size, -1)
        solution, nodes = _least_largest(design, self.wanted.ravel()), {}
        for index in direct:
            node = graph.nodes[index]
            assert isinstance(node, OperatorNode)
            own, solution = np.split(solution, [len(node.hidden_bias)])
            nodes[index] = replace(node, output_weight=own, output_bias=0.0)
        head[tuple(entries.T)] = solution
        return _with(replace(graph, head=head), nodes)

    def snapped(self, graph: DiscreteGraph) -> DiscreteGraph:
        """Weights with which the head reads what was given, not what a sub-MLP made of it, that are all but
        round numbers in the user's units are those numbers: then no error grows with the values."""
        operators = [isinstance(node, OperatorNode) for node in graph.nodes]
        scale = np.array(graph.layout.output_scales)[:, None] / np.append(graph.units(), 1.0)
        plain = graph.head * scale
        rounded = np.round(plain, ROUND_DIGITS)
        near = np.abs(plain - rounded) <= NEARLY_ROUND * np.maximum(1.0, np.abs(plain))
        near[:, np.append(operators, any(operators))] = False
        found = replace(graph, head=np.where(near, rounded / scale, graph.head))
        if np.array_equal(found.head, graph.head):
            return graph
        return found if self.error(found) <= max(self.error(graph), NEARLY_ROUND) else graph

    # -- units -----------------------------------------------------------------------------------------------

    def with_units(self, graph: DiscreteGraph) -> DiscreteGraph:
        """The graph with new units in every sub-MLP that feeds the head."""
        return _with(graph, {i: self._with_new_units(graph.nodes[i]) for i in direct_operators(graph)})

    def _with_new_units(self, node: Node) -> OperatorNode:
        assert isinstance(node, OperatorNode)
        blank = not node.output_weight.any()  # nothing of it was pruned
        used = [slot for slot in range(len(node.operands)) if blank or node.hidden_weight[:, slot].any()]
        places = {node.operands[slot]: slot for slot in reversed(used)}  # each value once
        seen = self.values[:, list(places)]
        own = np.stack([node.hidden_weight[:, np.array(node.operands) == o].sum(1) for o in places], axis=1)
        points = np.unique(np.round(seen, DIGITS), axis=0)
        if len(points) <= MOST_UNITS:
            directions, bias = _one_by_one(points)
        else:
            directions, bias = _along(_different(own), seen)
        weight = np.zeros((len(bias), len(node.operands)))
        weight[:, list(places.values())] = directions
        return replace(node, hidden_weight=weight, hidden_bias=bias, output_weight=np.zeros(len(bias)))


def _size(values: np.ndarray) -> float:
    return max(float(np.abs(values).max(initial=0.0)), 1e-300)


def _hidden(node: Node, values: np.ndarray) -> np.ndarray:
    assert isinstance(node, OperatorNode)
    return np.maximum(values[:, list(node.operands)] @ node.hidden_weight.T + node.hidden_bias, 0.0)


def _least_largest(features: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """No larger weights than are needed; what counts is the largest error, so rows that are wrong get more
    weight from round to round, and the best of all rounds is kept."""
    best, least = np.zeros(features.shape[1]), np.inf
    exact = EXACT * _size(wanted)
    charge(SOLVED * len(features) * features.shape[1] ** 2)
    for firmness in FIRMNESS:
        solution = np.linalg.lstsq(features, wanted, rcond=firmness)[0]
        error = float(np.abs(features @ solution - wanted).max(initial=0.0))
        if error < least and np.abs(solution).max() <= LARGEST:
            best, least = solution, error
        if least <= exact:
            return best
    weight, errors = np.ones(len(wanted)), np.abs(features @ best - wanted)
    for _ in range(REWEIGHTED):
        weight *= errors / errors.max() + 1e-3
        weight /= weight.sum()
        gram = features.T @ (weight[:, None] * features)
        gram[np.diag_indices_from(gram)] += 1e-13 * np.trace(gram) / len(gram)
        solution = np.linalg.solve(gram, features.T @ (weight * wanted))
        errors = np.abs(features @ solution - wanted)
        if errors.max() < least and np.abs(solution).max() <= LARGEST:
            best, least = solution, float(errors.max())
    return best


def _one_by_one(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A unit for each point, along a direction in which no two of them lie together."""
    spacing = np.array([np.min(np.diff(np.unique(column)), initial=np.inf) for column in points.T])
    spacing = np.where(np.isfinite(spacing), spacing, 1.0)
    digits = np.cumprod([1, *np.round(np.ptp(points, axis=0)[:-1] / spacing[:-1]) + 1])
    along = digits / spacing
    codes = np.unique(points @ along)
    length = max(float(np.ptp(codes)), 1.0)
    bias = -(codes - 0.5 * np.min(np.diff(codes), initial=1.0)) / length
    return np.repeat(along[None] / length, len(codes), axis=0), bias


def _different(weights: np.ndarray) -> np.ndarray:
    """The directions of units, each once, the strongest first."""
    size = np.linalg.norm(weights, axis=1)
    order = np.argsort(-size, kind="stable")
    plain = weights[order][size[order] > 0] / size[order][size[order] > 0, None]
    kept = np.sort(np.unique(np.round(plain, DIGITS), axis=0, return_index=True)[1])
    return plain[kept]


def _along(directions: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units that bend along each direction: at every level where there are few, else evenly, over a little
    more than was seen."""
    each = max(MOST_UNITS // len(directions) // (4 if len(directions) == 1 else 1), 1)
    weight, bias = [], []
    for direction in directions:
        values = np.sort(seen @ direction)
        direction = direction / max(float(np.ptp(values)), 1e-300)
        values = np.sort(seen @ direction)
        levels = values[np.diff(values, prepend=-np.inf) > EXACT * max(1.0, float(np.abs(values).max()))]
        if len(levels) <= MOST_UNITS // len(directions):
            kinks = levels - 0.5 * np.min(np.diff(levels), initial=1.0)
        else:
            kinks = np.linspace(values[0] - 0.1, values[-1] + 0.1, each + 1)[:-1]
        weight += [direction] * len(kinks)
        bias += (-kinks).tolist()
    return np.array(weight), np.array(bias)
