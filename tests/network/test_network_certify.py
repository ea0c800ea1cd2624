"""What is said of a network and its program: five verdicts, none of which says too much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Layout, Problem, from_arrays
from weights2code.effort import within
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.language import Domain, Expr, Recurrence, Start, Step, Var, integers, op, reals, where
from weights2code.network import certify
from weights2code.network.certify import certify_network
from weights2code.network.trial import Trial, one_step, outputs_of, run_side_by_side
from weights2code.verify.links import NetworkCertificate

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)


def machine(formula: Expr, **starts: Start) -> Recurrence:
    return Recurrence(("x",), (Step("y", formula),), ("y",), starts)


def network(*nodes: Node, head: list[float], layout: str = "tagging", first: int = 0) -> DiscreteGraph:
    shape = Layout(layout, (1.0,), (1.0,), first)
    channels = [ChannelNode(f"V{i}", name) for i, name in enumerate(shape.channel_names(("x",), ("y",)))]
    return DiscreteGraph((*channels, *nodes), np.array([head]), shape, ("x",), ("y",), 6)


def problem(program: Recurrence, domain: Domain, *, whole: bool = True) -> Problem:
    rng, shape = np.random.default_rng(0), (50, 6, 1)
    low, high = float(domain.low), float(domain.high)
    inputs = (
        rng.integers(int(low), int(high) + 1, shape) if domain.discrete else rng.uniform(low, high, shape)
    )
    outputs = program.run(inputs.astype(float))
    data = from_arrays(inputs.astype(float), np.round(outputs) if whole else outputs)
    outcome = data.domains()[1] if whole else (reals(float(outputs.min()), float(outputs.max())),)
    return Problem("made", ("x",), ("y",), (domain,), outcome, data, data, 6)


def said(
    graph: DiscreteGraph, program: Recurrence, domain: Domain, *, whole: bool = True
) -> NetworkCertificate:
    return certify_network(graph, program, problem(program, domain, whole=whole), 0).certificate


@pytest.fixture
def no_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs must not need the tests beside them."""
    monkeypatch.setattr(certify, "run_side_by_side", lambda *_: Trial(0, (), 0.0, None, None))


def relu_of(value: int, slope: float) -> OperatorNode:
    return OperatorNode("op", (value,), np.array([[slope]]), np.zeros(1), np.ones(1), 0.0)


def test_proved_and_its_margin() -> None:
    found = said(network(relu_of(0, 1.0), head=[0.0, 1.0, 0.125]), machine(x * 1), integers(0, 9))
    assert found.verdict == "proved"
    assert "every length" in found.covers
    assert found.margin is not None
    assert found.error is not None
    assert found.margin == pytest.approx(0.375)
    assert abs(found.error - 0.125) < 1e-9


def test_differs_is_shown(no_tests: None) -> None:
    program = machine(x + where(op("and", x.equals(977), x1.equals(13)), 1, 0))
    graph = network(relu_of(0, 1.0), head=[0.0, 1.0, 0.0])
    found = said(graph, program, integers(0, 999))
    assert found.verdict == "differs"
    assert found.counterexample == ((13.0,), (977.0,))
    shown = np.array(found.counterexample)[None]
    answer = one_step(graph, shown, outputs_of(program, shown), whole=True)
    assert answer[0, :, 0].tolist() == [13.0, 977.0]
    assert outputs_of(program, shown)[0, :, 0].tolist() == [13.0, 978.0]


def test_values_without_end_have_a_limit(no_tests: None) -> None:
    graph = network(head=[1.0, 1.0 + 2.0**-20, 0.0], layout="autoregressive")
    program = machine(x + y1)
    found = said(graph, program, integers(0, 3))
    assert found.verdict == "proved"
    assert "2**18" in found.covers  # 2**18 * 2**-20 leaves a quarter


@pytest.mark.parametrize(
    ("graph", "program"),
    [
        (network(head=[0.8, 0.0]), machine(x * 0.4)),
        (network(head=[0.7, 0.0]), machine(x * 0.45)),
    ],
)
def test_a_program_that_is_not_whole_is_compared_after_rounding(
    graph: DiscreteGraph, program: Recurrence, no_tests: None
) -> None:
    """Less than a half apart, and yet another number."""
    found = said(graph, program, integers(0, 1))
    assert found.verdict == "differs"


def test_a_program_that_is_nearly_whole_counts_as_rounded(no_tests: None) -> None:
    """The border is a half from the whole number, not from what the program gives."""
    graph = network(relu_of(0, 1.0), head=[0.0, 1.0, 0.5 + 2e-7])
    assert said(graph, machine(x + 4e-7), integers(0, 3)).verdict == "differs"


def test_reals_are_bounded() -> None:
    found = said(
        network(relu_of(0, 1.0), head=[0.0, 1.0, 0.0]), machine(x * 1), reals(-1.0, 1.0), whole=False
    )
    assert found.verdict == "bounded"
    assert found.margin is None
    assert found.error is not None
    assert 1.0 <= found.error < 1.11


def test_one_sequence_of_inputs_and_outputs_is_shown_whole() -> None:
    """Its outputs depend on what comes later, so a part of it shows nothing."""
    graph = network(head=[1.0, 0.0], layout="concat")
    program = machine(x * 2)
    trial = run_side_by_side(graph, program, problem(program, integers(1, 3)), 0)
    assert trial.counterexample is not None
    assert len(trial.counterexample) == 6
    found = said(graph, program, integers(1, 3))
    assert found.verdict == "differs"
    assert "position" not in found.method


def test_positions_that_are_not_scored_do_not_count() -> None:
    program = machine(x * 2)
    right = run_side_by_side(
        network(head=[1.0, 0.0], layout="concat", first=6), program, problem(program, integers(1, 3)), 0
    )
    assert right.counterexample is None


def test_networks_that_read_inputs_first_are_tested() -> None:
    """The network puts out what came out before: right from the second position on, wrong at the first."""
    none = machine(x * 0)
    found = said(network(head=[1.0, 0.0], layout="concat", first=1), none, integers(0, 3))
    assert (found.verdict, found.covers) == ("tested", "lengths 6")
    assert said(network(head=[1.0, 0.0], layout="concat"), none, integers(0, 3)).verdict == "differs"


def test_nothing_is_claimed_when_the_time_is_up() -> None:
    graph = network(relu_of(0, 1.0), head=[0.0, 1.0, 0.0])
    with within(-1.0):
        found = said(graph, machine(x * 1), integers(0, 3))
    assert "up to length 0" not in found.covers


def test_rounding_decides_near_a_border(no_tests: None) -> None:
    """1e17 and -1e17 leave what the order of sums says."""
    weight, bias = np.array([[1.0], [0.0]]), np.array([1e17, 1e17])
    operator = OperatorNode("op", (0,), weight, bias, np.array([1.0, -1.0]), 0.0)
    found = said(network(operator, head=[0.0, 1.0, 0.0]), machine(op("floor", x / 16) * 16), integers(0, 3))
    assert found.verdict == "proved"
    assert "in the order in which load_network adds up" in found.method
    assert "included" not in found.method


def test_enumeration_counts_rounding_in(no_tests: None) -> None:
    """A lookup has no window: all sequences up to a length are run."""
    head = RouterNode(
        "head", "equality", {"query": 0, "key": 0, "value": 0},
        relative_bias=np.array([-1e6, 0.0]), null_score=-10.0,
    )  # fmt: skip
    graph = network(head, head=[0.0, 1.0, 0.25])
    last = Var("y", 1)
    program = machine(x * where(last >= 0, 1, 1))
    found = said(graph, program, integers(0, 1))
    assert found.verdict == "differs"  # the first one finds nothing
    seen = Recurrence(
        ("x",), (Step("s", op("max", x, Var("s", 1))), Step("y", op("and", x, Var("s", 1)) * 1)), ("y",)
    )
    right = said(graph, seen, integers(0, 1))
    assert right.verdict == "exhaustive"
    assert right.margin is not None
    assert right.error is not None
    assert right.margin == 0.25
    assert right.margin + right.error == pytest.approx(0.5)
    wide = replace(graph, head=np.array([[1e17, 1.0, 0.25]]))
    assert said(wide, seen, integers(0, 1)).verdict != "exhaustive"


def test_tests_find_the_earliest_difference() -> None:
    graph = network(RouterNode("head", "location", {"value": 0}, 1, 1.0), head=[0.0, 1.0, 0.0])
    trial = run_side_by_side(graph, machine(x1 * 1), problem(machine(x1 * 1), integers(0, 5)), 0)
    assert trial.counterexample is not None
    assert len(trial.counterexample) == 1
    assert trial.error == 1.0
    assert trial.lengths == (6, 24, 60)


def test_a_head_may_look_past_the_start_at_what_reads_nothing(no_tests: None) -> None:
    nothing = RouterNode("V1", "location", {"value": 0}, None, 1.0)
    back = RouterNode("V2", "location", {"value": 1}, 2, 5.0)
    graph = network(nothing, back, head=[1.0, 0.0, 1.0, 0.0])
    found = said(graph, machine(x + 1), integers(0, 9))
    assert found.verdict == "differs"
    assert found.counterexample == ((0.0,),)
    assert said(graph, machine(x + 5), integers(0, 9)).counterexample == ((0.0,), (0.0,), (0.0,))


@pytest.mark.parametrize("tested", [False, True])
@pytest.mark.parametrize(("half", "verdict"), [(0.5, "differs"), (-0.5, "tested")])
def test_halves_go_up(half: float, verdict: str, tested: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a half off on one side rounds to another number, and on the other to this one, by a hair."""
    if not tested:
        monkeypatch.setattr(certify, "run_side_by_side", lambda *_: Trial(0, (), 0.0, None, None))
    found = said(network(head=[1.0, half]), machine(x * 1), integers(0, 3))
    assert found.verdict == verdict
    assert found.counterexample is None or len(found.counterexample) == 1
