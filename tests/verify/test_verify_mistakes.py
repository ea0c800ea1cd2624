"""Whole numbers with mistakes: chance is told from a rule that was missed."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Regime, from_lists
from weights2code.language import Recurrence, Step, Var, op
from weights2code.verify.own_data import certify_measured
from weights2code.verify.residuals import flips

a, b, y1 = Var("a"), Var("b"), Var("y", 1)


def machine(definition) -> Recurrence:
    return Recurrence(("a", "b"), (Step("y", definition),), ("y",))


def problem_of(truth: Recurrence, share: float, rows: int = 1500) -> Problem:
    """One sequence of bits in which a share of the outputs is written wrongly."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, (rows, 2)).astype(float)
    y = truth.run(x[None])[0]
    y = np.where(rng.random(y.shape) < share, 1 - y, y)
    return from_lists([x], [y], ("a", "b"), ("y",), seed=0)


def test_mistakes_are_chance():
    problem = problem_of(machine(op("max", a, b)), 0.03)
    found = flips(machine(op("max", a, b)), problem.training, one_step=False)
    assert found.structure == ""
    assert 0.015 < found.share < 0.05


def test_what_is_wrong_again_is_a_rule():
    truth = machine(op("max", a, b * Var("a", 3) * Var("b", 5)))  # wrong in one of 16 rows
    found = flips(machine(a), problem_of(truth, 0.0).training, one_step=False)
    assert "a rule is missing" in found.structure


def test_most_rows_must_be_right():
    found = flips(machine(a), problem_of(machine(b), 0.0).training, one_step=False)
    assert "of the outputs are wrong" in found.structure


def test_few_rows_say_nothing():
    problem = problem_of(machine(a), 0.05, rows=150)
    assert "too few" in flips(machine(a), problem.training, one_step=False).structure


def test_the_certificate_allows_mistakes_only_where_they_are_expected():
    problem = problem_of(machine(op("max", a, b)), 0.03)
    assert certify_measured(machine(op("max", a, b)), problem, 0).verdict == "failed"
    expected = problem.under(Regime.MISTAKES)
    found = certify_measured(machine(op("max", a, b)), expected, 0)
    assert found.verdict == "tested"
    assert found.accuracy is not None
    assert 0.9 < found.accuracy < 1
    assert "mistakes in the data" in found.notes[0]
    assert certify_measured(machine(a), expected, 0).verdict == "failed"


def test_without_mistakes_nothing_is_said_about_them():
    problem = problem_of(machine(op("max", a, b)), 0.0).under(Regime.MISTAKES)
    found = certify_measured(machine(op("max", a, b)), problem, 0)
    assert found.verdict == "tested"
    assert found.accuracy == 1.0
    assert found.notes == ()


def test_columns_that_are_not_read_are_named():
    found = certify_measured(machine(a), problem_of(machine(a), 0.0), 0)
    assert found.notes == ("b is not needed: the rule does not read it",)
