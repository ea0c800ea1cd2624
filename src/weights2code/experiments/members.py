"""The paper's recipe as one job a task: its seeds train as members of one batched program, each is extracted.

"Training Details" (appendix): the paper's architecture of the task unless sizes are given, a million samples,
fifty epochs, pointer heads, a learned head. Members start from different weights and see the same batches.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weights2code.experiments.jobs import Row, trains
from weights2code.experiments.models import Asked, models_in, sizes_of, train_models
from weights2code.experiments.work import RUN

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.settings import Settings
    from weights2code.training.storage import Trained


@trains(train_models)
def train_and_extract(arguments: Row, folder: Path) -> Row:
    """Extract each of the trained members separately.

    Returns
    -------
    dict
        What they share (times, sizes) and, under `members`, one row each, best first.
    """
    asked = Asked.of(arguments)
    trained = models_in(arguments, folder)[RUN]
    members = [
        extract_member(trained, member, asked.problem, asked.settings, folder)
        for member in range(len(trained.losses))
    ]
    return {
        **arguments.get("label", {}),
        **sizes_of(trained),
        "soft_mse": soft_mse(trained, asked.problem),
        "training_seconds": round(trained.seconds, 3),
        "seconds": round(trained.seconds + sum(member["extraction_seconds"] for member in members), 3),
        "members": members,
    }


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
    from weights2code.extraction.members import whole_graph
    from weights2code.extraction.values import Log
    from weights2code.results import Outcome
    from weights2code.run_folder import begin

    began = time.perf_counter()
    whole = whole_graph(trained, member, problem)
    model = model_score(whole, problem)
    row: Row = {
        "member": member,
        "seed": settings.seed,
        "loss": trained.losses[member],
        **model.row("model"),
        "trained_mse": model.mse,
    }
    log = Log(settings.seed)
    extraction = extract(trained.only([member]), problem, Regime.EXACT, log, resort=True)
    attempts = [replace(attempt, member=member) for attempt in log.attempts]
    if extraction is None:
        outcome = Outcome(None, None, tuple(attempts), time.perf_counter() - began)
        row |= facts(outcome) | uncertified(whole, problem, settings.seed)
        return row | {"extraction_seconds": round(time.perf_counter() - began, 3)}
    listed = extraction = with_explanation(extraction, problem, log)  # as the paper lists it: pruned
    computes = settings.submlps != 0
    extraction, _ = with_network(extraction, trained.only([member]), problem, log, computes=computes)
    extraction = with_explanation(extraction, problem, log)
    outcome = Outcome(extraction, None, tuple(attempts), time.perf_counter() - began)
    with begin(folder / f"member{member}", problem.name, settings) as own:
        pipeline.leave(outcome, problem, own)
    judged = solves(extraction.program.run, tasks.get(problem.name), settings.seed)
    row |= facts(outcome)
    row |= {"solved": outcome.exit_code == 0 and judged.solved}
    row |= program_row(extraction.program, listed.explained, problem, settings.seed)
    return row | {"extraction_seconds": round(time.perf_counter() - began, 3)}
