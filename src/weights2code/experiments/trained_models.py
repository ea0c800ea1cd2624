"""Models that are there already (`--models DIR`): of the same experiment, run by run, or of another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.errors import InputError
from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.stores import RUNS

if TYPE_CHECKING:
    from weights2code.training.storage import Trained


def with_models(job: Job, models: str) -> Job:
    """The job with the folder that its models are taken from, if there is one."""
    taken = {"models": models, "key": job.key} if models else {}
    return replace(job, arguments={**job.arguments, **taken})


def refuse_fast(models: str) -> None:
    """Raise InputError if runs of the fast recipe, each with a training of its own, are to take models."""
    if models:
        raise InputError("--models are those of the paper's recipe; give --recipe paper.")


def folder_of(arguments: dict[str, Any]) -> Path:
    """Where the same run of another sweep left its models, if it did."""
    return Path(arguments["models"]) / RUNS / arguments["key"]


def sizes_of(trained: Trained) -> Row:
    """The architecture of a model."""
    sizes = trained.weights.architecture
    return {"layers": sizes.layers, "heads": sizes.heads, "submlps": sizes.submlps}


def models_of(models: Path, task: str, sizes: Row | None = None) -> dict[Path, Trained]:
    """The run folders below `models` that hold trained members of this task, and of these sizes if given.

    In a folder of an older version what became of a network may have taken its place: it is left out.
    """
    from weights2code.run_folder import CONFIG, MODEL, read_config
    from weights2code.source import canonical
    from weights2code.training.storage import Trained

    found = {}
    for file in sorted(models.rglob(CONFIG)):
        if file.with_name(MODEL).exists() and read_config(file.parent)[0] == canonical(task):
            trained = Trained.load(file.with_name(MODEL))
            if sizes in (None, sizes_of(trained)):
                found[file.parent] = trained
    if not found:
        what = "".join(f" {count} {name}," for name, count in (sizes or {}).items())
        raise InputError(f"{models} holds no trained models of {task}{f' with{what}'.rstrip(',')}.")
    return found


def holds(models: Path, task: str, sizes: Row) -> bool:
    """Whether there are trained members of this task and these sizes."""
    try:
        return bool(models_of(models, task, sizes))
    except InputError:
        return False


def grids_choice(models: Path, task: str) -> Trained:
    """The models of the architecture with the lowest mean loss, as the paper selects."""
    found = models_of(models, task).values()
    return min(found, key=lambda trained: (sum(trained.losses) / len(trained.losses), trained.rung))
