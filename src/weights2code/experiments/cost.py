"""The cost of a program: the paper's recipe against the ladder, same machine, same task, one seed each.

Ours, not the paper's, which says hours. Both times count from data to certificate; the paper's recipe runs
with its architecture of the task, so its grid search (eight architectures) comes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.study import study_job
from weights2code.experiments.tables import TASK, Cell, Column, tabulate

RECIPES = ("fast", "paper")


def jobs(task: str, options: Options) -> list[Job]:
    seed, made = options.seeds[0], []
    for recipe in RECIPES:
        settings = {**options.settings(seed=seed), "recipe": recipe}
        if recipe == "paper":
            settings["members"] = 1
        made.append(study_job(f"{task}-{recipe}-seed{seed}", task, settings, recipe=recipe))
    return made


def seconds(row: Row) -> float | None:
    """Training and the rest; a run that was interrupted still counts all of its training."""
    training, rest = row.get("training_seconds"), row.get("extraction_seconds")
    if training is None and row.get("model_seconds") is not None:  # an earlier command trained the model
        return row["model_seconds"] + row["seconds"]
    return None if training is None or rest is None else max(training + rest, row["seconds"])


def _of(recipe: str, what: Callable[[Row], Any]) -> Cell:
    """What the run of a recipe says."""
    return lambda rows: next((what(row) for row in rows if row.get("recipe") == recipe), None)


def _solved_in(row: Row) -> float | None:
    return seconds(row) if row.get("solved") else None


def _verdict(row: Row) -> str | None:
    return row.get("verdict")


def _ratio(rows: Sequence[Row]) -> float | None:
    fast, paper = (_of(recipe, _solved_in)(rows) for recipe in RECIPES)
    return paper / fast if fast and paper else None


table = partial(
    tabulate,
    columns=(
        TASK,
        Column("fast", "fast, s", _of("fast", _solved_in)),
        Column("fast_verdict", "verdict", _of("fast", _verdict)),
        Column("paper_recipe", "paper's recipe, s", _of("paper", _solved_in)),
        Column("paper_verdict", "verdict", _of("paper", _verdict)),
        Column("ratio", "ratio", _ratio),
    ),
    notes=(
        "Seconds from data to certificate on one core, one member; without a verified program there is none.",
    ),
)


COST = Experiment(
    "cost", "our own: the paper's recipe against the ladder", ("sum_last2", "parity_last2"), jobs, table
)
