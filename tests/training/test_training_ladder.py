"""The ladder and both recipes: the paper's numbers, what is climbed, and when it ends."""

from __future__ import annotations

from typing import Any

import pytest

from weights2code import tasks
from weights2code.data import Layout, Problem, from_task
from weights2code.errors import InputError
from weights2code.model import Architecture, Weights
from weights2code.settings import Settings
from weights2code.source import SAMPLES, canonical, problem_of
from weights2code.training import search
from weights2code.training import train as climbing
from weights2code.training.ladder import FAST_LADDER, Rung, Variant, ladder_of
from weights2code.training.recipes import FADED, PAPER_SAMPLES, Recipe, paper_recipe
from weights2code.training.storage import Trained
from weights2code.training.train import LOWER, at_the_floor, best


def problem(task: str) -> Problem:
    return from_task(tasks.get(task), 600, 0, validation=64)


def paper_rungs(name: str, **settings: Any) -> tuple[Rung, ...]:
    return ladder_of(problem(name), Settings(recipe="paper", **settings))


# -- the paper's recipe --------------------------------------------------------------------------------------


def test_numbers_of_the_paper():
    """Those of its "Training Details"; rate and leak are by measurement."""
    assert SAMPLES["paper"] == PAPER_SAMPLES == 1_000_000
    recipe = paper_recipe()
    assert (recipe.epochs, recipe.batch, recipe.head, recipe.noise) == (50, 512, "learned", 1.0)
    assert recipe.steps == 50 * (1_000_000 // 512)
    assert (recipe.learning_rate, recipe.last_learning_rate) == (0.01, 1e-6)
    assert (recipe.annealing.first, recipe.annealing.last) == (10.0, 0.1)
    assert recipe.annealing.tau(0.5) == pytest.approx(1.0)
    assert recipe.leak_at(0.0) == 0.1 > recipe.leak_at(FADED / 2) > 0
    assert recipe.leak_at(FADED) == recipe.leak_at(1.0) == 0.0


GRID = [(layers, heads, submlps) for layers in (1, 2) for heads in (2, 3) for submlps in (2, 3)]


@pytest.mark.parametrize(
    ("name", "settings", "sizes", "epochs", "layout"),
    [
        ("freebody", {}, [(2, 2, 3)], 100, "concat"),  # with gravity the paper's exception
        ("gravity", {}, [(2, 2, 3)], 100, "concat"),
        ("bit_addition", {}, [(2, 4, 4)], 50, "concat"),
        ("Div_5", {}, GRID, 50, "concat"),  # not in the paper
        ("sum_last2", {}, [(1, 2, 2)], 50, "tagging"),  # stateless: tagged
        ("sum", {}, [(1, 2, 2)], 50, "concat"),  # the others continue the text [x_1..x_n, y_1..y_n]
        ("sum", {"layout": "autoregressive"}, [(1, 2, 2)], 50, "autoregressive"),
        ("sum_last2", {"layers": 2, "heads": 3, "submlps": 1}, [(2, 3, 1)], 50, "tagging"),
    ],
)
def test_the_papers_architectures(name: str, settings: dict, sizes: list, epochs: int, layout: str):
    rungs = paper_rungs(name, **settings)
    assert [(r.sizes["layers"], r.sizes["pointer"], r.sizes["submlps"]) for r in rungs] == sizes
    for rung in rungs:
        assert (rung.recipe.epochs, rung.recipe.learning_rate, rung.members) == (epochs, 0.01, 3)
        past = {variant.past for variant in rung.variants}
        assert (rung.layout if rung.layout == "concat" or past != {False} else "tagging") == layout
        assert not rung.sizes.get("location")


# -- overrides -----------------------------------------------------------------------------------------------


def test_overrides():
    (rung,) = paper_rungs("sum_last2", epochs=3, samples=5120, l1=0.25, members=2)
    assert (rung.recipe.epochs, rung.recipe.steps_per_epoch) == (3, 10)  # an epoch is one pass
    assert (rung.recipe.l1, rung.members) == (0.25, 2)
    assert paper_rungs("sum_last2", samples=1)[0].recipe.steps_per_epoch == 1
    climbed = {rung.name: rung.recipe for rung in ladder_of(problem("sum"), Settings(samples=64, epochs=7))}
    epochs = {name: recipe.epochs for name, recipe in climbed.items()}
    assert (epochs["linear"], epochs["prefix"], epochs["pairs"], epochs["window"]) == (0, 0, 7, 7)
    plain = {rung.name: rung.recipe.steps_per_epoch for rung in FAST_LADDER}
    assert all(recipe.steps_per_epoch == plain[name] for name, recipe in climbed.items())


def test_a_fixed_architecture_is_one_rung():
    (rung,) = ladder_of(problem("sum"), Settings(layers=2, heads=3, submlps=1, arity=3, mean=1))
    names = ("layers", "location", "submlps", "arity", "mean")
    assert [rung.sizes[name] for name in names] == [2, 3, 1, 3, 1]


@pytest.mark.parametrize(("layout", "past"), [("tagging", False), ("autoregressive", True)])
def test_a_layout_keeps_its_variants(layout: Any, past: bool):
    ladder = ladder_of(problem("sum"), Settings(layout=layout))
    assert {rung.wired for rung in ladder} == {False, True}
    for rung in ladder:
        if rung.wired:
            assert rung.layout == layout
        else:
            assert {variant.past for variant in rung.variants} == {past}


def test_nothing_is_hidden_from_a_fixed_wiring_so_it_is_left_out():
    assert {rung.wired for rung in ladder_of(problem("sum"), Settings(hide=("y[t-1]",)))} == {False}


def test_only_the_rungs_that_are_named_are_climbed(monkeypatch: pytest.MonkeyPatch):
    data = problem("bit_addition")
    names = [rung.name for rung in ladder_of(data, Settings(rungs=("wide-window", "pairs")))]
    assert names == ["pairs", "wide window"]
    with pytest.raises(InputError, match=r"no model of .* --rungs lookup"):
        ladder_of(problem("sum"), Settings(rungs=("lookup",)))
    asked: list[str] = []

    def no_training(rung: Rung, *_: object, **__: object) -> search.Trained:
        asked.append(rung.name)
        raise search.TimeUp

    monkeypatch.setattr(climbing, "train_rung", no_training)
    assert list(climbing.rungs_of(problem("Bit_Palindrome"), Settings(rungs=("window",)))) == []
    assert asked == ["window"]


def test_sources():
    assert canonical("Div_3") == canonical("div_3") == "div_3"
    with pytest.raises(InputError, match="did you mean"):
        canonical("parity_lst2")
    made = problem_of("sum", Settings(samples=16, length=7, seed=2))
    assert (made.training.x.shape, made.length) == ((16, 7, 1), 7)


# -- the end -------------------------------------------------------------------------------------------------


def test_annealing_stops_where_finishing_does_the_rest():
    whole, real = problem("bitwise_xor"), problem("exponential_moving_average")

    def stop(recipe: Recipe, data: Problem, **sizes: int) -> float | None:
        return search.stop_of(Rung("small", sizes, recipe, (Variant(2),)), data)

    assert stop(Recipe(), whole) == search.STOP_BELOW[True]
    assert stop(Recipe(), whole, pointer=1) == stop(Recipe(), real) == search.STOP_BELOW[False]
    assert stop(paper_recipe(), whole) is None


def rungs(*losses: float, fitted: int = -1) -> list[Trained]:
    model, layout = Weights.blank(Architecture()), Layout("tagging", (1.0,), (1.0,))
    return [
        Trained("rung", "annealed", layout, model, (loss,), (1.0,), index == fitted, (), 0.0)
        for index, loss in enumerate(losses)
    ]


@pytest.mark.parametrize(
    ("losses", "stop", "chosen"),
    [
        ((0.3,), False, 0),
        ((0.3, 0.29), False, 0),
        ((0.3, 0.29, 0.31), True, 0),
        ((0.3, 0.1, 0.099), False, 1),
        ((0.3, 0.1, 0.099, 0.098), True, 1),
        ((0.3, 0.1, 0.099, 0.02), False, 3),
        ((0.99, 0.98, 0.97), False, 0),
    ],
)
def test_the_ladder_is_not_climbed_for_noise(losses: tuple[float, ...], stop: bool, chosen: int):
    found = rungs(*losses)
    assert at_the_floor(found) == stop
    assert best(found, 1 / LOWER) is found[chosen]


def test_the_rung_that_is_kept():
    for losses, fitted, kept in (((0.4, 0.2), -1, 0), ((0.4, 0.03), -1, 1), ((0.4, 0.3), 1, 1)):
        found = rungs(*losses, fitted=fitted)
        assert best(found) is found[kept]
