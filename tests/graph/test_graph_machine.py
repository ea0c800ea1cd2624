"""The network as a recurrence: the same numbers as the graph, whatever heads it has."""

from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Layout, from_arrays
from weights2code.errors import NotExtracted
from weights2code.explain import own_heads
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode, machine_of
from weights2code.graph.machine import free_running
from weights2code.heads import BUILT_IN, HEADS
from weights2code.language import (
    Recurrence,
    Scores,
    Selection,
    Step,
    Var,
    definition_variables,
    integers,
    renamed,
)
from weights2code.language.kinds import kinds_of
from weights2code.language.product import expand_retrievals, product
from weights2code.language.python_source import formula_lines
from weights2code.program import Program

WINDOW = 4


class Leaky(own_heads.RunningHead):
    name = "leaky_for_machine"
    start = 0.25

    def on_tensors(self, values):
        import torch

        last, found = torch.full_like(values[:, :, 0], self.start), []
        for t in range(values.shape[2]):
            last = 0.5 * last + values[:, :, t]
            found.append(last)
        return torch.stack(found, 2)

    def step(self, last, value):
        return 0.5 * last + value


@pytest.fixture
def own_kind():
    own_heads.register(Leaky())
    yield Leaky.name
    del HEADS[Leaky.name], own_heads.OWN[Leaky.name]


def random_graph(seed: int, kinds: tuple[str, ...], *, inputs=1, outputs=1, past=False) -> DiscreteGraph:
    """Two layers with a head of every kind, two location heads of one source, and two sub-MLPs each."""
    rng = np.random.default_rng(seed)
    layout = Layout(
        "autoregressive" if past else "tagging", (4.0,) * inputs, (8.0, 1.0)[:outputs], first_scored=0
    )
    x, y = tuple(f"x{i}" for i in range(inputs)), tuple(f"y{i}" for i in range(outputs))
    nodes: list[Node] = [
        ChannelNode(f"V{i}_input", label, rng.choice([0.0, 0.5, 0.3]))
        for i, label in enumerate(layout.channel_names(x, y))
    ]
    for layer in range(2):
        before = len(nodes)
        for head, kind in enumerate(("location", "location", *kinds)):
            reads = {role: int(rng.integers(before)) for role in HEADS[kind].reads}
            own = {}
            if kind == "location":
                reads = {"value": before - 1}
                own = {"offset": int(rng.integers(0, 3)), "start": float(rng.normal())}
            if HEADS[kind].seeks:
                own = {"relative_bias": rng.normal(size=WINDOW) * 0.1, "null_score": float(-rng.random())}
            if kind == "pointer":
                own |= {"query_table": rng.normal(size=(6, 3)), "key_table": rng.normal(size=(6, 3))}
            nodes.append(RouterNode(f"V{len(nodes)}_Attn_L{layer}H{head}", kind, reads, **own))
        for place in range(2):
            weight = rng.normal(size=(5, 3)) * (rng.random((5, 3)) < 0.7) * 0.3
            operands = tuple(int(o) for o in rng.integers(len(nodes) - place, size=3))
            own = (weight, rng.normal(size=5), rng.normal(size=5) * 0.3, float(rng.normal()))
            nodes.append(OperatorNode(f"V{len(nodes)}_MLP_L{layer}M{place}", operands, *own))
    head = rng.normal(size=(outputs, len(nodes) + 1)) * 0.1
    return DiscreteGraph(tuple(nodes), head, layout, x, y, 12)


CASES = [
    (seed, inputs, outputs, past)
    for seed, (inputs, outputs, past) in enumerate(
        [(1, 1, False), (2, 1, True), (1, 2, True), (2, 2, False)] * 3
    )
]


@pytest.mark.parametrize(("seed", "inputs", "outputs", "past"), CASES)
def test_the_machine_is_the_graph(seed: int, inputs: int, outputs: int, past: bool, own_kind: str) -> None:
    kinds = (*(kind for kind in BUILT_IN if kind != "location"), own_kind)
    graph = random_graph(seed, kinds, inputs=inputs, outputs=outputs, past=past)
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (20, 12, inputs)).astype(float)
    past_outputs = rng.integers(-3, 4, (20, 12, outputs)).astype(float)
    machine = machine_of(graph, whole=False)
    given = machine.run(x, past_outputs, 12)
    np.testing.assert_allclose(given, graph.run(from_arrays(x, past_outputs)), rtol=1e-9, atol=1e-9)
    rounded = machine_of(graph, whole=True)
    assert np.array_equal(rounded.run(x, past_outputs, 12), np.floor(given + 0.5))
    assert Recurrence.from_dict(rounded.to_dict()) == rounded


def test_steps_are_the_live_nodes_in_their_order() -> None:
    graph = random_graph(0, ("sum", "mean", "equality"))
    machine = machine_of(graph, whole=True)
    own = [step.name for step in machine.steps if "." not in step.name]
    live = [graph.nodes[index].name for index in graph.live()]
    assert [name for name in own if name in live] == live
    assert [step.name for step in machine.steps[-2:]] == ["y0.raw", "y0"]


def test_two_starts_of_one_node() -> None:
    nodes = (
        ChannelNode("V0_input", "x"),
        RouterNode("V1", "location", {"value": 0}, 1, 2.0),
        RouterNode("V2", "location", {"value": 0}, 2, 3.0),
        RouterNode("V3", "location", {"value": 0}, None, 5.0),
    )
    layout = Layout("tagging", (1.0,), (1.0,))
    graph = DiscreteGraph(nodes, np.array([[0.0, 1, 10, 100, 0]]), layout, ("x",), ("y",), 3)
    machine = machine_of(graph, whole=True)
    assert Step("V0_input.before1", Var("V0_input")) in machine.steps
    assert machine.run(np.array([[[1.0], [4.0], [7.0]]]))[0, :, 0].tolist() == [532, 531, 514]


def test_long_sums_are_not_nested_deeply() -> None:
    rng, layout = np.random.default_rng(0), Layout("tagging", (1.0,), (1.0,))
    wide = OperatorNode(
        "V1", (0,), rng.normal(size=(900, 1)), rng.normal(size=900), rng.normal(size=900), 1.0
    )
    graph = DiscreteGraph((ChannelNode("V0", "x"), wide), np.array([[0.0, 1, 0]]), layout, ("x",), ("y",), 3)
    x = rng.normal(size=(2, 3, 1))
    machine = machine_of(graph, whole=False)
    np.testing.assert_allclose(machine.run(x), graph.run(from_arrays(x, x)), atol=1e-9)


def test_a_selection_takes_the_oldest_of_equals_or_nothing() -> None:
    node = RouterNode(
        "V1",
        "equality",
        {"query": 0, "key": 0, "value": 0},
        relative_bias=np.array([-9.0, 0.0]),
        null_score=-1.0,
    )
    made = Selection("x", "x", Var("x"), node.scores())
    machine = Recurrence(("x",), (Step("y", made),), ("y",))
    assert machine.run(np.array([[[1.0], [2.0], [1.0]]]))[0, :, 0].tolist() == [0, 0, 1]


def test_names_of_nodes_make_way_for_columns() -> None:
    layout = Layout("tagging", (1.0,), (1.0,))
    graph = DiscreteGraph((ChannelNode("V0", "V0"),), np.array([[2.0, 1]]), layout, ("V0",), ("y",), 3)
    assert machine_of(graph, whole=True).run(np.ones((1, 1, 1)))[0, 0, 0] == 3


def test_one_sequence_of_inputs_and_outputs_is_no_recurrence() -> None:
    graph = random_graph(0, ())
    with pytest.raises(NotExtracted):
        machine_of(replace(graph, layout=replace(graph.layout, name="concat")), whole=True)


def test_it_is_one_of_tokens() -> None:
    layout = Layout("concat", (2.0,), (4.0,))
    nodes = (ChannelNode("V0", "token0"), RouterNode("V1", "location", {"value": 0}, 2))
    graph = DiscreteGraph(nodes, np.array([[1.0, 0.5, 0.25]]), layout, ("x",), ("y",), 3)
    # the last input, half the input before the last, and 1: then the first output takes the last place
    assert free_running(graph, np.array([[[4.0], [2.0], [6.0]]]), whole=True)[0, :, 0].tolist() == [
        17,
        20,
        27,
    ]


def test_what_reads_recurrences_treats_selections_with_care() -> None:
    node = RouterNode(
        "V1", "equality", {"query": 0, "key": 0, "value": 0}, relative_bias=np.zeros(2), null_score=-1.0
    )
    chosen = Step("y", Selection("x", "z", Var("x"), node.scores()))
    machine = Recurrence(("x",), (Step("z", Var("x") + 1), chosen), ("y",))
    bits = (integers(0, 1),)
    with pytest.raises(ValueError, match="no selections"):
        Program("p", machine, bits)
    assert expand_retrievals(product(machine, machine, bits)) is None
    kinds = kinds_of(machine, bits)
    assert "y" in kinds.integers
    assert kinds.values["y"] == (0.0, 1.0, 2.0)
    assert definition_variables(renamed(chosen.definition, {"z": "w"}))[-1] == Var("w")
    assert formula_lines(machine)[1] == "y[t] = z[s] at the s <= t where x[s] scores highest for x[t], else 0"
    for data in ({"bias": []}, {"value_range": [1.0, 1.0]}, {"query_table": [[1.0]], "key_table": [[1.0]]}):
        with pytest.raises(ValueError, match="scores"):
            Scores.from_dict(node.scores().to_dict() | data)
