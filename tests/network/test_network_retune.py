"""Networks that were damaged, or could not be right, are right after tuning, with a margin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from weights2code.data import Layout, Sequences, from_arrays
from weights2code.graph import DiscreteGraph, Node, OperatorNode, to_dict
from weights2code.graph.from_model import graph_with_names
from weights2code.graph.machine import free_running
from weights2code.graph.to_model import model_of
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.network.tuning.retune import retuned

LENGTH = 8


def made(architecture: Architecture, layout: Layout, seed: int = 0) -> DiscreteGraph:
    model = DiscreteTransformer(architecture, 1, seed=seed, dtype=torch.float64)
    inputs = tuple(f"x{i}" for i in range(len(layout.input_scales)))
    outputs = tuple(f"y{i}" for i in range(layout.outputs))
    return graph_with_names(model.weights(), 0, layout, inputs, outputs, LENGTH)


def wired(graph: DiscreteGraph, *operands: tuple[int, ...], read: tuple[int, ...] = ()) -> DiscreteGraph:
    """The graph whose sub-MLPs have these operands, and whose head reads those nodes."""
    places = [i for i, node in enumerate(graph.nodes) if isinstance(node, OperatorNode)]
    nodes: list[Node] = list(graph.nodes)
    for place, own in zip(places, operands, strict=True):
        nodes[place] = replace(nodes[place], operands=own)  # type: ignore[arg-type]
    head = graph.head.copy()
    head[:, [i for i in range(len(nodes)) if i not in (read or places)]] = 0.0
    return replace(graph, nodes=tuple(nodes), head=head)


def worst(graph: DiscreteGraph, sequences: Sequences) -> float:
    return float(np.abs(graph.run(sequences) - sequences.y)[sequences.scored].max())


def bits(n: int = 200, columns: int = 1, top: int = 1, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, top + 1, (n, LENGTH, columns)).astype(float)


def modular(top: int = 4) -> tuple[DiscreteGraph, Sequences]:
    """y[t] = (x[t] + y[t-1]) % (top + 1), and a network of random weights that sees both."""
    x = bits(300, top=top)
    y = np.cumsum(x, 1) % (top + 1)
    layout = Layout("autoregressive", (4.0,), (4.0,))
    architecture = Architecture(channels=2, past=1, location=1, submlps=2, window=4)
    return wired(made(architecture, layout), (0, 1), (1, 0)), from_arrays(x, y)


def damaged(graph: DiscreteGraph, noise: float, seed: int = 0) -> DiscreteGraph:
    rng = np.random.default_rng(seed)
    nodes = [
        replace(
            node,
            hidden_weight=node.hidden_weight * (1 + noise * rng.normal(size=node.hidden_weight.shape)),
            hidden_bias=node.hidden_bias + noise * rng.normal(size=node.hidden_bias.shape),
            output_weight=node.output_weight * (1 + noise * rng.normal(size=node.output_weight.shape)),
        )
        if isinstance(node, OperatorNode)
        else node
        for node in graph.nodes
    ]
    return replace(graph, nodes=tuple(nodes))


def test_a_damaged_network_is_repaired_and_then_left_alone() -> None:
    graph, sequences = modular()
    right = retuned(graph, sequences, whole=True)
    assert worst(right, sequences) < 0.05
    broken = damaged(right, 0.1)
    assert worst(broken, sequences) > 0.5
    repaired = retuned(broken, sequences, whole=True)
    assert worst(repaired, sequences) < 0.05
    assert retuned(repaired, sequences, whole=True) is repaired
    fresh = bits(50, top=4, seed=9)
    assert np.array_equal(free_running(repaired, fresh, whole=True), np.cumsum(fresh, 1) % 5)


def test_units_are_added_where_there_are_too_few_and_written_back() -> None:
    """A function of one operand with ten kinks, and a sub-MLP of three hidden units."""
    layout = Layout("tagging", (8.0,), (1.0,))
    model = DiscreteTransformer(
        Architecture(channels=1, location=1, submlps=1, arity=1, hidden=3, window=4), 2, dtype=torch.float64
    )
    x = bits(100, top=10)
    sequences = from_arrays(x, x % 2)
    graph = wired(graph_with_names(model.weights(), 1, layout, ("x",), ("y",), LENGTH), (0,))
    found = retuned(graph, sequences, whole=True)
    assert worst(found, sequences) < 0.3
    node = found.nodes[-1]
    assert isinstance(node, OperatorNode)
    assert 3 < len(node.hidden_bias) < 40
    again = graph_with_names(model_of(found, model.weights()), 0, layout, ("x",), ("y",), LENGTH)
    assert to_dict(again) == to_dict(found)


def test_weighted_sums_become_exact() -> None:
    layout = Layout("autoregressive", (8.0,), (64.0,))
    graph = made(Architecture(channels=2, past=1, location=1, submlps=0, window=4), layout)
    head = np.zeros_like(graph.head)
    head[0, :2] = 8.0 / 64.0 + 1e-9, 1.0 - 1e-10
    x = bits(top=20)
    sequences = from_arrays(x, np.cumsum(x, 1))
    found = retuned(replace(graph, head=head), sequences, whole=True)
    assert found.head[0].tolist() == [0.125, 1.0, 0.0, 0.0]
    assert retuned(found, sequences, whole=True) is found


@pytest.mark.slow
def test_real_outputs_come_nearer() -> None:
    """A product of two inputs in [0, 1], which no finite network has."""
    x = np.random.default_rng(0).random((300, LENGTH, 2))
    sequences = from_arrays(x, x[..., :1] * x[..., 1:])
    layout = Layout("tagging", (1.0,) * 2, (1.0,))
    graph = wired(made(Architecture(channels=2, submlps=1), layout), (0, 1))
    found = retuned(graph, sequences, whole=False)
    fresh = np.random.default_rng(1).random((50, LENGTH, 2))
    assert worst(found, from_arrays(fresh, fresh[..., :1] * fresh[..., 1:])) < 3e-3


def test_a_network_that_cannot_be_right_is_left_as_it_is() -> None:
    """The output depends on what the network does not read."""
    graph, _ = modular()
    x = bits(100, top=4)
    noise = np.random.default_rng(5).integers(0, 5, x.shape).astype(float)
    assert retuned(graph, from_arrays(x, noise), whole=True) is graph


def test_values_with_gaps_between_them_are_told_apart() -> None:
    """The values of one operand lie so far apart that counting them would put two points together."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.choice([0, 1, 2, 9], (200, LENGTH)), rng.integers(0, 4, (200, LENGTH))], -1).astype(
        float
    )
    table = rng.integers(0, 8, (10, 4)).astype(float)
    sequences = from_arrays(x, table[x[..., 0].astype(int), x[..., 1].astype(int)][..., None])
    layout = Layout("tagging", (8.0, 4.0), (8.0,))
    graph = wired(made(Architecture(channels=2, submlps=1), layout), (0, 1))
    assert worst(retuned(graph, sequences, whole=True), sequences) < 1e-6
