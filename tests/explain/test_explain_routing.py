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
from weights2code.explain.routing import match
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode

LENGTH = 10
OFFSETS = np.arange(LENGTH)  # that the bias of a pointer head tells apart


def numbers(columns: int = 1, seed: int = 0, high: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if high is None:
        return rng.uniform(-1, 1, (80, LENGTH, columns))
    return rng.integers(0, high, (80, LENGTH, columns)) / 1.0


def head(kind: str, **own: Any) -> RouterNode:
    return RouterNode("V1_Attn_L0H0", kind, {"value": 0}, **own)


def location(offset: int | None, start: float = 0.0) -> RouterNode:
    return head("location", offset=offset, start=start)


def pointer(bias: Any, null: float, slope: float = 0.0) -> RouterNode:
    """A head whose content score is slope * key (whatever the query), plus a bias for each offset."""
    return RouterNode(
        "V1_Attn_L0H0", "pointer", {"query": 0, "key": 0, "value": 0},
        query_table=np.ones((9, 1)), key_table=np.linspace(-1, 1, 9)[:, None] * slope,
        relative_bias=np.asarray(bias, float) * np.ones(LENGTH), null_score=null,
    )  # fmt: skip


def among(offsets: Any, null: float = -500.0, slope: float = 0.0) -> RouterNode:
    """A pointer head that these offsets are left to."""
    return pointer(np.where(np.isin(OFFSETS, offsets), 0.0, -1000.0), null, slope)


def matched(node: RouterNode, values: np.ndarray) -> Any:
    found = match(node, values)
    assert found.hypothesis is not None
    return found.hypothesis, found.evidence


# -- every hypothesis ----------------------------------------------------------------------------------------

#: Of two ones the older is chosen, and the null slot comes before a single one.
NULL_BETWEEN = np.array([0.0, 50.0, *[-500.0] * 8])
EITHER = (True, 100.0), (False, -100.0)
FOUND: list[tuple[RouterNode, Any, str]] = [
    *((location(offset, start), FixedOffset(offset, start), f"Fixed offset {offset}")
      for offset in (0, 1, 3, 9) for start in (0.0, 0.5)),
    (location(None, 0.25), Nothing(0.25), "Nothing (null slot)"),
    (pointer(-100.0, 0.0), Nothing(), "Nothing (null slot)"),
    *((among([offset]), FixedOffset(offset), f"Fixed offset {offset}") for offset in (0, 1, 2, 5, 9)),
    *((among(range(size), slope=slope), WindowedExtremum(size, largest),
       f"Windowed {'max' if largest else 'min'}imum {size}")
      for size in (2, 3, 5, 9) for largest, slope in EITHER),
    *((among([0, 4], slope=slope), OffsetExtremum((0, 4), largest),
       f"{'Max' if largest else 'Min'}imum of offsets 0 and 4") for largest, slope in EITHER),
    *((pointer(0.0, -500.0, slope), WindowedExtremum(None, largest),
       f"Prefix {'max' if largest else 'min'}imum")
      for largest, slope in EITHER),
    (head("max"), WindowedExtremum(None, True), "Prefix maximum"),
    (head("min"), WindowedExtremum(None, False), "Prefix minimum"),
    (head("mean"), PrefixAggregate("mean"), "Prefix mean"),
    (head("sum"), PrefixAggregate("sum"), "Prefix sum"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "hypothesis", "words"), FOUND)
def test_a_head_is_recognised(node: RouterNode, hypothesis: Any, words: str):
    found, seen = matched(node, numbers())
    assert found == hypothesis
    assert found.describe() == words
    assert (seen.agreement, seen.at_start, seen.worst) == (1.0, 1.0, 1.0)
    assert np.allclose(found.predict(node, numbers()), node.compute(numbers()))


def test_values_that_are_equal_are_no_disagreement():
    """On bits a maximum finds its 1 at many positions; and the null slot may take part in an extremum."""
    found, seen = matched(among(range(3), slope=100.0), numbers(high=2))
    assert (found, seen.agreement) == (WindowedExtremum(3, True), 1.0)
    found, seen = matched(pointer(NULL_BETWEEN, -75.0, slope=-100.0), numbers(high=2))
    assert found == WindowedExtremum(2, largest=False, zero_before=True)
    assert (seen.agreement, seen.at_start) == (1.0, 1.0)
    assert found.describe() == "Windowed minimum 2, 0 before the start"


@pytest.mark.parametrize(
    ("gap", "words"), [(0, "Equality retrieval"), (1, "Equality retrieval at least 1 back")]
)
def test_retrieval_by_an_equal_key(gap: int, words: str):
    bias, reads = np.where(gap > OFFSETS, -1e6, 0.0), {"query": 2, "key": 0, "value": 1}
    node = RouterNode("V3_Attn_L0H0", "equality", reads, relative_bias=bias, null_score=-10.0)
    values = numbers(3, high=4)
    found, seen = matched(node, values)
    assert (found, found.describe(), seen.agreement) == (EqualityRetrieval(gap), words, 1.0)
    best = found.predict(node, values)
    for n, t in ((0, 0), (3, 4), (7, 9)):
        newest = [s for s in range(t - gap + 1) if values[n, s, 0] == values[n, t, 2]]
        assert best[n, t] == (values[n, newest[-1], 1] if newest else 0.0)


# -- confounds and the start ---------------------------------------------------------------------------------


def test_on_monotone_data_the_simpler_of_two_equal_hypotheses_wins():
    rising = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.1, (60, LENGTH, 1)), 1)
    assert matched(among(range(3), slope=100.0), rising)[0] == FixedOffset(0)
    lowest = among(range(3), slope=-100.0)
    ranked = dict(compare_hypotheses(lowest, rising))
    assert ranked[FixedOffset(2)].agreement == ranked[WindowedExtremum(3, False)].agreement == 1.0
    # the minimum also holds where the window is cut off at the start, the offset does not
    assert ranked[FixedOffset(2)].at_start < 1.0
    assert matched(lowest, rising)[0] == WindowedExtremum(3, False)
    # a few falling sequences tell the extremum from the offset
    data = np.concatenate([np.sort(numbers(), 1), numbers(seed=1)[:20]])
    assert matched(among(range(2), slope=100.0), data)[0] == WindowedExtremum(2, True)
    assert 0.8 < dict(compare_hypotheses(among(range(2), slope=100.0), data))[FixedOffset(0)].agreement < 0.99


# -- heads that match nothing --------------------------------------------------------------------------------


def strange(index: int) -> RouterNode:
    """Selects by an encoding that is neither order nor equality: the key nearest to 0.3."""
    keys = -100.0 * np.abs(np.linspace(-1, 1, 9) - 0.3)[:, None]
    return RouterNode(
        f"V{index}_Attn_L0H{index}", "pointer", {"query": 0, "key": 0, "value": 0},
        query_table=np.ones((9, 1)), key_table=keys, relative_bias=np.zeros(LENGTH), null_score=-1e4,
    )  # fmt: skip


def graph_with(weights: list[float], *nodes: Node) -> DiscreteGraph:
    """x, its last value, a strange head, a function of both, a strange head that nobody reads."""
    operator = OperatorNode("V3_MLP_L0M0", (1, 2), np.eye(2), np.zeros(2), np.ones(2), 0.0)
    others = nodes or (location(1), strange(2), operator, strange(4))
    layout = Layout("tagging", (1.0,), (1.0,))
    return DiscreteGraph(
        (ChannelNode("V0_input", "x"), *others), np.array([weights]), layout, ("x",), ("y",), LENGTH
    )


DATA = from_arrays(numbers(), numbers())


def test_a_dead_head_is_harmless():
    found = match_heads(graph_with([1.0, 1.0, 0, 0, 0, 0]), DATA)
    assert {index: router.hypothesis for index, router in found.routers.items()} == {1: FixedOffset(1)}
    found.require()
    kept = match_heads(graph_with([0, 1.0, 0], location(1)), DATA, dead=True).routers
    assert [router.hypothesis for router in kept.values()] == [FixedOffset(1)]


@pytest.mark.parametrize(("weights", "index"), [([0, 0, 0, 1.0, 0, 0], 2), ([0, 1.0, 0, 0, 1.0, 0], 4)])
def test_a_live_head_without_a_match_is_named(weights: list[float], index: int):
    graph = graph_with(weights)
    with pytest.raises(NotExtracted, match=f"the live head V{index}_") as caught:
        match_heads(graph, DATA).require()
    best, seen = compare_hypotheses(graph.nodes[index], graph.stream(DATA.x))[0]  # type: ignore[arg-type]
    assert f"(best: {best.describe()} ({seen.agreement:.3f}))" in str(caught.value)
    assert seen.agreement < 0.99
    assert caught.value.exit_code == 3
