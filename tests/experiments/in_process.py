"""An engine without any process: one job after the other, right here."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from weights2code.experiments.engines.engine import Finished, attempt
from weights2code.experiments.jobs import Job


class InProcess:
    """Jobs run one by one in this process."""

    def __init__(self) -> None:
        self._queue: deque[tuple[Job, Path]] = deque()

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self._queue.clear()

    def submit(self, job: Job, folder: Path) -> None:
        self._queue.append((job, folder))

    def wait(self) -> Finished:
        job, folder = self._queue.popleft()
        return attempt(job, folder)
