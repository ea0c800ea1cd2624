"""The engine without any process: one job after the other, right here; for tests and for debugging."""

from __future__ import annotations

import time
import traceback
from collections import deque
from pathlib import Path
from types import TracebackType

from weights2code.experiments.engines.engine import Finished
from weights2code.experiments.jobs import Job, perform
from weights2code.run_folder import write_atomically

TRACEBACK = "traceback.txt"


class InProcess:
    """Jobs run one by one in this process."""

    def __init__(self) -> None:
        self._queue: deque[tuple[Job, Path]] = deque()

    def __enter__(self) -> InProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._queue.clear()

    def submit(self, job: Job, folder: Path) -> None:
        self._queue.append((job, folder))

    def wait(self) -> Finished:
        job, folder = self._queue.popleft()
        return attempt(job, folder)


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
