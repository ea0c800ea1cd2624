"""What the jobs of `w2c bench` do: run a task as `w2c run` does, in a run folder, and judge its program."""

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
        "model_seconds": round(trained.seconds, 3),
        "rung": trained.rung,
        "loss": trained.losses[0],
        "raw_lines": total_lines(raw.read_text(encoding="utf-8")) if raw.exists() else None,
        **facts(outcome, task.integer_outputs),
    }
    solved = (
        outcome.exit_code == 0 and solves(outcome.program and outcome.program.run, task, settings.seed).solved
    )
    return row | {"solved": solved}
