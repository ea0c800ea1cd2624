"""The appendix table of architectures: the sizes that the paper chose for each task, and training losses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import lower_is_better, reason
from weights2code.experiments.experiment import Experiment, Options, study_jobs
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.tables import SIZES, TASK, Column, mean, part, tabulate, theirs

PAPER = paper_numbers.by_task("architectures")


def jobs(task: str, options: Options) -> list[Job]:
    return study_jobs(task, task, options, paper_numbers.sizes(PAPER[task]), paper={})


def _although_exact(rows: Sequence[Row]) -> str:
    """Why models are inexact whose programs are exact."""
    if any(row.get("soft_mse") is not None for row in rows):  # the paper's recipe, to its end
        return "the sub-MLPs fall short; the program was regressed from the values that they read"
    return "training stopped once the structure was found; the program is exact"


table = partial(
    tabulate,
    columns=(
        TASK,
        *SIZES,
        Column("mse", "MSE of the discrete model", mean("trained_mse")),
        Column("paper_loss", "paper, training loss", theirs("train_loss")),
        Column("soft_mse", "training MSE at the end", mean("soft_mse")),
        Column("solved", "solved", part("solved")),
        Column("seconds", "seconds", mean("seconds")),
    ),
    paper=lambda row: PAPER[row["task"]],
    standing=lambda cells, rows: lower_is_better(cells["mse"], cells["paper_loss"]),
    why=lambda rows: reason(rows) or _although_exact(rows),
    notes=(
        "Means over the seeds, in the user's units, the discrete model on validation sequences. The "
        "fast recipe stops training as soon as the structure is found, because the program need not be as "
        "inexact as the model: where its MSE is above the paper's, *solved* says whether that mattered. "
        "Models of the whole protocol, if they are taken, are those of the architecture that its grid chose.",
    ),
)


ARCHITECTURES = Experiment(
    "architectures",
    "The table of architectures and training losses",
    tuple(PAPER),
    jobs,
    table,
    takes_models=True,
)
