"""Programs against plain functions: proved where states are finite, and refuted with a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weights2code.language import BITS, Domain, integers, reals
from weights2code.language.formula_reading import read_recurrence
from weights2code.tasks import StepFunction
from weights2code.verify import Certificate, certify


def certified(formulas: str, step: Any, start: Any, domain: Domain = BITS, **changes: Any) -> Certificate:
    program = read_recurrence(["x"], formulas, ["y"])
    function = StepFunction(("x",), ("y",), start, step, (domain,))
    settings: dict[str, Any] = {"length": 8, "integer_outputs": domain.discrete, **changes}
    return certify(program, reference=function, domains=(domain,), **settings)


def parity(state: str, row: dict[str, int]) -> tuple[str, int]:
    state = {"even": "odd", "odd": "even"}[state] if row["x"] else state
    return state, int(state == "odd")


def test_a_program_is_proved_equal():
    found = certified("y[t] = (x[t] + y[t-1]) % 2", parity, "even")
    assert found.verdict == "proved"
    assert found.covers == "every length"
    assert "2 states that the step function and the program reach together" in found.method
    assert StepFunction.assumes in found.explain()


def test_a_difference_that_tests_do_not_meet_is_found():
    """The function answers otherwise once the same digit came eleven times in a row."""

    def step(state: tuple[int, int], row: dict[str, int]) -> tuple[tuple[int, int], int]:
        last, times = state
        times = min(times + 1, 11) if row["x"] == last else 1
        return (row["x"], times), int(times == 11 and row["x"] == 7)

    found = certified("y[t] = 0*x[t]", step, (0, 0), integers(0, 9), length=8)
    assert found.verdict == "failed"
    assert found.counterexample is not None
    assert [row[0] for row in found.counterexample] == [7] * 11


def test_a_wrong_program_fails_with_a_short_sequence():
    found = certified("y[t] = x[t]", parity, "even")
    assert found.verdict == "failed"
    example = np.array(found.counterexample)
    function = StepFunction(("x",), ("y",), "even", parity, (BITS,))
    assert function.run(example[None])[0, -1, 0] != example[-1, 0]


def test_the_starts_of_a_program_count():
    found = certified("y[t] = (x[t] + y[t-1]) % 2", parity, "odd")
    assert found.verdict == "failed"
    assert len(found.counterexample or ()) == 1


@pytest.mark.slow
def test_states_without_end_are_closed_up_to_a_length():
    def total(state: int, row: dict[str, int]) -> tuple[int, int]:
        return state + row["x"], state + row["x"]

    found = certified("y[t] = x[t] + y[t-1]", total, 0)
    assert found.verdict == "exhaustive"
    assert found.covers == "lengths 1 to 49999"
    found = certified("y[t] = x[t] + y[t-1]", total, 0, integers(0, 9))
    assert found.verdict == "exhaustive"


def test_reals_are_tested():
    def leak(state: float, row: dict[str, float]) -> tuple[float, float]:
        state = 0.5 * state + row["x"]
        return state, state

    found = certified("y[t] = x[t] + 0.5*y[t-1]", leak, 0.0, reals(0.0, 1.0))
    assert found.verdict == "tested"
    assert any("reals" in note for note in found.notes)
    assert certified("y[t] = x[t] + 0.4*y[t-1]", leak, 0.0, reals(0.0, 1.0)).verdict == "failed"


@pytest.mark.parametrize(("formula", "verdict"), [("0.5*x[t]", "proved"), ("0.5*x[t] + 1e-12", "bounded")])
def test_outputs_that_are_no_whole_numbers(formula: str, verdict: str):
    found = certified(f"y[t] = {formula}", lambda s, row: (s, row["x"] / 2), None, integer_outputs=False)
    assert found.verdict == verdict
