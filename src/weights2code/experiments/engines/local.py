"""The engine of one machine: a process a job, as many at once as there are cores.

A pool of the standard library breaks as a whole when one of its processes is killed; here each process is
watched by itself, so that the others go on and the sweep decides about the one. Where the system can, a
server that has imported everything heavy is forked for each job: a fresh process that starts in no time.
Benchmarks, whose work is no name but a function, are forked from this process, with all that it has drawn.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from weights2code.effort import THREADS
from weights2code.experiments.engines.engine import Finished, attempt
from weights2code.experiments.jobs import Job

LOG = "log.txt"
HEAVY = "weights2code.experiments.heavy"
#: Seconds that a process gets to end before it is killed.
GRACE = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    job: Job
    process: BaseProcess
    receiver: Connection
    began: float


class Local:
    """Jobs run in processes of this machine.

    Parameters
    ----------
    jobs : processes at once; by default as many as there are cores for this process.
    preload : a module that the server imports before it is forked.
    forked : whether processes are forked from this one.
    limit : seconds by the clock after which a job is given up.
    """

    def __init__(
        self,
        jobs: int | None = None,
        preload: str = HEAVY,
        *,
        forked: bool = False,
        limit: float | None = None,
    ) -> None:
        self.jobs = jobs or cores()
        self.preload = preload
        self.limit = limit
        self._queue: deque[tuple[Job, Path]] = deque()
        self._running: list[_Running] = []
        self._stillborn: deque[Finished] = deque()
        self._daemon = not forked  # what is measured may start processes of its own
        method = "fork" if forked else "forkserver" if sys.platform == "linux" else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload([preload])

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *error: object) -> None:
        self._queue.clear()
        self._stillborn.clear()
        for running in self._running:
            running.process.terminate()
        for running in self._running:
            self._end(running)
        self._running.clear()

    def submit(self, job: Job, folder: Path) -> None:
        self._queue.append((job, folder))
        self._fill()

    def wait(self) -> Finished:
        finished = self.wait_unless()
        assert finished is not None
        return finished

    def wait_unless(self, *called: Connection) -> Finished | None:
        """As `wait`, or None as soon as one of these connections has something to read."""
        if self._stillborn:
            return self._stillborn.popleft()
        receivers = [*called, *(running.receiver for running in self._running)]
        while not (ready := connection.wait(receivers, timeout=None if self.limit is None else 1.0)):
            if (running := self._overdue()) is not None:
                running.process.kill()
                return self._over(running, self._given_up(running))
        if any(other in ready for other in called):
            return None
        running = next(running for running in self._running if running.receiver in ready)
        return self._over(running, self._read(running))

    def _over(self, running: _Running, finished: Finished) -> Finished:
        self._running.remove(running)
        self._fill()
        return finished

    def _overdue(self) -> _Running | None:
        latest = time.monotonic() - (self.limit or 0.0)
        return next((running for running in self._running if running.began < latest), None)

    def _given_up(self, running: _Running) -> Finished:
        self._end(running)
        return Finished(
            running.job.key, error=f"ended by force after {self.limit:g} s", seconds=self.limit or 0.0
        )

    def _fill(self) -> None:
        while self._queue and len(self._running) < self.jobs:
            job, folder = self._queue.popleft()
            receiver, sender = self._context.Pipe(duplex=False)
            process = self._context.Process(
                target=_work, args=(sender, job, folder), name=job.key, daemon=self._daemon
            )
            try:
                with one_thread_each():
                    process.start()
            except (EOFError, OSError) as error:  # no memory, or the server was killed: it starts again
                receiver.close()
                reason = f"its process could not be started ({type(error).__name__}: {error})"
                self._stillborn.append(Finished(job.key, error=reason, lost=True))
            else:
                self._running.append(_Running(job, process, receiver, time.monotonic()))
            finally:
                sender.close()  # the worker has the only one: when it dies, the receiver sees the end

    def _read(self, running: _Running) -> Finished:
        try:
            said = json.loads(running.receiver.recv_bytes())
        except (EOFError, OSError, ValueError):
            return Finished(running.job.key, error=_epitaph(self._end(running)), lost=True)
        self._end(running)
        return Finished(**said)

    @staticmethod
    def _end(running: _Running) -> int | None:
        """Wait for a process that is about to end, and tidy up; its exit code."""
        running.process.join(GRACE)
        if running.process.is_alive():
            running.process.kill()
            running.process.join()
        code = running.process.exitcode
        running.receiver.close()
        running.process.close()
        return code


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Whatever starts in here has one thread, unless the user said otherwise."""
    added = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _epitaph(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        why = ", perhaps for want of memory" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{why}"
    return f"its process ended with exit code {code} before the work was done"


def _work(sender: Connection, job: Job, folder: Path) -> None:
    """What a process does: the job, with its output in a file, and one message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the sweep, which ends its processes
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / LOG
    with open(log, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    finished = attempt(job, folder)
    sys.stdout.flush()
    sys.stderr.flush()
    if not log.stat().st_size:
        log.unlink()
    sender.send_bytes(json.dumps(asdict(finished), allow_nan=False).encode())
    sender.close()


def _leave_with_parent() -> None:
    """End this process when the sweep is gone, even killed: nobody would read the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
