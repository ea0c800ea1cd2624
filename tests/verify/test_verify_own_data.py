"""Own data: residuals that are noise, rules that were missed, free running and one step ahead."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, Regime, from_lists
from weights2code.language import Const, Recurrence, Step, Var, op
from weights2code.verify.own_data import certify_measured
from weights2code.verify.residuals import residuals, rounding

x, y1 = Var("x"), Var("y", 1)


def machine(definition) -> Recurrence:
    return Recurrence(("x",), (Step("y", definition),), ("y",))


def problem_of(make, noise: float = 0.0, process: float = 0.0, digits: int | None = None) -> Problem:
    """600 steps of y = make(x, last y), with noise of the instrument or in the process."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=600).round(3)
    last, out = 0.0, []
    for value in values:
        last = make(value, last) + process * rng.normal()
        out.append(last + noise * rng.normal())
    target = np.array(out) if digits is None else np.round(out, digits)
    return from_lists([values[:, None]], [target[:, None]], ("x",), ("y",), seed=0)


def test_exact_data_are_judged_exactly():
    problem = problem_of(lambda value, last: 0.5 * last + value)
    good = certify_measured(machine(0.5 * y1 + x), problem, 0)
    assert good.verdict == "tested"
    assert "free-running" in good.method
    assert good.notes == ()
    near = certify_measured(machine(0.5 * y1 + 1.003 * x), problem, 0)
    assert near.verdict == "failed"


def test_whole_numbers_that_are_wrong_where_they_were_learned_from():
    """Of 300 rows one is not 0, and none of those that were held out."""
    inputs, targets = np.arange(300.0) % 7, np.zeros(300)
    targets[20] = 1
    problem = from_lists([inputs[:, None]], [targets[:, None]], ("x",), ("y",), seed=0)
    zero = machine(Const(0))
    for regime in (Regime.EXACT, Regime.NOISY):
        found = certify_measured(zero, problem.under(regime), 0)
        assert found.verdict == "failed"
        assert "wrong elsewhere: 300 of 300 rows could be judged, 299 of them right" in found.method
        assert found.accuracy == 299 / 300


def test_noise_of_the_instrument_is_said_and_measured():
    problem = problem_of(lambda value, last: 0.5 * last + value, noise=0.1)
    found = certify_measured(machine(0.5 * y1 + x), problem, 0)
    assert found.verdict == "tested"
    assert "free-running" in found.method
    assert "the data are not exact" in found.notes[0]
    assert found.rmse == pytest.approx(0.1, rel=0.2)


def test_noise_in_the_process_is_judged_one_step_ahead():
    problem = problem_of(lambda value, last: last + value, process=0.2)
    found = certify_measured(machine(y1 + x), problem, 0)
    assert found.verdict == "tested"
    assert "one step ahead, the true past outputs given" in found.method


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (op("max", x, 0.0) * 0.0 + 0.8, "they follow input 1 at t, "),
        (op("abs", x) + 0.3, "do not average out"),
    ],
)
def test_a_missed_rule_is_no_noise(definition, reason: str):
    problem = problem_of(lambda value, last: abs(value), noise=0.05)
    found = certify_measured(machine(definition), problem, 0)
    assert found.verdict == "failed"
    assert reason in found.method


def test_a_rule_with_exceptions_is_no_noise():
    problem = problem_of(lambda value, last: value + (2.0 if value > 1.5 else 0.0))
    (found,) = residuals(machine(x), problem.training, one_step=False)
    assert not found.exact
    assert "a rule is missing" in found.structure


def test_digits_that_were_not_written_are_no_errors():
    problem = problem_of(lambda value, last: 0.5 * last + value, digits=2)
    (found,) = residuals(machine(0.5 * y1 + x), problem.training, one_step=True)
    assert found.exact
    assert certify_measured(machine(0.5 * y1 + x), problem, 0).verdict == "tested"
    assert rounding(np.array([1.25, 3.5, 10.0]), 4.0) == 0.01
    assert rounding(np.random.default_rng(0).normal(size=9), 1.0) == 0.0


def test_few_rows_cannot_show_noise():
    problem = problem_of(lambda value, last: value, noise=0.1)
    (found,) = residuals(machine(x), problem.training.take(slice(0, 2)), one_step=False)
    assert "too few" in found.structure
