"""Ctrl-C ends a command at once, whatever it is doing, with one line and exit code 130.

A `KeyboardInterrupt` would come up anywhere: in the middle of an import, in a callback of a solver that
swallows it, in a destructor, a second time while the first is being handled. So the signal is blocked for
all threads, and one thread does nothing but wait for it. It need not tidy up: files are replaced in one
step, training leaves checkpoints, and the same command goes on from there. Only what standard library is
needed is imported here, since this comes before everything else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
#: What is said if nobody knows better.
STOPPED = "stopped; the same command with the same --out continues."
#: Seconds that a result under way gets to be written before the process ends.
PATIENCE = 2.0
#: Shows the cursor, which a progress bar hides, and clears its line.
_TIDY_TERMINAL = "\x1b[?25h\r\x1b[2K"

_telling = threading.Lock()
_sentence: Callable[[], str] = lambda: STOPPED  # noqa: E731
_command = "w2c"


def watch() -> None:
    """From now on Ctrl-C ends this process at once; called while there is but one thread.

    Nothing changes where the signal is ignored, as it is for what a shell runs in the background.
    """
    if not hasattr(signal, "pthread_sigmask"):
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited by every thread and process
    owner = os.getpid()

    def wait() -> None:
        signal.sigwait({signal.SIGINT})
        _end(_sentence, INTERRUPTED)

    def terminate(number: int, frame: object) -> None:
        if os.getpid() != owner:  # a forked process ends as it would without us
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        _end(lambda: "ended from outside; the same command with the same --out continues.", TERMINATED)

    signal.signal(signal.SIGTERM, terminate)
    threading.Thread(target=wait, name="interrupts", daemon=True).start()


def name_command(name: str) -> None:
    """The command that the line begins with, once it is known."""
    global _command
    _command = f"w2c {name}"


@contextmanager
def stopping_says(sentence: Callable[[], str]) -> Iterator[None]:
    """In here an interrupt says this instead."""
    global _sentence
    before, _sentence = _sentence, sentence
    try:
        yield
    finally:
        _sentence = before


@contextmanager
def whole_output() -> Iterator[None]:
    """A result that is being written is written to its end: an interrupt in here comes too late."""
    with _telling:
        yield
        sys.stdout.flush()


def _end(sentence: Callable[[], str], code: int) -> None:
    _telling.acquire(timeout=PATIENCE)
    with suppress(Exception):  # whatever became of stderr, the process ends
        tidy = _TIDY_TERMINAL if os.isatty(2) else ""
        os.write(2, f"{tidy}{_command}: {sentence()}\n".encode())
    os._exit(code)
