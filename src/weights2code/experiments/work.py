"""What jobs do: run a task as `w2c run` does and judge its program; for experiments also what tables hold."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from weights2code.experiments.jobs import Row

RUN = "run"


def run_task(arguments: dict[str, Any], folder: Path) -> Row:
    """One run of a built-in task.

    Parameters
    ----------
    arguments : `task`, a name, and `settings`, fields of `Settings` that differ from the defaults.
    folder : of the job; the run folder is `folder/run`.

    Returns
    -------
    dict
        The row. A task is `solved` if the run ends with exit code 0 and the program equals the reference
        machine (`judging`).
    """
    from weights2code import tasks
    from weights2code.experiments.cases import facts
    from weights2code.experiments.heavy import pipeline  # before the clock starts
    from weights2code.experiments.judging import solves
    from weights2code.program import total_lines
    from weights2code.run_folder import MODEL, PROGRAM_RAW, begin
    from weights2code.settings import Settings
    from weights2code.source import canonical
    from weights2code.training.storage import Trained

    name = canonical(arguments["task"])
    task, settings = tasks.get(name), Settings.from_dict(Settings().to_dict() | arguments.get("settings", {}))
    resumed = (folder / RUN).exists()
    began = time.perf_counter()
    with begin(folder / RUN, name, settings) as run_folder:
        outcome = pipeline.run(name, settings, run_folder)
    seconds = time.perf_counter() - began
    training = outcome.training_seconds
    trained = outcome.trained or Trained.load(folder / RUN / MODEL)  # it may have been complete before
    raw = folder / RUN / PROGRAM_RAW
    row = {
        "task": name,
        "seed": settings.seed,
        "seconds": round(seconds, 3),
        "training_seconds": None if training is None else round(training, 3),
        # of a run that was continued, training counts earlier parts and the total does not
        "extraction_seconds": None if training is None or resumed else round(seconds - training, 3),
        "resumed": resumed,
        "rung": trained.rung,
        "loss": trained.losses[0],
        "raw_lines": total_lines(raw.read_text(encoding="utf-8")) if raw.exists() else None,
        **facts(outcome),
    }
    solved = (
        outcome.exit_code == 0 and solves(outcome.program and outcome.program.run, task, settings.seed).solved
    )
    return row | {"solved": solved}


def study(arguments: dict[str, Any], folder: Path) -> Row:
    """One run, then the scores of the program, of the discrete model behind it and of the paper's listing.

    Parameters
    ----------
    arguments : `task` and `settings` as for `run_task`; `label` goes into the row.
    """
    row = run_task(arguments, folder)
    return {**arguments.get("label", {}), **row, **measured(folder / RUN)}


def measured(folder: Path) -> Row:
    """The numbers of a run folder; the model's alone where there is no program.

    The model is judged as it was trained, and listed as the paper does: pruned.
    """
    from weights2code.experiments.measures import model_score, program_row, uncertified
    from weights2code.experiments.models import sizes_of
    from weights2code.extraction.from_networks import LISTING_EFFORT
    from weights2code.extraction.members import member, whole_graph
    from weights2code.recheck import place_in
    from weights2code.results import read_run
    from weights2code.run_folder import CERTIFICATE, MODEL, open_existing
    from weights2code.training.storage import Trained
    from weights2code.views.hidden import problem_in

    with open_existing(folder) as run:
        problem, seed = problem_in(run), run.settings.seed
        trained = Trained.load(run.file(MODEL), problem)
        best = whole_graph(trained, 0, problem)
        found = model_score(best, problem)
        row = sizes_of(trained) | {"trained_mse": found.mse}
        if not run.has(CERTIFICATE):
            return row | found.row("model") | uncertified(best, problem, seed)
        stored = read_run(run)
        own = place_in(trained, stored.certificate.network, run) or 0
        row |= model_score(whole_graph(trained, own, problem), problem).row("model")
        matched = member(trained, own, problem).matched
        explained = matched.explain(problem, LISTING_EFFORT) if matched.finite else None
        return row | program_row(stored.program, explained, problem, seed)
