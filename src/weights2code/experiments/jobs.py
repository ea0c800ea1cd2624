"""A job: one run of a sweep, named, with the function that does it and what that is told.

For `w2c bench` and `w2c experiment` everything about a job is text, so that any process on any machine can
do it, and what it leaves lies in a folder of its own. A benchmark's work is a plain function and its argument
any value, which processes that are forked have.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

DONE, FAILED = "done", "failed"

Row = dict[str, Any]
Work = Callable[[Any, Path], Row]
Training = Callable[[dict[str, Any], Path], None]

#: The attribute of a work that names its training.
_TRAINING = "training"


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a sweep.

    Attributes
    ----------
    key : its name, unique in the sweep.
    work : a function of the arguments and a folder that returns a row, or `"package.module:function"`.
    arguments : what the function is told; JSON if the work is a name.
    """

    key: str
    work: str | Work
    arguments: Any

    def to_dict(self) -> dict[str, Any]:
        return plain(asdict(self))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Job:
        return Job(data["key"], data["work"], data["arguments"])


def resolve(work: str | Work) -> Work:
    """The function that a job names."""
    if callable(work):
        return work
    module, _, name = work.partition(":")
    return getattr(import_module(module), name)


def trains(training: Training) -> Callable[[Work], Work]:
    """Mark a work whose first part is this training.

    The training leaves models in the folder, unless they are there; the work finds them. So an engine may do
    the training in one place, and everything again in another.
    """

    def marked(work: Work) -> Work:
        vars(work)[_TRAINING] = training
        return work

    return marked


def training_of(job: Job) -> Training | None:
    """The training that the work of a job begins with; None if it has none, or cannot be found here."""
    with suppress(ImportError, AttributeError):  # who does the work will say so
        return getattr(resolve(job.work), _TRAINING, None)
    return None


def perform(job: Job, folder: Path) -> Row:
    """Do the work of a job in this process, its training first; the row is plain JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    if training := training_of(job):
        training(job.arguments, folder)
    row = plain(resolve(job.work)(job.arguments, folder))
    json.dumps(row, allow_nan=False)  # what is not JSON shows here, and not in the sweep
    return row


def plain(value: Any) -> Any:
    """The value as JSON knows it: tuples are lists, NumPy's numbers are Python's, no number is infinite."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy, which need not be imported to know it
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
