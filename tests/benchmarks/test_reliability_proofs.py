"""A share of the attacks on what is said of programs and networks, and that their judges are no easy ones."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import awkward
import chain
import machines
import mutants
import network_truth
import networks
import numpy as np
import pytest
import steps
import truth
import weights
from machines import machine, maximum, pair, x, x1

from weights2code.data import Layout, Sequences
from weights2code.errors import InputError
from weights2code.graph import ChannelNode, DiscreteGraph
from weights2code.language import Recurrence, Step, Var, integers
from weights2code.tasks import step_function
from weights2code.verify import certify
from weights2code.verify.links import NetworkCertificate, Offered

SEED, STEPS_SEED = 2024, 5
#: Families of awkward numbers that hold as things are.
HELD = ("infinite", "great powers", "sums of decimals", "rewritten")
#: Trained in a second or so each.
QUICK = ("sum_last2", "parity")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "number"),
    [
        *((machines.attack, number) for number in range(len(machines.FAMILIES))),
        *((mutants.attack, number) for number in range(12)),
        *((networks.attack, number) for number in range(len(networks.FAMILIES) + len(networks.BOUNDED))),
    ],
)
def test_no_claim_is_contradicted(attack, number):
    assert attack(number, SEED).failure == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", HELD)
def test_some_awkward_numbers(kind: str):
    number = list(awkward.FAMILIES).index(kind)
    for turn in range(2):
        found = awkward.attack(number + turn * len(awkward.FAMILIES), STEPS_SEED)
        assert (found.kind, found.failure) == (kind, "")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_one_weight_of_a_trained_network(number: int):
    found = weights.attacked(weights.base(QUICK[number % 2]), np.random.default_rng([SEED, number]))
    assert found.failure == "", found.detail


@pytest.mark.slow
@pytest.mark.parametrize("way", chain.WAYS)
def test_one_change_in_one_file(way: str):
    found = chain.attacked(chain.base("parity"), way, np.random.default_rng(SEED))
    assert found.failure == "", found.detail
    assert found.outcome.startswith("exit ")


# -- programs ------------------------------------------------------------------------------------------------

RIGHT, WRONG = (pair(one, maximum(x, x1), integers(0, 9)) for one in (maximum(x1, x), x))


def judged(made: truth.Case, **changes: Any) -> tuple[Any, str]:
    """What the judge says of a certificate that was changed."""
    found = certify(
        made.program, reference=made.reference, domains=made.domains, length=10, integer_outputs=True
    )
    said = replace(found, proof=found.proof or Offered(), **changes)
    return found, truth.wrong_verdict(made, said, np.random.default_rng(0))


def test_a_right_verdict_passes():
    found, failure = judged(RIGHT)
    assert (found.verdict, failure) == ("proved", "")


BEYOND = replace(WRONG, program=machine((maximum(x, x1) + 2**53) - 2**53))
RARE = replace(WRONG, program=machine(maximum(x, x1) + x.equals(7) * x1.equals(3)), telling=([[3.0], [7.0]],))


@pytest.mark.parametrize(
    ("case", "changes", "said"),
    [
        (WRONG, {"verdict": "proved"}, "proved, but"),
        (WRONG, {"verdict": "bounded", "error": 1e-9}, "bounded by"),
        (WRONG, {"verdict": "exhaustive", "covers": "lengths 1 to 5"}, "exhaustive, but"),
        (WRONG, {"verdict": "tested"}, "tested, but"),
        (BEYOND, {"verdict": "proved"}, "proved, but"),
        (RIGHT, {"verdict": "failed"}, "no counterexample"),
        (RIGHT, {"verdict": "failed", "counterexample": ((3.0,), (4.0,))}, "shows no wrong output"),
        (RARE, {"verdict": "proved"}, "proved, but after 2 inputs"),
    ],
)
def test_claims_that_are_too_much_or_too_little_are_seen(case, changes, said):
    assert said in judged(case, **changes)[1]


@pytest.mark.slow
def test_a_careless_checker_would_be_noticed(monkeypatch: pytest.MonkeyPatch):
    def careless(*given: Any, **more: Any) -> Any:
        return replace(certify(*given, **more), verdict="proved", method="trust me", proof=Offered({}))

    monkeypatch.setattr(truth, "certify", careless)
    failed = {found.kind for number in range(36) if (found := awkward.attack(number, STEPS_SEED)).failure}
    assert len(failed) >= 8


# -- step functions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(30))
def test_some_step_functions(number: int):
    assert steps.attack(number, STEPS_SEED).failure == ""


def test_every_kind_of_state_that_must_be_refused_is_tried():
    turns = [steps.attack(3 * turn + 2, STEPS_SEED) for turn in range(len(steps.FORBIDDEN))]
    assert len({found.kind for found in turns}) == len(steps.FORBIDDEN)
    assert {(found.outcome, found.failure) for found in turns} == {("refused", "")}
    with pytest.raises(InputError, match="a set"):
        step_function.plain_state(({1},))


def test_states_that_are_taken_for_one_would_be_noticed(monkeypatch: pytest.MonkeyPatch):
    def careless(state: Any) -> tuple[Any, Any]:
        try:
            hash(state)
        except TypeError:
            return deepcopy(state), repr(state)
        return state, state  # 1, 1.0 and True are one

    monkeypatch.setattr(step_function, "plain_state", careless)
    found = [steps.attack(number, STEPS_SEED) for number in range(90)]
    assert any("taken as a state" in one.failure for one in found)
    assert any("proved, but" in one.failure or "shows no wrong" in one.failure for one in found)


# -- networks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", networks.FAMILIES)
def test_the_evaluator_is_the_network(kind: str):
    """Written apart from the graph, and yet the same; float32 is something else."""
    rng = np.random.default_rng(list(networks.FAMILIES).index(kind))
    for _ in range(5):
        network = networks.FAMILIES[kind](rng)
        graph = network.graph
        x = np.stack([rng.choice(d.values(), (20, 8)) for d in network.domains], -1).astype(float)
        past = rng.integers(-2, 3, (20, 8, len(graph.outputs))).astype(float)
        right = graph.run(Sequences(x, past, np.full(20, 8)))
        for backwards in () if kind == "huge weights" else (False, True):
            answer = network_truth.run_network(graph, x, past, backwards=backwards)
            assert np.allclose(answer, right, rtol=1e-9, atol=1e-9)
        assert not np.array_equal(network_truth.run_network(graph, x, past, np.float32), right)


CLAIM = NetworkCertificate("proved", "made", "at every length", 0.4, 0.1, None, 100, proof=Offered())
ONE = {"verdict": "exhaustive", "covers": "up to length 1"}


@pytest.mark.parametrize(
    ("changes", "slope", "said"),
    [
        ({}, 1.0, "differs after 2 inputs"),
        (ONE | {"covers": "up to length 2"}, 1.0, "differs after 2 inputs"),
        (ONE, 1.0, ""),
        ({"verdict": "tested"}, 2.0, "tested, but"),
        (ONE | {"error": 0.01}, 1.1, "with an error of"),
        (ONE | {"error": 0.4}, 1.1, "with a margin of"),
        ({"covers": "as long as no past value exceeds 2**2"}, 1.0, "differs after 2"),
        ({"covers": "as long as no past value exceeds 2**1"}, 1.0, ""),
        ({"verdict": "differs"}, 1.0, "without"),
        ({"verdict": "differs", "counterexample": ((3.0,), (2.0,))}, 1.0, "shows no difference"),
        ({"verdict": "differs", "counterexample": ((3.0,), (3.0,))}, 1.0, ""),
    ],
)
def test_claims_about_networks_are_seen_through(changes, slope, said):
    """The network is y = slope * x; its program is y = x where x is 0 to 3, and one more at 3 after 3."""
    layout, head = Layout("tagging", (1.0,), (1.0,)), np.array([[slope, 0.0]])
    graph = DiscreteGraph((ChannelNode("V0", "x"),), head, layout, ("x",), ("y",), 4)
    rare = Var("x").equals(3) * Var("x", 1).equals(3)
    program = Recurrence(("x",), (Step("y", Var("x") + rare),), ("y",))
    known = network_truth.runs(program, (integers(0, 3),), np.random.default_rng(0))
    failure = network_truth.wrong_claim(replace(CLAIM, **changes), graph, program, known, whole=True)
    assert said in failure
    assert bool(said) == bool(failure)
