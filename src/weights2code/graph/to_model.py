"""From discrete graphs to models: the inverse of `from_model`.

Pruning and tuning change a graph, and some graphs were never trained: written as a model of their own, the
file of weights holds the network that is meant, and reading it again gives the same graph, bit for bit.
Loose nodes, which read earlier ones in any order, are laid out in layers first: a head reads what stands in
the stream before its layer, a sub-MLP the heads of its own layer too. So each node goes to the first layer at
which all that it reads is there, and as every layer has as many of each kind as any other, nodes that nothing
reads make up the number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from weights2code.graph.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import EQUALITY_SHARPNESS, FORBIDDEN, HEADS
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.model.architecture import wiring

#: The logit of an option that a choice is settled on; those of the others are 0.
SETTLED = 10.0


def model_of(graph: DiscreteGraph, like: DiscreteTransformer) -> DiscreteTransformer:
    """A model of one member that is the graph, whose nodes have the names of an architecture; what its heads
    do not say of how they seek is as in another model."""
    named = [re.search(r"_L(\d+)[HM]\d+$", node.name) for node in graph.nodes]
    layers = [int(found[1]) if found else -1 for found in named]
    seeks = any(isinstance(node, RouterNode) and node.facts.seeks for node in graph.nodes)
    window = like.architecture.window if seeks else 1
    architecture = replace(
        _architecture([graph], [layers], window), bins=like.architecture.bins, width=like.architecture.width
    )
    model = DiscreteTransformer(
        architecture, 1, like.value_range, dtype=torch.float64, sharpness=like.sharpness
    )
    _write(model, 0, graph)
    return model


def model_of_all(
    graphs: Sequence[DiscreteGraph], window: int, value_range: tuple[float, float], sharpness: float
) -> DiscreteTransformer:
    """An ensemble whose members are graphs of loose nodes, in an architecture that holds each of them."""
    architecture = _architecture(graphs, [_layers(graph.nodes) for graph in graphs], window)
    model = DiscreteTransformer(
        architecture, len(graphs), value_range, dtype=torch.float64, sharpness=sharpness
    )
    for member, graph in enumerate(graphs):
        _write(model, member, _laid_out(graph, architecture, sharpness))
    return model


def laid_out(graph: DiscreteGraph) -> DiscreteGraph:
    """A graph of loose nodes, none of which seeks, in the smallest architecture that holds it."""
    architecture = _architecture([graph], [_layers(graph.nodes)], 2)
    return _laid_out(graph, architecture, EQUALITY_SHARPNESS)


def _architecture(
    graphs: Sequence[DiscreteGraph], layers: Sequence[Sequence[int]], window: int
) -> Architecture:
    """What holds every graph, whose nodes stand in these layers (channels: -1)."""
    first, most = graphs[0], Counter[str]()
    for graph, own in zip(graphs, layers, strict=True):
        standing = Counter(
            (layer, _kind(node)) for layer, node in zip(own, graph.nodes, strict=True) if layer >= 0
        )
        for (_, kind), count in standing.items():
            most[kind] = max(most[kind], count)
    nodes = [node for graph in graphs for node in graph.nodes]
    operators = [node for node in nodes if isinstance(node, OperatorNode)]
    offsets = [node.offset or 0 for node in nodes if isinstance(node, RouterNode)]
    return Architecture(
        channels=first.layout.channels,
        outputs=first.layout.outputs,
        layers=max(max(own) for own in layers) + 1,
        submlps=most["submlp"],
        arity=max([1, *(len(node.operands) for node in operators)]),
        hidden=max([1, *(len(node.hidden_bias) for node in operators)]),
        window=max([window, *(offset + 1 for offset in offsets)]),
        past=first.layout.channels - len(first.inputs),
        learned_start=True,
        **Architecture.sizes_for({kind: most[kind] for kind in HEADS}),
    )


def _kind(node: Node) -> str:
    return node.kind if isinstance(node, RouterNode) else "submlp"


def _layers(nodes: Sequence[Node]) -> list[int]:
    """The first layer at which each node can stand; channels are there before the first."""
    found: list[int] = []
    for node in nodes:
        if isinstance(node, ChannelNode):
            found.append(-1)
        elif isinstance(node, RouterNode):
            found.append(1 + max(found[source] for source in node.reads.values()))
        else:
            after = (found[source] + (not isinstance(nodes[source], RouterNode)) for source in node.operands)
            found.append(max(after))
    return found


def _laid_out(graph: DiscreteGraph, architecture: Architecture, sharpness: float) -> DiscreteGraph:
    """The same graph with the nodes of an architecture, which must be large enough."""
    kinds = [*architecture.head_kinds(), *["submlp"] * architecture.submlps]
    names = wiring(architecture).variables
    nodes: list[Node] = [*graph.nodes[: architecture.channels]]
    nodes += [
        _idle(name, kind, architecture, sharpness)
        for name, kind in zip(names[len(nodes) :], kinds * architecture.layers, strict=True)
    ]
    moved: dict[int, int] = {}
    for index, (layer, node) in enumerate(zip(_layers(graph.nodes), graph.nodes, strict=True)):
        if isinstance(node, ChannelNode):
            moved[index] = index
            continue
        begin, taken = architecture.stream_width(layer), set(moved.values())
        same = (begin + place for place, kind in enumerate(kinds) if kind == _kind(node))
        moved[index] = next(place for place in same if place not in taken)
        nodes[moved[index]] = _renamed(node, names[moved[index]], moved, architecture)
    head = np.zeros((len(graph.head), len(nodes) + 1))
    head[:, [*moved.values(), -1]] = graph.head[:, [*moved, -1]]
    return replace(graph, nodes=tuple(nodes), head=head)


def _renamed(node: Node, name: str, moved: dict[int, int], architecture: Architecture) -> Node:
    if isinstance(node, RouterNode):
        bias, window = node.relative_bias, architecture.window
        if bias is not None and len(bias) < window:
            bias = np.pad(bias, (0, window - len(bias)), mode="edge")
        reads = {role: moved[source] for role, source in node.reads.items()}
        return replace(node, name=name, reads=reads, relative_bias=bias)
    assert isinstance(node, OperatorNode)
    more = architecture.arity - len(node.operands)
    operands = tuple(moved[operand] for operand in node.operands)
    weight = np.pad(node.hidden_weight, ((0, 0), (0, more)))
    return replace(node, name=name, operands=operands + operands[:1] * more, hidden_weight=weight)


def _idle(name: str, kind: str, architecture: Architecture, sharpness: float) -> Node:
    """A node that does nothing."""
    if kind == "submlp":
        weight = np.zeros((1, architecture.arity))
        return OperatorNode(name, (0,) * architecture.arity, weight, np.zeros(1), np.zeros(1), 0.0)
    reads = dict.fromkeys(HEADS[kind].reads, 0)
    if kind == "equality":
        return RouterNode(name, kind, reads, relative_bias=np.zeros(architecture.window), sharpness=sharpness)
    return RouterNode(name, kind, reads)


@torch.no_grad()
def _write(model: DiscreteTransformer, member: int, graph: DiscreteGraph) -> None:
    """Make one member the graph, which has the nodes of the architecture."""
    a = model.architecture
    rows = {(c.layer, c.kind, c.index, c.role): row for row, c in enumerate(model.wiring.choices)}
    if tuple(node.name for node in graph.nodes) != model.wiring.variables:
        raise ValueError("the nodes of the graph are not those of an architecture")

    def choose(layer: int, kind: str, place: int, role: str, option: int) -> None:
        model.choices[member, rows[layer, kind, place, role], option] = SETTLED

    for parameter in model.parameters():
        parameter[member] = 0.0
    for index, node in enumerate(graph.nodes):
        layer, place = divmod(index - a.channels, max(a.heads + a.submlps, 1))
        if isinstance(node, ChannelNode):
            past = index - (a.channels - a.past)
            if past >= 0:
                model.start[member, past] = node.start
            elif node.start:
                raise ValueError(f"{node.name} is an input: nothing of it lies before the start")
        elif isinstance(node, OperatorNode):
            own, units = place - a.heads, len(node.hidden_bias)
            for slot, operand in enumerate(node.operands):
                choose(layer, "submlp", own, f"operand{slot}", operand)
            model.hidden_weight[member, layer, own, :units] = _tensor(node.hidden_weight)
            model.hidden_bias[member, layer, own, :units, 0] = _tensor(node.hidden_bias)
            model.output_weight[member, layer, own, 0, :units] = _tensor(node.output_weight)
            model.output_bias[member, layer, own, 0, 0] = node.output_bias
        else:
            for role, source in node.reads.items():
                choose(layer, node.kind, place, role, source)
            if node.kind == "location":
                offset = a.window if node.offset is None else node.offset
                choose(layer, node.kind, place, "offset", offset)
                model.start[member, a.past + layer * a.location + place] = node.start
            if node.facts.seeks:
                told = {"equality": "sharpness", "pointer": "value_range"}[node.kind]
                if getattr(node, told) != getattr(model, told):
                    raise ValueError(f"{node.name} has another {told} than the model")
                seeker = place - a.location  # heads that seek come next
                for name in node.facts.weights:
                    getattr(model, name)[member, layer, seeker] = _tensor(getattr(node, name))
                model.null_score[member, layer, seeker] = node.null_score
    bias = model.relative_bias[member]
    if bias.numel():  # offsets that no head that seeks may look at stay forbidden
        model.offset_mask[member] = (bias != -FORBIDDEN).flatten(0, 1).any(0)
    model.head[member] = _tensor(graph.head)


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.array(values, dtype=np.float64))
