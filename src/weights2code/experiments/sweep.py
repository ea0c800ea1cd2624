"""Sweeps: many jobs whose rows are kept as they come; what is done is skipped, so a stopped sweep goes on.

This is the one place that decides and counts. Results are written here and nowhere else, one a job, so
nothing can be counted twice. A job whose worker vanished is given out again, three times in all; a job that
failed by itself is not, within one sweep: it would fail again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from weights2code.errors import InputError
from weights2code.experiments.engines.engine import Engine, Finished
from weights2code.experiments.jobs import DONE, FAILED, Job, Row
from weights2code.experiments.stores import Folders, Lines
from weights2code.run_folder import write_atomically

#: How often a job is given out in all, if its worker vanishes each time.
MOST_TRIES = 3


def run_sweep(
    jobs: Sequence[Job],
    store: Path | Folders | Lines,
    engine: Engine,
    on_row: Callable[[Row], None] | None = None,
    tries: int = MOST_TRIES,
) -> list[Row]:
    """Do the jobs that are not done yet.

    Parameters
    ----------
    jobs : what to do; keys are unique.
    store : what keeps the rows; a path is that of a folder with one for each job (`stores.Folders`).
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
    store = Folders(store) if isinstance(store, Path) else store
    check_unique(jobs)
    rows = store.rows(jobs)
    waiting = {job.key: job for job in jobs if job.key not in rows}
    if waiting:
        with engine, store.locked():
            for row in _made(waiting, store, engine, tries):
                rows[row["key"]] = row
                if on_row:
                    on_row(row)
    return [rows[job.key] for job in jobs]


def check_unique(jobs: Sequence[Job]) -> None:
    """Two jobs of one sweep must not share a folder; case counts for nothing, as on some file systems."""
    seen: set[str] = set()
    for job in jobs:
        if job.key.lower() in seen:
            raise InputError(f"two runs of the sweep have the name {job.key}; each needs its own.")
        seen.add(job.key.lower())


def _made(waiting: dict[str, Job], store: Folders | Lines, engine: Engine, tries: int) -> Iterator[Row]:
    """Give out the jobs, and the lost ones again; each row is written before it is told."""
    tried = dict.fromkeys(waiting, 1)
    folders = {job.key: store.begin(job) for job in waiting.values()}
    for job in waiting.values():
        engine.submit(job, folders[job.key])
    while waiting:
        finished = engine.wait()
        job, folder = waiting[finished.key], folders[finished.key]
        if finished.lost and tried[job.key] < tries:
            tried[job.key] += 1
            engine.submit(job, folder)
            continue
        row = row_of(finished, tried[job.key])
        for name, content in finished.files.items():
            write_atomically(folder / name, content)
        store.keep(job, row)
        del waiting[job.key]
        yield row


def row_of(finished: Finished, tries: int) -> Row:
    """The row of a job that is over; what the work says about seconds goes before what the engine saw."""
    status = DONE if finished.row is not None else FAILED
    head = {"key": finished.key, "status": status, "error": finished.error, "seconds": finished.seconds}
    return {**head, "tries": tries, **(finished.row or {})}
