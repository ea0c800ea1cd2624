"""What a command says as it goes: what it is at, how far, and the best so far.

Whoever works says where it is with `at`; who listens is told by `telling`. Without a terminal it is plain
lines, and one comes every few seconds whatever is going on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: What is called as something goes on: stage, steps done, steps in all, and what else is to be said of it.
Progress = Callable[[str, int, int, str], None]

#: Seconds between two plain lines of one stage, and after which one says that it still goes on.
PLAIN_INTERVAL, STILL = 5.0, 8.0
#: Characters of a line that are for the best so far.
LONGEST = 60

_listener: ContextVar[Callable[[str, str], None] | None] = ContextVar("who is told of a search", default=None)


def at(stage: str, detail: str = "") -> None:
    """Say what the search is at; without a stage, what it does in the one it is in."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, detail)


@contextmanager
def telling(progress: Progress | None, spent: Callable[[], float], best: Callable[[], str]) -> Iterator[None]:
    """A search in here tells what it is at, what share of its budget is `spent`, and the `best` so far."""
    last = "searching"

    def tell(stage: str, detail: str) -> None:
        nonlocal last
        assert progress is not None
        last = stage or last
        found = best()
        so_far = f"best so far: {found if len(found) <= LONGEST else found[: LONGEST - 3] + '...'}"
        share = round(100 * min(spent(), 1.0))
        progress(last, share, 100, "; ".join(filter(None, (detail, so_far if found else ""))))

    token = _listener.set(tell if progress is not None else None)
    try:
        yield
    finally:
        _listener.reset(token)


class PlainLines:
    """A line when a stage begins, one every few seconds, one when it ends."""

    def __init__(self) -> None:
        self._stage = self._last = ""
        self._began = self._spoke = time.monotonic()

    def __call__(self, stage: str, done: int, total: int, detail: str = "") -> None:
        now = time.monotonic()
        share = f"{done} % of the budget" if total == 100 else f"{done}/{total}"
        self._last = f"{stage}: {share}{f', {detail}' if detail else ''}"
        if stage != self._stage:
            self._stage = stage
        elif now - self._spoke < PLAIN_INTERVAL and done < total:
            return
        self._say(self._last)

    def _say(self, line: str) -> None:
        self._spoke = time.monotonic()
        print(line, file=sys.stderr, flush=True)

    def beat(self) -> None:
        """Say again what is going on, if nothing was said for long."""
        now = time.monotonic()
        if now - self._spoke >= STILL:
            self._say(f"{self._last or 'reading'} (still at it, {now - self._began:.0f} s)")


@contextmanager
def plain_lines() -> Iterator[PlainLines]:
    """Plain lines that are never silent for long."""
    lines, ended = PlainLines(), threading.Event()

    def beating() -> None:
        while not ended.wait(1.0):
            lines.beat()

    thread = threading.Thread(target=beating, daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        ended.set()
        thread.join()
