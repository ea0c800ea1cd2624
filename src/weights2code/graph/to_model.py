"""From discrete graphs to models: the inverse of `from_model`.

Pruning and tuning change a graph, and some graphs were never trained: written as a model of their own, the
file of weights holds the network that is meant, and reading it again gives the same graph, bit for bit.
Loose nodes, which read earlier ones in any order, are laid out in layers first: a head reads what stands in
the stream before its layer, a sub-MLP the heads of its own layer too. So each node goes to the first layer at
which all that it reads is there, and as every layer has as many of each kind as any other, nodes that do
nothing make up the number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from weights2code.graph.from_model import graph_with_names
from weights2code.graph.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import FORBIDDEN, HEADS
from weights2code.model import Architecture, Weights, wiring

#: The logit of an option that a choice is settled on; those of the others are 0.
SETTLED = 10.0


def model_of(graph: DiscreteGraph, like: Weights | None = None) -> Weights:
    """A model of one member that is the graph, whose nodes have the names of an architecture; what its heads
    do not say of how they seek is as in another model."""
    like = like or Weights.blank(Architecture(window=2))
    named = [re.search(r"_L(\d+)[HM]\d+$", node.name) for node in graph.nodes]
    layers = [int(found[1]) if found else -1 for found in named]
    seeks = any(isinstance(node, RouterNode) and node.facts.seeks for node in graph.nodes)
    sizes = {"bins": like.architecture.bins, "width": like.architecture.width}
    architecture = replace(_architecture(graph, layers, like.architecture.window if seeks else 1), **sizes)
    if tuple(node.name for node in graph.nodes) != wiring(architecture).variables:
        raise ValueError("the nodes of the graph are not those of an architecture")
    model = Weights.blank(architecture, 1, like.value_range, like.sharpness)
    _write(model, graph, range(len(graph.nodes)))
    return model


def laid_out(graph: DiscreteGraph) -> DiscreteGraph:
    """A graph of loose nodes in the smallest architecture that holds it."""
    layers = _layers(graph.nodes)
    model = Weights.blank(_architecture(graph, layers, 2))
    _write(model, graph, _places(graph, layers, model.architecture))
    found = graph_with_names(model, 0, graph.layout, graph.inputs, graph.outputs, graph.length)
    channels = graph.layout.channels
    return replace(found, nodes=(*graph.nodes[:channels], *found.nodes[channels:]))


def _architecture(graph: DiscreteGraph, layers: Sequence[int], window: int) -> Architecture:
    """What holds the graph, whose nodes stand in these layers (channels: -1)."""
    standing = Counter(
        (layer, _kind(node)) for layer, node in zip(layers, graph.nodes, strict=True) if layer >= 0
    )
    most = Counter[str]()
    for (_, kind), count in standing.items():
        most[kind] = max(most[kind], count)
    operators = [node for node in graph.nodes if isinstance(node, OperatorNode)]
    offsets = [node.offset or 0 for node in graph.nodes if isinstance(node, RouterNode)]
    return Architecture(
        channels=graph.layout.channels,
        outputs=graph.layout.outputs,
        layers=max(layers) + 1,
        submlps=most["submlp"],
        arity=max([1, *(len(node.operands) for node in operators)]),
        hidden=max([1, *(len(node.hidden_bias) for node in operators)]),
        window=max([window, *(offset + 1 for offset in offsets)]),
        past=graph.layout.channels - len(graph.inputs),
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


def _places(graph: DiscreteGraph, layers: Sequence[int], architecture: Architecture) -> list[int]:
    """Where each node stands in the stream of an architecture, which must be large enough."""
    kinds = [*architecture.head_kinds(), *["submlp"] * architecture.submlps]
    found: list[int] = []
    for index, (layer, node) in enumerate(zip(layers, graph.nodes, strict=True)):
        begin = architecture.stream_width(layer) if layer >= 0 else 0
        same = (begin + place for place, kind in enumerate(kinds) if kind == _kind(node))
        found.append(index if layer < 0 else next(place for place in same if place not in found))
    return found


def _write(model: Weights, graph: DiscreteGraph, places: Sequence[int]) -> None:
    """Make the one member of a blank model the graph, each node at its place; locations that it does not have
    point at nothing."""
    a, own = model.architecture, {name: values[0] for name, values in model.parameters.items()}
    rows = {(c.layer, c.kind, c.index, c.role): row for row, c in enumerate(model.wiring.choices)}

    def choose(layer: int, kind: str, place: int, role: str, option: int) -> None:
        own["choices"][rows[layer, kind, place, role], option] = SETTLED

    for layer, place in product(range(a.layers), range(a.location)):
        if a.stream_width(layer) + place not in places:
            choose(layer, "location", place, "offset", a.window)
    for index, node in zip(places, graph.nodes, strict=True):
        layer, place = divmod(index - a.channels, max(a.heads + a.submlps, 1))
        if isinstance(node, ChannelNode):
            past = index - (a.channels - a.past)
            if past >= 0:
                own["start"][past] = node.start
            elif node.start:
                raise ValueError(f"{node.name} is an input: nothing of it lies before the start")
        elif isinstance(node, OperatorNode):
            module, units, arity = place - a.heads, len(node.hidden_bias), len(node.operands)
            for slot, operand in enumerate(node.operands + node.operands[:1] * (a.arity - arity)):
                choose(layer, "submlp", module, f"operand{slot}", places[operand])
            own["hidden_weight"][layer, module, :units, :arity] = node.hidden_weight
            own["hidden_bias"][layer, module, :units, 0] = node.hidden_bias
            own["output_weight"][layer, module, 0, :units] = node.output_weight
            own["output_bias"][layer, module, 0, 0] = node.output_bias
        else:
            for role, source in node.reads.items():
                choose(layer, node.kind, place, role, places[source])
            if node.kind == "location":
                offset = a.window if node.offset is None else node.offset
                choose(layer, node.kind, place, "offset", offset)
                own["start"][a.past + layer * a.location + place] = node.start
            if node.facts.seeks:
                _write_seeker(model, own, layer, place - a.location, node)
    bias = own["relative_bias"]
    if bias.size:  # offsets that no head that seeks may look at stay forbidden
        model.masks["offset_mask"][0] = (bias != -FORBIDDEN).any((0, 1))
    own["head"][:, [*places, -1]] = graph.head


def _write_seeker(
    model: Weights, own: Mapping[str, np.ndarray], layer: int, place: int, node: RouterNode
) -> None:
    """What a head that seeks has learned; such heads come after those of locations."""
    told = {"equality": "sharpness", "pointer": "value_range"}[node.kind]
    if getattr(node, told) != getattr(model, told):
        raise ValueError(f"{node.name} has another {told} than the model")
    for name in node.facts.weights:
        weights = getattr(node, name)
        if name == "relative_bias":  # beyond what was learned it goes on as it was
            weights = np.pad(weights, (0, model.architecture.window - len(weights)), mode="edge")
        own[name][layer, place] = weights
    own["null_score"][layer, place] = node.null_score
