"""From a trained member to its discrete graph: the argmax of every choice (paper, section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weights2code.data import Layout, Problem
from weights2code.graph.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import FORBIDDEN, HEADS
from weights2code.model import DiscreteTransformer


def graph_of(model: DiscreteTransformer, member: int, layout: Layout, problem: Problem) -> DiscreteGraph:
    """The graph of one member, in float64."""
    return graph_with_names(model, member, layout, problem.inputs, problem.outputs, problem.length)


def graph_with_names(
    model: DiscreteTransformer,
    member: int,
    layout: Layout,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    length: int,
) -> DiscreteGraph:
    """The graph of one member where no problem is at hand: the weights know neither names nor length."""
    a = model.architecture
    weights = {
        name: value.detach().cpu().double().numpy()[member] for name, value in model.named_parameters()
    }
    choice = iter(model.hard_choices()[member].tolist())
    names = model.wiring.variables
    starts = weights["start"] * float(model.start_mask[member]) if a.learned_start else np.zeros(0)
    labels = layout.channel_names(inputs, outputs)
    nodes: list[Node] = []
    for index in range(a.channels):
        past = index - (a.channels - a.past)
        start = float(starts[past]) if a.learned_start and past >= 0 else 0.0
        nodes.append(ChannelNode(names[index], labels[index], start))
    for layer in range(a.layers):
        location = seeker = 0
        heads: list[Node] = []
        for kind in a.head_kinds():
            name = names[len(nodes) + len(heads)]
            reads = {role: next(choice) for role in HEADS[kind].reads}
            if kind == "location":
                offset = next(choice)
                start = float(starts[a.past + layer * a.location + location]) if a.learned_start else 0.0
                slot = None if offset == a.window else offset
                heads.append(RouterNode(name, kind, reads, slot, start))
                location += 1
            elif HEADS[kind].seeks:
                own: dict[str, Any] = {key: weights[key][layer, seeker].copy() for key in HEADS[kind].weights}
                own["relative_bias"][~model.offset_mask[member].cpu().numpy()] = -FORBIDDEN
                own |= {"null_score": float(weights["null_score"][layer, seeker])}
                own |= {"value_range": model.value_range, "sharpness": model.sharpness}
                heads.append(RouterNode(name, kind, reads, **own))
                seeker += 1
            else:
                heads.append(RouterNode(name, kind, reads))
        nodes += heads
        operators: list[Node] = []
        for index in range(a.submlps):
            operands = tuple(next(choice) for _ in range(a.arity))
            units = _units(weights, layer, index)
            operators.append(
                OperatorNode(
                    names[len(nodes) + index],
                    operands,
                    weights["hidden_weight"][layer, index, :units],
                    weights["hidden_bias"][layer, index, :units, 0],
                    weights["output_weight"][layer, index, 0, :units],
                    float(weights["output_bias"][layer, index, 0, 0]),
                )
            )
        nodes += operators
    head = weights["head"].copy()
    head[:, :-1] *= model.variable_mask[member].cpu().numpy()
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
