"""Loose nodes become layers: the graph of a Discrete Transformer from any nodes that read earlier ones.

A head reads what stands in the stream before its layer, a sub-MLP the heads of its own layer too, and every
layer has as many heads of each kind and as many sub-MLPs as any other. So each node goes to the first layer
at which all that it reads is there, and where a layer has fewer than another, nodes that nothing reads make
up the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weights2code.graph.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.graph.to_model import write_back
from weights2code.heads import HEADS, HeadKind
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.model.architecture import wiring


def model_of_all(
    graphs: Sequence[DiscreteGraph], window: int, value_range: tuple[float, float], sharpness: float
) -> DiscreteTransformer:
    """An ensemble whose members are the graphs, in an architecture that holds each of them."""
    sizes = [_sizes(graph) for graph in graphs]
    first = graphs[0]
    offsets = [node.offset or 0 for graph in graphs for node in graph.nodes if isinstance(node, RouterNode)]
    architecture = Architecture(
        channels=first.layout.channels,
        outputs=first.layout.outputs,
        window=max([window, *(offset + 1 for offset in offsets)]),
        past=first.layout.channels - len(first.inputs),
        learned_start=True,
        **Architecture.sizes_for({kind: max(size[kind] for size in sizes) for kind in HEADS}),
        **{name: max(size[name] for size in sizes) for name in sizes[0] if name not in HEADS},
    )
    model = DiscreteTransformer(architecture, len(graphs), value_range, sharpness=sharpness)
    for member, graph in enumerate(graphs):
        model = write_back(model, member, laid_out(graph, architecture, sharpness))
    return model


def laid_out(graph: DiscreteGraph, architecture: Architecture, sharpness: float) -> DiscreteGraph:
    """The same graph with the nodes of an architecture, which must be large enough."""
    kinds, names = architecture.head_kinds(), wiring(architecture).variables
    layers = _layers(graph.nodes)
    taken: dict[tuple[int, int], int] = {}  # (layer, place) -> index of the node that stands there
    moved = {index: index for index, node in enumerate(graph.nodes) if isinstance(node, ChannelNode)}
    for index, node in enumerate(graph.nodes):
        if isinstance(node, ChannelNode):
            continue
        kind = node.kind if isinstance(node, RouterNode) else None
        own = [place for place, other in enumerate(kinds) if other == kind]
        if kind is None:
            own = list(range(len(kinds), len(kinds) + architecture.submlps))
        place = next(place for place in own if (layers[index], place) not in taken)
        taken[layers[index], place] = index
        moved[index] = architecture.stream_width(layers[index]) + place
    nodes: list[Node] = list(graph.nodes[: architecture.channels])
    for layer in range(architecture.layers):
        for place in range(len(kinds) + architecture.submlps):
            name, index = names[len(nodes)], taken.get((layer, place))
            if index is None:
                kind = kinds[place] if place < len(kinds) else None
                nodes.append(_idle(name, kind, architecture, sharpness))
            else:
                nodes.append(_renamed(graph.nodes[index], name, moved, architecture))
    head = np.zeros((len(graph.head), len(nodes) + 1))
    head[:, -1] = graph.head[:, -1]
    for index, place in moved.items():
        head[:, place] = graph.head[:, index]
    return replace(graph, nodes=tuple(nodes), head=head)


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


def _sizes(graph: DiscreteGraph) -> dict[str, Any]:
    """What an architecture must have to hold the graph."""
    layers = _layers(graph.nodes)
    operators = [node for node in graph.nodes if isinstance(node, OperatorNode)]

    def most(kind: HeadKind | None) -> int:
        own = [
            layer
            for layer, node in zip(layers, graph.nodes, strict=True)
            if (isinstance(node, RouterNode) and node.kind == kind)
            or (kind is None and isinstance(node, OperatorNode))
        ]
        return max((own.count(layer) for layer in set(own)), default=0)

    return {
        **{kind: most(kind) for kind in HEADS},
        "layers": max(layers) + 1,
        "submlps": most(None),
        "arity": max([1, *(len(node.operands) for node in operators)]),
        "hidden": max([1, *(len(node.hidden_bias) for node in operators)]),
    }


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


def _idle(name: str, kind: HeadKind | None, architecture: Architecture, sharpness: float) -> Node:
    """A node that does nothing."""
    if kind is None:
        weight = np.zeros((1, architecture.arity))
        return OperatorNode(name, (0,) * architecture.arity, weight, np.zeros(1), np.zeros(1), 0.0)
    reads = dict.fromkeys(HEADS[kind].reads, 0)
    if kind == "equality":
        return RouterNode(
            name,
            kind,
            reads,
            relative_bias=np.zeros(architecture.window),
            null_score=0.0,
            sharpness=sharpness,
        )
    return RouterNode(name, kind, reads)
