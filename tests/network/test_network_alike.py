"""What network and program remember alike: sums, means and lookups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Layout, Problem, from_arrays
from weights2code.graph import ChannelNode, DiscreteGraph, RouterNode
from weights2code.language import BITS, Count, Domain, Recurrence, Retrieval, Step, Var, integers, op, reals
from weights2code.network import certify
from weights2code.network.alike import remembered_alike
from weights2code.network.certify import certify_network
from weights2code.network.trial import Trial

x, total, n = Var("x"), Var("total", 1), Var("n", 1)
SUM = Recurrence(("x",), (Step("total", total + x), Step("y", 3 * Var("total") + 1)), ("y",))
MEAN = Recurrence(
    ("x",), (Step("total", total + x), Step("n", n + 1), Step("y", Var("total") / Var("n"))), ("y",)
)
BIAS = np.array([-1e6, 0.0, 0.0, 0.0])


def lookup(gap: int = 1) -> Recurrence:
    return Recurrence(("k", "v", "q"), (Step("y", Retrieval("k", "v", Var("q"), gap)),), ("y",))


def graph_of(inputs: tuple[str, ...], head: RouterNode, weight: float, bias: float) -> DiscreteGraph:
    layout = Layout("tagging", (1.0,) * len(inputs), (1.0,))
    channels = [ChannelNode(f"V{i}_input", name) for i, name in enumerate(inputs)]
    row = np.zeros((1, len(inputs) + 2))
    row[0, -2:] = weight, bias
    return DiscreteGraph((*channels, head), row, layout, inputs, ("y",), 8)


def problem_of(program: Recurrence, domains: tuple[Domain, ...], whole: bool = True) -> Problem:
    rng = np.random.default_rng(0)
    drawn = rng.uniform([d.low for d in domains], [d.high for d in domains], (64, 8, len(domains)))
    drawn = np.round(drawn) if whole else drawn
    sequences = from_arrays(drawn, program.run(drawn))
    outputs = sequences.domains()[1] if whole else (reals(-100.0, 100.0),)
    return Problem("p", program.inputs, ("y",), domains, outputs, sequences, sequences, 8)


def test_a_sum_that_both_add_up_is_proved_to_a_limit():
    graph = graph_of(("x",), RouterNode("V1_Attn", "sum", {"value": 0}), 3.0, 1.0)
    found = certify_network(graph, SUM, problem_of(SUM, (integers(0, 9),)), 0).certificate
    assert found.verdict == "proved"
    assert "no sum exceeds 2**40" in found.covers


@pytest.mark.slow
def test_a_weight_that_is_off_is_not_called_equal_beyond_what_it_holds_for():
    graph = graph_of(("x",), RouterNode("V1_Attn", "sum", {"value": 0}), 3.0 + 1e-9, 1.0)
    found = certify_network(graph, SUM, problem_of(SUM, (integers(0, 9),)), 0).certificate
    assert found.verdict != "proved"  # 2**40 times the error is more than a half


def test_a_mean_of_reals_is_bounded():
    graph = graph_of(("x",), RouterNode("V1_Attn", "mean", {"value": 0}), 1.0, 1e-6)
    found = certify_network(graph, MEAN, problem_of(MEAN, (reals(0.0, 1.0),), whole=False), 0).certificate
    assert found.verdict == "bounded"
    assert found.error == pytest.approx(1e-6, rel=1e-3)


def test_a_lookup_holds_to_the_length_that_its_recency_allows():
    head = RouterNode(
        "V3_Attn", "equality", {"query": 2, "key": 0, "value": 1}, relative_bias=BIAS, null_score=-10.0
    )
    graph, program = graph_of(("k", "v", "q"), head, 1.0, 0.0), lookup()
    domains = (integers(0, 7), integers(0, 99), integers(0, 7))
    found = certify_network(graph, program, problem_of(program, domains), 0).certificate
    assert found.verdict == "exhaustive"
    assert found.covers == "up to length 9999"


@pytest.mark.parametrize(
    ("program", "domains"),
    [
        (lookup(0), (integers(0, 7), integers(0, 99), integers(0, 7))),  # the present counts there
        (lookup(), (reals(0, 7), integers(0, 99), integers(0, 7))),  # keys that are no finite set
    ],
)
def test_lookups_that_are_not_the_same_have_nothing_in_common(program, domains):
    head = RouterNode(
        "V3_Attn", "equality", {"query": 2, "key": 0, "value": 1}, relative_bias=BIAS, null_score=-10.0
    )
    assert remembered_alike(graph_of(("k", "v", "q"), head, 1.0, 0.0), program, domains) is None


def test_keys_that_lie_too_near_are_not_told_apart():
    head = RouterNode(
        "V3_Attn",
        "equality",
        {"query": 2, "key": 0, "value": 1},
        relative_bias=BIAS,
        null_score=-10.0,
        sharpness=5.0,
    )
    domains = (integers(0, 7), integers(0, 99), integers(0, 7))
    assert remembered_alike(graph_of(("k", "v", "q"), head, 1.0, 0.0), lookup(), domains) is None


def test_a_sum_of_something_else_is_not_the_same():
    other = replace(SUM, steps=(Step("total", total + 2 * x), Step("y", 3 * Var("total") + 1)))
    graph = graph_of(("x",), RouterNode("V1_Attn", "sum", {"value": 0}), 3.0, 1.0)
    assert remembered_alike(graph, other, (BITS,)) is None
    started = replace(SUM, start={"total": 1.0})
    assert remembered_alike(graph, started, (BITS,)) is None


@pytest.mark.slow
@pytest.mark.parametrize("limit", [37, 10**6, 2**39])
def test_a_program_that_leaves_the_network_at_large_sums_is_not_proved(limit, monkeypatch):
    """Proofs must find it without the tests beside them."""
    alone = Trial(0, (), 0.0, None, 1.0, None)
    monkeypatch.setattr(certify, "run_side_by_side", lambda *_: alone)
    graph = graph_of(("x",), RouterNode("V1_Attn", "sum", {"value": 0}), 3.0, 1.0)
    other = replace(
        SUM, steps=(SUM.steps[0], Step("y", 3 * Var("total") + 1 + op("gt", Var("total"), limit)))
    )
    found = certify_network(graph, other, problem_of(other, (integers(0, 9),)), 0).certificate
    assert found.verdict in ("differs", "exhaustive", "tested")


RANK = Recurrence(("x",), (Step("y", Count("x", x, "lt")),), ("y",))


@pytest.mark.parametrize(
    ("kind", "program", "domain", "proved"),
    [
        ("less", RANK, integers(0, 9), True),
        ("at_most", RANK, integers(0, 9), False),
        ("less", RANK, integers(2**60, 2**60 + 9), False),  # which float64 does not tell apart
    ],
)
def test_a_count_is_the_same_if_it_compares_alike(kind, program, domain, proved):
    graph = graph_of(("x",), RouterNode("V1_Attn", kind, {"key": 0, "value": 0}), 1.0, 0.0)
    alike = remembered_alike(graph, program, (domain,))
    assert (alike is not None) == proved
