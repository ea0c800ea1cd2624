"""By how much rounding can move the outputs of a network that was run on sequences.

As on contexts (`contexts.view`), but for every head: computed with rounding errors of u, in whatever order
sums are taken, an output is off by less than u times its sensitivity. Where rounding can change which
position a head selects, and with it the value, there is no such number, and the sensitivity is infinite.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Sequences
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.graph.graph import shifted
from weights2code.network.contexts.scoring import SINGLE, scores, uncertainty


def sensitivity(graph: DiscreteGraph, sequences: Sequences) -> np.ndarray:
    """Of each output (n, T, outputs), past outputs given, in units of u."""
    values = graph.stream(graph.encode(sequences)[0])
    found = np.zeros_like(values)
    with np.errstate(all="ignore"):
        for index in graph.live():
            node = graph.nodes[index]
            if isinstance(node, OperatorNode):
                found[..., index] = _operator(node, values, found)
            elif isinstance(node, RouterNode):
                found[..., index] = _router(node, values, found)
            else:
                assert isinstance(node, ChannelNode)
        weight = np.abs(graph.head)
        terms = (graph.head[:, :-1] != 0).sum(1)
        size = np.abs(values) @ weight[:, :-1].T + weight[:, -1]
        total = found @ weight[:, :-1].T + (terms + 3) * size
    total = total * np.array(graph.layout.output_scales)
    return np.where(np.isnan(total), np.inf, total)[:, -sequences.x.shape[1] :]


def _operator(node: OperatorNode, values: np.ndarray, known: np.ndarray) -> np.ndarray:
    operands, weight = list(node.operands), np.abs(node.hidden_weight)
    size = np.abs(values[..., operands]) @ weight.T + np.abs(node.hidden_bias)
    inner = known[..., operands] @ weight.T + (len(operands) + 3) * size
    hidden = np.maximum(values[..., operands] @ node.hidden_weight.T + node.hidden_bias, 0.0)
    outer = np.abs(node.output_weight)
    return inner @ outer + (len(outer) + 3) * (hidden @ outer + abs(node.output_bias))


def _router(node: RouterNode, values: np.ndarray, known: np.ndarray) -> np.ndarray:
    value, off = values[..., node.reads["value"]], known[..., node.reads["value"]]
    if node.kind == "location":
        return shifted(off, node.offset, abs(node.start))
    if node.kind in ("max", "min"):
        return np.maximum.accumulate(off, axis=1)
    if node.facts.own:
        return np.full(value.shape, np.inf)  # what rounding does to it nobody knows
    if node.facts.aggregate:
        count = np.arange(1, value.shape[1] + 1)
        total = np.cumsum(off, 1) + (count + 2) * np.cumsum(np.abs(value), 1)
        return total / count + np.abs(node.compute(values)) if node.kind == "mean" else total
    if node.facts.relation:  # what is as it was given compares as it did
        exact = not off.any() and not known[..., node.reads["key"]].any()
        return np.full(value.shape, 0.0 if exact else np.inf)
    return _selected(node, values, known)


def _selected(node: RouterNode, values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Of what is selected; infinite where another value may be, in float32."""
    length = values.shape[1]
    found = node.compute(values)
    place = node.selection(values)
    query, key, value = (
        (values[..., node.reads[role]], known[..., node.reads[role]]) for role in ("query", "key", "value")
    )
    best = np.full(found.shape, node.null_score - SINGLE * abs(node.null_score))
    near: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for back in range(length):
        there = slice(back, None)
        asked = query[0][:, there], query[1][:, there]
        past = slice(None, length - back)
        sought = key[0][:, past], key[1][:, past]
        score, off = scores(node, asked[0], sought[0], back), uncertainty(node, asked, sought, back)
        most = np.full(found.shape, -np.inf)
        most[:, there] = score + off
        mine = place[:, there] == np.arange(length - back)
        best[:, there] = np.where(mine, score - off, best[:, there])
        near.append((most, shifted(value[0], back, 0.0), shifted(value[1], back, 0.0)))
    null = np.full(found.shape, node.null_score + SINGLE * abs(node.null_score))
    near.append((null, np.zeros_like(found), np.zeros_like(found)))
    result = np.zeros_like(found)
    for most, other, off in near:
        may = ~(most < best)
        result = np.where(may, np.maximum(result, np.where(other == found, off, np.inf)), result)
    return result
