"""When annealing stops, and which rungs a climb that was asked for trains."""

from __future__ import annotations

import pytest

from weights2code.data import Problem, from_task
from weights2code.errors import InputError
from weights2code.settings import Settings
from weights2code.tasks import get
from weights2code.training import search
from weights2code.training import train as climbing
from weights2code.training.ladder import Rung, Variant, ladder_of
from weights2code.training.recipes import Recipe, paper_recipe


def problem(task: str) -> Problem:
    return from_task(get(task), 600, 0, validation=64)


def test_annealing_stops_where_finishing_does_the_rest():
    whole, real = problem("bitwise_xor"), problem("exponential_moving_average")

    def stop(recipe: Recipe, data: Problem, **sizes: int) -> float | None:
        return search.stop_of(Rung("small", sizes, recipe, (Variant(2),)), data)

    assert stop(Recipe(), whole) == search.STOP_BELOW[True]
    assert stop(Recipe(), whole, pointer=1) == stop(Recipe(), real) == search.STOP_BELOW[False]
    assert stop(paper_recipe(), whole) is None


def test_only_the_rungs_that_are_named_are_climbed():
    data = problem("bit_addition")
    names = [rung.name for rung in ladder_of(data, Settings(rungs=("wide-window", "pairs")))]
    assert names == ["pairs", "wide window"]
    with pytest.raises(InputError, match=r"no model of .* --rungs lookup"):
        ladder_of(problem("sum"), Settings(rungs=("lookup",)))


def test_what_is_asked_for_is_not_ruled_out(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def no_training(rung: Rung, *_: object, **__: object) -> search.Trained:
        asked.append(rung.name)
        raise search.TimeUp

    monkeypatch.setattr(climbing, "train_rung", no_training)
    hidden = problem("Bit_Palindrome")
    assert list(climbing.rungs_of(hidden, Settings(rungs=("window",)))) == []
    assert asked == ["window"]
