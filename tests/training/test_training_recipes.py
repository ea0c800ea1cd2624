"""The paper's recipe has every number of its "Training Details" and "Task Formulation"."""

from __future__ import annotations

import pytest

from weights2code import tasks
from weights2code.data import from_task
from weights2code.errors import InputError
from weights2code.settings import Settings
from weights2code.source import SAMPLES, canonical, problem_of
from weights2code.training.ladder import FAST_LADDER, Rung, ladder_of
from weights2code.training.recipes import PAPER_SAMPLES, paper_recipe


def paper_rungs(name: str, **settings: object) -> tuple[Rung, ...]:
    problem = from_task(tasks.get(name), 8, 0, validation=4)
    return ladder_of(problem, Settings(recipe="paper", **settings))  # type: ignore[arg-type]


def test_numbers_of_the_paper():
    assert SAMPLES["paper"] == PAPER_SAMPLES == 1_000_000
    recipe = paper_recipe()
    assert (recipe.epochs, recipe.batch) == (50, 512)
    assert recipe.steps == 50 * (1_000_000 // 512)
    assert recipe.last_learning_rate == 1e-6
    assert (recipe.learning_rate, recipe.leak_at(0.0), recipe.leak_at(1.0)) == (
        0.01,
        0.1,
        0.0,
    )  # by measurement
    assert (recipe.annealing.first, recipe.annealing.last) == (10.0, 0.1)
    assert recipe.annealing.tau(0.5) == pytest.approx(1.0)
    assert recipe.head == "learned"
    assert recipe.noise == 1.0
    assert recipe.keep_best
    assert not recipe.polish
    assert recipe.tune_steps == 0


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


def test_overrides():
    (rung,) = paper_rungs("sum_last2", epochs=3, samples=5120, l1=0.25, members=2)
    assert (rung.recipe.epochs, rung.recipe.steps_per_epoch) == (3, 10)
    assert rung.recipe.l1 == 0.25
    assert rung.members == 2
    assert paper_rungs("sum_last2", samples=1)[0].recipe.steps_per_epoch == 1


def test_fewer_samples_leave_the_steps_of_the_ladder():
    task = tasks.get("sum")
    problem = from_task(task, 8, 0, validation=4)
    plain = {rung.name: rung for rung in FAST_LADDER}
    climbed = ladder_of(problem, Settings(samples=64))
    assert {"linear", "pairs", "window"} <= {rung.name for rung in climbed}
    for rung in climbed:
        assert rung.recipe.steps_per_epoch == plain[rung.name].recipe.steps_per_epoch


def test_sources():
    assert canonical("Div_3") == canonical("div_3") == "div_3"
    with pytest.raises(InputError, match="did you mean"):
        canonical("parity_lst2")
    problem = problem_of("sum", Settings(samples=16, length=7, seed=2))
    assert problem.training.x.shape == (16, 7, 1)
    assert problem.length == 7
