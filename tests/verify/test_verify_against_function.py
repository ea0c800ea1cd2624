"""Programs against plain functions: proved where states are finite, and refuted with a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weights2code.language import BITS, Domain, integers, reals
from weights2code.language.formula_reading import read_recurrence
from weights2code.tasks import StepFunction
from weights2code.verify import Certificate, certify


def parity(state: str, row: dict[str, int]) -> tuple[str, int]:
    state = {"even": "odd", "odd": "even"}[state] if row["x"] else state
    return state, int(state == "odd")


def sevens(state: tuple[int, int], row: dict[str, int]) -> tuple[tuple[int, int], int]:
    """Answers otherwise once the same digit came eleven times in a row: no test meets that."""
    last, times = state
    times = min(times + 1, 11) if row["x"] == last else 1
    return (row["x"], times), int(times == 11 and row["x"] == 7)


def total(state: int, row: dict[str, int]) -> tuple[int, int]:
    return state + row["x"], state + row["x"]


def leak(state: float, row: dict[str, float]) -> tuple[float, float]:
    state = 0.5 * state + row["x"]
    return state, state


def half(state: None, row: dict[str, int]) -> tuple[None, float]:
    return state, row["x"] / 2


def certified(formula: str, step: Any, start: Any, domain: Domain = BITS, whole: bool = True) -> Certificate:
    function = StepFunction(("x",), ("y",), start, step, (domain,))
    program = read_recurrence(["x"], f"y[t] = {formula}")
    found = certify(program, reference=function, domains=(domain,), length=8, integer_outputs=whole)
    if found.counterexample is not None:
        shown = np.array([found.counterexample])
        assert function.run(shown)[0, -1, 0] != program.run(shown)[0, -1, 0]
    return found


PARITY, UNIT, DIGITS = "(x[t] + y[t-1]) % 2", reals(0.0, 1.0), integers(0, 9)


@pytest.mark.parametrize(
    ("formula", "step", "start", "domain", "verdict", "length"),
    [
        (PARITY, parity, "even", BITS, "proved", None),
        (PARITY, parity, "odd", BITS, "failed", 1),  # starts count
        ("x[t]", parity, "even", BITS, "failed", None),
        ("0*x[t]", sevens, (0, 0), DIGITS, "failed", 11),
        ("x[t] + y[t-1]", total, 0, DIGITS, "exhaustive", None),
        ("x[t] + 0.5*y[t-1]", leak, 0.0, UNIT, "tested", None),
        ("x[t] + 0.4*y[t-1]", leak, 0.0, UNIT, "failed", None),
        ("0.5*x[t]", half, None, BITS, "proved", None),
        ("0.5*x[t] + 0.000000000001", half, None, BITS, "bounded", None),
    ],
)
def test_the_verdict(formula: str, step: Any, start: Any, domain: Domain, verdict: str, length: int | None):
    found = certified(formula, step, start, domain, whole=step not in (leak, half))
    assert found.verdict == verdict
    assert length is None or len(found.counterexample or ()) == length


def test_what_is_said():
    proved = certified(PARITY, parity, "even")
    assert proved.covers == "every length"
    assert "2 states that the step function and the program reach together" in proved.method
    assert StepFunction.assumes in proved.explain()
    assert any("reals" in note for note in certified("x[t] + 0.5*y[t-1]", leak, 0.0, UNIT, False).notes)


@pytest.mark.slow
def test_states_without_end_are_closed_up_to_a_length():
    assert certified("x[t] + y[t-1]", total, 0).covers == "lengths 1 to 49999"
