"""The appendix table of architectures: the sizes that the paper chose for each task, and training losses."""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import average, lower_is_better, reason, share
from weights2code.experiments.experiment import Experiment, Line, Options, Table, grouped, members_of
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.members import members_job
from weights2code.experiments.study import study_job


def tasks(suite: str) -> tuple[str, ...]:
    return tuple(row["task"] for row in paper_numbers.read("architectures"))


def jobs(options: Options) -> list[Job]:
    theirs, made = paper_numbers.by_task("architectures"), []
    for name in options.chosen(tasks("paper")):
        if options.recipe == "paper":
            made.append(members_job(name, name, options))
            continue
        sizes = {size: int(theirs[name][size]) for size in ("layers", "heads", "submlps")}
        made += [
            study_job(f"{name}-seed{seed}", name, options.settings(seed=seed, **sizes))
            for seed in options.seeds
        ]
    return made


def table(rows: Sequence[Row]) -> Table:
    theirs = paper_numbers.by_task("architectures")
    lines = []
    for (task,), found in grouped(members_of(rows), "task").items():
        paper = theirs[task]
        loss = paper_numbers.number(paper["train_loss"])
        mse = average(row.get("trained_mse") for row in found)
        cells = {
            "task": task,
            "layers": int(paper["layers"]),
            "heads": int(paper["heads"]),
            "submlps": int(paper["submlps"]),
            "mse": mse,
            "paper_loss": loss,
            "soft_mse": average(row.get("soft_mse") for row in found),
            "solved": share(found, "solved"),
            "seconds": average(row["seconds"] for row in found),
        }
        lines.append(Line(cells, lower_is_better(mse, loss), reason(found) or _although_exact(found)))
    columns = {
        "task": "task",
        "layers": "layers",
        "heads": "heads",
        "submlps": "sub-MLPs",
        "mse": "MSE of the discrete model",
        "paper_loss": "paper, training loss",
        "soft_mse": "training MSE at the end",
        "solved": "solved",
        "seconds": "seconds",
    }
    return Table(columns, lines, (
        "Means over the seeds, in the user's units, the discrete model on validation sequences. The "
        "fast recipe stops training as soon as the structure is found, because the program need not be as "
        "inexact as the model: where its MSE is above the paper's, *solved* says whether that mattered.",
    ))  # fmt: skip


def _although_exact(rows: Sequence[Row]) -> str:
    """Why models are inexact whose programs are exact."""
    if any(row.get("soft_mse") is not None for row in rows):  # the paper's recipe, to its end
        return "the sub-MLPs fall short; the program was regressed from the values that they read"
    return "training stopped once the structure was found; the program is exact"


EXPERIMENT = Experiment("architectures", "The table of architectures and training losses", tasks, jobs, table)
