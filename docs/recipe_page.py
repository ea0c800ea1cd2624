"""The page of the paper's recipe: what the paper leaves open, varied one thing at a time."""

from __future__ import annotations

from collections.abc import Sequence

from figures import taken
from page_text import page, table, unmeasured
from reading_tables import Row

COMMAND = "python benchmarks/training/recipe.py --device cuda"
#: A member reaches the paper's loss if it is below so many times that, or at rounding.
REACHED, ROUNDING = 1.0, 1e-9


def recipe(records: Sequence[Row | None], unread: Row | None = None) -> str:
    """The variations, task by task, and why some tasks stay short."""
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
        "## What stays short\n\nOf all variations together: the members at the paper's loss, and the best.",
        table(("task", "members at the paper's loss", "best", "the paper's"), _summary(measured)),
        *(_unread(unread) if unread else ()),
    )


def _unread(record: Row) -> list[str]:
    """What the members of the drops read, and how far that goes."""
    rows = record["rows"]
    known = [(floor["coefficients"], floor["both_heights"]) for floor in rows[0]["floors"]]
    names = [
        f"the last height, {count} coefficient{'s' * (count > 1)}" + ", the height before" * both
        for count, both in known
    ]
    cells = [
        (name, *(f"{row['floors'][index]['loss']:.1e}" for row in rows)) for index, name in enumerate(names)
    ]
    losses = [sorted(member["loss"] for member in row["members"]) for row in rows]
    cells.append(
        ("members of the protocol, best to worst", *(f"{own[0]:.1e} to {own[-1]:.1e}" for own in losses))
    )
    reading = [
        f"{sum(1 in member['offsets'] for member in row['members'])} of {len(row['members'])}" for row in rows
    ]
    cells.append(("of these with a head that reads the height before the last", *reading))
    return [
        "Heights of the drops are a polynomial of the last two heights and the present coefficient. The last "
        "height and several coefficients tell it nearly as well, as the losses of fitted polynomials show, "
        "and that is what the networks settle on: their losses are those, and hardly a head reads the height "
        "before the last one.",
        table(("known", *(row["task"] for row in rows)), cells),
        taken(record),
    ]


def _summary(records: Sequence[Row]) -> list[tuple[str, ...]]:
    """A line a task, those that are seldom reached first."""
    rows: dict[str, list[Row]] = {}
    for record in records:
        for row in record["rows"]:
            rows.setdefault(row["task"], []).append(row)
    lines = []
    for task, found in rows.items():
        losses = [loss for row in found for loss in row["losses"]]
        reached = sum(map(_reached, found))
        best, paper = f"{min(losses):.1e}", f"{found[0]['paper']:.1e}"
        lines.append((reached / len(losses), (task, f"{reached} of {len(losses)}", best, paper)))
    return [line for _, line in sorted(lines)]


def _reached(row: Row) -> int:
    """Members at the paper's loss, or at rounding."""
    limit = max(REACHED * (row["paper"] or 0.0), ROUNDING)
    return sum(loss <= limit for loss in row["losses"])


def _cell(row: Row) -> str:
    losses = sorted(row["losses"])
    return f"{_reached(row)} of {len(losses)}; {losses[len(losses) // 2]:.1e}"
