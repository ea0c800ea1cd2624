"""Rungs that cannot fit are not trained; what may fit is never ruled out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from weights2code.data import Problem, from_arrays, from_task
from weights2code.errors import Reason
from weights2code.language import (
    BITS,
    Definition,
    Domain,
    Recurrence,
    Step,
    Var,
    maximum,
    op,
    reals,
)
from weights2code.settings import Settings
from weights2code.tasks import get
from weights2code.training import climb as climbing
from weights2code.training.ladder import Rung, Variant, ladder_of
from weights2code.training.recipes import Recipe
from weights2code.training.ruled_out import Skipped, ruled_out

X, Y = Var("x"), Var("y", 1)
LENGTH = 20


def problem_of(rule: Definition, domain: Domain = BITS, start: float = 0.0, samples: int = 600) -> Problem:
    """Random inputs of one column and what the rule makes of them."""
    machine = Recurrence(("x",), (Step("y", rule),), ("y",), {"y": start} if start else {})
    rng = np.random.default_rng(0)
    x = rng.integers(int(domain.low), int(domain.high) + 1, (samples, LENGTH, 1)).astype(float)
    data = from_arrays(x, machine.run(x))
    return Problem("rule", ("x",), ("y",), (domain,), data.domains()[1], data, data, LENGTH, machine)


def judged(problem: Problem, **settings: object) -> dict[str, Reason | None]:
    ladder = ladder_of(problem, Settings(**settings))  # type: ignore[arg-type]
    return {rung.name: ruled_out(rung, problem, ladder[:index]) for index, rung in enumerate(ladder)}


@pytest.mark.parametrize("lag", range(7))
def test_a_window_is_trained_if_it_reaches_far_enough(lag: int):
    found = judged(problem_of(op("ne", X, Var("x", lag)) if lag else 1 - X))
    assert found["window"] == (None if lag <= 1 else Reason.UNDETERMINED)
    wide = Reason.NOTHING_NEW if lag <= 1 else None if lag <= 5 else Reason.UNDETERMINED
    assert found["wide window"] == wide
    assert found["pairs"] is None


def test_values_before_the_start_contradict_nothing():
    """The first output follows a start value of its own; the rule is a window all the same."""
    assert judged(problem_of((X + Y) % 2, start=1.0))["window"] is None


def test_more_values_than_heads_are_seen():
    """Four lags and no output that tells of them: two heads are not enough, a window is."""
    lags = [Var("x", lag) for lag in range(1, 5)]
    found = judged(problem_of(maximum(lags[0] * lags[1], lags[2] * lags[3]) * X))
    assert found["pairs"] is Reason.UNDETERMINED
    assert found["wide window"] is None


def test_past_outputs_count_where_the_layout_has_them():
    parity = problem_of((X + Y) % 2)
    assert judged(parity)["window"] is None
    tagged = judged(parity, layout="tagging")
    assert tagged["pairs"] is tagged["window"] is Reason.UNDETERMINED


@pytest.mark.parametrize("change", [{"reference": None}, {"domains": (reals(0, 1),)}])
def test_only_whole_numbers_of_a_machine_are_asked(change: dict):
    problem = replace(problem_of(op("ne", X, Var("x", 4))), **change)
    assert set(judged(problem).values()) == {None}


def test_rungs_that_nobody_can_foresee_are_trained():
    found = judged(from_task(get("Bit_Palindrome"), 500, 0, validation=8))
    assert found["window"] is found["wide window"] is Reason.UNDETERMINED
    assert [found[name] for name in ("linear", "prefix", "memory")] == [None] * 3


def no_training(rung: Rung, *_: object, **__: object) -> SimpleNamespace:
    return SimpleNamespace(rung=rung.name, unfinished=False, fitted=False, losses=(1.0,), accuracies=(0.0,))


@pytest.fixture
def climbed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[str], list[Skipped]]]:
    """The rungs of a climb that would be trained, and those that are skipped."""

    def climb(problem: Problem, **settings: object) -> tuple[list[str], list[Skipped]]:
        monkeypatch.setattr(climbing, "train_rung", no_training)
        skipped: list[Skipped] = []
        found = climbing.climb(problem, Settings(**settings), skipped=skipped)  # type: ignore[arg-type]
        return [trained.rung for trained in found], skipped

    return climb


def test_a_climb_trains_or_skips_every_rung(climbed: Callable):
    problem = problem_of(op("ne", X, Var("x", 3)))
    trained, skipped = climbed(problem)
    ladder = [rung.name for rung in ladder_of(problem, Settings())]
    assert Skipped("window", Reason.UNDETERMINED) in skipped
    assert "window" not in trained
    assert "wide window" in trained
    assert sorted([*trained, *(s.rung for s in skipped)]) == sorted(ladder)


def test_an_architecture_that_is_asked_for_is_trained(climbed: Callable):
    hidden = from_task(get("Bit_Palindrome"), 200, 0, validation=8)
    rung = Rung("fixed", {"layers": 1, "location": 1}, Recipe(), (Variant(1),))
    assert ruled_out(rung, hidden) is Reason.UNDETERMINED
    assert climbed(hidden, layers=1, heads=1) == (["fixed"], [])
