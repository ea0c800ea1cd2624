"""Deep rungs learn their head, stop once several members fit, and finish the best in closed form."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from weights2code.data import Problem, from_task
from weights2code.errors import InputError
from weights2code.settings import Settings
from weights2code.tasks import get
from weights2code.training import climb as climbing
from weights2code.training import search
from weights2code.training.ladder import FAST_LADDER, Rung, Variant, ladder_of
from weights2code.training.loop import Stop
from weights2code.training.recipes import Recipe, paper_recipe

CPU = torch.device("cpu")
SMALL = Rung(
    "small",
    {"layers": 1, "location": 1, "submlps": 1, "arity": 2, "hidden": 8},
    Recipe(epochs=6, steps_per_epoch=30, head="learned", finish="closed", tune_steps=60),
    (Variant(12),),
)


def problem(task: str) -> Problem:
    return from_task(get(task), 600, 0, validation=64)


@pytest.mark.slow
def test_the_best_members_are_finished_in_closed_form():
    data = problem("bitwise_xor")
    finished = search.train_rung(SMALL, data, Settings(), CPU)
    left = search.train_rung(replace(SMALL, recipe=replace(SMALL.recipe, finish=None)), data, Settings(), CPU)
    assert left.model.members == 12
    assert finished.model.members <= search.LEARNED_FINALISTS
    assert finished.losses[0] < 0.5 * left.losses[0]


def test_annealing_stops_once_several_members_fit():
    stop = search.stop_of(SMALL, problem("bitwise_xor"))
    assert stop == Stop(search.LEARNED_BELOW, search.ENOUGH_MEMBERS)
    few = replace(SMALL, variants=(Variant(2),))
    assert search.stop_of(few, problem("bitwise_xor")) == Stop(search.LEARNED_BELOW, 2)
    plain = replace(SMALL, recipe=paper_recipe())
    assert search.stop_of(plain, problem("bitwise_xor")) is None


def test_heads_are_finished_as_they_were_solved():
    assert Recipe().finishing_head == "closed"
    assert Recipe(head="projected").finishing_head == "projected"
    assert Recipe(head="learned").finishing_head is None
    assert {rung.recipe.finishing_head for rung in FAST_LADDER if rung.name.startswith("deep")} == {"closed"}


def test_only_the_rungs_that_are_named_are_climbed():
    data = problem("bit_addition")
    names = [rung.name for rung in ladder_of(data, Settings(rungs=("deep", "wide-window")))]
    assert names == ["wide window", "deep"]
    with pytest.raises(InputError, match=r"no model of .* --rungs lookup"):
        ladder_of(problem("sum"), Settings(rungs=("lookup",)))


def test_what_is_asked_for_is_not_ruled_out(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def no_training(rung: Rung, *_: object, **__: object) -> search.Trained:
        asked.append(rung.name)
        raise search.TimeUp

    monkeypatch.setattr(climbing, "train_rung", no_training)
    hidden = problem("Bit_Palindrome")
    assert list(climbing.climb(hidden, Settings(rungs=("window",)))) == []
    assert asked == ["window"]
