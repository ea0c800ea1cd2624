"""What the head reaches, what a unit means, and pruning: needed nodes stay, others go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.graph import (
    ChannelNode,
    DiscreteGraph,
    Node,
    OperatorNode,
    RouterNode,
    prune_by_effect,
    prune_by_threshold,
)
from weights2code.graph.pruning import FACTOR, HARMLESS, NOTICEABLE

DIFFERENCE = np.array([[1.0, -1.0], [-1.0, 1.0]])
SCORED = np.ones((64, 10), bool)
X = ChannelNode("V0_input", "x")


def location(index: int, value: int, offset: int | None, start: float = 0.0) -> RouterNode:
    return RouterNode(f"V{index}_Attn_L0H0", "location", {"value": value}, offset, start)


def distance(index: int, a: int, b: int, scale: float = 1.0) -> OperatorNode:
    """scale * |a - b|"""
    return OperatorNode(f"V{index}_MLP_L0M0", (a, b), DIFFERENCE, np.zeros(2), scale * np.ones(2), 0.0)


def graph_of(nodes: Sequence[Node], head: dict[int, float], intercept: float = 0.0) -> DiscreteGraph:
    row = np.zeros(len(nodes) + 1)
    for index, weight in head.items():
        row[index] = weight
    row[-1] = intercept
    return DiscreteGraph(tuple(nodes), row[None], Layout("tagging", (1.0,), (1.0,)), ("x",), ("y",), 10)


def bits(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (64, 10, 1)).astype(float)


def parity() -> DiscreteGraph:
    """|x[t] - x[t-1]|, beside a head and a sub-MLP that nobody needs."""
    nodes = [X, location(1, 0, 1), location(2, 0, 3), distance(3, 0, 1), distance(4, 0, 1, 2.0)]
    return graph_of(nodes, {2: 1e-7, 3: 0.5, 4: 0.25})


# -- reach and units -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "live"),
    [
        ([[0, 0, 1e-7, 0.5, 0.25, 0]], (0, 1, 2, 3, 4)),
        ([[0, 0, 0, 1.0, 0, 0]], (0, 1, 3)),
        ([[0, 0, 1.0, 0, 0, 0]], (0, 2)),
        ([[0, 0, 0, 0, 0, 5.0]], ()),
        ([[0, 1.0, 0, 0, 0, 0], [0, 0, 1.0, 0, 0, 0]], (0, 1, 2)),  # of several outputs
    ],
)
def test_live_nodes_are_what_the_head_reaches(head: list[list[float]], live: tuple[int, ...]):
    assert replace(parity(), head=np.array(head), outputs=("y", "z")[: len(head)]).live() == live


def test_the_null_slot_reads_nothing_and_seekers_read_three_values():
    seeker = RouterNode("V3_Attn_L0H0", "equality", {"query": 2, "key": 0, "value": 1})
    assert location(1, 0, None).sources() == ()
    assert set(seeker.sources()) == {0, 1, 2}
    assert graph_of([X, location(1, 0, None)], {1: 1.0}).live() == (1,)


def test_units_follow_the_values_that_are_copied():
    nodes: list[Node] = [ChannelNode(f"V{i}_input", name) for i, name in enumerate(("a", "b", "y[t-1]"))]
    nodes += [location(3, 1, 1), location(4, 2, 2), distance(5, 0, 1), location(6, 5, 1), location(7, 3, 1)]
    layout = Layout("autoregressive", (2.0, 16.0), (8.0,))
    graph = DiscreteGraph(tuple(nodes), np.zeros((1, 9)), layout, ("a", "b"), ("y",), 10)
    assert graph.units().tolist() == [2, 16, 8, 16, 8, 1, 1, 16]
    tokens = Layout("concat", (4.0,), (4.0,))
    short = replace(graph, nodes=(nodes[0], location(1, 0, 9)), layout=tokens, inputs=("x",))
    assert short.units().tolist() == [4, 4]


# -- by threshold --------------------------------------------------------------------------------------------


def test_small_head_weights_go_and_the_intercept_stays():
    graph = graph_of([X, location(1, 0, 1)], {0: 0.01, 1: -0.5}, 1e-6)
    pruned = prune_by_threshold(graph, 0.1)
    assert pruned.head.tolist() == [[0.0, -0.5, 1e-6]]
    assert graph.head[0, 0] == 0.01  # the graph itself is left as it was
    assert prune_by_threshold(graph, 0.0).head.tolist() == graph.head.tolist()


# -- by effect -----------------------------------------------------------------------------------------------


def test_a_dead_head_and_a_redundant_operator_go_and_the_needed_one_stays():
    x = bits()
    target = np.abs(x - np.concatenate([np.zeros((64, 1, 1)), x[:, :-1]], 1))
    pruned = prune_by_effect(parity(), x, target, SCORED)
    assert pruned.live() in ((0, 1, 3), (0, 1, 4))  # one of the two equal ones
    assert np.allclose(pruned.predict(bits(1)), np.round(parity().predict(bits(1))), atol=1e-6)


def test_an_operand_without_effect_is_cut():
    weight = np.array([[1.0, -1.0, 1e-9], [-1.0, 1.0, 0.0]])
    operator = OperatorNode("V3_MLP_L0M0", (0, 1, 2), weight, np.zeros(2), np.ones(2), 0.0)
    graph, x = graph_of([X, location(1, 0, 1), location(2, 0, 2), operator], {3: 1.0}), bits()
    kept = prune_by_effect(graph, x, graph.predict(x), SCORED).nodes[3]
    assert isinstance(kept, OperatorNode)
    assert kept.hidden_weight.tolist() == [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]]


def test_each_output_keeps_what_it_needs():
    head, x = np.array([[1.0, 1.0, 1e-9, 0.0], [1e-9, 0.0, 2.0, 1.0]]), bits()
    graph = replace(graph_of([X, location(1, 0, 1), location(2, 0, 2)], {}), head=head, outputs=("y", "z"))
    target = graph.predict(x)
    pruned = prune_by_effect(graph, x, np.round(target), SCORED)
    assert (pruned.head[:, :-1] != 0).tolist() == [[True, True, False], [False, False, True]]
    assert np.allclose(pruned.predict(x), target, atol=1e-6)


def test_only_scored_positions_count():
    x, nodes = bits(), [X, location(1, 0, 1)]
    target = x.copy()
    target[:, 5:] += graph_of(nodes, {1: 1.0}).predict(x)[:, 5:]
    early = SCORED.copy()
    early[:, 5:] = False
    graph = graph_of(nodes, {0: 1.0, 1: 1.0})
    assert prune_by_effect(graph, x, target, early).live() == (0,)
    assert prune_by_effect(graph, x, target, ~early).live() == (0, 1)


@pytest.mark.parametrize("noise", [1e-4, 0.05, 0.5])
def test_no_pass_raises_the_loss_above_its_limit(noise: float):
    """Nodes that carry a little of the target each: some may go, until the limit is reached."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(64, 10, 1))
    graph = graph_of([X, *(location(i, 0, i) for i in range(1, 6))], {i: 0.3**i for i in range(6)})
    target = graph.predict(x) + noise * rng.normal(size=(64, 10, 1))
    columns, wanted = graph.stream(x)[SCORED], target[SCORED][:, 0]

    def loss(kept: list[int]) -> float:
        """Of the best weights of these nodes."""
        design = np.column_stack([columns[:, kept], np.ones(len(wanted))])
        rest = design @ np.linalg.lstsq(design, wanted)[0] - wanted
        return float(np.var(rest) / np.var(wanted))

    before = loss(list(range(6)))
    limit = max(HARMLESS, min(FACTOR * before, before + NOTICEABLE))
    kept = [int(i) for i in np.flatnonzero(prune_by_effect(graph, x, target, SCORED).head[0, :-1])]
    assert kept
    assert loss(kept) <= limit
    for index in kept:  # nothing more could have gone
        assert loss([i for i in kept if i != index]) > limit


def test_a_factor_near_one_keeps_more():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 10, 1))
    graph = graph_of([X, location(1, 0, 1)], {0: 1.0, 1: 0.01})
    target = graph.predict(x) + 0.01 * rng.normal(size=(64, 10, 1))
    assert prune_by_effect(graph, x, target, SCORED, factor=3.0).live() == (0,)
    assert prune_by_effect(graph, x, target, SCORED, factor=1.02).live() == (0, 1)
