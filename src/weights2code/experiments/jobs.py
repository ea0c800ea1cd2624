"""A job: one run of a sweep, named, with the function that does it and its arguments as JSON.

Everything about a job is text, so that any process on any machine can do it. Its folder is
`OUT/runs/<key>/`: `job.json` says what was asked, `result.json` what came of it, and beside them lies
whatever the work left. A job is done if `result.json` is there, says so, and `job.json` is the same job.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from weights2code import json_values
from weights2code.errors import InputError
from weights2code.run_folder import read_json, write_atomically

RUNS = "runs"
JOB = "job.json"
RESULT = "result.json"

DONE, FAILED = "done", "failed"

Row = dict[str, Any]
Work = Callable[[dict[str, Any], Path], Row]
Training = Callable[[dict[str, Any], Path], None]

#: The attribute of a work that names its training.
_TRAINING = "training"
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=-]{0,199}")


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a sweep.

    Attributes
    ----------
    key : names its folder; safe as a file name and unique in the sweep.
    work : `"package.module:function"`; the function takes the arguments and a folder, and returns a row.
    arguments : what the function is told; JSON.
    """

    key: str
    work: str
    arguments: dict[str, Any]

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise InputError(f"{self.key!r} cannot name a folder; use letters, digits and _ . + = - only.")

    def folder(self, out: Path) -> Path:
        """Where the job's files lie in the folder of the sweep."""
        return out / RUNS / self.key

    def to_dict(self) -> dict[str, Any]:
        return plain(asdict(self))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Job:
        return Job(data["key"], data["work"], data["arguments"])


def check_unique(jobs: Iterable[Job]) -> None:
    """Two jobs of one sweep must not share a folder; case counts for nothing, as on some file systems."""
    seen: set[str] = set()
    for job in jobs:
        if job.key.lower() in seen:
            raise InputError(f"two runs of the sweep have the name {job.key}; each needs its own.")
        seen.add(job.key.lower())


def resolve(work: str) -> Work:
    """The function that a job names."""
    module, _, name = work.partition(":")
    return getattr(import_module(module), name)


def trains(training: Training) -> Callable[[Work], Work]:
    """Mark a work whose first part is this training.

    The training leaves models in the folder; the work, whenever it is called, trains only what is not there.
    So an engine may do the training in one place and the work afterwards in another.
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
    """Do the work of a job in this process; the row is plain JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    row = plain(resolve(job.work)(job.arguments, folder))
    json.dumps(row, allow_nan=False)  # what is not JSON shows here, and not in the sweep
    return row


def stored_row(job: Job, out: Path) -> Row | None:
    """The row of a job that is done; None if it is still to do, or failed and may be tried again.

    A folder that belongs to another job is refused and left untouched.
    """
    folder = job.folder(out)
    if not (folder / JOB).exists():
        return None
    before, asked = read_json(folder / JOB), job.to_dict()
    if before != asked:
        raise InputError(
            f"{folder} holds a run with other arguments ({_difference(before, asked)}); choose another --out."
        )
    if not (folder / RESULT).exists():
        return None
    row = read_json(folder / RESULT)
    if not _is_row(row, job.key):
        raise damaged(folder / RESULT)
    return row if row["status"] == DONE else None


def damaged(file: Path) -> InputError:
    """A result that nobody wrote so."""
    return InputError(f"{file} is damaged (it is no result of a run); delete it to make the run again.")


def _is_row(row: Any, key: str) -> bool:
    """Whether a result has what every row of that name has."""
    try:
        json_values.number(row["seconds"], "seconds")
        json_values.whole(row["tries"], "tries")
        return row["status"] in (DONE, FAILED) and row["key"] == key
    except (KeyError, TypeError, ValueError):
        return False


def write_job(job: Job, out: Path) -> Path:
    """Create the job's folder with its `job.json`."""
    folder = job.folder(out)
    write_atomically(folder / JOB, json.dumps(job.to_dict(), indent=2) + "\n")
    return folder


def write_result(job: Job, out: Path, row: Row) -> None:
    """Leave what came of a job; from now on it is done."""
    write_atomically(job.folder(out) / RESULT, json.dumps(row, indent=2, allow_nan=False) + "\n")


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


def _difference(before: Any, asked: Any, place: str = "") -> str:
    """The first place where two JSON values differ, in words."""
    if isinstance(before, dict) and isinstance(asked, dict):
        for name in [*asked, *(name for name in before if name not in asked)]:
            if before.get(name) != asked.get(name):
                return _difference(before.get(name), asked.get(name), name)
    return f"{place}: {json.dumps(before)[:200]} there, {json.dumps(asked)[:200]} asked"
