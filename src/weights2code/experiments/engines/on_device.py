"""The engine of one machine with a GPU: trainings in threads of this process, all the rest in processes.

Processes take turns on a GPU, while trainings of one process overlap if each has a CUDA stream of its own. So
a job whose work begins with a training (`trains`) is trained here, several at a time, and then handed on to
`Local`, whose process finds the models in the job's folder and only goes on: extraction and certificates are
work for cores. Jobs without a training are handed on at once.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, get_ident

from weights2code.experiments.engines.engine import Finished, caught
from weights2code.experiments.engines.local import GRACE, Local
from weights2code.experiments.jobs import Job, Training, training_of

#: Trainings at once. Measured on an H200 with programs of the paper's grid: four at once are 1.35 times as
#: fast as one after the other, eight 1.41 times.
TOGETHER = 6


class OnDevice:
    """Jobs are trained in threads of this process, and then run in processes of this machine.

    Parameters
    ----------
    rest : where jobs go on after their training.
    device : that they train on, as PyTorch names it.
    together : trainings at once.
    """

    def __init__(self, rest: Local, device: str, together: int = TOGETHER) -> None:
        self.rest = rest
        self.device = device
        self._pool = ThreadPoolExecutor(together, "training", self._own_stream)
        self._futures: list[Future[None]] = []
        self._training: set[int] = set()
        self._over: SimpleQueue[tuple[Job, Path, str | None, float]] = SimpleQueue()
        self._bell, self._button = multiprocessing.Pipe(duplex=False)
        self._door = Lock()
        self._left = False

    def __enter__(self) -> OnDevice:
        self.rest.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Trainings under way are broken off; what they kept as checkpoints is there to go on from."""
        with self._door:
            self._left = True
            self._button.close()
            self._bell.close()
            for thread in self._training:
                _break_off(thread)
        self._pool.shutdown(wait=False)  # those that wait for a thread begin nothing
        self.rest.__exit__(*error)
        wait(self._futures, GRACE)

    def submit(self, job: Job, folder: Path) -> None:
        training = training_of(job)
        if training is None:
            self.rest.submit(job, folder)
            return
        if not self._futures:  # threads that import the same modules at once may see halves of them
            import_module(self.rest.preload)
        self._futures.append(self._pool.submit(self._train, job, folder, training))

    def wait(self) -> Finished:
        while True:
            finished = self.rest.wait_unless(self._bell)
            if finished is not None:
                return finished
            self._bell.recv_bytes()
            job, folder, error, seconds = self._over.get()
            if error is not None:
                return Finished(job.key, error=error, seconds=seconds)
            self.rest.submit(job, folder)  # here, since `Local` belongs to one thread

    def _train(self, job: Job, folder: Path, training: Training) -> None:
        """One training, and a word after it."""
        with self._door:
            if self._left:
                return
            self._training.add(get_ident())
        began = time.perf_counter()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _, error = caught(partial(training, job.arguments, folder), folder)
        except BaseException as problem:  # whatever happens, somebody waits for the word
            error = f"its training ended with {type(problem).__name__}: {problem}"
        with self._door:
            self._training.discard(get_ident())
            if not self._left:
                self._over.put((job, folder, error, round(time.perf_counter() - began, 3)))
                self._button.send_bytes(b"!")

    def _own_stream(self) -> None:
        """A CUDA stream of its own for a thread, if the device has such."""
        if self.device.startswith("cuda"):
            import torch

            torch.cuda.set_stream(torch.cuda.Stream(self.device))


def _break_off(thread: int) -> None:
    """Have a thread leave what it does, at the next line of Python that it comes to.

    A process that ends while its threads compute in PyTorch would crash instead.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
