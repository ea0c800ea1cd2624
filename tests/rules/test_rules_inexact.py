"""Rules from measured data: few terms, few digits, fitted to free running; majorities among mistakes."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, from_lists
from weights2code.language import Recurrence, Step, Var, formula
from weights2code.rules.free_running import running_free
from weights2code.rules.inexact import affine, majorities, needed, thinned

x, y, y1 = Var("x"), Var("y"), Var("y", 1)


def smoothed(noise: float, process: float = 0.0) -> Problem:
    """y = 0.7*y[t-1] + 0.3*x, 1500 steps."""
    rng = np.random.default_rng(0)
    values = rng.uniform(-5, 5, 1500).round(2)
    state, out = 0.0, []
    for value in values:
        state = 0.7 * state + 0.3 * value + process * rng.normal()
        out.append(state + noise * rng.normal())
    return from_lists([values[:, None]], [np.array(out)[:, None]], ("x",), ("y",), seed=0)


def machine(definition) -> Recurrence:
    return Recurrence(("x",), (Step("y", definition),), ("y",))


def test_echoes_of_the_past_are_taken_back_to_the_rule():
    unrolled = 0.31 * x + 0.2 * Var("x", 1) + 0.15 * Var("x", 2) + 0.34 * Var("y", 3)
    found = running_free(machine(unrolled), smoothed(noise=0.05))
    assert found is not None
    assert formula(found.steps[0].definition) == "0.3*x[t] + 0.7*y[t-1]"  # type: ignore[arg-type]
    # noise in the process is left to one step ahead
    assert running_free(machine(0.3 * x + 0.7 * y1), smoothed(0.0, process=0.5)) is None


def test_many_leaves_are_thinned_by_what_they_are_worth():
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(500, 14))
    target = 2 * columns[:, 3] - columns[:, 11] + 0.1 * rng.normal(size=500)
    leaves = tuple(Var(f"c{i}") for i in range(14))
    kept = thinned(columns, target, most=9)
    assert len(kept) == 9
    assert {3, 11} <= set(kept)
    assert set(affine(leaves, columns, target).variables()) == {Var("c3"), Var("c11")}


# -- majorities ----------------------------------------------------------------------------------------------


def with_mistakes(rule, columns: int, share: float, rows: int = 1200):
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 2, (rows, columns)).astype(float)
    right = np.array([rule(*row) for row in drawn], float)
    return drawn, np.where(rng.random(rows) < share, 1 - right, right)


def test_majorities_are_the_rule():
    drawn, given = with_mistakes(lambda p, q: p * q, 2, 0.1)
    combinations, majority, covered = majorities(drawn, given)
    assert covered == 1.0
    assert np.array_equal(majority, combinations[:, 0] * combinations[:, 1])
    chance = np.random.default_rng(0).integers(0, 2, len(drawn)).astype(float)
    assert majorities(drawn[:, :1], chance)[2] < 0.5  # without a majority they do not count


def test_values_that_say_nothing_are_dropped():
    drawn, given = with_mistakes(lambda p, q, r, s: max(p, 1 - r), 4, 0.05)
    assert needed(drawn, given, [1.0, 1.1, 1.2, 1.3]) == [0, 2]
