"""The page of the paper's recipe: what the paper leaves open, varied one thing at a time."""

from __future__ import annotations

from collections.abc import Sequence

from figures import taken
from page_text import page, table, unmeasured
from reading_tables import Row

COMMAND = "python benchmarks/training/recipe.py --device cuda"
#: A member reaches the paper's loss if it is below so many times that, or at rounding.
REACHED, ROUNDING = 1.0, 1e-9


def recipe(records: Sequence[Row | None]) -> str:
    """The variations, task by task."""
    title = "The paper's recipe: what it leaves open"
    measured = [record for record in records if record]
    if not measured:
        return page(title, unmeasured(COMMAND))
    parts = []
    for record in measured:
        rows = record["rows"]
        tasks = list(dict.fromkeys(row["task"] for row in rows))
        variations = list(dict.fromkeys(row["variation"] for row in rows))
        found = {(row["task"], row["variation"]): row for row in rows}
        paper = [f"{found[task, variations[0]]['paper']:.1e}" for task in tasks]
        cells = [("the paper's loss", *paper)]
        cells += [(name, *(_cell(found[task, name]) for task in tasks)) for name in variations]
        parts += [table(("variation", *tasks), cells), taken(record)]
    return page(
        title,
        "The paper prints epochs, batch, temperatures and learning rates; activation, hidden width, where "
        "the noise enters and how inputs are scaled it leaves open. Full trainings, a million sequences, "
        "with its architecture of each task; losses of the discrete models relative to the variance, best "
        "checkpoint. A cell says how many members are at the paper's loss or at rounding, and the median.",
        "*Plain* is ReLU units, 16 in a sub-MLP, noise that fades with the temperature, rate .05: units die "
        "at that rate and stay dead. *Leak*: the slope of units below zero, constant, or *fading* to 0 over "
        "nine tenths of the training, so that the finished network is of ReLU units. The choice, one for all "
        "tasks, is a leak of .1 that fades and a rate of .01: the rate is the one number that differs from "
        "the paper's print, because with its .05 no variation reaches its losses as often.",
        *parts,
    )


def _cell(row: Row) -> str:
    losses = sorted(row["losses"])
    limit = max(REACHED * (row["paper"] or 0.0), ROUNDING)
    reached = sum(loss <= limit for loss in losses)
    return f"{reached} of {len(losses)}; {losses[len(losses) // 2]:.1e}"
