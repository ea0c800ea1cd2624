"""The cost of a program: the paper's recipe against the ladder, same machine, same task, one seed each.

Ours, not the paper's, which says hours. Both times count from data to certificate; the paper's recipe runs
with its architecture of the task, so its grid search (eight architectures) comes on top.
"""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.study import study_job
from weights2code.experiments.tables import Line, Table, grouped

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


def table(rows: Sequence[Row]) -> Table:
    lines = []
    for (task,), found in grouped(rows, "task").items():
        by_recipe = {row.get("recipe"): row for row in found}
        fast, paper = (by_recipe.get(recipe, {}) for recipe in RECIPES)
        times = [seconds(row) if row.get("solved") else None for row in (fast, paper)]
        cells = {
            "task": task,
            "fast": times[0],
            "fast_verdict": fast.get("verdict"),
            "paper_recipe": times[1],
            "paper_verdict": paper.get("verdict"),
            "ratio": times[1] / times[0] if times[0] and times[1] else None,
        }
        lines.append(Line(cells))
    columns = {
        "task": "task",
        "fast": "fast, s",
        "fast_verdict": "verdict",
        "paper_recipe": "paper's recipe, s",
        "paper_verdict": "verdict",
        "ratio": "ratio",
    }
    return Table(columns, lines, (
        "Seconds from data to certificate on one core, one member; without a verified program there is none.",
    ))  # fmt: skip


COST = Experiment(
    "cost", "our own: the paper's recipe against the ladder", ("sum_last2", "parity_last2"), jobs, table
)
