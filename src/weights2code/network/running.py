"""A discrete network that runs by itself: on its own past outputs, rounded where those are whole numbers.

Position by position, so that any length is possible: each node is computed once a position, from what the
nodes before it and the positions before it have given. Everything is float64.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.heads import count_at


def rounded(values: np.ndarray) -> np.ndarray:
    """The nearest whole numbers, floor(y + 1/2): halves go up."""
    return np.floor(values + 0.5)


def free_running(
    graph: DiscreteGraph, x: Float[np.ndarray, "sequence pos input"], *, whole: bool
) -> Float[np.ndarray, "sequence pos output"]:
    """Outputs in the user's units; with `whole` they are rounded, and so is what is fed back.

    What grows beyond all numbers is infinite or none.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _free_running(graph, x, whole)


def _free_running(graph: DiscreteGraph, x: np.ndarray, whole: bool) -> np.ndarray:
    layout = graph.layout
    n, length, columns = x.shape
    scaled, scales = x / np.array(layout.input_scales), np.array(layout.output_scales)
    outputs = np.zeros((n, length, layout.outputs))
    concat = layout.name == "concat"
    before = max(length - 1, 0) if concat else 0  # in `concat` all inputs come first
    values = np.zeros((n, before + length, len(graph.nodes)))
    live = [index for index in graph.live() if index >= layout.channels]
    for t in range(before + length):
        if not concat or t < length:
            values[:, t, :columns] = scaled[:, min(t, length - 1)]
        else:
            values[:, t, : layout.outputs] = outputs[:, t - length] / scales
        if layout.name == "autoregressive" and t:
            values[:, t, columns : layout.channels] = outputs[:, t - 1] / scales
        if not t:
            values[:, 0, : layout.channels] += [
                node.start for node in graph.nodes if isinstance(node, ChannelNode)
            ]
        for index in live:
            values[:, t, index] = _at(graph, index, values, t)
        if t >= before:
            answer = (values[:, t] @ graph.head[:, :-1].T + graph.head[:, -1]) * scales
            outputs[:, t - before] = rounded(answer) if whole else answer
    return outputs


def _at(graph: DiscreteGraph, index: int, values: np.ndarray, t: int) -> np.ndarray:
    """The values (n,) of one node at one position."""
    node = graph.nodes[index]
    if isinstance(node, OperatorNode):
        return node.apply(values[:, t, list(node.operands)])
    assert isinstance(node, RouterNode)
    value = values[:, : t + 1, node.reads["value"]]
    if node.facts.aggregate:
        return node.facts.aggregate(value)[:, -1]
    if node.facts.relation:
        return count_at(node.facts.relation, values[:, : t + 1, node.reads["key"]], value[:, -1])
    if node.kind == "location":
        if node.offset is None or node.offset > t:
            return np.full(len(value), node.start)
        return value[:, t - node.offset]
    place = node.selection(values[:, : t + 1], t)[:, 0]
    return np.where(place >= 0, value[np.arange(len(value)), np.maximum(place, 0)], 0.0)
