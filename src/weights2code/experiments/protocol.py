"""The paper's whole protocol: 29 tasks, its grid of eight architectures, three seeds, its recipe to the end.

One job a task: the architectures of one depth are members of one batched program. The architecture with the
lowest mean loss over the seeds is the grid's choice, as the paper selects; programs are read from its members
and from those of the architecture that the paper reports for the task. Models are kept in the job's folder,
one run folder for each architecture, so that a protocol that was stopped goes on, and other experiments, or
a later protocol, can look at them (`--models`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import lower_is_better, reason
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import Job, Row, trains
from weights2code.experiments.models import Asked, models_in, programs, reported, sizes_of, train_models
from weights2code.experiments.tables import TASK, Column, among, common, mean, part, tabulate, theirs

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.settings import Settings
    from weights2code.training.storage import Trained

PAPER = paper_numbers.by_task("architectures")


def jobs(task: str, options: Options) -> list[Job]:
    device = {} if options.device == "cpu" else {"device": options.device}
    settings = {"recipe": "paper", "seed": options.seeds[0], **device, **options.numbers}
    arguments = {"task": task, "settings": settings, "grid": len(options.seeds), "label": {"task": task}}
    return [options.with_models(Job(task, f"{__name__}:train_task", arguments), same=True)]


@trains(train_models)
def train_task(arguments: dict[str, Any], folder: Path) -> Row:
    """Read programs out of those models of the grid that count.

    Returns
    -------
    dict
        Under `members` a row for each seed of each architecture; those that programs were read from say what
        came of it.
    """
    asked, own = Asked.of(arguments), reported(arguments["task"]).name
    trained = models_in(arguments, folder)
    chosen = min(trained, key=lambda name: (sum(trained[name].losses), name))
    together = (next(iter(program.settings)) for program in programs(arguments))
    training = sum(trained[name].seconds for name in together)  # of a program, whose members they all are
    rows = [
        row
        for program in programs(arguments)
        for name, settings in program.settings.items()
        for row in _rows_of(name, trained[name], asked.problem, settings, folder, (chosen, own))
    ]
    rows.sort(key=lambda row: (row["layers"], row["heads"], row["submlps"]))
    extraction = sum(row.get("extraction_seconds", 0.0) for row in rows)
    return {
        **arguments["label"],
        "chosen": chosen,
        "reported": own,
        "data_seconds": round(asked.seconds, 3),
        "training_seconds": round(training, 3),
        "extraction_seconds": round(extraction, 3),
        "seconds": round(asked.seconds + training + extraction, 3),
        "members": rows,
    }


def _rows_of(
    name: str, trained: Trained, problem: Problem, settings: Settings, folder: Path, counting: tuple[str, str]
) -> list[Row]:
    """What each seed of an architecture came to; programs are read from the one that the grid chose and from
    the one that the paper reports."""
    from weights2code.experiments.measures import model_score
    from weights2code.experiments.members import extract_member
    from weights2code.extraction.members import whole_graph

    chosen, own = counting
    rows = []
    for member, loss in enumerate(trained.losses):
        row = {"architecture": name, **sizes_of(trained), "of_grid": name == chosen, "of_paper": name == own}
        row |= {"loss": loss, "mse": model_score(whole_graph(trained, member, problem), problem).mse}
        if name in counting:
            row |= extract_member(trained, member, problem, settings, folder / name)
        rows.append(row)
    return rows


#: Rows of the architecture that the grid chose, and of the one that the paper reports.
GRIDS, PAPERS = "of_grid", "of_paper"


def _best(rows: Sequence[Row]) -> float | None:
    return min((row["mse"] for row in rows), default=None)


def _network(rows: Sequence[Row]) -> str:
    """Verdicts about the networks that programs were read from, and those that were made for them."""
    told = [(row.get("network"), row.get("taught")) for row in rows]
    found = [network for network, _ in told if network not in (None, "none")]
    found += [f"taught {taught}" for _, taught in told if taught not in (None, "none")]
    return ", ".join(f"{found.count(verdict)} {verdict}" for verdict in dict.fromkeys(found)) or "-"


table = partial(
    tabulate,
    columns=(
        TASK,
        Column("chosen", "chosen by the grid", common("chosen")),
        Column("mse", "its MSE", among(GRIDS, mean("mse"))),
        Column("best", "best seed", among(GRIDS, _best)),
        Column("reported", "paper's architecture", common("reported")),
        Column("reported_mse", "its MSE", among(PAPERS, mean("mse"))),
        Column("paper_loss", "paper, training loss", theirs("train_loss")),
        Column("solved", "solved", among(GRIDS, part("solved"))),
        Column("proved", "proved", among(GRIDS, part(lambda row: row.get("verdict") == "proved"))),
        Column("network", "networks", among(GRIDS, _network)),
        Column("training_seconds", "seconds of training", common("training_seconds")),
    ),
    paper=lambda row: PAPER[row["task"]],
    standing=lambda cells, rows: lower_is_better(cells["mse"], cells["paper_loss"]),
    why=lambda rows: reason([row for row in rows if row.get(GRIDS)] or rows),
    notes=(
        "Means over the seeds, in the user's units: the discrete model on validation sequences, checkpoint "
        "with the best validation loss. The grid's choice is the architecture with the lowest mean loss. "
        "Programs are read from the chosen models; seconds of training are those of the whole grid and all "
        "seeds.",
    ),
)


PROTOCOL = Experiment(
    "protocol",
    "The whole protocol: grid, seeds, full trainings",
    tuple(PAPER),
    jobs,
    table,
    takes_models=True,
)
