"""How much is tried: counted in work done, so that the same data give the same answer on any machine.

A search gets an `Effort`, in seconds of a usual machine, and spends it by what it does: array cells,
candidates, states, solver steps. How long that takes here and now does not matter. The user's limit counts
the same work (`within`, `charge`); whoever is stopped by it leaves a mark, so that the result can say that it
was cut short. The clock of the processor only stops what has taken `PATIENCE` times its limit: that is the
last resort, where work costs far more than was thought.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf

#: Libraries read these when they are first imported: how many threads they take. One, everywhere: the arrays
#: are small, so threads wait for each other more than they compute, and results do not depend on the cores.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
#: Processor seconds that a second of work may take before the clock ends it.
PATIENCE = 5.0


class TimeUp(Exception):
    """The user's time limit has passed in the middle of something that has no result yet."""


class _Done(threading.local):
    """The work that this thread has done."""

    work = 0.0


#: The clock of the last resort: this thread's share of the processor, which other work leaves alone.
clock: Callable[[], float] = time.thread_time
_done = _Done()


@dataclass(slots=True)
class TimeLimit:
    """An amount of work, the moment of the clock that ends it anyway, and what cut anything short."""

    seconds: float = inf
    at: float = inf
    latest: float = inf
    cut: bool = False
    by_clock: bool = False

    def up(self) -> bool:
        """Whether it has passed; whoever asks will stop, so it is marked."""
        if not self.cut and self.at < inf:
            self.by_clock = _done.work <= self.at and clock() > self.latest
            self.cut = self.by_clock or _done.work > self.at
        return self.cut


_NEVER = TimeLimit()
_limit: ContextVar[TimeLimit] = ContextVar("time limit", default=_NEVER)


def work() -> float:
    """What was done so far, in seconds of a usual machine: the moment for limits."""
    return _done.work


def charge(amount: float) -> None:
    """So much was done, in seconds of a usual machine."""
    _done.work += amount


@contextmanager
def within(seconds: float, *, since: float | None = None) -> Iterator[TimeLimit]:
    """What runs in here is cut short when so much work is done, `since` a moment of `work`.

    A limit around this one still holds.
    """
    outer = _limit.get()
    at = (work() if since is None else since) + seconds
    latest = min(outer.latest, clock() + PATIENCE * max(at - work(), 0.0))
    limit = TimeLimit(seconds, at, latest) if at < outer.at else outer
    token = _limit.set(limit)
    try:
        yield limit
    finally:
        _limit.reset(token)


def time_is_up() -> bool:
    """Whether the user's time limit has passed; who asks stops with what it has."""
    return _limit.get().up()


def seconds_left() -> float:
    """Of the user's time; infinite if there is no limit."""
    return _limit.get().at - work()


def check_time() -> None:
    """Raise `TimeUp` if the user's time limit has passed: for what has nothing to show yet."""
    if time_is_up():
        raise TimeUp(f"the time limit of {_limit.get().seconds:g} s was reached")


@dataclass(slots=True)
class Effort:
    """What is left to be done, in seconds of a usual machine."""

    left: float

    def spend(self, amount: float) -> None:
        self.left -= amount
        _done.work += amount

    def spent(self) -> bool:
        """Whether to stop: everything is used up, or the user's time is."""
        return self.left <= 0 or time_is_up()
