"""A share of the attacks on proofs, and that the judge of them is no easy one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weights2code.language import integers, maximum
from weights2code.verify import certify
from weights2code.verify.links import Offered

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import machines  # pyright: ignore[reportMissingImports]
    import mutants  # pyright: ignore[reportMissingImports]
    import truth  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

x, x1 = machines.x, machines.x1
SEED = 2024


@pytest.mark.parametrize("number", range(len(machines.FAMILIES)))
@pytest.mark.slow
def test_one_machine_of_each_family(number):
    assert machines.attack(number, SEED).failure == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_some_mutants(number):
    assert mutants.attack(number, SEED).failure == ""


def case(program, reference=None, **more):
    reference = machines.machine(maximum(x, x1)) if reference is None else reference
    return truth.Case("made", program, reference, (integers(0, 9),), True, 10, **more)


def judged(made, **changes):
    """What the judge says of a certificate that was changed."""
    found = certify(
        made.program, reference=made.reference, domains=made.domains, length=10, integer_outputs=True
    )
    return found, truth.wrong_verdict(
        made, replace(found, proof=found.proof or Offered(), **changes), np.random.default_rng(0)
    )


def test_a_right_verdict_passes():
    found, failure = judged(case(machines.machine(maximum(x1, x))))
    assert found.verdict == "proved"
    assert failure == ""


def test_claims_that_are_too_much_are_seen():
    wrong = case(machines.machine(x))
    assert "proved, but" in judged(wrong, verdict="proved")[1]
    assert "bounded by" in judged(wrong, verdict="bounded", error=1e-9)[1]
    assert "exhaustive, but" in judged(wrong, verdict="exhaustive", covers="lengths 1 to 5")[1]
    assert "tested, but" in judged(wrong, verdict="tested")[1]
    beyond = case(machines.machine((maximum(x, x1) + 2**53) - 2**53))
    assert "proved, but" in judged(beyond, verdict="proved")[1]


def test_claims_that_are_too_little_are_seen():
    right = case(machines.machine(maximum(x1, x)))
    assert "no counterexample" in judged(right, verdict="failed")[1]
    assert "shows no wrong output" in judged(right, verdict="failed", counterexample=((3.0,), (4.0,)))[1]


def test_telling_sequences_are_run():
    rare = machines.where(x.equals(7), 1, 0) * machines.where(x1.equals(3), 1, 0)
    late = case(machines.machine(maximum(x, x1) + rare), telling=([[3.0], [7.0]],))
    assert "proved, but after 2 inputs" in judged(late, verdict="proved")[1]
