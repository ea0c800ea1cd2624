"""The protocol of an engine: take jobs, say of each how it ended. What that means is the sweep's business.

An engine neither retries nor counts. Each submitted job is reported exactly once: with its row, with the
error that the work raised, or as lost, when the process or machine that had it is gone.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from weights2code.experiments.jobs import Job, Row, perform
from weights2code.run_folder import write_atomically

#: What a job leaves in its folder if its work raised.
TRACEBACK = "traceback.txt"

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Finished:
    """How one submission of a job ended.

    Attributes
    ----------
    key : the job's.
    row : what the work returned; None if it did not return.
    error : why not, in one line.
    lost : whether the job is not to blame as far as anyone knows: its worker vanished.
    seconds : that the work took, on its worker.
    files : what the work left, where it cannot write into the job's folder itself: path from there, content.
    """

    key: str
    row: Row | None = None
    error: str | None = None
    lost: bool = False
    seconds: float = 0.0
    files: Mapping[str, bytes] = field(default_factory=dict)


def attempt(job: Job, folder: Path) -> Finished:
    """Do a job in this process; what the work raises becomes the error of its row, the rest a file."""
    began = time.perf_counter()
    row, error = caught(lambda: perform(job, folder), folder)
    return Finished(job.key, row, error, seconds=round(time.perf_counter() - began, 3))


def caught(work: Callable[[], Result], folder: Path) -> tuple[Result | None, str | None]:
    """What the work returns, and no error; if it raises, the error in a line, and all about it as a file."""
    trace = folder / TRACEBACK
    trace.unlink(missing_ok=True)
    try:
        return work(), None
    except Exception as problem:  # one failed run does not end a sweep
        write_atomically(trace, traceback.format_exc())
        return None, f"{type(problem).__name__}: {problem}"


class Engine(Protocol):
    """A place to run jobs; use it as a context manager, leaving it stops whatever still runs."""

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...

    def submit(self, job: Job, folder: Path) -> None:
        """Take a job; it starts as soon as there is room."""
        ...

    def wait(self) -> Finished:
        """Block until a submitted job has ended, and say how."""
        ...
