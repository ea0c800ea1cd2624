"""Own data: residuals that are noise or mistakes, rules that were missed, and what is judged after a gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weights2code.data import Problem, Regime, Rows, from_lists
from weights2code.data.parts import MOST_JUDGED, all_rows, divide
from weights2code.data.sequences import from_list
from weights2code.language import BITS, Count, Recurrence, Step, Var, integers, op, reals, where
from weights2code.language.formula_reading import read_recurrence
from weights2code.verify import Certificate, certify_on_data
from weights2code.verify.all_rows import over_all
from weights2code.verify.own_data import Allowed, certify_measured
from weights2code.verify.residuals import flips, residuals, rounding

a, b, s1 = Var("a"), Var("b"), Var("s", 1)


def rule(formula: str, inputs: str = "x") -> Recurrence:
    return read_recurrence(inputs.split(), f"y = {formula}")


SUM = rule("y[t-1] + x[t]")

# -- reals ---------------------------------------------------------------------------------------------------


def measured(make, noise: float = 0.0, process: float = 0.0, digits: int | None = None) -> Problem:
    """600 steps of y = make(x, last y), with noise of the instrument or in the process."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=600).round(3)
    last, out = 0.0, []
    for value in values:
        last = make(value, last) + process * rng.normal()
        out.append(last + noise * rng.normal())
    target = np.array(out) if digits is None else np.round(out, digits)
    return from_lists([values[:, None]], [target[:, None]], ("x",), ("y",), seed=0)


def halving(value: float, last: float) -> float:
    return 0.5 * last + value


@pytest.mark.parametrize(
    ("formula", "problem", "verdict", "said"),
    [
        ("0.5*y[t-1] + x[t]", measured(halving), "tested", "by itself"),
        ("0.5*y[t-1] + 1.003*x[t]", measured(halving), "failed", ""),
        ("0.5*y[t-1] + x[t]", measured(halving, noise=0.1), "tested", "by itself"),
        ("0.5*y[t-1] + x[t]", measured(halving, digits=2), "tested", ""),  # digits that were not written
        ("y[t-1] + x[t]", measured(lambda value, last: last + value, process=0.2), "tested",
         "one step ahead, the true past outputs given"),
        # a missed rule is no noise
        ("max(x[t], 0)*0 + 0.8", measured(lambda value, _: abs(value), noise=0.05), "failed",
         "they follow input 1 at t, "),
        ("abs(x[t]) + 0.3", measured(lambda value, _: abs(value), noise=0.05), "failed", "average out"),
    ],
)  # fmt: skip
def test_measured_data(formula: str, problem: Problem, verdict: str, said: str):
    found = certify_measured(rule(formula), problem, 0)
    assert found.verdict == verdict
    assert said in found.method


def test_noise_of_the_instrument_is_said_and_measured():
    found = certify_measured(rule("0.5*y[t-1] + x[t]"), measured(halving, noise=0.1), 0)
    assert "the data are not exact" in found.notes[0]
    assert found.rmse == pytest.approx(0.1, rel=0.2)
    assert certify_measured(rule("0.5*y[t-1] + x[t]"), measured(halving), 0).notes == ()


def test_residuals():
    exceptions = measured(lambda value, _: value + (2.0 if value > 1.5 else 0.0))
    (found,) = residuals(rule("x[t]"), exceptions.training, one_step=False)
    assert not found.exact
    assert "a rule is missing" in found.structure
    written = measured(halving, digits=2).training
    assert residuals(rule("0.5*y[t-1] + x[t]"), written, one_step=True)[0].exact
    few = measured(lambda value, _: value, noise=0.1).training.take(slice(0, 2))
    assert "too few" in residuals(rule("x[t]"), few, one_step=False)[0].structure
    assert rounding(np.array([1.25, 3.5, 10.0]), 4.0) == 0.01
    assert rounding(np.random.default_rng(0).normal(size=9), 1.0) == 0.0


def test_whole_numbers_that_are_wrong_where_they_were_learned_from():
    """Of 300 rows one is not 0, and none of those that were held out."""
    inputs, targets = np.arange(300.0) % 7, np.zeros(300)
    targets[20] = 1
    problem = from_lists([inputs[:, None]], [targets[:, None]], ("x",), ("y",), seed=0)
    for regime in (Regime.EXACT, Regime.NOISY):
        found = certify_measured(rule("0"), problem.under(regime), 0)
        assert (found.verdict, found.accuracy) == ("failed", 299 / 300)
        assert "wrong elsewhere: 300 of 300 rows could be judged, 299 of them right" in found.method


# -- what is allowed -----------------------------------------------------------------------------------------


def sums(noise: float = 0.0) -> Any:
    rng, pairs = np.random.default_rng(1), []
    for length in (3, 7, 7) * 20:
        inputs = rng.uniform(0, 1, (length, 1))
        pairs.append((inputs, np.cumsum(inputs, axis=0) + noise * rng.standard_normal((length, 1))))
    return from_list(*zip(*pairs, strict=True))


@pytest.mark.parametrize(
    ("formula", "noise", "allowed", "verdict"),
    [
        ("y[t-1] + x[t]", 0.0, Allowed(False), "tested"),
        ("y[t-1] + 1.1*x[t]", 0.0, Allowed(False), "failed"),
        ("y[t-1] + 1.1*x[t]", 0.0, Allowed(False, tolerance=0.5), "tested"),
        ("y[t-1] + x[t]", 0.1, Allowed(False), "failed"),
        ("y[t-1] + x[t]", 0.1, Allowed(False, noise=0.1), "tested"),
        ("y[t-1] + 0.8*x[t]", 0.1, Allowed(False, noise=0.1), "failed"),
    ],
)
def test_own_data_is_tested_never_proved(formula: str, noise: float, allowed: Allowed, verdict: str):
    found = certify_on_data(rule(formula), sums(noise), allowed)
    assert (found.verdict, found.lengths, found.sequences, found.domain) == (verdict, (3, 7), 60, ())
    assert (found.counterexample is not None) == (verdict == "failed")


def test_own_data_in_whole_numbers_is_rounded():
    outputs = [np.array([[1.0], [3.0]])] * 9 + [np.array([[1.0], [4.0]])]
    kept = from_list([np.array([[1.0], [2.0]])] * 10, outputs)
    found = certify_on_data(SUM, kept, Allowed(True))
    assert (found.verdict, found.accuracy, found.counterexample) == ("failed", 0.95, ((1.0,), (2.0,)))
    assert certify_on_data(SUM, kept, Allowed(True, tolerance=0.05)).verdict == "tested"


def test_padding_and_context_are_not_judged():
    inputs = [np.ones((length, 1)) for length in (2, 5)]
    kept = from_list(inputs, [np.cumsum(x, axis=0) for x in inputs])
    kept.y[0, 2:] = 99
    found = certify_on_data(SUM, kept, Allowed(True))
    assert found.target.sequences == 2
    assert "(7 rows)" in found.method
    later = replace(kept, y=kept.y + 3, context=np.array([1, 2]))
    found = certify_on_data(SUM, later, Allowed(True))
    assert (found.verdict, found.accuracy) == ("tested", 1.0)
    assert "(4 rows)" in found.method


# -- mistakes ------------------------------------------------------------------------------------------------


def bits(truth: str, share: float, rows: int = 1500) -> Problem:
    """One sequence of bits in which a share of the outputs is written wrongly."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, (rows, 2)).astype(float)
    y = rule(truth, "a b").run(x[None])[0]
    y = np.where(rng.random(y.shape) < share, 1 - y, y)
    return from_lists([x], [y], ("a", "b"), ("y",), seed=0)


EITHER = rule("max(a[t], b[t])", "a b")


@pytest.mark.parametrize(
    ("truth", "formula", "share", "rows", "said"),
    [
        ("max(a[t], b[t])", "max(a[t], b[t])", 0.03, 1500, ""),
        ("max(a[t], b[t]*a[t-3]*b[t-5])", "a[t]", 0.0, 1500, "a rule is missing"),  # wrong in one of 16 rows
        ("b[t]", "a[t]", 0.0, 1500, "of the outputs are wrong"),
        ("a[t]", "a[t]", 0.05, 150, "too few"),
    ],
)
def test_chance_is_told_from_a_rule_that_was_missed(
    truth: str, formula: str, share: float, rows: int, said: str
):
    found = flips(rule(formula, "a b"), bits(truth, share, rows).training, one_step=False)
    assert said in found.structure
    assert bool(said) == bool(found.structure)
    assert said or 0.015 < found.share < 0.05


def test_the_certificate_allows_mistakes_only_where_they_are_expected():
    problem = bits("max(a[t], b[t])", 0.03)
    assert certify_measured(EITHER, problem, 0).verdict == "failed"
    expected = problem.under(Regime.MISTAKES)
    found = certify_measured(EITHER, expected, 0)
    assert found.verdict == "tested"
    assert 0.9 < (found.accuracy or 0) < 1
    assert "mistakes in the data" in found.notes[0]
    assert certify_measured(rule("a[t]", "a b"), expected, 0).verdict == "failed"
    clean = certify_measured(EITHER, bits("max(a[t], b[t])", 0.0).under(Regime.MISTAKES), 0)
    assert (clean.verdict, clean.accuracy, clean.notes) == ("tested", 1.0, ())
    unread = certify_measured(rule("a[t]", "a b"), bits("a[t]", 0.0), 0)
    assert unread.notes == ("b is not needed: the rule does not read it",)


# -- all rows, after gaps ------------------------------------------------------------------------------------

DOMAINS = (integers(0, 2), BITS)
#: What is remembered is seen; what is remembered is a counter of which only the top shows.
SHOWN = rule("(y[t-1] + a[t] + 2*b[t]) % 7", "a b")
COUNTER = Step("s", where(b > 0, op("min", s1 + 1, 4), where(a.equals(0), op("max", s1 - 1, 0), s1)))
COUNTED = Recurrence(("a", "b"), (COUNTER, Step("y", Var("s") >= 3)), ("y",))


def data(truth: Recurrence, rows: int = 2000, gaps: int = 20) -> tuple[np.ndarray, np.ndarray, Problem]:
    """One sequence of a rule's rows, in some of which `a` is missing, first in row 41."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, 3, rows), rng.integers(0, 2, rows)], 1).astype(float)
    y = truth.run(x[None])[0]
    x[np.append(rng.choice(np.arange(50, rows), gaps - 1, replace=False), 41), 0] = np.nan
    return x, y, from_lists([x], [y], ("a", "b"), ("y",), seed=0, missing="drop")


def certificate(program: Recurrence, truth: Recurrence) -> Certificate:
    problem = data(truth)[2]
    return certify_measured(program, problem.uncut or problem, 0)


def test_every_piece_is_judged_from_its_given_past():
    found: Any = certificate(SHOWN, SHOWN)
    assert found.verdict == "tested"
    assert (found.rows.judged, found.rows.right, found.rows.of) == (1960, 1960, 2000)  # each gap costs two
    assert "1960 of 2000 rows could be judged, 1960 of them right" in found.method
    assert Certificate.from_dict(found.to_dict()).rows == found.rows


def test_a_wrong_start_is_wrong_in_the_first_piece_alone():
    wrong = replace(SHOWN, start={"y": 3.0})
    assert certificate(wrong, SHOWN).verdict == "failed"
    rows = data(SHOWN)[2].rows
    assert rows is not None
    told = over_all(wrong, rows, DOMAINS, near=0.5)
    off = told.judged & (np.abs(told.answers - rows.y) > 0.5).any(1)
    assert np.flatnonzero(off).tolist() == list(range(41))


def test_a_hidden_state_is_judged_from_where_it_is_known():
    found: Any = certificate(COUNTED, COUNTED)
    assert found.verdict == "tested"
    assert 1800 < found.rows.right == found.rows.judged < 1960


def test_what_the_only_true_start_does_not_show_is_judged():
    """Within 41 rows two programs are the same, and later they are not."""
    x, y, _ = data(COUNTED)
    once = Var("once", 1)
    steps = (COUNTER, Step("once", op("min", once + 1, 50)), Step("y", (Var("s") >= 3) * (once < 50)))
    other = Recurrence(("a", "b"), steps, ("y",))
    assert np.array_equal(other.run(x[None, :41]), y[None, :41])
    found: Any = certificate(other, COUNTED)
    assert found.verdict == "failed"
    assert "wrong elsewhere" in found.method
    assert found.accuracy == found.rows.right / found.rows.judged


@pytest.mark.parametrize(
    "steps", [(Step("s", s1 + a), Step("y", Var("s") % 50 > 30)), (Step("y", Count("a", a, "eq")),)]
)
def test_what_has_no_end_is_not_known_after_a_gap(steps: tuple[Step, ...]):
    program = Recurrence(("a", "b"), steps, ("y",))
    found = certificate(program, program)
    assert found.verdict == "failed"
    assert "what the program remembers is not known in 19" in found.method
    assert "41 of 2000 rows could be judged, 41 of them right" in found.method


def test_a_machine_of_which_little_was_seen_is_not_tested():
    """A table of 60 states, one for each row since the start, says nothing that rows had not said."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, (60, 1)).astype(float), rng.integers(0, 2, (60, 1)).astype(float)
    answer = a * 0
    for place in np.flatnonzero(y[:, 0]):
        answer = where(s1.equals(int(place)), 1, answer)
    table = Recurrence(("a",), (Step("s", op("min", s1 + 1, 60)), Step("y", answer + 0 * a)), ("y",))
    found = certify_measured(table, from_lists([x], [y], ("a",), ("y",), seed=0), 0)
    assert (found.accuracy, found.verdict) == (1.0, "failed")
    assert "most of its transitions were never seen, the rows show 59 of 540" in found.method


def test_reals_are_run_in_stretches():
    rows = Rows(np.ones((5000, 1)), np.zeros((5000, 1)), np.array([5000]), np.array([True]), 5000)
    told = over_all(SUM, rows, (reals(0, 1),), near=1.0, cut=True)
    assert told.judged.all()
    assert told.answers.max() <= 1000
    assert over_all(SUM, rows, (reals(0, 1),), near=1.0).answers.max() == 5000


def test_a_piece_after_a_gap_is_no_true_start():
    """However short it is: what came before one row is as unknown as what came before many."""
    lengths = np.array([40, *[1, 2, 3] * 9, *[60] * 20])
    parts = divide(lengths, 0, [True, *[False] * (len(lengths) - 1)])
    begun = {p.sequence for pieces in (parts.training, parts.validation) for p in pieces if not p.context}
    assert begun == {0}  # and it is learned from
    assert not any(p.sequence == 0 for p in parts.held_out)
    assert parts.beginnings is not None
    assert [p.sequence for p in parts.beginnings] == [0]


def test_no_more_rows_are_judged_than_can_be_run():
    assert sum(p.last for p in all_rows(np.array([10 * MOST_JUDGED]))) == MOST_JUDGED
    assert MOST_JUDGED // 2 < sum(p.last for p in all_rows(np.full(1000, 500))) <= MOST_JUDGED
    assert [p.last for p in all_rows(np.array([3, 5, 4]))] == [3, 5, 4]
