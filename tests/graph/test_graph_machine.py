"""The network as a recurrence: the same numbers as the graph, whatever heads it has."""

import numpy as np
import pytest

from case_table import random_graph, rows
from weights2code.data import Layout, from_arrays
from weights2code.errors import NotExtracted
from weights2code.explain import own_heads
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode, machine_of
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


@pytest.mark.parametrize("seed", range(12))
def test_the_machine_is_the_graph(seed: int, own_kind: str) -> None:
    inputs, outputs, past = [(1, 1, False), (2, 1, True), (1, 2, True), (2, 2, False)][seed % 4]
    kinds = (*(kind for kind in BUILT_IN if kind != "location"), own_kind)
    graph = random_graph(seed, kinds, inputs=inputs, outputs=outputs, past=past)
    x, past_outputs = (rows((integers(-3, 3),) * width, 20, 12, seed=seed) for width in (inputs, outputs))
    machine = machine_of(graph, whole=False)
    given = machine.run(x, past_outputs, 12)
    np.testing.assert_allclose(given, graph.run(from_arrays(x, past_outputs)), rtol=1e-9, atol=1e-9)
    rounded = machine_of(graph, whole=True)
    assert np.array_equal(rounded.run(x, past_outputs, 12), np.floor(given + 0.5))
    assert Recurrence.from_dict(rounded.to_dict()) == rounded
    own = [step.name for step in rounded.steps if "." not in step.name]
    live = [graph.nodes[index].name for index in graph.live()]
    assert [name for name in own if name in live] == [name for name in live if name in own]


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


def seeking(bias: list[float]) -> RouterNode:
    reads = {"query": 0, "key": 0, "value": 0}
    return RouterNode("V1", "equality", reads, relative_bias=np.array(bias), null_score=-1.0)


def test_a_selection_takes_the_oldest_of_equals_or_nothing() -> None:
    made = Selection("x", "x", Var("x"), seeking([-9.0, 0.0]).scores())
    machine = Recurrence(("x",), (Step("y", made),), ("y",))
    assert machine.run(np.array([[[1.0], [2.0], [1.0]]]))[0, :, 0].tolist() == [0, 0, 1]


def test_names_of_nodes_make_way_for_columns() -> None:
    layout = Layout("tagging", (1.0,), (1.0,))
    graph = DiscreteGraph((ChannelNode("V0", "V0"),), np.array([[2.0, 1]]), layout, ("V0",), ("y",), 3)
    assert machine_of(graph, whole=True).run(np.ones((1, 1, 1)))[0, 0, 0] == 3


def test_one_sequence_of_inputs_and_outputs_is_a_recurrence_of_tokens_alone() -> None:
    layout = Layout("concat", (2.0,), (4.0,))
    nodes = (ChannelNode("V0", "token0"), RouterNode("V1", "location", {"value": 0}, 2))
    graph = DiscreteGraph(nodes, np.array([[1.0, 0.5, 0.25]]), layout, ("x",), ("y",), 3)
    with pytest.raises(NotExtracted):
        machine_of(graph, whole=True)
    # the last input, half the input before the last, and 1: then the first output takes the last place
    found = free_running(graph, np.array([[[4.0], [2.0], [6.0]]]), whole=True)
    assert found[0, :, 0].tolist() == [17, 20, 27]


def test_what_reads_recurrences_treats_selections_with_care() -> None:
    node = seeking([0.0, 0.0])
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
