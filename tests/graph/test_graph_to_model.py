"""A graph that is written as a model is found there again, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from weights2code.data import Layout, Problem, from_arrays
from weights2code.graph import DiscreteGraph, OperatorNode, RouterNode, prune_by_effect, to_dict
from weights2code.graph.from_model import graph_of
from weights2code.graph.to_model import model_of
from weights2code.heads import HEADS
from weights2code.language import integers
from weights2code.model import HARD, Architecture, DiscreteTransformer
from weights2code.training import storage

LENGTH = 9


def problem_of(inputs: int, outputs: int) -> Problem:
    rng = np.random.default_rng(0)
    data = from_arrays(
        rng.integers(-3, 4, (12, LENGTH, inputs)), rng.integers(-3, 4, (12, LENGTH, outputs)) * 2
    )
    names = tuple("abc"[:inputs]), tuple("yz"[:outputs])
    domains = (integers(-3, 3),) * inputs, (integers(-6, 6),) * outputs
    return Problem("random", *names, *domains, data, data, LENGTH)


def random_model(architecture: Architecture, members: int = 3, seed: int = 0) -> DiscreteTransformer:
    model = DiscreteTransformer(architecture, members, (-4.0, 4.0), seed, torch.float64)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def changed(graph: DiscreteGraph, seed: int = 0, units: int = 0) -> DiscreteGraph:
    """The graph with other numbers everywhere, and `units` more hidden units in its last operator."""
    rng = np.random.default_rng(seed)
    nodes = []
    for node in graph.nodes:
        if isinstance(node, OperatorNode):
            more = units if node.name == graph.nodes[-1].name else 0
            hidden, arity = len(node.hidden_bias) + more, len(node.operands)
            weights = rng.normal(size=(hidden, arity))
            weights[:, 0] = 0.0  # a pruned operand
            node = replace(
                node,
                hidden_weight=weights,
                hidden_bias=rng.normal(size=hidden),
                output_weight=rng.normal(size=hidden),
                output_bias=float(rng.normal()),
            )
        elif isinstance(node, RouterNode):
            if node.facts.seeks:
                bias = node.relative_bias + 0.25  # type: ignore[operator]
                node = replace(node, relative_bias=bias, null_score=float(rng.normal()))
            if node.kind == "pointer":
                node = replace(node, query_table=node.query_table * 2, key_table=node.key_table - 0.5)  # type: ignore[operator]
        nodes.append(node)
    head = rng.normal(size=graph.head.shape)
    head[:, ::3] = 0.0
    return replace(graph, nodes=tuple(nodes), head=head)


def written_and_read(model: DiscreteTransformer, graph: DiscreteGraph, problem: Problem) -> None:
    """The file gives the graph back, and the module gives its outputs."""
    layout = graph.layout
    written = model_of(graph, model)
    again, _ = storage.model_from(storage.model_tensors(written), storage.model_header(written, layout))
    for found in (written, again):
        assert to_dict(graph_of(found, 0, layout, problem)) == to_dict(graph)
    channels = layout.encode(problem.training, np.float64).channels
    outputs = again(torch.from_numpy(channels), HARD).detach().numpy()[0].transpose(2, 1, 0)
    assert np.allclose(outputs, graph.predict(channels.transpose(2, 1, 0)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("units", [0, 3])
def test_a_head_of_every_kind(kind: str, layers: int, units: int):
    architecture = Architecture(channels=2, layers=layers, submlps=2, hidden=4, window=4, **{kind: 2})  # type: ignore[arg-type]
    layout, problem = Layout("tagging", (2.0,) * 2, (4.0,)), problem_of(2, 1)
    model = random_model(architecture)
    graph = changed(graph_of(model, 1, layout, problem), units=units)
    written_and_read(model, graph, problem)


def test_all_kinds_with_several_outputs_masks_and_starts():
    architecture = Architecture(
        channels=4, outputs=2, layers=2, submlps=2, arity=3, window=4, past=2, learned_start=True,
        **dict.fromkeys(HEADS, 1),  # type: ignore[arg-type]
    )  # fmt: skip
    layout, problem = Layout("autoregressive", (2.0,) * 2, (4.0,) * 2), problem_of(2, 2)
    model = random_model(architecture, seed=3)
    model.forbid(0, [1, 4])
    model.forbid_start(1)
    model.forbid_offsets(2, [0, 1])
    for member in range(3):
        graph = graph_of(model, member, layout, problem)
        written_and_read(model, graph, problem)
        written_and_read(model, changed(graph, member, units=2), problem)


def test_starts_where_the_architecture_has_none():
    architecture = Architecture(channels=2, layers=1, location=2, submlps=1, window=4, past=1)
    layout, problem = Layout("autoregressive", (2.0,), (4.0,)), problem_of(1, 1)
    model = random_model(architecture)
    graph = graph_of(model, 0, layout, problem)
    nodes = list(graph.nodes)
    nodes[1] = replace(nodes[1], start=0.5)
    nodes[2] = replace(nodes[2], start=-1.5)
    written_and_read(model, replace(graph, nodes=tuple(nodes)), problem)


def test_other_choices_than_before():
    architecture = Architecture(channels=2, layers=2, location=2, equality=1, submlps=1, window=4)
    layout, problem = Layout("tagging", (2.0,) * 2, (4.0,)), problem_of(2, 1)
    model = random_model(architecture)
    model.forbid(0, [1])
    nodes = list(graph_of(model, 0, layout, problem).nodes)
    for index, node in enumerate(nodes):
        if isinstance(node, OperatorNode):
            nodes[index] = replace(node, operands=(1, index - 1))
        elif isinstance(node, RouterNode):
            reads = dict.fromkeys(node.reads, 1)
            nodes[index] = replace(node, reads=reads, offset=3 if node.kind == "location" else None)
    graph = replace(graph_of(model, 0, layout, problem), nodes=tuple(nodes))
    written_and_read(model, graph, problem)


def test_a_sub_mlp_where_the_architecture_has_none():
    architecture = Architecture(channels=2, layers=1, location=2, sum=1, submlps=0, window=9)
    layout, problem = Layout("tagging", (2.0,) * 2, (4.0,)), problem_of(2, 1)
    model = random_model(architecture)
    graph = graph_of(model, 1, layout, problem)
    rng = np.random.default_rng(0)
    added = OperatorNode(
        "V5_MLP_L0M0", (0, 3, 4), rng.normal(size=(40, 3)), rng.normal(size=40), rng.normal(size=40), 0.5
    )
    grown = replace(graph, nodes=(*graph.nodes, added), head=rng.normal(size=(1, 7)))
    assert model_of(grown, model).architecture.arity == 3
    written_and_read(model, grown, problem)


def test_a_pruned_graph():
    architecture = Architecture(channels=1, layers=1, location=2, submlps=2, window=4)
    layout, problem = Layout("tagging", (2.0,), (4.0,)), problem_of(1, 1)
    model = random_model(architecture)
    graph = graph_of(model, 2, layout, problem)
    pruned = prune_by_effect(graph, *graph.encode(problem.validation))
    assert to_dict(pruned) != to_dict(graph)
    written_and_read(model, pruned, problem)


def test_what_no_architecture_has_is_refused():
    layout, problem = Layout("tagging", (2.0,) * 2, (4.0,)), problem_of(2, 1)
    model = random_model(Architecture(channels=2, layers=1, location=1, equality=1, submlps=2, window=4))
    graph = graph_of(model, 0, layout, problem)
    swapped = (*graph.nodes[:-2], graph.nodes[-1], graph.nodes[-2])
    started = (replace(graph.nodes[0], start=1.0), *graph.nodes[1:])  # type: ignore[arg-type]
    blunt = [replace(n, sharpness=3.0) if getattr(n, "kind", "") == "equality" else n for n in graph.nodes]  # type: ignore[call-arg]
    for nodes in (swapped, started, tuple(blunt)):
        with pytest.raises(ValueError, match=r"V[0-9]_|those of an architecture"):
            model_of(replace(graph, nodes=nodes), model)


@pytest.mark.parametrize(
    "kinds", [{"location": 2}, {"mean": 1, "sum": 1}, {"pointer": 1, "equality": 1, "max": 1}]
)
def test_a_graph_with_a_node_more_is_a_model_of_its_own(kinds: dict[str, Any]) -> None:
    """A network of one layer without sub-MLPs that gets one has another architecture, with the same heads."""
    architecture = Architecture(channels=3, outputs=1, **kinds, submlps=0, window=5, past=1)
    model, problem = random_model(architecture), problem_of(2, 1)
    layout = Layout("autoregressive", (1.0, 2.0), (2.0,))
    graph = graph_of(model, 1, layout, problem)
    rng = np.random.default_rng(0)
    more = OperatorNode(
        f"V{len(graph.nodes)}_MLP_L0M0",
        (0, 2),
        rng.normal(size=(4, 2)),
        rng.normal(size=4),
        rng.normal(size=4),
        0.5,
    )
    larger = replace(graph, nodes=(*graph.nodes, more), head=np.insert(graph.head, -1, 1.0, axis=1))
    written = model_of(larger, model)
    assert written.members == 1
    assert to_dict(graph_of(written, 0, layout, problem)) == to_dict(larger)
