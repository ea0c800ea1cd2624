"""Magnitude-based pruning (appendix): lines and RMSE of the listing with and without epsilon."""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import average, combined, lower_is_better
from weights2code.experiments.experiment import Experiment, Line, Options, Table, grouped, members_of
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.learned import EPSILON, fitting, learned_jobs, short_training

#: The paper's architecture of these tasks.
SIZES = {"layers": 1, "heads": 2, "submlps": 2}
WAYS = {"unpruned": "unpruned", "pruned": "pruned", "by_effect": None}


def tasks(suite: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for task, _ in paper_numbers.ablation("pruning")))


def jobs(options: Options) -> list[Job]:
    return [
        job for name in options.chosen(tasks("paper")) for job in learned_jobs(name, name, options, SIZES)
    ]


def table(rows: Sequence[Row]) -> Table:
    theirs = paper_numbers.ablation("pruning")
    lines = []
    for (task,), found in grouped(members_of(rows), "task").items():
        members, found = found, fitting(found)
        for way, setting in WAYS.items():
            paper = theirs[task, setting] if setting else {}
            length = average(row.get(f"{way}_lines") for row in found)
            rmse = average(row.get(f"{way}_rmse") for row in found)
            paper_lines, paper_rmse = (paper_numbers.number(paper.get(name)) for name in ("lines", "rmse"))
            cells = {
                "task": task,
                "pruning": {"unpruned": "none", "pruned": f"epsilon {EPSILON}", "by_effect": "by effect"}[
                    way
                ],
                "lines": length,
                "paper_lines": paper_lines,
                "rmse": rmse,
                "paper_rmse": paper_rmse,
                "fits": f"{len(found)}/{len(members)}",
                "mse": average(row.get("mse") for row in found),
            }
            standing = combined(lower_is_better(length, paper_lines), lower_is_better(rmse, paper_rmse))
            lines.append(Line(cells, standing if setting == "pruned" else None, short_training(members)))
    columns = {
        "task": "task",
        "pruning": "pruning of the head",
        "lines": "lines of the listing",
        "paper_lines": "paper",
        "rmse": "RMSE of the listing",
        "paper_rmse": "paper",
        "fits": "models that fit",
        "mse": "their MSE",
    }
    return Table(columns, lines, (
        "Means over the models that fit, all seeds and restarts; their head is learned. The paper does not "
        "give its epsilon; ours removes what its listings would print as 0.00. *By effect* is what the "
        "package does instead: drop a variable, solve the head again, keep the drop if the loss does not "
        "rise.",
    ))  # fmt: skip


EXPERIMENT = Experiment("pruning", "Pruning by epsilon: lines and RMSE with and without", tasks, jobs, table)
