"""What a tuned network does not need is left out, and weights that are all but round are made round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph, OperatorNode, RouterNode
from weights2code.network.tuning.tuned import AIM, NEARLY_ROUND, Tuned, some
from weights2code.network.tuning.weights import direct_operators

#: Digits of round numbers.
ROUND_DIGITS = 6
#: Leaving something out may raise the largest error by this factor.
SLACK = 1.05


def simpler(tuned: Tuned, effort: Effort) -> Tuned:
    """Without what the head and the sub-MLPs that feed it read and do not need: it would only do harm where
    values are larger than any that were seen. Sums grow for ever, so they go first."""
    best, most = tuned, max(AIM[tuned.whole], SLACK * tuned.worst)
    chosen = some(len(tuned.rows.values), tuned.most_rows())
    for reader, place in _reads(tuned.graph):
        if effort.spent():
            break
        graph = _unread(best.graph, reader, place)
        if graph is None:
            continue
        search = best.with_weights(graph).search(chosen, effort)
        search.solve_largest(0.0 if best.linear or best.growing else most)
        without = best.with_weights(search.weights.with_vector(search.vector))
        if without.worst <= most:
            best = without
    return best


def _reads(graph: DiscreteGraph) -> list[tuple[int | None, int]]:
    """Who reads what: the head (None) a node, or a sub-MLP that feeds it the operand at some place."""
    found: list[tuple[int | None, int, int]] = [
        (None, int(i), int(i))
        for i in np.flatnonzero(np.any(graph.head[:, :-1] != 0, axis=0))
        if not isinstance(graph.nodes[i], OperatorNode)
    ]
    for index in direct_operators(graph):
        node = graph.nodes[index]
        found += [(index, place, source) for place, source in enumerate(node.sources())]

    def order(item: tuple[int | None, int, int]) -> tuple[bool, bool, int]:
        node = graph.nodes[item[2]]
        summed = isinstance(node, RouterNode) and node.kind == "sum"
        return not summed, item[0] is not None, -item[2]

    return [(reader, place) for reader, place, _ in sorted(found, key=order)]


def _unread(graph: DiscreteGraph, reader: int | None, place: int) -> DiscreteGraph | None:
    """The graph in which somebody does not read something; None if nobody did."""
    if reader is None:
        head = graph.head.copy()
        head[:, place] = 0.0
        return replace(graph, head=head)
    node = graph.nodes[reader]
    assert isinstance(node, OperatorNode)
    weight = node.hidden_weight.copy()
    weight[:, place] = 0.0
    if not weight.any() or not node.hidden_weight[:, place].any():
        return None
    nodes = (*graph.nodes[:reader], replace(node, hidden_weight=weight), *graph.nodes[reader + 1 :])
    return replace(graph, nodes=nodes)


def snapped(tuned: Tuned) -> Tuned:
    """Weights with which the head reads what was given, and not what a sub-MLP made of it, that are all but
    round numbers in the user's units are those numbers: then no error grows with the values."""
    graph = tuned.graph
    operators = [isinstance(node, OperatorNode) for node in graph.nodes]
    scale = np.array(graph.layout.output_scales)[:, None] / np.append(graph.units(), 1.0)
    plain = graph.head * scale
    round_numbers = np.round(plain, ROUND_DIGITS)
    near = np.abs(plain - round_numbers) <= NEARLY_ROUND * np.maximum(1.0, np.abs(plain))
    near[:, np.append(operators, any(operators))] = False
    head = np.where(near, round_numbers / scale, graph.head)
    if np.array_equal(head, graph.head):
        return tuned
    rounded = tuned.with_weights(replace(graph, head=head))
    return rounded if rounded.worst <= max(tuned.worst, NEARLY_ROUND) else tuned
