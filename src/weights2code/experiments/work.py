"""What the jobs of a sweep do: run a task as `w2c run` does, in a run folder, and judge its program."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments.jobs import Row

if TYPE_CHECKING:
    from weights2code.extraction.values import Extraction

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
    from weights2code.experiments.heavy import pipeline  # before the clock starts
    from weights2code.experiments.judging import solves
    from weights2code.run_folder import MODEL, begin
    from weights2code.settings import Settings
    from weights2code.source import canonical
    from weights2code.training.search import Trained

    name = canonical(arguments["task"])
    settings = Settings.from_dict(Settings().to_dict() | arguments.get("settings", {}))
    resumed = (folder / RUN).exists()
    began = time.perf_counter()
    with begin(folder / RUN, name, settings) as run_folder:
        outcome = pipeline.run(name, settings, run_folder)
    seconds = time.perf_counter() - began
    training = outcome.training_seconds
    trained = outcome.trained or Trained.load(folder / RUN / MODEL)  # it may have been complete before
    row: Row = {
        "task": name,
        "seed": settings.seed,
        "seconds": round(seconds, 3),
        "training_seconds": None if training is None else round(training, 3),
        # of a run that was continued, training counts earlier parts and the total does not
        "extraction_seconds": None if training is None or resumed else round(seconds - training, 3),
        "resumed": resumed,
        "model_seconds": round(trained.seconds, 3),
        "exit": outcome.exit_code,
        "verdict": "-",
        "rung": trained.rung,
        "loss": trained.losses[0],
        "attempts": [attempt.to_dict() for attempt in outcome.attempts],
        "solved": False,
    }
    if outcome.extraction is None:
        return row
    program, certificate = outcome.extraction.program, outcome.extraction.certificate
    row |= facts(outcome.extraction)
    return row | {
        "lines": program.lines,
        "raw_lines": raw_lines(folder / RUN),
        "rmse": certificate.rmse,
        "accuracy": certificate.accuracy,
        "max_abs_error": certificate.max_abs_error,
        "solved": outcome.exit_code == 0 and solves(program.run, tasks.get(name), settings.seed).solved,
    }


def facts(extraction: Extraction) -> Row:
    """What a table says about a program."""
    program, certificate = extraction.program, extraction.certificate
    return {
        "verdict": certificate.verdict,
        "method": certificate.method,
        "explanation": certificate.explain(),
        "notes": list(certificate.notes),
        "invariant": list(certificate.invariant),
        "model_fits": certificate.model_fits,
        "network": None if certificate.network is None else certificate.network.verdict,
        "taught": None if certificate.taught is None else certificate.taught.verdict,
        "formula": program.formula(),
        "source": program.source(),
        "origin": program.how,
        "body": program.body,
        "operations": program.operations,
    }


def raw_lines(run: Path) -> int | None:
    """Lines of `program_raw.py`, counted as in the paper's tables."""
    from weights2code.program import total_lines
    from weights2code.run_folder import PROGRAM_RAW

    file = run / PROGRAM_RAW
    return total_lines(file.read_text(encoding="utf-8")) if file.exists() else None
