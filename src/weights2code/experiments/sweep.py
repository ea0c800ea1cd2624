"""Sweeps: many jobs, each in a folder of its own; what is done is skipped, so a stopped sweep goes on.

This is the one place that decides and counts. Results are written here and nowhere else, one a job, so
nothing can be counted twice. A job whose worker vanished is given out again, three times in all; a job that
failed by itself is not, within one sweep: it would fail again. The next sweep in the same folder tries it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from weights2code.errors import InputError
from weights2code.experiments.engines.engine import Engine, Finished
from weights2code.experiments.jobs import (
    DONE,
    FAILED,
    RUNS,
    Job,
    Row,
    check_unique,
    stored_row,
    write_job,
    write_result,
)
from weights2code.json_values import number
from weights2code.run_folder import read_json, take_lock, write_atomically

#: How long the sweeps of a folder took so far, whatever ended them.
SWEEP = "sweep.json"

#: How often a job is given out in all, if its worker vanishes each time.
MOST_TRIES = 3


def stored_rows(jobs: Sequence[Job], out: Path) -> dict[str, Row]:
    """Rows of the jobs that are done already, by key."""
    found = ((job.key, stored_row(job, out)) for job in jobs)
    return {key: row for key, row in found if row is not None}


def run_sweep(
    jobs: Sequence[Job], out: Path, engine: Engine, on_row: Callable[[Row], None] | None = None
) -> list[Row]:
    """Do the jobs that are not done yet.

    Parameters
    ----------
    jobs : what to do; keys are unique.
    out : folder of the sweep; that of a job is `out/runs/<key>`.
    engine : where the jobs run; it is entered only if there is something to do.
    on_row : called with each row as it is made; rows that were there before are not among them.

    Returns
    -------
    list of dict
        A row a job, in the order of the jobs: `key`, `status` (`done` or `failed`), `error`, `seconds`,
        `tries`, and what the work returned.

    Raises
    ------
    InputError
        If a folder holds a run with other arguments.
    """
    check_unique(jobs)
    rows = stored_rows(jobs, out)
    waiting = {job.key: job for job in jobs if job.key not in rows}
    if waiting:
        with engine, locked(out):
            began = time.monotonic() - spent(out)
            for row in _made(waiting, out, engine):
                rows[row["key"]] = row
                write_atomically(
                    out / SWEEP, json.dumps({"seconds": round(time.monotonic() - began, 3)}) + "\n"
                )
                if on_row:
                    on_row(row)
    return [rows[job.key] for job in jobs]


def spent(out: Path) -> float:
    """Seconds that sweeps in this folder have taken, all together, up to their last rows."""
    if not (out / SWEEP).exists():
        return 0.0
    try:
        return float(number(read_json(out / SWEEP)["seconds"], "seconds"))
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{out / SWEEP} is damaged; delete it to count the time anew.") from None


def _made(waiting: dict[str, Job], out: Path, engine: Engine) -> Iterator[Row]:
    """Give out the jobs, and the lost ones again; each row is written before it is told."""
    tries = dict.fromkeys(waiting, 1)
    for job in waiting.values():
        engine.submit(job, write_job(job, out))
    while waiting:
        finished = engine.wait()
        job = waiting[finished.key]
        if finished.lost and tries[job.key] < MOST_TRIES:
            tries[job.key] += 1
            engine.submit(job, job.folder(out))
            continue
        row = row_of(finished, tries[job.key])
        for name, content in finished.files.items():
            write_atomically(job.folder(out) / name, content)
        write_result(job, out, row)
        del waiting[job.key]
        yield row


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the folder of a sweep; one that is in use, or holds something else, raises InputError."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, not a folder; choose another --out.")
    if out.exists() and any(out.iterdir()) and not (out / RUNS).is_dir():
        raise InputError(f"{out} is not empty and not the folder of a sweep; choose another --out.")
    (out / RUNS).mkdir(parents=True, exist_ok=True)
    lock = take_lock(out)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def row_of(finished: Finished, tries: int) -> Row:
    """The row of a job that is over; what the work says about seconds goes before what the engine saw."""
    status = DONE if finished.row is not None else FAILED
    head = {"key": finished.key, "status": status, "error": finished.error, "seconds": finished.seconds}
    return {**head, "tries": tries, **(finished.row or {})}
