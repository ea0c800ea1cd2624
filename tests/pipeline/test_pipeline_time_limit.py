"""Effort is counted in work; only a time limit looks at the clock, and it holds and says so."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from weights2code import effort, pipeline
from weights2code.data import Problem, from_lists, from_task
from weights2code.effort import Effort, TimeUp, check_time, seconds_left, time_is_up, within
from weights2code.errors import Reason
from weights2code.language import BITS, Recurrence, Step, Var, integers, op
from weights2code.settings import Settings
from weights2code.symbolic import NativeEngine
from weights2code.tasks import get
from weights2code.verify import certify


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Every look at the clock costs a second."""
    seconds = map(float, itertools.count())
    monkeypatch.setattr(effort, "clock", lambda: next(seconds))
    return effort.now


@pytest.fixture
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> float:
        raise AssertionError("nobody may look at the clock")

    monkeypatch.setattr(effort, "clock", look)


def test_limits_within_limits(clock: Callable[[], float]):
    assert seconds_left() == np.inf
    with within(10.0) as outer:
        with within(1000.0) as inner:
            assert inner is outer
        with within(2.0, since=clock() - 5.0) as shorter:
            assert time_is_up()
            with pytest.raises(TimeUp, match="the time limit of 2 s was reached"):
                check_time()
        assert shorter.cut
        assert not outer.cut
        assert not time_is_up()
    assert not time_is_up()


def test_effort_is_spent_by_work(no_clock: None):
    left = Effort(1.0)
    left.spend(0.6)
    assert not left.spent()
    left.spend(0.6)
    assert left.spent()


#: Two counters of the ones so far that may be wrong in the same way.
COUNT = Recurrence(("x",), (Step("y", Var("x") + Var("y", 1)),), ("y",))
OTHER = Recurrence(("x",), (Step("y", Var("y", 1) + op("max", Var("x"), 0)),), ("y",))


@pytest.mark.slow
def test_searches_and_proofs_count_their_work(no_clock: None):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (400, 3)).astype(float)
    y = np.where(X[:, 0] > X[:, 1], X[:, 2], 2 * X[:, 0] - X[:, 1])
    variables, domains = (Var("a"), Var("b"), Var("c")), (integers(0, 9),) * 3
    fronts = [
        NativeEngine().search(X, y, variables=variables, domains=domains, tolerance=1e-6, effort=much)
        for much in (0.02, 0.02, 0.3)
    ]
    assert fronts[0] == fronts[1]
    assert fronts[0] != fronts[2]
    proof = certify(OTHER, reference=COUNT, domains=(BITS,), length=6, integer_outputs=True)
    assert proof.verdict == "proved"


def test_a_proof_that_is_cut_short_is_not_passed_over_in_silence(clock: Callable[[], float]):
    with within(1.0):
        clock()
        found = certify(OTHER, reference=COUNT, domains=(integers(0, 99),), length=6, integer_outputs=True)
    assert found.verdict == "tested"
    assert "the time limit was reached; a proof may have been cut short" in found.notes


def unsolvable() -> Problem:
    """Targets that are drawn, some of them; five columns, so that there is much to try."""
    rng = np.random.default_rng(0)
    x = [rng.integers(0, 6, (12, 2)) for _ in range(60)]
    y = [np.column_stack([rng.integers(0, 3, (12, 4)), one.sum(1)]) for one in x]
    return from_lists(x, y, ("a", "b"), tuple("pqrst"), seed=0)


@pytest.mark.slow
def test_the_limit_holds_for_all_targets_together(clock: Callable[[], float]):
    outcome = pipeline.search(unsolvable(), Settings(time_limit=40.0))
    assert outcome.seconds <= 1.2 * 40
    assert outcome.exit_code != 0
    last = outcome.attempts[-1]
    assert last.reason is Reason.NO_TIME
    assert str(last) == "time limit: 40 s were not enough for all that could be tried"


def test_what_is_found_in_time_says_nothing_of_limits(clock: Callable[[], float]):
    problem = from_task(get("sum_last2"), 512, 0, validation=128)
    outcome = pipeline.search(problem, Settings(time_limit=1e5))
    assert outcome.exit_code == 0
    assert all(attempt.reason is not Reason.NO_TIME for attempt in outcome.attempts)


def test_what_was_asked_for_is_trained_to_its_end():
    assert Settings().cut_after() == 120
    assert Settings(layers=1).cut_after() == Settings(recipe="paper").cut_after() == np.inf
    assert Settings(layers=1, time_limit=7.0).cut_after() == 7
