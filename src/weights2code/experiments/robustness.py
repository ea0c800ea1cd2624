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
from typing import Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import (
    average,
    combined,
    higher_is_better,
    lower_is_better,
    reason,
    share,
)
from weights2code.experiments.experiment import Experiment, Line, Options, Table, grouped, members_of
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.members import members_job
from weights2code.experiments.study import study_job

#: Restarts of each variant of a layout, eight in all; the paper has one, of a hundred times the steps.
MEMBERS = {"concat": 2, "autoregressive": 4, "tagging": 4}


def tasks(suite: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["task"] for row in paper_numbers.read("robustness")))


def jobs(options: Options) -> list[Job]:
    names = options.chosen(tasks("paper"))
    made = []
    for theirs in paper_numbers.read("robustness"):
        if theirs["task"] not in names:
            continue
        sizes = {name: int(theirs[name]) for name in ("layers", "heads", "submlps")}
        made += _jobs_of(theirs["task"], sizes, options)
    return made


def _jobs_of(task: str, sizes: dict[str, Any], options: Options) -> list[Job]:
    from weights2code import tasks as builtin

    own = "concat" if builtin.get(task).state_tracking else "tagging"
    layout = own if options.layout == "auto" else options.layout
    key = "{}-L{layers}H{heads}M{submlps}".format(task, **sizes)
    asked = {f"asked_{name}": size for name, size in sizes.items()} | {"asked_layout": layout}
    if options.recipe == "paper":
        return [members_job(key, task, options, {"layout": layout, **sizes}, **asked)]
    settings = {"layout": layout, "members": MEMBERS[layout], **sizes}
    return [
        study_job(f"{key}-seed{seed}", task, options.settings(seed=seed, **settings), **asked)
        for seed in options.seeds
    ]


def table(rows: Sequence[Row]) -> Table:
    theirs = {
        (row["task"], int(row["layers"]), int(row["heads"]), int(row["submlps"])): row
        for row in paper_numbers.read("robustness")
    }
    groups = grouped(members_of(rows), "task", "asked_layers", "asked_heads", "asked_submlps")
    columns = {
        "task": "task",
        "layers": "layers",
        "heads": "heads",
        "submlps": "sub-MLPs",
        "layout": "layout",
        "success": "success",
        "paper_success": "paper",
        "verified": "verified programs",
        "listing_lines": "lines of the listing",
        "paper_lines": "paper",
        "lines": "lines",
        "listing_rmse": "RMSE of the listing",
        "rmse": "RMSE",
        "paper_rmse": "paper",
        "seconds": "seconds",
    }
    lines = [line(theirs[key], found) for key, found in groups.items()]
    met = sum(_not_below(line) for line in lines)
    shorter = [l for l in lines if l.cells["paper_lines"] and l.cells["listing_lines"]]
    longer = sum(l.cells["listing_lines"] > l.cells["paper_lines"] for l in shorter)
    return Table(columns, lines, (
        f"Success rates equal to the paper's or better: {met} of {len(lines)}. Listings longer than the "
        f"paper's: {longer} of the {len(shorter)} where both have one.",
        "*Success*: the discrete model computes the task at every scored position and its program is right. "
        "*Verified programs* counts those too whose model does not fit: the rule was regressed from the "
        "values that it reads. Where there is no program, RMSE is the discrete model's. *Lines of the "
        "listing* are all lines of `program_raw.py`, the paper's form; *lines* those of the body of the "
        "short program.",
    ))  # fmt: skip


def _not_below(line: Line) -> bool:
    ours, theirs = (int(line.cells[name].partition("/")[0]) for name in ("success", "paper_success"))
    return ours >= theirs or (line.cells["success"].endswith("/1") and ours * 3 >= theirs)


def succeeded(row: Row) -> bool:
    """The paper's success: the model itself computes the task, and its program does."""
    return bool(row.get("solved") and (row.get("model_accuracy") == 1.0))


def line(theirs: dict[str, str], found: Sequence[Row]) -> Line:
    """One task in one architecture."""
    good = [{**row, "success": succeeded(row)} for row in found]
    ours, of = sum(row["success"] for row in good), len(good)
    paper_success = int(theirs["success"].partition("/")[0]) / 3
    lines, paper_lines = average(r.get("listing_lines") for r in found), paper_numbers.number(theirs["lines"])
    rmse = average(
        row.get("program_rmse") if row.get("program_rmse") is not None else row.get("model_rmse")
        for row in found
    )
    paper_rmse = paper_numbers.number(theirs["rmse"])
    standing = combined(
        higher_is_better(ours / of, paper_success, resolution=1e-9),
        lower_is_better(lines, paper_lines) if paper_lines and lines else None,
        lower_is_better(rmse, paper_rmse) if paper_lines and ours else None,
    )
    cells = {
        "task": theirs["task"],
        "layers": int(theirs["layers"]),
        "heads": int(theirs["heads"]),
        "submlps": int(theirs["submlps"]),
        "layout": found[0]["asked_layout"],
        "success": share(good, "success"),
        "paper_success": theirs["success"],
        "verified": share(found, "solved"),
        "listing_lines": lines,
        "paper_lines": paper_lines,
        "lines": average(row.get("body") for row in found),
        "listing_rmse": average(row.get("listing_rmse") for row in found),
        "rmse": rmse,
        "paper_rmse": paper_rmse,
        "seconds": average(row.get("seconds") for row in found),
    }
    return Line(cells, standing, reason(found))


EXPERIMENT = Experiment(
    "robustness", "The robustness tables: 43 architectures on three tasks", tasks, jobs, table
)
