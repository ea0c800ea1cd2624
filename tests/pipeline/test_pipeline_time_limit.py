"""Effort and time limits are counted in work, whatever else the machine does; a limit holds and says so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from weights2code import effort, pipeline
from weights2code.data import Problem, from_lists
from weights2code.effort import TimeUp, charge, check_time, seconds_left, time_is_up, within, work
from weights2code.errors import Reason
from weights2code.language import BITS, Recurrence, Step, Var, integers, op
from weights2code.settings import Settings
from weights2code.symbolic import NativeEngine
from weights2code.verify import certify


def busy(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Every look at the clock costs so many seconds."""
    looks = itertools.count()
    monkeypatch.setattr(effort, "clock", lambda: seconds * next(looks))


@pytest.fixture
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> float:
        raise AssertionError("nobody may look at the clock")

    monkeypatch.setattr(effort, "clock", look)


def test_limits_within_limits():
    assert seconds_left() == np.inf
    with within(10.0) as outer:
        with within(1000.0) as inner:
            assert inner is outer
        with within(2.0) as shorter:
            charge(5.0)
            assert time_is_up()
            with pytest.raises(TimeUp, match="the time limit of 2 s was reached"):
                check_time()
        assert shorter.cut
        assert not shorter.by_clock
        assert not outer.cut
        assert seconds_left() == pytest.approx(5.0)
        assert not time_is_up()
    assert not time_is_up()


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


def test_a_proof_that_is_cut_short_is_not_passed_over_in_silence():
    with within(0.01):
        found = certify(OTHER, reference=COUNT, domains=(integers(0, 99),), length=6, integer_outputs=True)
    assert found.verdict == "tested"
    assert "the time limit was reached; a proof may have been cut short" in found.notes


def unsolvable() -> Problem:
    """Targets that are drawn, some of them; five columns, so that there is much to try."""
    rng = np.random.default_rng(0)
    x = [rng.integers(0, 6, (12, 2)) for _ in range(60)]
    y = [np.column_stack([rng.integers(0, 3, (12, 4)), one.sum(1)]) for one in x]
    return from_lists(x, y, ("a", "b"), tuple("pqrst"), seed=0)


def test_the_limit_holds_and_the_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    tried = []
    for seconds in (0.0, 1e-4):
        busy(monkeypatch, seconds)
        before = work()
        outcome = pipeline.search(unsolvable(), Settings(time_limit=1.0))
        assert work() - before <= 2
        assert outcome.exit_code != 0
        assert str(outcome.attempts[-1]) == "time limit: 1 s were not enough for all that could be tried"
        tried.append(list(map(str, outcome.attempts)))
    assert tried[0] == tried[1]


def test_a_search_says_what_it_is_at_how_far_and_the_best_so_far():
    said: list[tuple[str, int, int, str]] = []
    pipeline.search(unsolvable(), Settings(time_limit=1.0), None, lambda *one: said.append(one))
    stages, done, total, details = zip(*said, strict=True)
    assert stages[0] == "looking for rules in the rows"
    assert list(done) == sorted(done)
    assert done[-1] > 50
    assert set(total) == {100}
    assert any(" by " in detail or " from " in detail for detail in details)


def test_the_clock_is_the_last_resort_and_says_so(monkeypatch: pytest.MonkeyPatch):
    busy(monkeypatch, 1.0)
    outcome = pipeline.search(unsolvable(), Settings(time_limit=1.0))
    assert outcome.attempts[-1].reason is Reason.NO_TIME
    assert "5 s of processor time had passed" in str(outcome.attempts[-1])


def test_what_was_asked_for_is_trained_to_its_end():
    assert Settings().cut_after() == 120
    assert Settings(layers=1).cut_after() == Settings(recipe="paper").cut_after() == np.inf
    assert Settings(layers=1, time_limit=7.0).cut_after() == 7
