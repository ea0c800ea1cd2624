"""Unmatched heads of hand-built networks: each ends in the reason that it was built for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weights2code.data import Layout, from_arrays
from weights2code.experiments.head_analysis import Place, analyse_heads
from weights2code.experiments.head_effects import Judge, Network, Score
from weights2code.experiments.head_reasons import (
    DEAD,
    NEEDED,
    NEGLIGIBLE,
    REDUNDANT,
    SUBSTITUTABLE,
    UNFIT,
)
from weights2code.explain import OffsetExtremum
from weights2code.graph import DiscreteGraph, OperatorNode, RouterNode

WINDOW = 24


def pointer(
    name: str, slope: float = 0.0, when: float = 0.0, bias: dict[int, float] | None = None
) -> RouterNode:
    """The value with the largest key of all where the query, a bit, is 1; by the bias where it is 0.

    With `when` the slope holds for every query. Without a bias all offsets are alike.
    """
    known = np.zeros(WINDOW) if bias is None else np.full(WINDOW, -1e3)
    for offset, score in (bias or {}).items():
        known[offset] = score
    return RouterNode(
        name, "pointer", {"query": 0, "key": 1, "value": 1},
        query_table=np.array([[when], [1.0]]), key_table=np.array([[0.0], [slope]]),
        value_range=(0.0, 1.0), relative_bias=known, null_score=-1e4,
    )  # fmt: skip


def mixed(name: str) -> RouterNode:
    """The newest value but one, unless a large key somewhere outweighs that: no hypothesis."""
    return pointer(name, slope=12.0, when=1.0, bias={0: 0.0, 1: 6.0, 2: 3.0, 4: 2.0, 5: 5.0, 7: 4.0})


def bits_and_reals(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, 2, (count, 10)), rng.uniform(0, 1, (count, 10))], 2)


def outputs_of(graph: DiscreteGraph, x: np.ndarray, whole: bool = False) -> np.ndarray:
    """What a graph gives on inputs, perhaps rounded."""
    out = graph.run(from_arrays(x, np.zeros((*x.shape[:2], 1))))
    return np.floor(out + 0.5) if whole else out


@pytest.fixture
def made(builder: Any) -> Any:
    return builder(layout=Layout("tagging", (1.0, 1.0), (1.0,)), inputs=("q", "b"))


def reasons(
    made: Any, other: DiscreteGraph | None = None, whole: bool = False
) -> tuple[dict[str, str], dict[str, Any]]:
    """Of a network, where another one, or it itself, is right."""
    right: DiscreteGraph = other or made.graph()
    x, fresh = bits_and_reals(300, 0), bits_and_reals(300, 1)
    problem = made.problem(x, outputs_of(right, x, whole))
    sequences = from_arrays(fresh, outputs_of(right, fresh, whole))
    found = analyse_heads(made.graph(), problem, sequences)
    return {head["head"]: head["reason"] for head in found["unmatched"]}, found


def test_dead_and_needed(made: Any) -> None:
    made.nodes += [mixed("V2"), mixed("V3")]
    made.output({2: 3.0})
    found, row = reasons(made)
    assert found == {"V3": DEAD, "V2": NEEDED}
    assert (row["fits"], row["harmless"]) == (True, False)
    dead, needed = row["unmatched"]
    assert "mean_instead" not in dead
    assert needed["mean_instead"]["loss"] == pytest.approx(1.0, abs=0.3)
    assert needed["mean_instead"]["changed"] is None  # outputs are reals
    assert row["replaced"]["loss"] > row["network"]["loss"] + 0.01


def test_negligible(made: Any) -> None:
    made.nodes += [mixed("V2")]
    made.output({0: 5.0, 2: 0.3})
    found, row = reasons(made, whole=True)
    assert found == {"V2": NEGLIGIBLE}
    assert row["harmless"]
    assert row["unmatched"][0]["mean_instead"]["changed"] == 0.0


def test_redundant(made: Any) -> None:
    made.nodes += [mixed("V2"), mixed("V3")]
    made.output({2: 1.0, 3: 1.0})
    found, row = reasons(made)
    assert found == {"V2": NEEDED, "V3": REDUNDANT}  # one of two that are the same
    redundant = next(head for head in row["unmatched"] if head["head"] == "V3")
    assert redundant["detail"] == "nearest to V2 (correlation 1.00)"
    assert not redundant["live_after_pruning"]


def gated(head: int) -> OperatorNode:
    """What a head gives where the bit is 0, else nothing."""
    return OperatorNode("V3", (0, head), np.array([[-10.0, 1.0]]), np.zeros(1), np.ones(1), 0.0)


def test_substitutable(made: Any) -> None:
    made.nodes += [pointer("V2", slope=50.0, bias={1: 0.0, 0: -1.0, 2: -2.0, 3: -3.0, 5: -1.5}), gated(2)]
    made.output({3: 1.0})
    found, row = reasons(made)
    assert found == {"V2": SUBSTITUTABLE}
    assert row["unmatched"][0]["detail"].startswith("Fixed offset 1 (")
    assert row["unmatched"][0]["detail"].endswith(" but for the first 1")  # there it reads the present value
    assert row["harmless"]


def test_what_does_not_fit_explains_nothing(made: Any, builder: Any) -> None:
    made.nodes += [mixed("V2")]
    made.output({2: 3.0})
    other = builder(layout=made.layout, inputs=made.inputs)
    other.lag(1, 3)
    other.output({2: 3.0})
    found, row = reasons(made, other.graph())
    assert set(found.values()) <= {UNFIT, NEGLIGIBLE}
    assert not row["fits"]


def test_a_head_that_only_decides_by_value_is_matched_and_beyond_the_paper(made: Any) -> None:
    node = pointer("V2", bias={0: 0.0})
    node = replace(node, query_table=np.array([[-1.0], [1.0]]), key_table=np.ones((2, 1)), null_score=0.0)
    made.nodes += [node]
    made.output({2: 1.0})
    found, row = reasons(made)
    assert found == {}
    (head,) = row["matched"]
    assert head["hypothesis"] == "0 if query[t] <= 0.5 else value[t]"
    assert head["by_the_paper"] == NEEDED
    assert row["listed"] == row["replaced"]  # it is exactly that
    assert row["harmless"]


def test_networks_run_free(builder: Any) -> None:
    """A sum of everything so far: what is fed back is the network's own."""
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0, 1: 1.0})
    x = np.random.default_rng(0).integers(0, 5, (7, 10, 1)).astype(float)
    network = Network(made.graph())
    assert np.array_equal(network.free(x, np.zeros_like(x), whole=True), np.cumsum(x, 1))
    forgetful = network.with_instead(1, lambda values: np.zeros(values.shape[:2]))
    assert np.array_equal(forgetful.free(x, np.zeros_like(x), whole=True), np.cumsum(x, 1))  # a channel
    made = builder(layout=Layout("concat", (1.0,), (1.0,), 2))
    made.lag(0, 9)
    made.output({0: 1.0, 1: 1.0})
    given = np.cumsum(x, 1)
    assert np.array_equal(Network(made.graph()).free(x, given, whole=True), given)
    wrong = Network(made.graph()).free(x, np.zeros_like(x), whole=True)
    assert np.array_equal(wrong[:, :2], np.zeros((7, 2, 1)))  # the first are given, as they may be
    assert not np.array_equal(wrong, given)


def test_what_a_hypothesis_does_not_say_is_nothing(made: Any) -> None:
    """At the first positions there is no second value back, of which the smaller could be."""
    made.nodes += [mixed("V2")]
    made.output({2: 1.0})
    x = bits_and_reals(5, 0)
    sequences = from_arrays(x, np.zeros((5, 10, 1)))
    network = Network(made.graph())
    place = Place(network, 2, network.stream(sequences))
    values = place.with_hypothesis(OffsetExtremum((2, 3), largest=False)).stream(sequences)
    assert np.array_equal(values[:, :2, 2], np.zeros((5, 2)))
    assert np.array_equal(values[:, 3, 2], np.minimum(x[:, 0, 1], x[:, 1, 1]))


def test_what_diverges_stays_a_number(builder: Any) -> None:
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0, 1: -1e9})
    x = np.ones((3, 10, 1))
    assert np.isfinite(Network(made.graph()).free(x, np.zeros_like(x), whole=False)).all()


def test_as_right() -> None:
    whole = Score(0.1, 0.995)
    assert whole.as_right(Score(9.0, 0.9945))
    assert not whole.as_right(Score(0.1, 0.99))
    reals = Score(1e-4, None)
    assert reals.as_right(Score(1.9e-4, None))
    assert not reals.as_right(Score(3e-4, None))
    assert not Score(0.01, None).as_right(Score(0.0115, None))
    assert Score(0.0, None).as_right(Score(1e-10, None))


def test_other_outputs_are_not_the_same_because_they_are_as_often_right(made: Any, builder: Any) -> None:
    """Two guesses at a coin are as right as each other."""
    made.output({0: 1.0})
    x = bits_and_reals(300, 0)
    coins = np.random.default_rng(5).integers(0, 2, (300, 10, 1)).astype(float)
    judge = Judge(Network(made.graph()), from_arrays(x, coins), whole=True)
    other = builder(layout=made.layout, inputs=made.inputs)
    other.output({0: -1.0}, 1.0)
    assert not judge.fits
    assert judge.as_right(Network(made.graph()))
    assert not judge.as_right(Network(other.graph()))
