"""From a discrete graph back into the ensemble that it was read from: the inverse of `from_model`.

Pruning and tuning change a graph: weights become zero, the head is solved again, hidden units are added,
what lies before the start is another number. Written back, the file of weights holds the network that is
meant, and reading it again gives the same graph, bit for bit.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from weights2code.graph.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.heads import FORBIDDEN, HEADS
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.model.architecture import wiring

#: The logit of an option that a choice is settled on; those of the others are 0.
SETTLED = 10.0


def write_back(model: DiscreteTransformer, member: int, graph: DiscreteGraph) -> DiscreteTransformer:
    """A copy of the ensemble, in float64, in which one member is the graph.

    The other members stay what they are. Where the graph has more hidden units than the architecture, starts
    where that has none, or, after its only layer, sub-MLPs where that has none, the architecture grows, and
    the others get zeros. A graph that the architecture cannot hold raises ValueError.
    """
    larger = _architecture(model, graph)
    _refuse_others(model, larger, graph)
    written = _grown(model, larger)
    a = written.architecture
    heads, operators = a.head_kinds(), a.submlps
    starts: dict[int, float] = {}
    for index, node in enumerate(graph.nodes):
        place, layer = index - a.channels, 0
        if place >= 0:
            layer, place = divmod(place, len(heads) + operators)
        if isinstance(node, ChannelNode):
            if a.past and index >= a.channels - a.past:
                starts[index - (a.channels - a.past)] = node.start
            elif node.start:
                raise ValueError(f"{node.name} is an input: nothing of it lies before the start")
        elif isinstance(node, RouterNode):
            _write_head(written, member, layer, place, node)
            if node.kind == "location":
                starts[a.past + layer * a.location + place] = node.start
        else:
            _write_operator(written, member, layer, place - len(heads), node)
    _write_starts(written, member, starts)
    _write_offset_mask(written, member)
    with torch.no_grad():
        _write(written.head[member], graph.head)
        written.variable_mask[member] |= (written.head[member, :, :-1] != 0).any(0)
    return written


def model_of(graph: DiscreteGraph, like: DiscreteTransformer) -> DiscreteTransformer:
    """A model of one member that is the graph, by the names of its nodes; how heads seek is as in another
    model."""
    operators = [node for node in graph.nodes if isinstance(node, OperatorNode)]
    heads = [node for node in graph.nodes if isinstance(node, RouterNode)]
    layout = graph.layout
    seeks = any(node.facts.seeks for node in heads)
    named = [found for node in (*heads, *operators) if (found := re.search(r"_L(\d+)[HM]\d+$", node.name))]
    layers = 1 + max((int(found[1]) for found in named), default=0)
    architecture = replace(
        like.architecture,
        channels=layout.channels,
        outputs=layout.outputs,
        layers=layers,
        **Architecture.sizes_for(
            {kind: sum(node.kind == kind for node in heads) // layers for kind in HEADS}
        ),
        submlps=len(operators) // layers,
        arity=max([1, *(len(node.operands) for node in operators)]),
        hidden=max([1, *(len(node.hidden_bias) for node in operators)]),
        window=like.architecture.window if seeks else max([1, *((node.offset or 0) + 1 for node in heads)]),
        past=layout.channels - len(graph.inputs),
        learned_start=True,
    )
    empty = DiscreteTransformer(architecture, 1, like.value_range, sharpness=like.sharpness)
    return write_back(empty, 0, graph)


def _architecture(model: DiscreteTransformer, graph: DiscreteGraph) -> Architecture:
    """What the ensemble must have to hold the graph."""
    a = model.architecture
    operators = [node for node in graph.nodes if isinstance(node, OperatorNode)]
    others = [node for node in graph.nodes if not isinstance(node, OperatorNode)]
    larger = replace(
        a,
        hidden=max([a.hidden, *(len(node.hidden_bias) for node in operators)]),
        learned_start=a.learned_start or any(node.start for node in others),
    )
    if a.layers == 1 and not a.submlps and operators:
        larger = replace(larger, submlps=len(operators), arity=len(operators[0].operands))
    return larger


def _refuse_others(model: DiscreteTransformer, larger: Architecture, graph: DiscreteGraph) -> None:
    """Raise ValueError if the graph is not one of this architecture."""
    names = tuple(node.name for node in graph.nodes)
    kinds = tuple(node.kind for node in graph.nodes if isinstance(node, RouterNode))
    if names != wiring(larger).variables or kinds != larger.head_kinds() * larger.layers:
        raise ValueError("the graph has other nodes than the model")
    if graph.head.shape != (larger.outputs, len(names) + 1):
        raise ValueError(f"the head of the graph has the shape {graph.head.shape}")
    for node in graph.nodes:
        if isinstance(node, OperatorNode) and len(node.operands) != larger.arity:
            raise ValueError(f"{node.name} has {len(node.operands)} operands, not {larger.arity}")
        if isinstance(node, RouterNode) and node.facts.seeks:
            if node.kind == "equality" and node.sharpness != model.sharpness:
                raise ValueError(f"{node.name} compares more or less sharply than the model")
            if node.kind == "pointer" and tuple(node.value_range) != tuple(model.value_range):
                raise ValueError(f"{node.name} encodes another range of values than the model")


def _grown(model: DiscreteTransformer, larger: Architecture) -> DiscreteTransformer:
    """A copy of the ensemble with a larger architecture; what is new is zero, and comes last."""
    grown = DiscreteTransformer(
        larger, model.members, model.value_range, dtype=torch.float64, sharpness=model.sharpness
    ).to(model.head.device)
    nodes = model.architecture.stream_width(larger.layers)
    with torch.no_grad():
        for (name, new), (_, old) in zip(grown.named_parameters(), model.named_parameters(), strict=True):
            new.zero_()
            if name == "head":
                new[..., :nodes], new[..., -1] = old[..., :-1].to(new.dtype), old[..., -1].to(new.dtype)
            elif old.numel():
                new[tuple(slice(size) for size in old.shape)] = old.to(new.dtype)
        for name, buffer in model.named_buffers():
            getattr(grown, name)[tuple(slice(size) for size in buffer.shape)] = buffer
    return grown


def _write_head(model: DiscreteTransformer, member: int, layer: int, place: int, node: RouterNode) -> None:
    a = model.architecture
    chosen = dict(node.reads)
    if node.kind == "location":
        if node.offset == a.window:
            raise ValueError(f"{node.name} cannot look {node.offset} positions back")
        chosen["offset"] = a.window if node.offset is None else node.offset
    for row, choice in enumerate(model.wiring.choices):
        if choice.kind == node.kind and (choice.layer, choice.index) == (layer, place):
            _choose(model, member, row, chosen[choice.decides])
    if not node.facts.seeks:
        return
    seeker = place - a.location  # heads that seek come next
    with torch.no_grad():
        for name in HEADS[node.kind].weights:
            _write(getattr(model, name)[member, layer, seeker], getattr(node, name))
        model.null_score[member, layer, seeker] = node.null_score


def _write_operator(
    model: DiscreteTransformer, member: int, layer: int, place: int, node: OperatorNode
) -> None:
    for row, choice in enumerate(model.wiring.choices):
        if choice.kind == "submlp" and (choice.layer, choice.index) == (layer, place):
            _choose(model, member, row, node.operands[choice.slot])
    units = len(node.hidden_bias)
    with torch.no_grad():
        for weights, own in (
            (model.hidden_weight[member, layer, place], node.hidden_weight),
            (model.hidden_bias[member, layer, place, :, 0], node.hidden_bias),
            (model.output_weight[member, layer, place, 0], node.output_weight),
        ):
            weights.zero_()
            _write(weights[:units], own)
        model.output_bias[member, layer, place, 0, 0] = node.output_bias


def _choose(model: DiscreteTransformer, member: int, row: int, option: int) -> None:
    """Settle a choice; one that is settled so already keeps its logits."""
    allowed = model.choice_mask[member, row]
    if int(model.choices[member, row].masked_fill(~allowed, -torch.inf).argmax()) == option:
        return
    if option >= model.wiring.choices[row].options:
        raise ValueError(f"{model.wiring.choices[row].module} cannot choose {option}")
    with torch.no_grad():
        model.choice_mask[member, row, option] = True
        model.choices[member, row] = 0.0
        model.choices[member, row, option] = SETTLED


def _write_starts(model: DiscreteTransformer, member: int, starts: dict[int, float]) -> None:
    if not model.architecture.learned_start:
        return
    values = torch.tensor([starts[place] for place in range(len(starts))], dtype=torch.float64)
    if bool(model.start_mask[member]) or values.any():
        with torch.no_grad():
            _write(model.start[member], values.numpy())
        model.start_mask[member] = True


def _write_offset_mask(model: DiscreteTransformer, member: int) -> None:
    """Offsets that no head that seeks may look at stay forbidden."""
    bias = model.relative_bias[member]
    if bias.numel():
        model.offset_mask[member] = (bias.detach() != -FORBIDDEN).flatten(0, 1).any(0)


def _write(weights: Tensor, values: np.ndarray) -> None:
    weights.copy_(torch.from_numpy(np.array(values, dtype=np.float64)))
