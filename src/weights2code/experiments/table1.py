"""Table 1: accuracy and RMSE of the extracted programs on the paper's 29 tasks, three seeds."""

from __future__ import annotations

from collections.abc import Sequence

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

#: Two losses this close are the same.
ALIKE = 0.15


def tasks(suite: str) -> tuple[str, ...]:
    return tuple(row["task"] for row in paper_numbers.read("table1"))


def jobs(options: Options) -> list[Job]:
    names = options.chosen(tasks("paper"))
    if options.recipe == "paper":
        return [members_job(name, name, options) for name in names]
    return [
        study_job(f"{name}-seed{seed}", name, options.settings(seed=seed))
        for name in names
        for seed in options.seeds
    ]


def table(rows: Sequence[Row]) -> Table:
    theirs = paper_numbers.by_task("table1")
    lines = [line(theirs[task], found) for (task,), found in grouped(members_of(rows), "task").items()]
    columns = {
        "task": "task",
        "programs": "programs",
        "solved": "solved",
        "proved": "proved",
        "accuracy": "accuracy",
        "paper_accuracy": "paper",
        "rmse": "RMSE",
        "paper_rmse": "paper",
        "listing_rmse": "RMSE of the listing, free",
        "given_rmse": "past given",
        "listing_lines": "its lines",
        "lines": "lines",
        "seconds": "seconds",
        "training_seconds": "of these training",
        "formula": "program",
    }
    return Table(columns, lines, (
        "Means over the seeds. Programs run free. Where none could be certified, accuracy and RMSE are those "
        "of the listing with past outputs given, and a seed without even that counts with accuracy 0. "
        f"{_paper_gives_the_past()} The listing is the paper's form, one variable a node; *lines* are those "
        "of the body of the short program. With the paper's recipe the seeds of a task are trained together: "
        "its seconds are those of all.",
    ))  # fmt: skip


def line(theirs: dict[str, str], found: Sequence[Row]) -> Line:
    """One task: our means beside the paper's."""
    whole = theirs["accuracy"] != "n/a"
    accuracy = average(_of_program(row, "accuracy") or 0.0 for row in found) if whole else None
    rmse = average(_of_program(row, "rmse") for row in found)
    missing = any(_of_program(row, "rmse") is None for row in found)
    paper_accuracy, paper_rmse = (paper_numbers.number(theirs[name]) for name in ("accuracy", "rmse"))
    standing = combined(
        higher_is_better(accuracy, paper_accuracy),
        "worse" if missing else lower_is_better(rmse, paper_rmse),
    )
    best = next((row for row in found if row.get("solved")), found[0])
    cells = {
        "task": theirs["task"],
        "programs": f"{sum(row.get('program_rmse') is not None for row in found)}/{len(found)}",
        "solved": share(found, "solved"),
        "proved": f"{sum(row.get('verdict') == 'proved' for row in found)}/{len(found)}",
        "accuracy": accuracy,
        "paper_accuracy": paper_accuracy,
        "rmse": rmse,
        "paper_rmse": paper_rmse,
        "listing_rmse": average(row.get("listing_rmse") for row in found),
        "given_rmse": average(row.get("listing_given_rmse") for row in found),
        "listing_lines": average(row.get("listing_lines") for row in found),
        "lines": average(row.get("body") for row in found),
        "seconds": average(row.get("seconds") for row in found),
        "training_seconds": average(row.get("training_seconds") for row in found),
        "formula": best.get("formula"),
    }
    return Line(cells, standing, reason(found))


def _of_program(row: Row, name: str) -> float | None:
    """The program's number; where none was certified, the listing's as the paper measures."""
    own = row.get(f"program_{name}")
    return row.get(f"listing_given_{name}") if own is None else own


def _paper_gives_the_past() -> str:
    """Why listings are compared with past outputs given: the paper's figures can hardly be others."""
    losses = paper_numbers.by_task("architectures")
    pairs = [
        (paper_numbers.number(row["rmse"]), paper_numbers.number(losses[row["task"]]["train_loss"]))
        for row in paper_numbers.read("table1")
    ]
    alike = sum(abs(rmse**2 / loss - 1) < ALIKE for rmse, loss in pairs if rmse and loss)
    return (
        f"That is how the paper's figures are read here: in {alike} of its {len(pairs)} tasks the square of "
        f"the RMSE is the training loss within {ALIKE:.0%}, and in training past outputs are given."
    )


EXPERIMENT = Experiment(
    "table1", "Table 1, accuracy and RMSE on the 29 tasks", tasks, jobs, table, keeps_programs=True
)
