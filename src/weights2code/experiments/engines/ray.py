"""The engine of many machines: Ray, on a cluster that is there or on one started here for the sweep.

Workers need not share a disk with the sweep: a job runs in a temporary folder of its machine, and its row
and files come back through Ray. Ray's own retries are off, so that the sweep alone counts the tries. Where a
GPU is asked for, a job whose work begins with a training (`trains`) is trained with a share of one, and goes
on with a core alone, on any machine: its models travel through Ray too.
"""

from __future__ import annotations

import io
import os
import socket
import sys
import tempfile
import threading
from collections import deque
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TextIO

from weights2code import __version__
from weights2code.errors import InputError
from weights2code.experiments.engines.engine import Finished, attempt, caught
from weights2code.experiments.engines.local import cores
from weights2code.experiments.jobs import Job, training_of
from weights2code.run_folder import write_atomically

#: Larger files of a job stay behind; the row says so.
MOST_BYTES = 32 << 20
#: What a cluster of our own sets aside for results on their way.
STORE_BYTES = 128 << 20
#: Jobs that are with Ray at once, a core of the cluster: enough that none waits for us.
AHEAD = 2
#: Trainings that share a GPU. Processes take turns on it: one computes while another prepares its data.
SHARING = 3
#: Ray reads these when it is imported.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
}


class Ray:
    """Jobs run as Ray tasks of one core each.

    Parameters
    ----------
    address : of a cluster that is there, `"auto"` for the one on this machine; None starts one here.
    jobs : jobs at once; by default as many as the cluster, or this machine, has cores for.
    device : that trainings ask for: "cpu", "cuda", or "auto", a GPU if the cluster has one.
    """

    def __init__(self, address: str | None = None, jobs: int | None = None, device: str = "cpu") -> None:
        self.address = address
        self.jobs = jobs
        self.device = device
        self._ray: Any = None
        self._task: Any = None
        self._training: Any = None
        self._ours = False
        self._quiet = ExitStack()
        self._queue: deque[Job] = deque()
        self._running: dict[Any, tuple[Job, bool]] = {}  # and whether that is its training

    def __enter__(self) -> Ray:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        self._ray = imported()
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._connect()
        self._quiet.enter_context(redirect_stdout(OwnThread(sys.stdout)))
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(remote_attempt)
        if self._gpus():
            share = self._ray.remote(num_cpus=1, num_gpus=1 / SHARING, max_retries=0)
            self._training = share(remote_training)
        return self

    def _gpus(self) -> int:
        """How many GPUs trainings may use."""
        found = int(self._ray.cluster_resources().get("GPU", 0)) if self.device != "cpu" else 0
        if not found and self.device not in ("cpu", "auto"):
            self.__exit__()
            raise InputError(f"--device {self.device} needs a GPU, and the Ray cluster has none.")
        return found

    def _connect(self) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if self.address is None:
            self._ray.init(
                address="local",  # a new one, whatever else runs on this machine
                num_cpus=self.jobs or cores(),
                include_dashboard=False,
                object_store_memory=STORE_BYTES,
                **quiet,
            )
            return
        try:
            somebody_listens(self.address)
            self._ray.init(address=self.address, **quiet)
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"there is no Ray cluster at {self.address} ({reason}).") from None

    def __exit__(self, *error: object) -> None:
        self._queue.clear()
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        if self._ours:
            self._ray.shutdown()
        self._quiet.close()

    def submit(self, job: Job, folder: Path) -> None:
        self._queue.append(job)
        self._fill()

    def wait(self) -> Finished:
        while True:
            (ready,), _ = self._ray.wait([*self._running], num_returns=1)
            job, trained = self._running.pop(ready)
            finished = self._read(job, ready)
            if trained and finished.error is None:
                self._begin(job, ready)
                continue
            self._fill()
            return finished

    def _fill(self) -> None:
        room = self.jobs or AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        while self._queue and len(self._running) < room:
            self._begin(self._queue.popleft())

    def _begin(self, job: Job, *trained: Any) -> None:
        trains = not trained and self._training is not None and training_of(job) is not None
        task: Any = self._training if trains else self._task
        reference = task.options(name=job.key).remote(job.to_dict(), __version__, *trained)
        self._running[reference] = (job, trains)

    def _read(self, job: Job, reference: Any) -> Finished:
        errors = self._ray.exceptions
        try:
            return Finished(**self._ray.get(reference))
        except errors.RayTaskError as error:
            return Finished(job.key, error=str(error.cause or error).splitlines()[-1])
        except errors.RayError as error:  # the worker, its machine, or the result on its way is gone
            return Finished(job.key, error=f"its worker was lost ({type(error).__name__})", lost=True)


def somebody_listens(address: str) -> None:
    """Raise OSError where nobody answers at HOST:PORT; Ray itself would wait for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


class OwnThread(io.TextIOBase):
    """A stream that only the thread that made it can write to.

    When a machine is lost, a thread of Ray prints pages about it to stdout, which belongs to the result.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text: str, /) -> int:
        if threading.get_ident() == self._thread:
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()


def imported() -> Any:
    """Ray itself; raises InputError if it is not installed."""
    try:
        import ray
    except ImportError:
        raise InputError(
            "--engine ray needs Ray: `pip install 'weights2code[ray]'`; --engine local does without."
        ) from None
    return ray


def remote_attempt(
    job: dict[str, Any], version: str, trained: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What a worker does: the job in a temporary folder, which holds the files of its training, if it had
    one elsewhere; the fields of `Finished`, with its files."""
    check_version(version)
    with tempfile.TemporaryDirectory(prefix="w2c-") as place:
        folder = Path(place) / job["key"]
        for name, content in (trained["files"] if trained else {}).items():
            write_atomically(folder / name, content)
        finished = attempt(Job.from_dict(job), folder)
        files, left_out = collected(folder)
    row = finished.row
    if row is not None and left_out:
        row = row | {"files_left_out": left_out}
    return asdict(replace(finished, row=row, files=files))


def remote_training(job: dict[str, Any], version: str) -> dict[str, Any]:
    """The training that a job begins with; the fields of `Finished` without a row."""
    check_version(version)
    asked = Job.from_dict(job)
    training = training_of(asked)
    assert training is not None
    with tempfile.TemporaryDirectory(prefix="w2c-") as place:
        folder = Path(place) / asked.key
        folder.mkdir()
        _, error = caught(lambda: training(asked.arguments, folder), folder)
        files, left_out = collected(folder)
    if left_out:
        error = error or f"its models are too large to be sent: {', '.join(left_out)}"
    return asdict(Finished(asked.key, error=error, files=files))


def check_version(version: str) -> None:
    if version != __version__:
        raise InputError(f"a worker has weights2code {__version__}, the sweep {version}; install the same.")


def collected(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files of a folder by their path from it, and the paths of those that are too large."""
    files: dict[str, bytes] = {}
    left_out: list[str] = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        if path.stat().st_size > MOST_BYTES:
            left_out.append(name)
        else:
            files[name] = path.read_bytes()
    return files, left_out
