"""Rules from measured data: few terms, few digits, fitted to free running where the instrument is noisy."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, from_lists
from weights2code.language import Const, Op, Recurrence, Step, Var, formula
from weights2code.rules.free_running import closed, opened, running_free, terms_of
from weights2code.rules.inexact import affine, thinned

x, y = Var("x"), Var("y")


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


def test_noise_in_the_process_is_left_to_one_step_ahead():
    assert running_free(machine(0.3 * x + 0.7 * Var("y", 1)), smoothed(0.0, process=0.5)) is None


def test_many_leaves_are_thinned_by_what_they_are_worth():
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(500, 14))
    target = 2 * columns[:, 3] - columns[:, 11] + 0.1 * rng.normal(size=500)
    leaves = tuple(Var(f"c{i}") for i in range(14))
    kept = thinned(columns, target, most=9)
    assert len(kept) == 9
    assert {3, 11} <= set(kept)
    assert set(affine(leaves, columns, target).variables()) == {Var("c3"), Var("c11")}


def test_constants_are_freed_filled_and_opened():
    program, constants = opened(machine(Op("pow", (x, Const(3))) * 5 + 0.25 * Var("y", 1)))
    assert constants == pytest.approx([5.0, 0.25], rel=1e-12)
    other = closed(program, (7.0, 0.5))
    rows = np.ones((1, 3, 1))
    as_inputs = np.concatenate([rows, np.full((1, 3, 1), 7.0), np.full((1, 3, 1), 0.5)], 2)
    assert np.array_equal(other.run(rows), program.run(as_inputs))


def test_terms_of_a_sum():
    total = 2 * (x - 3 * Var("y", 1)) - (Const(1.0) - x)
    values = {x: 1.5, Var("y", 1): -2.0}
    from weights2code.language import evaluate

    assert len(terms_of(total)) == 4
    assert sum(float(evaluate(term, values)) for term in terms_of(total)) == float(evaluate(total, values))
