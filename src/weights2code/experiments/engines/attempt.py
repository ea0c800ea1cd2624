"""What every engine does with a job, wherever it runs: the work, its time, and what it raised."""

from __future__ import annotations

import time
import traceback
from pathlib import Path

from weights2code.experiments.engines.engine import Finished
from weights2code.experiments.jobs import Job, perform
from weights2code.run_folder import write_atomically

TRACEBACK = "traceback.txt"


def attempt(job: Job, folder: Path) -> Finished:
    """Do a job in this process; what the work raises becomes the error of its row, the rest a file."""
    trace = folder / TRACEBACK
    trace.unlink(missing_ok=True)
    began = time.perf_counter()
    try:
        row, error = perform(job, folder), None
    except Exception as problem:  # one failed run does not end a sweep
        row, error = None, f"{type(problem).__name__}: {problem}"
        write_atomically(trace, traceback.format_exc())
    return Finished(job.key, row, error, seconds=round(time.perf_counter() - began, 3))
