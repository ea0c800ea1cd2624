"""The paper's whole protocol: 29 tasks, its grid of eight architectures, three seeds, its recipe to the end.

One job a task: the architectures of one depth are members of one batched program. The architecture with the
lowest mean loss over the seeds is the grid's choice, as the paper selects; programs are read from its members
and from those of the architecture that the paper reports for the task. Models are kept in the job's folder,
one run folder for each architecture, so that a protocol that was stopped goes on, and other experiments, or
a later protocol, can look at them (`--models`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.comparison import lower_is_better, reason
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import Job, Row, trains
from weights2code.experiments.members import asked
from weights2code.experiments.tables import TASK, Column, among, common, mean, part, tabulate, theirs
from weights2code.experiments.trained_models import folder_of, with_models

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.settings import Settings
    from weights2code.training.grid import Sizes
    from weights2code.training.storage import Trained

PAPER = paper_numbers.by_task("architectures")
#: The training of a program that is under way; programs are named after their first architecture.
CHECKPOINT = "current-{}.safetensors"


def jobs(task: str, options: Options) -> list[Job]:
    device = {} if options.device == "cpu" else {"device": options.device}
    settings = {"recipe": "paper", "seed": options.seeds[0], **device, **options.numbers}
    arguments = {"task": task, "settings": settings, "seeds": len(options.seeds), "label": {"task": task}}
    return [with_models(Job(task, f"{__name__}:train_task", arguments), options.models)]


def train_models(arguments: dict[str, Any], folder: Path) -> None:
    """Train the grid and leave its models in the folder; those that are there are not looked at."""
    missing = [sizes for sizes in _programs(arguments) if not _are_there(sizes, folder)]
    if missing and "models" not in arguments:
        problem, settings = asked(arguments)
        for sizes in missing:
            _trained_in(sizes, problem, settings, arguments["seeds"], folder)


@trains(train_models)
def train_task(arguments: dict[str, Any], folder: Path) -> Row:
    """Train the grid, keep its models, and read programs out of those that count.

    Returns
    -------
    dict
        Under `members` a row for each seed of each architecture; those that programs were read from say what
        came of it.
    """
    began = time.perf_counter()
    problem, settings = asked(arguments)
    prepared = time.perf_counter() - began
    own = _reported(arguments)
    trained: dict[Sizes, Trained] = {}
    training = 0.0
    for sizes in _programs(arguments):
        if "models" in arguments:
            together = _loaded(sizes, folder_of(arguments))
        else:
            together = _trained_in(sizes, problem, settings, arguments["seeds"], folder)
        training += together[sizes[0]].seconds  # that of the program, whose members they all are
        trained |= together
    chosen = min(trained, key=lambda sizes: (sum(trained[sizes].losses), sizes))
    rows = [
        row
        for sizes in sorted(trained)
        for row in _rows_of(
            sizes, trained[sizes], problem, settings, folder, chosen=sizes == chosen, reported=sizes == own
        )
    ]
    extraction = sum(row.get("extraction_seconds", 0.0) for row in rows)
    return {
        **arguments["label"],
        "chosen": chosen.name,
        "reported": own.name,
        "data_seconds": round(prepared, 3),
        "training_seconds": round(training, 3),
        "extraction_seconds": round(extraction, 3),
        "seconds": round(prepared + training + extraction, 3),
        "members": rows,
    }


def _reported(arguments: dict[str, Any]) -> Sizes:
    """The architecture that the paper reports for the task."""
    from weights2code.training.grid import Sizes

    return Sizes(**paper_numbers.sizes(PAPER[arguments["task"]]))


def _programs(arguments: dict[str, Any]) -> list[tuple[Sizes, ...]]:
    """The grid and what the paper reports, as programs: architectures that train together."""
    from weights2code.training.grid import GRID, programs_of

    return programs_of((*GRID, _reported(arguments)))


def _files(sizes: Sequence[Sizes], folder: Path) -> dict[Sizes, Path]:
    """Where the models of these sizes lie."""
    from weights2code.run_folder import MODEL

    return {one: folder / one.name / MODEL for one in sizes}


def _are_there(sizes: Sequence[Sizes], folder: Path) -> bool:
    return all(file.exists() for file in _files(sizes, folder).values())


def _trained_in(
    sizes: Sequence[Sizes], problem: Problem, settings: Settings, seeds: int, folder: Path
) -> dict[Sizes, Trained]:
    """The models of these sizes: those that are there, else trained from the last checkpoint on."""
    import torch

    from weights2code.run_folder import MODEL, begin
    from weights2code.training import train
    from weights2code.training.grid import train_together
    from weights2code.training.search import pick_device

    if _are_there(sizes, folder):
        return _loaded(sizes, folder)
    torch.set_num_threads(train.THREADS)
    checkpoint = folder / CHECKPOINT.format(sizes[0].name)
    found = train_together(sizes, problem, settings, seeds, pick_device(settings.device), checkpoint)
    for one, own in found.items():
        with begin(folder / one.name, problem.name, _settings_of(one, settings)) as run:
            own.save(run.file(MODEL))
    checkpoint.unlink(missing_ok=True)
    return found


def _loaded(sizes: Sequence[Sizes], folder: Path) -> dict[Sizes, Trained]:
    from weights2code.training.storage import Trained

    return {one: Trained.load(file) for one, file in _files(sizes, folder).items()}


def _settings_of(sizes: Sizes, settings: Settings) -> Settings:
    from dataclasses import replace

    return replace(settings, **sizes.settings())


def _rows_of(
    sizes: Sizes,
    trained: Trained,
    problem: Problem,
    settings: Settings,
    folder: Path,
    *,
    chosen: bool,
    reported: bool,
) -> list[Row]:
    """What each seed of an architecture came to."""
    from weights2code.experiments.measures import model_score
    from weights2code.experiments.members import extract_member
    from weights2code.extraction.members import whole_graph

    rows = []
    for member, loss in enumerate(trained.losses):
        row = {"architecture": sizes.name, **sizes.settings(), "of_grid": chosen, "of_paper": reported}
        row |= {"loss": loss, "mse": model_score(whole_graph(trained, member, problem), problem).mse}
        if chosen or reported:
            place = folder / sizes.name
            row |= extract_member(trained, member, problem, _settings_of(sizes, settings), place)
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
