"""Trained models of a job: they lie in run folders of its folder, or are taken or trained until they do.

They are taken from the models of another sweep (`--models DIR`): those of the same run, else, where what is
asked for is no more than a task and perhaps an architecture, those of any run, the lowest mean loss first, as
the paper selects. They are trained as members of one batched program, or of one for each depth of the paper's
grid, from the last checkpoint on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.errors import InputError
from weights2code.experiments import paper_numbers
from weights2code.experiments.jobs import Row
from weights2code.experiments.stores import RUNS
from weights2code.experiments.work import RUN

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.settings import Settings
    from weights2code.training.grid import Sizes
    from weights2code.training.storage import Trained

#: The training of a program that is under way; programs are named after their first model.
CHECKPOINT = "current-{}.safetensors"


@dataclass(frozen=True, slots=True)
class Asked:
    """The problem of a job, all settings, and the seconds that its sequences took."""

    problem: Problem
    settings: Settings
    seconds: float

    @staticmethod
    def of(arguments: Row) -> Asked:
        return _asked(arguments["task"], _settings(arguments))


def _settings(arguments: Row) -> Settings:
    from weights2code.settings import Settings

    return Settings.from_dict(Settings().to_dict() | arguments["settings"])


@lru_cache(1)  # whoever trains goes on with the same sequences
def _asked(task: str, settings: Settings) -> Asked:
    import weights2code.experiments.heavy  # noqa: F401  (before the clock starts)
    from weights2code.source import canonical, problem_of

    began = time.perf_counter()
    return Asked(problem_of(canonical(task), settings), settings, time.perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Program:
    """Models that train together: the settings of each by the name of its run folder, and how."""

    settings: dict[str, Settings]
    train: Callable[[Problem, Path], list[Trained]]


def programs(arguments: Row) -> Iterator[Program]:
    """What a job trains: the paper's grid and what it reports for the task, or a program of its settings."""
    from weights2code.training.grid import GRID, programs_of

    settings = _settings(arguments)
    if "grid" not in arguments:
        yield Program({RUN: settings}, partial(_one_rung, settings))
        return
    for sizes in programs_of((*GRID, reported(arguments["task"]))):
        own = {one.name: replace(settings, **one.settings()) for one in sizes}
        yield Program(own, partial(_together, sizes, settings, arguments["grid"]))


def reported(task: str) -> Sizes:
    """The architecture that the paper reports for a task."""
    from weights2code.training.grid import Sizes

    return Sizes(**paper_numbers.sizes(paper_numbers.by_task("architectures")[task]))


def _one_rung(settings: Settings, problem: Problem, checkpoint: Path) -> list[Trained]:
    from weights2code.experiments.learned import fast_rung
    from weights2code.training.ladder import ladder_of
    from weights2code.training.search import pick_device, train_rung

    (rung,) = (fast_rung(settings),) if settings.recipe == "fast" else ladder_of(problem, settings)
    return [train_rung(rung, problem, settings, pick_device(settings.device), checkpoint)]


def _together(
    sizes: tuple[Sizes, ...], settings: Settings, seeds: int, problem: Problem, checkpoint: Path
) -> list[Trained]:
    from weights2code.training.grid import train_together
    from weights2code.training.search import pick_device

    found = train_together(sizes, problem, settings, seeds, pick_device(settings.device), checkpoint)
    return [found[one] for one in sizes]


def train_models(arguments: Row, folder: Path) -> None:
    """Leave the models of a job in its folder; those that are there are not looked at."""
    import torch

    from weights2code.run_folder import MODEL, begin
    from weights2code.training import train

    for program in programs(arguments):
        if all((folder / name / MODEL).exists() for name in program.settings):
            continue
        first, *_ = program.settings
        checkpoint = folder / CHECKPOINT.format(first)
        if "models" in arguments:
            found = [taken(arguments, name) for name in program.settings]
        else:
            torch.set_num_threads(train.THREADS)
            train.keep_freed_memory()
            folder.mkdir(parents=True, exist_ok=True)
            found = program.train(Asked.of(arguments).problem, checkpoint)
        for (name, settings), trained in zip(program.settings.items(), found, strict=True):
            with begin(folder / name, Asked.of(arguments).problem.name, settings) as run:
                trained.save(run.file(MODEL))
        checkpoint.unlink(missing_ok=True)


def models_in(arguments: Row, folder: Path) -> dict[str, Trained]:
    """The models of a job, once they are there, by the names of their run folders."""
    from weights2code.run_folder import MODEL
    from weights2code.training.storage import Trained

    names = [name for program in programs(arguments) for name in program.settings]
    return {name: Trained.load(folder / name / MODEL) for name in names}


# -- models that are there ----------------------------------------------------------------------------------


def taken(arguments: Row, name: str) -> Trained:
    """A model of another sweep."""
    from weights2code.run_folder import CONFIG, MODEL, read_config
    from weights2code.source import canonical
    from weights2code.training.storage import Trained

    models, settings = Path(arguments["models"]), arguments["settings"]
    own = models / RUNS / arguments["key"] / name / MODEL
    if own.exists() or arguments["same"]:
        return Trained.load(own)
    wanted = {key: settings[key] for key in ("layers", "heads", "submlps") if key in settings}
    found = []
    for file in sorted(models.rglob(CONFIG)):
        if file.with_name(MODEL).exists() and read_config(file.parent)[0] == canonical(arguments["task"]):
            trained = Trained.load(file.with_name(MODEL))
            if wanted.items() <= sizes_of(trained).items():
                found.append(trained)
    if not found:
        what = "".join(f" {count} {key}," for key, count in wanted.items())
        raise InputError(
            f"{models} holds no trained models of {arguments['task']}{f' with{what}'.rstrip(',')}."
        )
    return min(found, key=lambda trained: (sum(trained.losses) / len(trained.losses), trained.rung))


def sizes_of(trained: Trained) -> dict[str, Any]:
    """The architecture of a model."""
    sizes = trained.weights.architecture
    return {"layers": sizes.layers, "heads": sizes.heads, "submlps": sizes.submlps}
