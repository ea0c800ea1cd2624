"""Where a model runs: files in a process of their own with limited time and memory, callables in this one.

Between the processes go arrays as NumPy's files hold them, and texts: nothing is unpickled.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection, Pipe
from typing import Any

import numpy as np

from weights2code.decompilation.feeds import Feed, Form, Silent, feed_from, feed_of, said
from weights2code.errors import InputError

#: Seconds for loading a model and for one question; bytes that a model may take.
LOADING, ANSWERING = 120.0, 60.0
MEMORY = 6 << 30


class Own:
    """A callable of this process: a question that takes too long is left behind in its thread."""

    #: Whether it can be asked again.
    alive = True

    def __init__(self, model: Any) -> None:
        self.feed: Feed = feed_of(model)
        self.seconds = ANSWERING
        self.forms: list[Form] = self.feed.forms()

    def ask(self, given: np.ndarray) -> np.ndarray:
        answer: list[np.ndarray | BaseException] = []

        def work() -> None:
            try:
                answer.append(np.asarray(self.feed.ask(given), float))
            except BaseException as error:
                answer.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.seconds)
        if not answer:
            raise Silent(f"did not answer within {self.seconds:g} s")
        if isinstance(answer[0], BaseException):
            raise Silent(_raised(answer[0]))
        return answer[0]

    def close(self) -> None:
        """There is nothing to end."""


class Apart:
    """A file in a process of its own, which is ended when it takes too long; what it prints is dropped."""

    def __init__(self, path: str, name: str) -> None:
        self.seconds = ANSWERING
        self.pipe, theirs = Pipe()
        handle = theirs.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "weights2code.decompilation.hosts", path, name, str(handle)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[handle],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        theirs.close()
        try:
            loaded = json.loads(self._received(LOADING))
        except Silent as error:
            self.close()
            raise InputError(f"the model {error}.") from None
        if "error" in loaded:
            self.close()
            raise InputError(loaded["error"])
        self.forms = [Form(**form) for form in loaded["forms"]]

    def ask(self, given: np.ndarray) -> np.ndarray:
        if not self.alive:
            raise Silent("has ended")
        with suppress(OSError):  # how it ended is found when it is read
            self.pipe.send_bytes(_written(given))
        try:
            answer = self._received(self.seconds)
        except Silent:
            self.close()
            raise
        if answer.startswith(b"{"):
            raise Silent(json.loads(answer)["error"])
        return _read(answer)

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return self.process.poll() is None

    def _received(self, seconds: float) -> bytes:
        if not self.pipe.poll(seconds):
            raise Silent(f"did not answer within {seconds:g} s")
        try:
            return self.pipe.recv_bytes()
        except (EOFError, OSError):
            code = self.process.wait()
            raise Silent(f"ended its process ({'signal' if code < 0 else 'exit code'} {abs(code)})") from None

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        self.pipe.close()


Host = Own | Apart


def _raised(error: BaseException) -> str:
    if isinstance(error, Silent):
        return str(error)
    return f"raises {type(error).__name__}{f': {said(error)}' if said(error) else ''}"


def _written(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def _read(content: bytes) -> np.ndarray:
    return np.load(io.BytesIO(content), allow_pickle=False)


def _serve(path: str, name: str, pipe: Connection) -> None:
    """The other process: load, then answer one question after the other."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    def fail(words: str) -> None:
        pipe.send_bytes(json.dumps({"error": words}).encode())

    try:
        feed = feed_from(path, name)
        forms = [asdict(form) for form in feed.forms()]
    except BaseException as error:
        fail(f"{said(error) if isinstance(error, InputError) else f'the model {_raised(error)}'}.")
        return
    pipe.send_bytes(json.dumps({"forms": forms}).encode())
    with suppress(EOFError):  # nobody asks any more
        while True:
            given = _read(pipe.recv_bytes())
            try:
                pipe.send_bytes(_written(np.ascontiguousarray(feed.ask(given), np.float64)))
            except BaseException as error:
                fail(_raised(error))


def _end_with(parent: int) -> None:
    """Nobody asks any more once the process that began this one has ended, whatever the model is doing."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2], Connection(int(sys.argv[3])))
