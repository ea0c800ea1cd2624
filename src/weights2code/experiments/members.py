"""The paper's recipe as one job a task: its seeds train as members of one batched program, each is extracted.

"Training Details" (appendix): the paper's architecture of the task unless sizes are given, a million samples,
fifty epochs, pointer heads, a learned head. Members start from different weights and see the same batches.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments.jobs import Row, trains
from weights2code.experiments.trained_models import folder_of, grids_choice, sizes_of
from weights2code.experiments.work import RUN

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.run_folder import RunFolder
    from weights2code.settings import Settings
    from weights2code.training.storage import Trained

MEMBERS = f"{__name__}:train_and_extract"


def train_models(arguments: dict[str, Any], folder: Path) -> None:
    """Train the members and leave them in the folder; those that are there are not looked at."""
    from weights2code.run_folder import begin

    problem, settings = asked(arguments)
    with begin(folder / RUN, problem.name, settings) as run:
        if not run.trained:
            trained_in(run, problem, arguments)


@trains(train_models)
def train_and_extract(arguments: dict[str, Any], folder: Path) -> Row:
    """Train the members, extract each of them separately.

    Returns
    -------
    dict
        What they share (times, sizes) and, under `members`, one row each, best first.
    """
    from weights2code.run_folder import begin

    problem, settings = asked(arguments)
    with begin(folder / RUN, problem.name, settings) as run:
        began = time.perf_counter()
        trained = trained_in(run, problem, arguments)
        wall = max(time.perf_counter() - began, trained.seconds)  # an earlier command may have trained
    members = [
        extract_member(trained, member, problem, settings, folder) for member in range(len(trained.losses))
    ]
    return {
        **arguments.get("label", {}),
        **sizes_of(trained),
        "soft_mse": soft_mse(trained, problem),
        "training_seconds": round(trained.seconds, 3),
        "seconds": round(wall + sum(member["extraction_seconds"] for member in members), 3),
        "members": members,
    }


def asked(arguments: dict[str, Any]) -> tuple[Problem, Settings]:
    """The problem of a job, and all settings."""
    import weights2code.experiments.heavy  # noqa: F401  (before the clock starts)
    from weights2code.settings import Settings
    from weights2code.source import canonical, problem_of

    settings = Settings.from_dict(Settings().to_dict() | arguments["settings"])
    return problem_of(canonical(arguments["task"]), settings), settings


def trained_in(run: RunFolder, problem: Problem, arguments: dict[str, Any]) -> Trained:
    """The members of an open run folder: those that are there, else trained, or taken from other `models`: of
    the same run, else, if the experiment leaves the architecture open, those of the grid's choice."""
    from weights2code.run_folder import MODEL
    from weights2code.training import train
    from weights2code.training.storage import Trained

    if run.trained:
        return Trained.load(run.file(MODEL))
    if "models" in arguments:
        own = folder_of(arguments) / RUN / MODEL
        chosen = not own.exists() and run.settings.layers is None
        trained = grids_choice(Path(arguments["models"]), problem.name) if chosen else Trained.load(own)
    else:
        trained = next(iter(train.rungs_of(problem, run.settings, run)))
    trained.save(run.file(MODEL))
    run.drop_checkpoint()
    return trained


def soft_mse(trained: Trained, problem: Problem) -> float | None:
    """The training loss at the end, in the user's units, averaged over the members as the paper does."""
    import numpy as np

    targets = problem.training.y[:, trained.layout.first_scored :]
    variance = float(np.mean(np.var(targets, axis=(0, 1))))
    last = trained.history[-1].soft_loss
    return float(np.mean(last)) * variance if last else None


def extract_member(trained: Trained, member: int, problem: Problem, settings: Settings, folder: Path) -> Row:
    """One member as a run of its own: pruned, explained, certified; its files lie in `member<index>`."""
    from weights2code import pipeline, tasks
    from weights2code.data import Regime
    from weights2code.experiments.cases import facts
    from weights2code.experiments.judging import solves
    from weights2code.experiments.measures import model_score, program_row, uncertified
    from weights2code.extraction.from_networks import extract, with_explanation
    from weights2code.extraction.links import with_network
    from weights2code.extraction.members import PROMISING, whole_graph
    from weights2code.extraction.values import Log
    from weights2code.results import Outcome
    from weights2code.run_folder import begin

    began = time.perf_counter()
    loss = trained.losses[member]
    whole = whole_graph(trained, member, problem)
    model = model_score(whole, problem)
    row: Row = {
        "member": member,
        "seed": settings.seed,
        "loss": loss,
        "fitted": model.accuracy == 1.0 if problem.integer_outputs else loss <= PROMISING,
        **model.row("model"),
        "trained_mse": model.mse,
    }
    log = Log(settings.seed)
    extraction = extract(trained.only([member]), problem, Regime.EXACT, log, resort=True)
    attempts = [replace(attempt, member=member) for attempt in log.attempts]
    if extraction is None:
        outcome = Outcome(None, None, tuple(attempts), time.perf_counter() - began)
        row |= facts(outcome, problem.integer_outputs) | uncertified(whole, problem, settings.seed)
        return row | {"extraction_seconds": round(time.perf_counter() - began, 3)}
    listed = extraction = with_explanation(extraction, problem, log)  # as the paper lists it: pruned
    computes = settings.submlps != 0
    extraction, _ = with_network(extraction, trained.only([member]), problem, log, computes=computes)
    extraction = with_explanation(extraction, problem, log)
    outcome = Outcome(extraction, None, tuple(attempts), time.perf_counter() - began)
    with begin(folder / f"member{member}", problem.name, settings) as own:
        pipeline.leave(outcome, problem, own)
    judged = solves(extraction.program.run, tasks.get(problem.name), settings.seed)
    row |= facts(outcome, problem.integer_outputs)
    row |= {"solved": outcome.exit_code == 0 and judged.solved}
    row |= program_row(extraction.program, listed.explained, problem, settings.seed)
    return row | {"extraction_seconds": round(time.perf_counter() - began, 3)}
