"""From a trained member to its discrete graph: the argmax of every choice (paper, section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weights2code.data import Layout, Problem
from weights2code.graph.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import FORBIDDEN, HEADS
from weights2code.model.weights import Weights


def graph_of(model: Weights, member: int, layout: Layout, problem: Problem) -> DiscreteGraph:
    """The graph of one member, in float64."""
    return graph_with_names(model, member, layout, problem.inputs, problem.outputs, problem.length)


def graph_with_names(
    model: Weights,
    member: int,
    layout: Layout,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    length: int,
) -> DiscreteGraph:
    """The graph of one member where no problem is at hand: the weights know neither names nor length."""
    alone = model.take([member])
    a, masks = model.architecture, {name: mask[0] for name, mask in alone.masks.items()}
    weights = {name: values[0].astype(np.float64) for name, values in alone.parameters.items()}
    choice, names = iter(alone.hard_choices()[0].tolist()), model.wiring.variables
    starts = np.zeros(a.past + a.layers * a.location)
    if a.learned_start:
        starts = weights["start"] * float(masks["start_mask"][0])
    before = [0.0] * (a.channels - a.past) + starts[: a.past].tolist()
    labels = layout.channel_names(inputs, outputs)
    nodes: list[Node] = [ChannelNode(*of) for of in zip(names[: a.channels], labels, before, strict=True)]
    for layer in range(a.layers):
        for place, kind in enumerate(a.head_kinds()):
            reads = {role: next(choice) for role in HEADS[kind].reads}
            own: dict[str, Any] = {}
            if kind == "location":
                offset = next(choice)
                own["offset"] = None if offset == a.window else offset
                own["start"] = float(starts[a.past + layer * a.location + place])
            elif HEADS[kind].seeks:
                seeker = place - a.location  # heads that seek come next
                own = {key: weights[key][layer, seeker].copy() for key in HEADS[kind].weights}
                own["relative_bias"][~masks["offset_mask"]] = -FORBIDDEN
                own |= {"null_score": float(weights["null_score"][layer, seeker])}
                own |= {"value_range": model.value_range, "sharpness": model.sharpness}
            nodes.append(RouterNode(names[len(nodes)], kind, reads, **own))
        for index in range(a.submlps):
            operands = tuple(next(choice) for _ in range(a.arity))
            units = _units(weights, layer, index)
            nodes.append(
                OperatorNode(
                    names[len(nodes)],
                    operands,
                    weights["hidden_weight"][layer, index, :units],
                    weights["hidden_bias"][layer, index, :units, 0],
                    weights["output_weight"][layer, index, 0, :units],
                    float(weights["output_bias"][layer, index, 0, 0]),
                )
            )
    head = weights["head"].copy()
    head[:, :-1] *= masks["variable_mask"]
    return DiscreteGraph(tuple(nodes), head, layout, inputs, outputs, length)


def _units(weights: dict[str, np.ndarray], layer: int, index: int) -> int:
    """Hidden units of a sub-MLP: the last ones are none if all their weights are 0, which only make up the
    number that another sub-MLP has."""
    real = (
        weights["hidden_weight"][layer, index].any(-1)
        | (weights["hidden_bias"][layer, index, :, 0] != 0)
        | (weights["output_weight"][layer, index, 0] != 0)
    )
    return int(np.flatnonzero(real)[-1]) + 1 if real.any() else 1
