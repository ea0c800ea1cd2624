"""Where the rows of a sweep are kept until all are there: a folder a job, or one file with a line a row.

```
OUT/sweep.json            seconds of all sweeps in this folder
OUT/runs/<key>/job.json   what was asked; a folder that belongs to another job is refused
OUT/runs/<key>/result.json    what came of it, beside whatever the work left; only what is done counts
```
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import weights2code
from weights2code import json_values
from weights2code.errors import InputError
from weights2code.experiments.jobs import DONE, FAILED, Job, Row, plain
from weights2code.run_folder import read_json, take_lock, write_atomically

RUNS, JOB, RESULT, SWEEP = "runs", "job.json", "result.json", "sweep.json"
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=-]{0,199}")


class Folders:
    """A folder a job, for works that leave files; what failed is tried again by the next sweep.

    `rows` are those of jobs that need not be done again, by key; a job that was `kept` is done.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self._began = 0.0

    def rows(self, jobs: Sequence[Job]) -> dict[str, Row]:
        for job in jobs:
            if not _KEY.fullmatch(job.key):
                raise InputError(f"{job.key!r} cannot name a folder; use letters, digits and _ . + = - only.")
        found = {job.key: self._row(job) for job in jobs}
        return {key: row for key, row in found.items() if row is not None}

    def _row(self, job: Job) -> Row | None:
        folder = self.out / RUNS / job.key
        if not (folder / JOB).exists():
            return None
        before, asked = read_json(folder / JOB), job.to_dict()
        if before != asked:
            other = _difference(before, asked)
            raise InputError(f"{folder} holds a run with other arguments ({other}); choose another --out.")
        if not (folder / RESULT).exists():
            return None
        row = read_json(folder / RESULT)
        if not _is_row(row, job.key):
            raise damaged(folder / RESULT)
        return row if row["status"] == DONE else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; one that is in use, or holds something else, raises InputError."""
        out = self.out
        if out.exists() and not out.is_dir():
            raise InputError(f"{out} is a file, not a folder; choose another --out.")
        if out.exists() and any(out.iterdir()) and not (out / RUNS).is_dir():
            raise InputError(f"{out} is not empty and not the folder of a sweep; choose another --out.")
        (out / RUNS).mkdir(parents=True, exist_ok=True)
        lock = take_lock(out)
        self._began = time.monotonic() - self.spent()
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)

    def begin(self, job: Job) -> Path:
        folder = self.out / RUNS / job.key
        write_atomically(folder / JOB, json.dumps(job.to_dict(), indent=2) + "\n")
        return folder

    def keep(self, job: Job, row: Row) -> None:
        text = json.dumps(row, indent=2, allow_nan=False)
        write_atomically(self.out / RUNS / job.key / RESULT, text + "\n")
        seconds = round(time.monotonic() - self._began, 3)
        write_atomically(self.out / SWEEP, json.dumps({"seconds": seconds}) + "\n")

    def spent(self) -> float:
        """Seconds that sweeps in this folder have taken, all together, up to their last rows."""
        file = self.out / SWEEP
        if not file.exists():
            return 0.0
        try:
            return float(json_values.number(read_json(file)["seconds"], "seconds"))
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{file} is damaged; delete it to count the time anew.") from None


class Lines:
    """One file, a line a row, for benchmarks: rows of one source, asked for in one way.

    The first line says which; rows of another are thrown away, so that no record holds figures of two
    versions. An error is a result too.
    """

    def __init__(self, file: Path, asked: Any) -> None:
        self.file = file
        self.folder = file.with_suffix("")
        self.known: dict[str, Row] = {}
        head = {"src": digest(), "asked": json.loads(json.dumps(plain(asked)))}
        lines = _lines(file)
        if lines and lines[0] == head:
            self.known = {row["key"]: row for row in lines[1:]}
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(head) + "\n", encoding="utf-8")

    def rows(self, jobs: Sequence[Job]) -> dict[str, Row]:
        return {job.key: self.known[job.key] for job in jobs if job.key in self.known}

    def locked(self) -> AbstractContextManager[object]:
        return nullcontext()

    def begin(self, job: Job) -> Path:
        return self.folder / re.sub(r"[^\w.+=-]", "_", job.key)

    def keep(self, job: Job, row: Row) -> None:
        self.known[job.key] = row
        cut_short = not self.file.read_bytes().endswith(b"\n")  # as when it was killed while it wrote
        with self.file.open("a", encoding="utf-8") as file:
            file.write("\n" * cut_short + json.dumps(row) + "\n")

    def remove(self) -> None:
        """What is no longer needed once the record is there."""
        self.file.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)


def digest() -> str:
    """A name for the package's source as it lies there, committed or not."""
    found, src = hashlib.sha256(), Path(weights2code.__file__).parents[1]
    for file in sorted(src.rglob("*.py")):
        found.update(f"{file.relative_to(src)}\n".encode() + file.read_bytes())
    return found.hexdigest()[:16]


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


def _lines(file: Path) -> list[Any]:
    """The lines of a file; one that was cut short does not count."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _difference(before: Any, asked: Any, place: str = "") -> str:
    """The first place where two JSON values differ, in words."""
    if isinstance(before, dict) and isinstance(asked, dict):
        for name in [*asked, *(name for name in before if name not in asked)]:
            if before.get(name) != asked.get(name):
                return _difference(before.get(name), asked.get(name), name)
    return f"{place}: {json.dumps(before)[:200]} there, {json.dumps(asked)[:200]} asked"
