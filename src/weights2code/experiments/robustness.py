"""The robustness tables (appendix): 43 architectures, three tasks, three seeds.

The layout is the paper's ("Task Formulation"): `concat` for spring, which tracks a state, and `tagging` for
the other two. Its own pattern shows it: sum_last2 with one head and no sub-MLP can be right only if the
present input is at hand. `--layout concat` asks for one sequence everywhere.

Success is the paper's: the trained discrete model computes the task, and a program comes out of it. Where
the program was verified although the model itself does not fit (its rule was regressed from the values that
the model reads), that is counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import (
    Standing,
    combined,
    higher_is_better,
    lower_is_better,
    reason,
)
from weights2code.experiments.experiment import Experiment, Options, study_jobs
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.tables import (
    PAPER,
    SIZES,
    TASK,
    Column,
    Line,
    Table,
    common,
    mean,
    mean_error,
    model_fits,
    part,
    tabulate,
    theirs,
)

#: Restarts of each variant of a layout, eight in all; the paper has one, of a hundred times the steps.
MEMBERS = {"concat": 2, "autoregressive": 4, "tagging": 4}
#: What tells the lines apart.
ASKED = ("task", "asked_layers", "asked_heads", "asked_submlps")


def jobs(task: str, options: Options) -> list[Job]:
    layout, made = options.layout_of(task), []
    for row in paper_numbers.read("robustness"):
        if row["task"] == task:
            sizes = paper_numbers.sizes(row)
            key = "{}-L{layers}H{heads}M{submlps}".format(task, **sizes)
            paper: Row = {"layout": layout, **sizes}
            asked = {f"asked_{name}": value for name, value in paper.items()}
            made += study_jobs(key, task, options, {"members": MEMBERS[layout], **paper}, paper, **asked)
    return made


def table(rows: Sequence[Row]) -> Table:
    read = paper_numbers.read("robustness")
    paper = {(row["task"], *paper_numbers.sizes(row).values()): row for row in read}
    order = list(paper)
    columns = (
        TASK,
        *SIZES,
        Column("layout", "layout", common("asked_layout")),
        Column("success", "success", part(succeeded)),
        Column("paper_success", "paper", lambda rows: rows[0][PAPER]["success"]),
        Column("verified", "verified programs", part("solved")),
        Column("listing_lines", "lines of the listing", mean("listing_lines")),
        Column("paper_lines", "paper", theirs("lines")),
        Column("lines", "lines", mean("body")),
        Column("listing_rmse", "RMSE of the listing", mean("listing_rmse")),
        Column("rmse", "RMSE", mean_error),
        Column("paper_rmse", "paper", theirs("rmse")),
        Column("seconds", "seconds", mean("seconds")),
    )
    made = tabulate(
        sorted(rows, key=lambda row: order.index(_asked(row))),
        columns,
        by=ASKED,
        paper=lambda row: paper[_asked(row)],
        standing=_standing,
        why=reason,
    )
    met = sum(_not_below(line) for line in made.lines)
    both = [l.cells for l in made.lines if l.cells["paper_lines"] and l.cells["listing_lines"]]
    longer = sum(cells["listing_lines"] > cells["paper_lines"] for cells in both)
    notes = (
        f"Success rates equal to the paper's or better: {met} of {len(made.lines)}. Listings longer than the "
        f"paper's: {longer} of the {len(both)} where both have one.",
        "*Success*: the discrete model computes the task at every scored position and its program is right. "
        "*Verified programs* counts those too whose model does not fit: the rule was regressed from the "
        "values that it reads. Where there is no program, RMSE is the discrete model's. *Lines of the "
        "listing* are all lines of `program_raw.py`, the paper's form; *lines* those of the body of the "
        "short program.",
    )
    return replace(made, notes=notes)


def _asked(row: Row) -> tuple[Any, ...]:
    """Task and architecture of a run."""
    return tuple(row[name] for name in ASKED)


def succeeded(row: Row) -> bool:
    """The paper's success: the model itself computes the task, and its program does."""
    return bool(row.get("solved") and model_fits(row))


def _standing(cells: Row, rows: Sequence[Row]) -> Standing:
    ours, of = (int(number) for number in cells["success"].split("/"))
    paper_success = int(cells["paper_success"].partition("/")[0]) / 3
    lines, paper_lines = cells["listing_lines"], cells["paper_lines"]
    return combined(
        higher_is_better(ours / of, paper_success, resolution=1e-9),
        lower_is_better(lines, paper_lines) if paper_lines and lines else None,
        lower_is_better(cells["rmse"], cells["paper_rmse"]) if paper_lines and ours else None,
    )


def _not_below(line: Line) -> bool:
    ours, theirs = (int(line.cells[name].partition("/")[0]) for name in ("success", "paper_success"))
    return ours >= theirs or (line.cells["success"].endswith("/1") and ours * 3 >= theirs)


ROBUSTNESS = Experiment(
    "robustness",
    "The robustness tables: 43 architectures on three tasks",
    tuple(paper_numbers.by_task("robustness")),
    jobs,
    table,
)
