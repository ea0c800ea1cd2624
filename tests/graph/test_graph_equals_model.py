"""The discrete graph needs no torch and equals the hard model, for every kind of head."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch

from weights2code.data import Layout, Problem, from_arrays
from weights2code.errors import InputError
from weights2code.graph import RouterNode, from_dict, graph, to_dict
from weights2code.graph.from_model import graph_of
from weights2code.heads import HEADS
from weights2code.language import integers
from weights2code.model import HARD, Architecture, DiscreteTransformer

KINDS = tuple(HEADS)
LENGTH = 9


def problem_of(inputs: int, outputs: int, seed: int = 0) -> Problem:
    """Sequences of small numbers, many of them equal, so that lookups find something."""
    rng = np.random.default_rng(seed)
    data = from_arrays(
        rng.integers(-3, 4, (12, LENGTH, inputs)), rng.integers(-3, 4, (12, LENGTH, outputs)) * 2
    )
    names = tuple("abc"[:inputs]), tuple("yz"[:outputs])
    domains = (integers(-3, 3),) * inputs, (integers(-6, 6),) * outputs
    return Problem("random", *names, *domains, data, data, LENGTH)


def random_model(architecture: Architecture, members: int = 3, seed: int = 0) -> DiscreteTransformer:
    """Members with decided choices and all weights of a size that matters."""
    model = DiscreteTransformer(architecture, members, (-4.0, 4.0), seed, torch.float64)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def agree(model: DiscreteTransformer, layout: Layout, problem: Problem) -> None:
    """The graph of every member gives the model's stream and outputs, also after a round trip."""
    channels = layout.encode(problem.training, np.float64).channels
    stream = model.stream(torch.from_numpy(channels), HARD).detach().numpy().transpose(0, 3, 2, 1)
    outputs = model(torch.from_numpy(channels), HARD).detach().numpy().transpose(0, 3, 2, 1)
    for member in range(model.members):
        made = graph_of(model, member, layout, problem)
        read = from_dict(json.loads(json.dumps(to_dict(made))))
        for one in (made, read):
            assert np.allclose(one.stream(channels.transpose(2, 1, 0)), stream[member], rtol=1e-9, atol=1e-9)
            assert np.allclose(
                one.predict(channels.transpose(2, 1, 0)), outputs[member], rtol=1e-9, atol=1e-9
            )
        run = outputs[member][:, -LENGTH:] * np.array(layout.output_scales)
        assert np.allclose(read.run(problem.training), run)
        assert to_dict(read) == to_dict(made)


def tagging(inputs: int, outputs: int) -> Layout:
    return Layout("tagging", (2.0,) * inputs, (4.0,) * outputs)


def autoregressive(inputs: int, outputs: int) -> Layout:
    return Layout("autoregressive", (2.0,) * inputs, (4.0,) * outputs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
def test_a_head_of_every_kind(kind: str, layers: int):
    architecture = Architecture(channels=2, layers=layers, submlps=1, hidden=4, window=4, **{kind: 2})  # type: ignore[arg-type]
    agree(random_model(architecture), tagging(2, 1), problem_of(2, 1))


def test_all_kinds_in_one_layer_with_several_outputs_and_learned_starts():
    sizes = dict.fromkeys(KINDS, 1)
    architecture = Architecture(
        channels=4,
        outputs=2,
        layers=2,
        submlps=2,
        arity=3,
        window=4,
        past=2,
        learned_start=True,
        **sizes,  # type: ignore[arg-type]
    )
    model = random_model(architecture, members=4, seed=3)
    agree(model, autoregressive(2, 2), problem_of(2, 2))
    assert any(node.start for node in graph_of(model, 0, autoregressive(2, 2), problem_of(2, 2)).nodes[2:4])  # type: ignore[union-attr]


def test_one_scalar_sequence_of_inputs_and_outputs():
    architecture = Architecture(channels=1, layers=1, location=3, submlps=2, window=LENGTH + 4)
    agree(random_model(architecture), Layout("concat", (4.0,), (4.0,), 3), problem_of(1, 1))


def test_a_model_without_layers_is_its_head():
    agree(random_model(Architecture(channels=2, layers=0)), tagging(2, 1), problem_of(2, 1))


def test_masks_are_part_of_the_graph():
    sizes = dict.fromkeys(KINDS, 1)
    architecture = Architecture(
        channels=3,
        layers=1,
        submlps=2,
        window=5,
        past=1,
        learned_start=True,
        **sizes,  # type: ignore[arg-type]
    )
    model = random_model(architecture, seed=5)
    model.forbid(0, [1, 4])
    model.forbid_start(1)
    model.forbid_offsets(2, [0, 1])
    layout, problem = autoregressive(2, 1), problem_of(2, 1)
    agree(model, layout, problem)
    graphs = [graph_of(model, member, layout, problem) for member in range(3)]
    assert not graphs[0].head[:, [1, 4]].any()
    assert all(node.start == 0 for node in graphs[1].nodes if hasattr(node, "start"))  # type: ignore[union-attr]
    assert any(node.start for node in graphs[2].nodes if isinstance(node, RouterNode))


def test_the_null_slot_and_a_window_longer_than_the_sequence():
    architecture = Architecture(channels=1, layers=1, location=2, submlps=0, window=LENGTH + 3)
    model = random_model(architecture, members=1)
    with torch.no_grad():
        model.choices[0, 1, LENGTH + 3] = 50.0  # the null slot
        model.choices[0, 3, LENGTH + 1] = 50.0  # before the start at every position
    layout, problem = tagging(1, 1), problem_of(1, 1)
    agree(model, layout, problem)
    made = graph_of(model, 0, layout, problem)
    assert isinstance(made.nodes[1], RouterNode)
    assert made.nodes[1].offset is None
    assert not made.stream(problem.training.x / 2.0)[..., 1:].any()


# -- graph.json ----------------------------------------------------------------------------------------------


def stored() -> dict:
    sizes = dict.fromkeys(KINDS, 1)
    architecture = Architecture(channels=2, layers=1, submlps=1, **sizes)  # type: ignore[arg-type]
    made = graph_of(random_model(architecture, 1), 0, tagging(2, 1), problem_of(2, 1))
    return json.loads(json.dumps(to_dict(made)))


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
    ],
)
def test_what_is_no_graph_is_refused(path, value):
    from_dict(stored())
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_dict(change(stored(), *path, value=value))


def test_an_unknown_layout_is_refused():
    with pytest.raises(InputError, match="unknown layout"):
        from_dict(change(stored(), "layout", "name", value="sideways"))


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


def test_every_field_of_a_node_can_be_read_back():
    """As what it was, arrays among them."""
    data = stored()
    assert json.loads(json.dumps(to_dict(from_dict(data)))) == data
    made = {node["type"]: node for node in data["nodes"]}
    assert {kind: {"type", *node.__slots__} for kind, node in graph._TYPES.items()} == {
        kind: set(node) for kind, node in made.items()
    }
