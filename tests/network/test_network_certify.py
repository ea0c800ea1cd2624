"""What is said of a network and its program: five verdicts, none of which says too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from case_table import in_text as rule
from weights2code.data import Layout, Problem, from_arrays
from weights2code.effort import within
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.language import Domain, Recurrence, integers, reals
from weights2code.network import certify
from weights2code.network.certify import certify_network
from weights2code.network.trial import Trial, one_step, outputs_of, run_side_by_side
from weights2code.verify.links import NetworkCertificate


def network(*nodes: Node, head: list[float], layout: str = "tagging", first: int = 0) -> DiscreteGraph:
    shape = Layout(layout, (1.0,), (1.0,), first)
    channels = [ChannelNode(f"V{i}", name) for i, name in enumerate(shape.channel_names(("x",), ("y",)))]
    return DiscreteGraph((*channels, *nodes), np.array([head]), shape, ("x",), ("y",), 6)


def problem(program: Recurrence, domain: Domain, *, whole: bool = True) -> Problem:
    rng, shape = np.random.default_rng(0), (50, 6, 1)
    low, high = float(domain.low), float(domain.high)
    drawn = rng.integers(int(low), int(high) + 1, shape) if domain.discrete else rng.uniform(low, high, shape)
    inputs = drawn.astype(float)
    outputs = program.run(inputs)
    data = from_arrays(inputs, np.round(outputs) if whole else outputs)
    outcome = data.domains()[1] if whole else (reals(float(outputs.min()), float(outputs.max())),)
    return Problem("made", ("x",), ("y",), (domain,), outcome, data, data, 6)


def said(graph: DiscreteGraph, lines: str, domain: Domain, *, whole: bool = True) -> NetworkCertificate:
    program = rule(lines)
    return certify_network(graph, program, problem(program, domain, whole=whole), 0).certificate


@pytest.fixture
def no_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs must not need the tests beside them."""
    monkeypatch.setattr(certify, "run_side_by_side", lambda *_: Trial(0, (), 0.0, None, None))


#: The input as a sub-MLP gives it.
COPY = OperatorNode("op", (0,), np.array([[1.0]]), np.zeros(1), np.ones(1), 0.0)
#: 1e17 and -1e17 leave what the order of sums says.
LARGE = OperatorNode("op", (0,), np.array([[1.0], [0.0]]), np.full(2, 1e17), np.array([1.0, -1.0]), 0.0)
LAST = RouterNode("head", "location", {"value": 0}, 1, 1.0)
NOTHING = RouterNode("V1", "location", {"value": 0}, None, 1.0)
LOOKUP = RouterNode(
    "head",
    "equality",
    {"query": 0, "key": 0, "value": 0},
    relative_bias=np.array([-1e6, 0.0]),
    null_score=-10.0,
)
PAST_START = network(NOTHING, RouterNode("V2", "location", {"value": 1}, 2, 5.0), head=[1.0, 0.0, 1.0, 0.0])
BITS, DIGITS, SMALL = integers(0, 1), integers(0, 9), integers(0, 3)
#: A network, its program, the inputs, the verdict, what is said of it, and what shows a difference.
PROVED: list[tuple[DiscreteGraph, str, Domain, str, str, Any]] = [
    (network(COPY, head=[0.0, 1.0, 0.125]), "y = x[t]", DIGITS, "proved", "every length", None),
    (network(COPY, head=[0.0, 1.0, 0.0]), "y = x[t] + (x[t] == 977 and x[t-1] == 13)", integers(0, 999),
     "differs", "", ((13.0,), (977.0,))),
    # 2**18 * 2**-20 leaves a quarter
    (network(head=[1.0, 1.0 + 2.0**-20, 0.0], layout="autoregressive"), "y = x[t] + y[t-1]", SMALL, "proved",
     "2**18", None),
    # less than a half apart, and yet another number: both are rounded, also what is nearly whole
    (network(head=[0.8, 0.0]), "y = 0.4*x[t]", BITS, "differs", "", ((1.0,),)),
    (network(head=[0.7, 0.0]), "y = 0.45*x[t]", BITS, "differs", "", ((1.0,),)),
    (network(COPY, head=[0.0, 1.0, 0.5 + 2e-7]), "y = x[t] + 0.0000004", SMALL, "differs", "", ((0.0,),)),
    (network(LARGE, head=[0.0, 1.0, 0.0]), "y = 16*(x[t]//16)", SMALL, "proved",
     "in the order in which load_network adds up", None),
    # a head may look past the start at what reads nothing
    (PAST_START, "y = x[t] + 1", DIGITS, "differs", "", ((0.0,),)),
    (PAST_START, "y = x[t] + 5", DIGITS, "differs", "", ((0.0,), (0.0,), (0.0,))),
    # a lookup has no window: all sequences up to a length are run, and the first one finds nothing
    (network(LOOKUP, head=[0.0, 1.0, 0.25]), "y = x[t]*(1 if y[t-1] >= 0 else 1)", BITS, "differs", "", None),
    (network(LOOKUP, head=[0.0, 1.0, 0.25]), "s = max(x[t], s[t-1]); y = (x[t] and s[t-1])*1", BITS,
     "exhaustive", "", None),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "program", "domain", "verdict", "words", "shown"), PROVED)
def test_proofs_and_differences(graph, program, domain, verdict, words, shown, no_tests: None) -> None:
    found = said(graph, program, domain)
    assert found.verdict == verdict
    assert words in f"{found.covers} {found.method}"
    assert "included" not in found.method or "order" not in words
    assert shown is None or found.counterexample == shown
    if found.counterexample is not None:
        inputs = np.array(found.counterexample)[None]
        right = np.round(outputs_of(rule(program), inputs))
        assert (one_step(graph, inputs, right, whole=True) != right)[0, -1, 0]


def test_margins_and_errors_fill_the_half() -> None:
    for graph, program, domain, error in (
        (network(COPY, head=[0.0, 1.0, 0.125]), "y = x[t]", DIGITS, 0.125),
        (network(LOOKUP, head=[0.0, 1.0, 0.25]), PROVED[-1][1], BITS, 0.25),
    ):
        found: Any = said(graph, program, domain)
        assert found.error == pytest.approx(error, abs=1e-9)
        assert found.margin + found.error == pytest.approx(0.5)
    wide = replace(network(LOOKUP, head=[0.0, 1.0, 0.25]), head=np.array([[1e17, 1.0, 0.25]]))
    assert said(wide, PROVED[-1][1], BITS).verdict != "exhaustive"


def test_reals_are_bounded() -> None:
    found: Any = said(network(COPY, head=[0.0, 1.0, 0.0]), "y = x[t]", reals(-1.0, 1.0), whole=False)
    assert (found.verdict, found.margin) == ("bounded", None)
    assert 1.0 <= found.error < 1.11


def test_one_sequence_of_inputs_and_outputs() -> None:
    """Its outputs depend on what comes later, so it is shown whole, and positions not scored do not count."""
    program, data = rule("y = 2*x[t]"), problem(rule("y = 2*x[t]"), integers(1, 3))
    graph = network(head=[1.0, 0.0], layout="concat")
    trial = run_side_by_side(graph, program, data, 0)
    assert len(trial.counterexample or ()) == 6
    found = said(graph, "y = 2*x[t]", integers(1, 3))
    assert found.verdict == "differs"
    assert "position" not in found.method
    unscored = network(head=[1.0, 0.0], layout="concat", first=6)
    assert run_side_by_side(unscored, program, data, 0).counterexample is None
    # it puts out what came out before: right from the second position on, wrong at the first
    late = said(network(head=[1.0, 0.0], layout="concat", first=1), "y = 0*x[t]", SMALL)
    assert (late.verdict, late.covers) == ("tested", "lengths 6")
    assert said(graph, "y = 0*x[t]", SMALL).verdict == "differs"


def test_nothing_is_claimed_when_the_time_is_up() -> None:
    with within(-1.0):
        found = said(network(COPY, head=[0.0, 1.0, 0.0]), "y = x[t]", SMALL)
    assert "up to length 0" not in found.covers


def test_tests_find_the_earliest_difference() -> None:
    program = rule("y = x[t-1]")
    trial = run_side_by_side(
        network(LAST, head=[0.0, 1.0, 0.0]), program, problem(program, integers(0, 5)), 0
    )
    assert len(trial.counterexample or ()) == 1
    assert (trial.error, trial.lengths) == (1.0, (6, 24, 60))


@pytest.mark.parametrize("tested", [False, True])
@pytest.mark.parametrize(("half", "verdict"), [(0.5, "differs"), (-0.5, "tested")])
def test_halves_go_up(half: float, verdict: str, tested: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a half off on one side rounds to another number, and on the other to this one, by a hair."""
    if not tested:
        monkeypatch.setattr(certify, "run_side_by_side", lambda *_: Trial(0, (), 0.0, None, None))
    found = said(network(head=[1.0, half]), "y = x[t]", SMALL)
    assert found.verdict == verdict
    assert found.counterexample is None or len(found.counterexample) == 1
