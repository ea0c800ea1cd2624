"""What a network of location heads depends on, away from the start of a sequence: finitely many values.

Every location head is a shift in time, so the outputs at t are a function of `Var(input, lag)` and of
`Var(output, lag)` with lags from 1 on, in the user's units. These are the leaves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.graph.graph import channel_scales
from weights2code.language import Var

#: Float64 rounds by at most this share.
UNIT = 2.0**-53


def leaves_of(graph: DiscreteGraph) -> tuple[Var, ...] | None:
    """The leaves of all outputs, inputs first, nearest first; None if a live head is no location head."""
    found: set[Var] = set()
    waiting = [(int(i), 0) for i in np.flatnonzero(graph.head[:, :-1].any(axis=0))]
    seen = set(waiting)
    while waiting:
        index, lag = waiting.pop()
        node = graph.nodes[index]
        if isinstance(node, ChannelNode):
            leaf = leaf_of(graph, index, lag)
            if leaf is None:
                return None
            if isinstance(leaf, Var):
                found.add(leaf)
            continue
        if isinstance(node, OperatorNode):
            sources = [(source, lag) for source in node.used()]
        elif node.kind != "location":
            return None
        else:
            sources = [] if node.offset is None else [(node.reads["value"], lag + node.offset)]
        waiting += [source for source in sources if source not in seen]
        seen |= set(sources)
    order = (*graph.inputs, *graph.outputs)
    return tuple(sorted(found, key=lambda leaf: (order.index(leaf.name), leaf.lag)))


def leaf_of(graph: DiscreteGraph, channel: int, lag: int) -> Var | float | None:
    """What a channel holds `lag` positions back: a leaf or a number; None if that depends on the length."""
    names = (*graph.inputs, *graph.outputs)
    if graph.layout.name != "concat":
        return Var(names[channel], lag + (channel >= len(graph.inputs)))
    before = lag - (graph.length - 1)
    names = graph.inputs if before >= 0 else graph.outputs
    if before < 0 and lag > graph.layout.first_scored:
        return None
    if channel >= len(names):
        return 0.0  # a token is as wide as the wider of inputs and outputs, the rest of it is zero
    return Var(names[channel], before if before >= 0 else lag + 1)


def values_at(graph: DiscreteGraph, values: Mapping[Var, np.ndarray]) -> np.ndarray:
    """The outputs (N, outputs) for values (N,) of each leaf, both in the user's units."""
    scales = channel_scales(graph.layout)
    known: dict[tuple[int, int], np.ndarray | float] = {}

    def value(index: int, lag: int) -> np.ndarray | float:
        if (index, lag) not in known:
            known[index, lag] = computed(index, lag)
        return known[index, lag]

    def computed(index: int, lag: int) -> np.ndarray | float:
        node = graph.nodes[index]
        if isinstance(node, ChannelNode):
            leaf = leaf_of(graph, index, lag)
            return np.asarray(values[leaf], float) / scales[index] if isinstance(leaf, Var) else leaf or 0.0
        if isinstance(node, RouterNode):
            return node.start if node.offset is None else value(node.reads["value"], lag + node.offset)
        used = set(node.used())
        operands = [value(operand, lag) if operand in used else 0.0 for operand in node.operands]
        return node.apply(np.stack(np.broadcast_arrays(*operands, np.zeros(count))[:-1], axis=-1))

    count = len(next(iter(values.values()))) if values else 1
    outputs = []
    for row, scale in zip(graph.head, graph.layout.output_scales, strict=True):
        total = np.full(count, row[-1])
        for index in np.flatnonzero(row[:-1]):
            total = total + row[index] * value(int(index), 0)
        outputs.append(total * scale)
    return np.stack(outputs, axis=-1)


def rounding_at(graph: DiscreteGraph, size: Mapping[Var, float]) -> np.ndarray:
    """How far float64 may be from the exact outputs, while no leaf is larger than `size` says.

    However the sums are ordered: a sum of k products is off by at most k + 1 units of rounding of the sum of
    their absolute values (Higham), and so on from node to node.
    """
    scales = channel_scales(graph.layout)
    known: dict[tuple[int, int], tuple[float, float]] = {}

    def bound(index: int, lag: int) -> tuple[float, float]:
        """The largest absolute value of a node, and its error."""
        if (index, lag) not in known:
            known[index, lag] = computed(index, lag)
        return known[index, lag]

    def computed(index: int, lag: int) -> tuple[float, float]:
        node = graph.nodes[index]
        if isinstance(node, ChannelNode):
            leaf = leaf_of(graph, index, lag)
            largest = size[leaf] / scales[index] if isinstance(leaf, Var) else 0.0
            return largest * (1 + 2 * UNIT), 2 * UNIT * largest * (not is_power_of_two(scales[index]))
        if isinstance(node, RouterNode):
            if node.offset is None:
                return abs(node.start), 0.0
            return bound(node.reads["value"], lag + node.offset)
        used = set(node.used())
        parts = np.array(
            [bound(operand, lag) if operand in used else (0.0, 0.0) for operand in node.operands]
        )
        hidden, error = sums(np.abs(node.hidden_weight), np.abs(node.hidden_bias), parts)
        out, error = sums(
            np.abs(node.output_weight)[None], np.abs([node.output_bias]), np.stack([hidden, error], 1)
        )
        return float(out[0]), float(error[0])

    result = []
    for row, scale in zip(graph.head, graph.layout.output_scales, strict=True):
        read = np.flatnonzero(row[:-1])
        parts = np.array([bound(int(index), 0) for index in read]).reshape(-1, 2)
        total, error = sums(np.abs(row[read])[None], np.abs(row[-1:]), parts)
        result.append(float(scale * (error[0] + 2 * UNIT * total[0] * (not is_power_of_two(scale)))))
    return np.array(result)


def sums(weight: np.ndarray, bias: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest absolute values and errors of weighted sums of parts with theirs."""
    terms = weight.shape[1] + 4
    size = (weight @ (parts[:, 0] + parts[:, 1]) + bias) * (1 + terms * UNIT)
    error = (weight @ parts[:, 1]) * (1 + terms * UNIT) + 1.01 * terms * UNIT * size + 1e-300
    return size, error


def is_power_of_two(scale: float) -> bool:
    return bool(np.frexp(scale)[0] == 0.5)
