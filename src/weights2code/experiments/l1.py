"""The simplicity bias (appendix): an l1 penalty of 0.001 on the head, 4 layers, 4 heads, 4 sub-MLPs."""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import average, combined, lower_is_better
from weights2code.experiments.experiment import Experiment, Line, Options, Table, grouped, members_of
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.learned import fitting, learned_jobs, short_training

SIZES = {"layers": 4, "heads": 4, "submlps": 4}
PENALTIES = (0.0, 0.001)


def tasks(suite: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for task, _ in paper_numbers.ablation("l1")))


def jobs(options: Options) -> list[Job]:
    return [
        job
        for name in options.chosen(tasks("paper"))
        for penalty in PENALTIES
        for job in learned_jobs(f"{name}-l1={penalty:g}", name, options, SIZES, l1=penalty, penalty=penalty)
    ]


def table(rows: Sequence[Row]) -> Table:
    theirs = paper_numbers.ablation("l1")
    lines = []
    for (task, penalty), found in grouped(members_of(rows), "task", "penalty").items():
        members, found = found, fitting(found)
        paper = theirs[task, f"L4H4M4 l1={penalty:g}"]
        length, rmse = (average(row.get(name) for row in found) for name in ("pruned_lines", "pruned_rmse"))
        paper_lines, paper_rmse = (paper_numbers.number(paper[name]) for name in ("lines", "rmse"))
        cells = {
            "task": task,
            "l1": penalty,
            "lines": length,
            "paper_lines": paper_lines,
            "rmse": rmse,
            "paper_rmse": paper_rmse,
            "by_effect_lines": average(row.get("by_effect_lines") for row in found),
            "fits": f"{len(found)}/{len(members)}",
            "mse": average(row.get("mse") for row in found),
        }
        standing = combined(lower_is_better(length, paper_lines), lower_is_better(rmse, paper_rmse))
        lines.append(Line(cells, standing, short_training(members)))
    columns = {
        "task": "task",
        "l1": "l1",
        "lines": "lines of the listing",
        "paper_lines": "paper",
        "rmse": "RMSE of the listing",
        "paper_rmse": "paper",
        "by_effect_lines": "lines, pruned by effect",
        "fits": "models that fit",
        "mse": "their MSE",
    }
    return Table(columns, lines, (
        "Means over the models that fit, all seeds and restarts. Losses inside are relative to the variance "
        "of the target, so the penalty weighs more than the paper's where outputs are large. Pruning by "
        "effect, which the package does by default, needs no penalty.",
    ))  # fmt: skip


EXPERIMENT = Experiment("l1", "l1 on the head: lines and RMSE with and without", tasks, jobs, table)
