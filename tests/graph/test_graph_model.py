"""The discrete graph needs no torch and equals the hard model; written as a model it is found there again."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from weights2code.data import Layout, Problem, from_arrays
from weights2code.errors import InputError
from weights2code.graph import (
    DiscreteGraph,
    OperatorNode,
    RouterNode,
    from_dict,
    graph,
    prune_by_effect,
    to_dict,
)
from weights2code.graph.from_model import graph_of
from weights2code.graph.to_model import model_of
from weights2code.heads import HEADS
from weights2code.language import integers
from weights2code.model import HARD, Architecture, DiscreteTransformer, Weights

LENGTH = 9
ALL: Any = dict.fromkeys(HEADS, 1)


def problem_of(inputs: int, outputs: int) -> Problem:
    """Sequences of small numbers, many of them equal, so that lookups find something."""
    rng = np.random.default_rng(0)
    data = from_arrays(
        rng.integers(-3, 4, (12, LENGTH, inputs)), rng.integers(-3, 4, (12, LENGTH, outputs)) * 2
    )
    names = tuple("abc"[:inputs]), tuple("yz"[:outputs])
    domains = (integers(-3, 3),) * inputs, (integers(-6, 6),) * outputs
    return Problem("random", *names, *domains, data, data, LENGTH)


def layout_of(name: str, inputs: int, outputs: int) -> Layout:
    return Layout(name, (2.0,) * inputs, (4.0,) * outputs)


def random_model(architecture: Architecture, members: int = 3, seed: int = 0) -> DiscreteTransformer:
    """Members with decided choices and all weights of a size that matters."""
    model = DiscreteTransformer(architecture, members, (-4.0, 4.0), seed, torch.float64)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def operator(name: str, operands: tuple[int, ...], hidden: int = 4, seed: int = 0) -> OperatorNode:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(hidden, len(operands))), rng.normal(size=hidden), rng.normal(size=hidden)
    return OperatorNode(name, operands, *weights, 0.5)


def changed(made: DiscreteGraph, seed: int = 0, units: int = 3) -> DiscreteGraph:
    """The graph with other numbers everywhere, and `units` more hidden units in its last operator."""
    rng = np.random.default_rng(seed)
    nodes = []
    for node in made.nodes:
        if isinstance(node, OperatorNode):
            more = units if node.name == made.nodes[-1].name else 0
            node = operator(node.name, node.operands, len(node.hidden_bias) + more, seed)
            node.hidden_weight[:, 0] = 0.0  # a pruned operand
        elif isinstance(node, RouterNode):
            if node.facts.seeks:
                bias = node.relative_bias + 0.25  # type: ignore[operator]
                node = replace(node, relative_bias=bias, null_score=float(rng.normal()))
            if node.kind == "pointer":
                node = replace(node, query_table=node.query_table * 2, key_table=node.key_table - 0.5)  # type: ignore[operator]
        nodes.append(node)
    head = rng.normal(size=made.head.shape)
    head[:, ::3] = 0.0
    return replace(made, nodes=tuple(nodes), head=head)


def channels_of(layout: Layout, problem: Problem) -> np.ndarray:
    return layout.encode(problem.training, np.float64).channels


def agree(model: DiscreteTransformer, layout: Layout, problem: Problem) -> None:
    """The graph of every member gives the model's stream and outputs, also after a round trip."""
    channels = channels_of(layout, problem)
    given = torch.from_numpy(channels)
    stream, outputs = (
        run(given, HARD).detach().numpy().transpose(0, 3, 2, 1) for run in (model.stream, model)
    )
    for member in range(model.members):
        made = graph_of(model.weights(), member, layout, problem)
        read = from_dict(json.loads(json.dumps(to_dict(made))))
        assert to_dict(read) == to_dict(made)
        for one in (made, read):
            assert np.allclose(one.stream(channels.transpose(2, 1, 0)), stream[member], rtol=1e-9, atol=1e-9)
            found = one.predict(channels.transpose(2, 1, 0))
            assert np.allclose(found, outputs[member], rtol=1e-9, atol=1e-9)
        run = outputs[member][:, -LENGTH:] * np.array(layout.output_scales)
        assert np.allclose(read.run(problem.training), run)


def written_and_read(model: DiscreteTransformer, made: DiscreteGraph, problem: Problem) -> None:
    """The file gives the graph back, and the module gives its outputs."""
    layout = made.layout
    written = model_of(made, model.weights())
    assert written.members == 1
    again = Weights.read(written.tensors(), written.header())
    for found in (written, again):
        assert to_dict(graph_of(found, 0, layout, problem)) == to_dict(made)
    channels = channels_of(layout, problem)
    outputs = again.module()(torch.from_numpy(channels), HARD).detach().numpy()[0].transpose(2, 1, 0)
    assert np.allclose(outputs, made.predict(channels.transpose(2, 1, 0)), rtol=1e-9, atol=1e-9)


def made_of(**sizes: int) -> Architecture:
    return Architecture(window=4, **sizes)  # type: ignore[arg-type]


TWO, PAST = layout_of("tagging", 2, 1), layout_of("autoregressive", 2, 1)
MODELS: dict[str, tuple[Layout, Architecture]] = {
    **{f"{kind} {layers}": (TWO, made_of(channels=2, layers=layers, submlps=2, hidden=4, **{kind: 2}))
       for kind in HEADS for layers in (1, 2)},
    "all": (layout_of("autoregressive", 2, 2), Architecture(
        channels=4, outputs=2, layers=2, submlps=2, arity=3, window=4, past=2, learned_start=True, **ALL)),
    "tokens": (Layout("concat", (4.0,), (4.0,), 3),
               Architecture(channels=1, layers=1, location=3, submlps=2, window=LENGTH + 4)),
    "no layers": (TWO, Architecture(channels=2, layers=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_is_its_model_and_back(name: str):
    layout, architecture = MODELS[name]
    problem = problem_of(len(layout.input_scales), layout.outputs)
    model = random_model(architecture)
    agree(model, layout, problem)
    for member in range(model.members):
        made = graph_of(model.weights(), member, layout, problem)
        written_and_read(model, made, problem)
        written_and_read(model, changed(made, member), problem)


def test_masks_are_part_of_the_graph():
    layout, architecture = MODELS["all"]
    problem, model = problem_of(2, 2), random_model(architecture, seed=5)
    model.forbid(0, [1, 4])
    model.forbid_start(1)
    model.forbid_offsets(2, [0, 1])
    agree(model, layout, problem)
    graphs: list[Any] = [graph_of(model.weights(), member, layout, problem) for member in range(3)]
    assert not graphs[0].head[:, [1, 4]].any()
    assert all(node.start == 0 for node in graphs[1].nodes if hasattr(node, "start"))
    assert any(node.start for node in graphs[2].nodes if isinstance(node, RouterNode))
    assert any(node.start for node in graphs[2].nodes[2:4])
    for member, made in enumerate(graphs):
        written_and_read(model, made, problem)
        written_and_read(model, changed(made, member, units=2), problem)


def test_the_null_slot_and_a_window_longer_than_the_sequence():
    model = random_model(Architecture(channels=1, layers=1, location=2, submlps=0, window=LENGTH + 3), 1)
    with torch.no_grad():
        model.choices[0, 1, LENGTH + 3] = 50.0  # the null slot
        model.choices[0, 3, LENGTH + 1] = 50.0  # before the start at every position
    layout, problem = layout_of("tagging", 1, 1), problem_of(1, 1)
    agree(model, layout, problem)
    made = graph_of(model.weights(), 0, layout, problem)
    assert isinstance(made.nodes[1], RouterNode)
    assert made.nodes[1].offset is None
    assert not made.stream(problem.training.x / 2.0)[..., 1:].any()


def with_starts(made: DiscreteGraph) -> DiscreteGraph:
    """Where the architecture has none."""
    nodes: list[Any] = list(made.nodes)
    nodes[1], nodes[2] = replace(nodes[1], start=0.5), replace(nodes[2], start=-1.5)
    return replace(made, nodes=tuple(nodes))


def with_other_choices(made: DiscreteGraph) -> DiscreteGraph:
    nodes: list[Any] = list(made.nodes)
    for index, node in enumerate(nodes):
        if isinstance(node, OperatorNode):
            nodes[index] = replace(node, operands=(1, index - 1))
        elif isinstance(node, RouterNode):
            reads = dict.fromkeys(node.reads, 1)
            nodes[index] = replace(node, reads=reads, offset=3 if node.kind == "location" else None)
    return replace(made, nodes=tuple(nodes))


def grown(*operands: int) -> Any:
    """With a sub-MLP where the architecture has none."""

    def change(made: DiscreteGraph) -> DiscreteGraph:
        more = operator(f"V{len(made.nodes)}_MLP_L0M0", operands, 40)
        return replace(made, nodes=(*made.nodes, more), head=np.insert(made.head, -1, 1.0, axis=1))

    return change


def pruned(made: DiscreteGraph) -> DiscreteGraph:
    found = prune_by_effect(made, *made.encode(problem_of(1, 1).validation))
    assert to_dict(found) != to_dict(made)
    return found


CHANGES = {
    "starts": (layout_of("autoregressive", 1, 1), made_of(channels=2, location=2, past=1), with_starts),
    "choices": (TWO, made_of(channels=2, layers=2, location=2, equality=1, submlps=1), with_other_choices),
    "a sub-MLP": (TWO, made_of(channels=2, location=2, sum=1, submlps=0), grown(0, 3, 4)),
    "pruned": (layout_of("tagging", 1, 1), made_of(channels=1, location=2, submlps=2), pruned),
    **{"more " + " ".join(kinds): (PAST, made_of(channels=3, submlps=0, past=1, **kinds), grown(0, 2))
       for kinds in ({"location": 2}, {"mean": 1, "sum": 1}, {"pointer": 1, "equality": 1, "max": 1})},
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_graph_of_another_shape_is_written(name: str):
    layout, architecture, change = CHANGES[name]
    problem, model = problem_of(len(layout.input_scales), 1), random_model(architecture)
    for member in (1, 2):
        written_and_read(model, change(graph_of(model.weights(), member, layout, problem)), problem)


def test_what_no_architecture_has_is_refused():
    model = random_model(Architecture(channels=2, layers=1, location=1, equality=1, submlps=2, window=4))
    made = graph_of(model.weights(), 0, TWO, problem_of(2, 1))
    swapped = (*made.nodes[:-2], made.nodes[-1], made.nodes[-2])
    started = (replace(made.nodes[0], start=1.0), *made.nodes[1:])  # type: ignore[arg-type]
    blunt = [replace(n, sharpness=3.0) if getattr(n, "kind", "") == "equality" else n for n in made.nodes]  # type: ignore[call-arg]
    for nodes in (swapped, started, tuple(blunt)):
        with pytest.raises(ValueError, match=r"V[0-9]_|those of an architecture"):
            model_of(replace(made, nodes=nodes), model.weights())


# -- graph.json ----------------------------------------------------------------------------------------------


def stored() -> dict:
    architecture = Architecture(channels=2, layers=1, submlps=1, **ALL)
    weights = random_model(architecture, 1).weights()
    return json.loads(json.dumps(to_dict(graph_of(weights, 0, TWO, problem_of(2, 1)))))


def change(data: dict, *path, value) -> dict:
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes", 0, "type"), "system"),
        (("nodes", 0, "shell"), "rm -r ."),
        (("nodes", 2, "kind"), "telepathy"),
        (("nodes", 2, "reads"), {"value": 7}),
        (("nodes", 2, "reads"), {"value": -1}),
        (("nodes", 2, "reads"), {"query": 0}),
        (("nodes", 2, "reads"), [0]),
        (("nodes", 2), "text"),
        (("nodes",), "text"),
        (("nodes", 3, "query_table"), None),
        (("nodes", 4, "relative_bias"), None),
        (("nodes", 9, "operands"), [0, 9]),
        (("nodes", 9, "hidden_weight"), [[1.0]]),
        (("nodes", 9, "output_weight"), "many"),
        (("nodes", 1), {"type": "channel"}),
        (("nodes",), []),
        (("head",), [[1.0, 2.0]]),
        (("head",), [[1.0], [2.0, 3.0]]),
        (("inputs",), None),
        (("length",), "long"),
        (("layout",), {}),
        (("layout", "name"), "sideways"),
    ],
)
def test_what_is_no_graph_is_refused(path, value):
    with pytest.raises((InputError, KeyError, TypeError, ValueError)):
        from_dict(change(stored(), *path, value=value))


def test_loading_executes_nothing():
    """Names in the file stay text: whatever they say, only the three node types are made."""
    data = change(stored(), "nodes", 0, "label", value="__import__('os').abort()")
    called: list[str] = []

    def audit(event: str, arguments: tuple) -> None:
        if watching and event in ("exec", "compile", "import", "open", "pickle.find_class", "os.system"):
            called.append(event)

    watching = False
    sys.addaudithook(audit)
    text = json.dumps(data)
    watching = True
    read = from_dict(json.loads(text))
    watching = False
    assert called == []
    assert read.nodes[0].label == "__import__('os').abort()"  # type: ignore[union-attr]


def test_every_field_of_a_node_is_stored():
    made = {node["type"]: node for node in stored()["nodes"]}
    assert {kind: {"type", *node.__slots__} for kind, node in graph._TYPES.items()} == {
        kind: set(node) for kind, node in made.items()
    }
