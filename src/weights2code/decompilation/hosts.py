"""Where a model runs: files in a process of their own with limited time and memory, callables in this one.

Between the processes go shapes and plain numbers, as JSON and bytes: nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import IO, Any

import numpy as np

from weights2code.decompilation.feeds import Feed, Form, feed_from, feed_of, said
from weights2code.errors import InputError

#: Seconds for loading a model and for one question; bytes that a model may take.
LOADING, ANSWERING = 120.0, 60.0
MEMORY = 6 << 30
_HEAD = struct.Struct("<QQ")


class Silent(Exception):
    """The model gave no answer: why, as the end of a sentence that begins with "the model"."""


class Own:
    """A callable of this process: a question that takes too long is left behind in its thread."""

    def __init__(self, model: Any, seconds: float = ANSWERING) -> None:
        self.feed: Feed = feed_of(model)
        self.seconds = seconds
        self.forms: list[Form] = self.feed.forms()

    def ask(self, given: np.ndarray) -> np.ndarray:
        answer: list[np.ndarray] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                answer.append(np.asarray(self.feed.ask(given), float))
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.seconds)
        if raised:
            raise Silent(_raised(raised[0]))
        if not answer:
            raise Silent(f"did not answer within {self.seconds:g} s")
        return answer[0]

    def close(self) -> None:
        """There is nothing to end."""


class Apart:
    """A file in a process of its own, which is ended when it takes too long."""

    def __init__(self, path: str, name: str, seconds: float = ANSWERING, memory: int = MEMORY) -> None:
        self.seconds = seconds
        command = [sys.executable, "-m", "weights2code.decompilation.hosts", path, name, str(memory)]
        roots = os.pathsep.join(filter(None, sys.path))
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": roots}
        )
        try:
            loaded, _ = self._receive(time.monotonic() + LOADING)
        except Silent as error:
            self.close()
            raise InputError(f"the model {error}.") from None
        if "error" in loaded:
            self.close()
            raise InputError(loaded["error"])
        self.forms = [Form(**form) for form in loaded["forms"]]

    def ask(self, given: np.ndarray) -> np.ndarray:
        assert self.process.stdin is not None
        if self.process.poll() is not None:
            raise Silent("has ended")
        with suppress(BrokenPipeError):  # how it ended is found when it is read
            _send(self.process.stdin, {"shape": given.shape, "dtype": str(given.dtype)}, given.tobytes())
        try:
            head, data = self._receive(time.monotonic() + self.seconds)
        except Silent:
            self.close()
            raise
        if "error" in head:
            raise Silent(head["error"])
        return np.frombuffer(data, np.float64).reshape(head["shape"])

    def _receive(self, until: float) -> tuple[dict[str, Any], bytes]:
        sizes = _HEAD.unpack(self._read(_HEAD.size, until))
        head, data = (self._read(size, until) for size in sizes)
        return json.loads(head), data

    def _read(self, size: int, until: float) -> bytes:
        assert self.process.stdout is not None
        handle, parts, have = self.process.stdout.fileno(), [], 0
        while have < size:
            ready, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise Silent(f"did not answer within {self.seconds:g} s")
            part = os.read(handle, min(size - have, 1 << 20))
            if not part:
                code = self.process.wait()
                raise Silent(f"ended its process ({'signal' if code < 0 else 'exit code'} {abs(code)})")
            parts.append(part)
            have += len(part)
        return b"".join(parts)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


Host = Own | Apart


def _raised(error: BaseException) -> str:
    if isinstance(error, InputError):
        return f"refused: {said(error)}"
    return f"raises {type(error).__name__}{f': {said(error)}' if said(error) else ''}"


def _send(pipe: IO[bytes], head: dict[str, Any], data: bytes = b"") -> None:
    text = json.dumps(head).encode()
    pipe.write(_HEAD.pack(len(text), len(data)) + text)
    pipe.write(data)
    pipe.flush()


def _serve(path: str, name: str, memory: int) -> None:
    """The other process: load, then answer one question after the other; what the model prints is dropped."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nothing, handle)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        feed = feed_from(path, name)
        _send(answers, {"forms": [asdict(form) for form in feed.forms()]})
    except BaseException as error:
        text = said(error) if isinstance(error, InputError) else f"the model {_raised(error)}"
        _send(answers, {"error": f"{text}."})
        return
    while head := questions.read(_HEAD.size):
        sizes = _HEAD.unpack(head)
        asked, data = json.loads(questions.read(sizes[0])), questions.read(sizes[1])
        given = np.frombuffer(data, asked["dtype"]).reshape(asked["shape"]).copy()
        try:
            out = np.ascontiguousarray(feed.ask(given), np.float64)
            _send(answers, {"shape": out.shape}, out.tobytes())
        except BaseException as error:
            _send(answers, {"error": _raised(error)})


def _end_with(parent: int) -> None:
    """Nobody asks any more once the process that began this one has ended, whatever the model is doing."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
