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
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread, current_thread

from weights2code.experiments.engines.engine import Finished, caught
from weights2code.experiments.engines.local import GRACE, Local
from weights2code.experiments.jobs import Job, Training, training_of

#: Trainings at once. Measured on an H200 with programs of the paper's grid: four at once are 1.35 times as
#: fast as one after the other, eight 1.41 times.
TOGETHER = 6


@dataclass(frozen=True, slots=True)
class _Task:
    job: Job
    folder: Path
    training: Training


@dataclass(frozen=True, slots=True)
class _Trained:
    """A training that is over: the job goes on if there is no error."""

    job: Job
    folder: Path
    error: str | None
    seconds: float


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
        self.together = together
        self._threads: list[Thread] = []
        self._training: set[Thread] = set()
        self._waiting: SimpleQueue[_Task | None] = SimpleQueue()
        self._over: SimpleQueue[_Trained] = SimpleQueue()
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
        for _ in self._threads:
            self._waiting.put(None)
        self.rest.__exit__(*error)
        latest = time.monotonic() + GRACE
        for thread in self._threads:
            thread.join(max(0.0, latest - time.monotonic()))

    def submit(self, job: Job, folder: Path) -> None:
        training = training_of(job)
        if training is None:
            self.rest.submit(job, folder)
            return
        self._waiting.put(_Task(job, folder, training))
        if len(self._threads) < self.together:
            self._start_thread()

    def wait(self) -> Finished:
        while True:
            finished = self.rest.wait_unless(self._bell)
            if finished is not None:
                return finished
            self._bell.recv_bytes()
            over = self._over.get()
            if over.error is not None:
                return Finished(over.job.key, error=over.error, seconds=over.seconds)
            self.rest.submit(over.job, over.folder)  # here, since `Local` belongs to one thread

    def _start_thread(self) -> None:
        if not self._threads:  # threads that import the same modules at once may see halves of them
            import_module(self.rest.preload)
        thread = Thread(target=self._train, name=f"training {len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _train(self) -> None:
        """What a thread does: one training after the other, and a word after each."""
        with suppress(SystemExit), self._stream():  # broken off
            while (task := self._waiting.get()) is not None and self._begins():
                began = time.perf_counter()
                try:
                    _, error = caught(partial(self._train_one, task), task.folder)
                except BaseException as problem:  # whatever happens, somebody waits for the word
                    error = f"its training ended with {type(problem).__name__}: {problem}"
                self._tell(_Trained(task.job, task.folder, error, round(time.perf_counter() - began, 3)))

    def _begins(self) -> bool:
        """Whether this thread may train."""
        with self._door:
            if not self._left:
                self._training.add(current_thread())
            return not self._left

    def _train_one(self, task: _Task) -> None:
        task.folder.mkdir(parents=True, exist_ok=True)
        task.training(task.job.arguments, task.folder)

    def _tell(self, over: _Trained) -> None:
        with self._door:
            self._training.discard(current_thread())
            if not self._left:
                self._over.put(over)
                self._button.send_bytes(b"!")

    def _stream(self) -> AbstractContextManager[object]:
        """A CUDA stream of its own for a thread, if the device has such."""
        if not self.device.startswith("cuda"):
            return nullcontext()
        import torch

        return torch.cuda.stream(torch.cuda.Stream(self.device))


def _break_off(thread: Thread) -> None:
    """Have a thread leave what it does, at the next line of Python that it comes to.

    A process that ends while its threads compute in PyTorch would crash instead.
    """
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
