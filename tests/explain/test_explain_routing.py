"""Routing hypotheses on hand-built heads: each is recognised, confounds are resolved, failures are honest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weights2code.data import Layout, from_arrays
from weights2code.errors import NotExtracted
from weights2code.explain import (
    EqualityRetrieval,
    FixedOffset,
    Nothing,
    OffsetExtremum,
    PrefixAggregate,
    WindowedExtremum,
    compare_hypotheses,
    match_heads,
)
from weights2code.explain.routing import evidence, match
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode

LENGTH = 10
WINDOW = LENGTH  # offsets that the bias of a pointer head tells apart


def numbers(columns: int = 1, seed: int = 0, high: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if high is None:
        return rng.uniform(-1, 1, (80, LENGTH, columns))
    return rng.integers(0, high, (80, LENGTH, columns)) / 1.0


def location(offset: int | None, start: float = 0.0) -> RouterNode:
    return RouterNode("V1_Attn_L0H0", "location", {"value": 0}, offset, start)


def pointer(bias: Any, null: float, slope: float = 0.0, value: int = 0) -> RouterNode:
    """A head whose content score is slope * key (whatever the query), plus a bias for each offset."""
    keys = np.linspace(-1, 1, 9)[:, None] * slope
    return RouterNode(
        "V1_Attn_L0H0", "pointer", {"query": 0, "key": 0, "value": value},
        query_table=np.ones((9, 1)), key_table=keys,
        relative_bias=np.asarray(bias, float) * np.ones(WINDOW), null_score=null,
    )  # fmt: skip


def only(offset: int) -> np.ndarray:
    """A bias that leaves one offset."""
    return np.where(np.arange(WINDOW) == offset, 0.0, -100.0)


def window(size: int) -> np.ndarray:
    return np.where(np.arange(WINDOW) < size, 0.0, -1000.0)


def matched(node: RouterNode, values: np.ndarray) -> Any:
    found = match(node, values)
    assert found.hypothesis is not None
    return found.hypothesis, found.evidence


# -- every hypothesis ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1, 3, 9])
@pytest.mark.parametrize("start", [0.0, 0.5])
def test_location_heads_are_what_they_say(offset: int, start: float):
    values = numbers()
    found, seen = matched(location(offset, start), values)
    assert found == FixedOffset(offset, start)
    assert seen.at_start == 1.0
    assert np.array_equal(
        found.predict(location(offset, start), values), location(offset, start).compute(values)
    )


def test_the_null_slot_is_nothing():
    found, seen = matched(location(None, 0.25), numbers())
    assert found == Nothing(0.25)
    assert (seen.agreement, seen.worst, seen.positions) == (1.0, 1.0, 800)
    assert matched(pointer(-100.0, 0.0), numbers())[0] == Nothing()


@pytest.mark.parametrize("offset", [0, 1, 2, 5, 9])
def test_a_pointer_head_with_one_offset(offset: int):
    found, seen = matched(pointer(only(offset), -50.0), numbers())
    assert found == FixedOffset(offset)
    assert (seen.agreement, seen.at_start, seen.worst) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("size", [2, 3, 5, 9])
@pytest.mark.parametrize("largest", [True, False])
def test_windowed_extrema(size: int, largest: bool):
    node = pointer(window(size), -500.0, slope=100.0 if largest else -100.0)
    found, seen = matched(node, numbers())
    assert found == WindowedExtremum(size, largest)
    assert (seen.agreement, seen.at_start) == (1.0, 1.0)  # the window is shorter at the start


def test_the_null_slot_may_take_part_in_an_extremum():
    # of two ones the older is chosen, and the null slot comes before a single one
    bias = np.full(LENGTH, -500.0)
    bias[:2] = 0.0, 50.0
    found, seen = matched(pointer(bias, -75.0, slope=-100.0), numbers(high=2))
    assert found == WindowedExtremum(2, largest=False, zero_before=True)
    assert (seen.agreement, seen.at_start) == (1.0, 1.0)
    assert found.describe() == "Windowed minimum 2, 0 before the start"


@pytest.mark.parametrize("largest", [True, False])
def test_the_larger_of_two_offsets(largest: bool):
    bias = np.where(np.isin(np.arange(WINDOW), (0, 4)), 0.0, -1000.0)
    found, seen = matched(pointer(bias, -500.0, slope=100.0 if largest else -100.0), numbers())
    assert found == OffsetExtremum((0, 4), largest)
    assert (seen.agreement, seen.at_start) == (1.0, 1.0)
    assert found.describe() == f"{'Maximum' if largest else 'Minimum'} of offsets 0 and 4"


@pytest.mark.parametrize("largest", [True, False])
def test_extrema_of_everything_so_far(largest: bool):
    node = pointer(0.0, -500.0, slope=100.0 if largest else -100.0)
    assert matched(node, numbers())[0] == WindowedExtremum(None, largest)
    kind = "max" if largest else "min"
    aggregate = RouterNode("V1_Attn_L0H0", kind, {"value": 0})
    assert matched(aggregate, numbers())[0] == WindowedExtremum(None, largest)


@pytest.mark.parametrize("gap", [0, 1])
def test_retrieval_by_an_equal_key(gap: int):
    bias = np.where(np.arange(WINDOW) < gap, -1e6, 0.0)
    reads = {"query": 2, "key": 0, "value": 1}
    node = RouterNode("V3_Attn_L0H0", "equality", reads, relative_bias=bias, null_score=-10.0)
    values = numbers(3, high=4)
    found, seen = matched(node, values)
    assert found == EqualityRetrieval(gap)
    assert seen.agreement == 1.0
    best = found.predict(node, values)
    for n, t in ((0, 0), (3, 4), (7, 9)):
        newest = [s for s in range(t - gap + 1) if values[n, s, 0] == values[n, t, 2]]
        assert best[n, t] == (values[n, newest[-1], 1] if newest else 0.0)


@pytest.mark.parametrize("kind", ["mean", "sum"])
def test_aggregates(kind: str):
    node = RouterNode("V1_Attn_L0H0", kind, {"value": 0})
    found, seen = matched(node, numbers())
    assert found == PrefixAggregate(kind)
    assert seen.worst == 1.0


def test_every_hypothesis_says_what_it_is():
    words = [
        FixedOffset(2), WindowedExtremum(3, True), WindowedExtremum(None, False), EqualityRetrieval(0),
        EqualityRetrieval(1), PrefixAggregate("mean"), PrefixAggregate("sum"), Nothing(),
    ]  # fmt: skip
    assert [word.describe() for word in words] == [
        "Fixed offset 2", "Windowed maximum 3", "Prefix minimum", "Equality retrieval",
        "Equality retrieval at least 1 back", "Prefix mean", "Prefix sum", "Nothing (null slot)",
    ]  # fmt: skip


# -- ties, confounds and the start ---------------------------------------------------------------------------


def test_positions_that_hold_the_same_value_are_no_disagreement():
    """On bits a maximum finds its 1 at many positions; which of them does not matter."""
    node = pointer(window(3), -500.0, slope=100.0)
    found, seen = matched(node, numbers(high=2))
    assert found == WindowedExtremum(3, True)
    assert seen.agreement == 1.0


def test_on_monotone_data_the_simpler_of_two_equal_hypotheses_wins():
    rising = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.1, (60, LENGTH, 1)), 1)
    highest = pointer(window(3), -500.0, slope=100.0)
    assert matched(highest, rising)[0] == FixedOffset(0)
    lowest = pointer(window(3), -500.0, slope=-100.0)
    ranked = dict(compare_hypotheses(lowest, rising))
    assert ranked[FixedOffset(2)].agreement == ranked[WindowedExtremum(3, False)].agreement == 1.0
    # the minimum also holds where the window is cut off at the start, the offset does not
    assert ranked[FixedOffset(2)].at_start < 1.0
    assert matched(lowest, rising)[0] == WindowedExtremum(3, False)


def test_a_few_falling_sequences_tell_the_extremum_from_the_offset():
    data = np.concatenate([np.sort(numbers(), 1), numbers(seed=1)[:20]])
    node = pointer(window(2), -500.0, slope=100.0)
    ranked = dict(compare_hypotheses(node, data))
    assert matched(node, data)[0] == WindowedExtremum(2, True)
    assert 0.8 < ranked[FixedOffset(0)].agreement < 0.99


def test_evidence_at_the_start_is_kept_apart():
    """Without a null slot a head looks at the first value where its offset leaves the sequence."""
    bias = np.where(np.arange(WINDOW) == 2, 0.0, -10.0 - np.arange(WINDOW))
    node = pointer(bias, -1000.0)
    found, seen = matched(node, numbers())
    assert found == FixedOffset(2)
    assert seen.agreement == 1.0
    assert seen.at_start == 0.0
    assert seen.anywhere == 0.8


def test_a_start_value_belongs_to_the_hypothesis():
    node = location(2, 0.5)
    right, wrong = (
        evidence(FixedOffset(2, start), node, numbers(), node.compute(numbers())) for start in (0.5, 0.0)
    )
    assert right.at_start == 1.0
    assert wrong.at_start == 0.0
    assert wrong.agreement == 1.0


def test_one_position_is_not_enough_to_match():
    """A head that always looks at the first value has the longest offset at the last position only."""
    node = pointer(10.0 * np.arange(WINDOW), -500.0)
    values = numbers()
    assert np.array_equal(node.compute(values), np.repeat(values[:, :1, 0], LENGTH, 1))
    assert match(node, values).hypothesis is None
    assert evidence(FixedOffset(LENGTH - 1), node, values, node.compute(values)).agreement == 1.0


# -- heads that match nothing --------------------------------------------------------------------------------


def strange(index: int) -> RouterNode:
    """Selects by an encoding that is neither order nor equality: the key nearest to 0.3."""
    keys = -100.0 * np.abs(np.linspace(-1, 1, 9) - 0.3)[:, None]
    return RouterNode(
        f"V{index}_Attn_L0H{index}", "pointer", {"query": 0, "key": 0, "value": 0},
        query_table=np.ones((9, 1)), key_table=keys, relative_bias=np.zeros(WINDOW), null_score=-1e4,
    )  # fmt: skip


def graph_with(head: list[float]) -> DiscreteGraph:
    """x, its last value, a strange head, a function of both, a strange head that nobody reads."""
    operator = OperatorNode("V3_MLP_L0M0", (1, 2), np.eye(2), np.zeros(2), np.ones(2), 0.0)
    nodes: tuple[Node, ...] = (ChannelNode("V0_input", "x"), location(1), strange(2), operator, strange(4))
    return DiscreteGraph(nodes, np.array([head]), Layout("tagging", (1.0,), (1.0,)), ("x",), ("y",), LENGTH)


def sequences():
    return from_arrays(numbers(), numbers())


def test_a_dead_head_is_harmless():
    graph = graph_with([1.0, 1.0, 0, 0, 0, 0])
    matched = match_heads(graph, sequences())
    assert set(matched.routers) == {1}
    assert matched.routers[1].hypothesis == FixedOffset(1)
    matched.require()


@pytest.mark.parametrize(("head", "name"), [([0, 0, 0, 1.0, 0, 0], "V2_"), ([0, 1.0, 0, 0, 1.0, 0], "V4_")])
def test_a_live_head_without_a_match_is_named(head: list[float], name: str):
    graph = graph_with(head)
    with pytest.raises(NotExtracted, match=f"the live head {name}") as caught:
        match_heads(graph, sequences()).require()
    values = graph.stream(sequences().x)
    index = int(name[1])
    node = graph.nodes[index]
    assert isinstance(node, RouterNode)
    best, seen = compare_hypotheses(node, values)[0]
    assert f"(best: {best.describe()} ({seen.agreement:.3f}))" in str(caught.value)
    assert seen.agreement < 0.99
    assert caught.value.exit_code == 3


def test_a_match_names_the_runner_up():
    """The second best, not the winner again."""
    found = match_heads(graph_with([0, 1.0, 0, 0, 0, 0]), sequences()).routers[1]
    assert found.runner_up is None  # a location head has one hypothesis
    nodes: tuple[Node, ...] = (ChannelNode("V0_input", "x"), pointer(only(1), -50.0))
    graph = DiscreteGraph(
        nodes, np.array([[0, 1.0, 0]]), Layout("tagging", (1.0,), (1.0,)), ("x",), ("y",), LENGTH
    )
    found = match_heads(graph, sequences()).routers[1]
    assert found.hypothesis == FixedOffset(1)
    assert found.runner_up
    assert not found.runner_up_words.startswith("Fixed offset 1 ")


def test_a_graph_with_matched_heads_only_has_nothing_to_analyse():
    graph = graph_with([0, 1.0, 0, 0, 0, 0])
    nodes = tuple(node for node in graph.nodes if "H2" not in node.name and "H4" not in node.name)
    kept = DiscreteGraph(nodes[:2], np.array([[0, 1.0, 0]]), graph.layout, ("x",), ("y",), LENGTH)
    routers = match_heads(kept, sequences(), dead=True).routers
    assert [found.hypothesis for found in routers.values()] == [FixedOffset(1)]
