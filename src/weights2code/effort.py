"""How much is tried: counted in work done, so that the same data give the same answer on any machine.

A search gets an `Effort`, in seconds of a usual machine, and spends it by what it does: array cells,
candidates, states, solver steps. How long that takes here and now does not matter. Only a time limit that
the user gave looks at the clock (`within`), and whoever is stopped by it leaves a mark, so that the result
can say that it was cut short.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf


class TimeUp(Exception):
    """The user's time limit has passed in the middle of something that has no result yet."""


@dataclass(slots=True)
class TimeLimit:
    """A moment of the clock, and whether anything was cut short by it."""

    seconds: float = inf
    at: float = inf
    cut: bool = False

    def up(self) -> bool:
        """Whether it has passed; whoever asks will stop, so it is marked."""
        self.cut = self.cut or (self.at < inf and now() > self.at)
        return self.cut


#: The clock that time limits are measured by; `now` reads it.
clock: Callable[[], float] = time.monotonic
_NEVER = TimeLimit()
_limit: ContextVar[TimeLimit] = ContextVar("time limit", default=_NEVER)


def now() -> float:
    """The moment, for time limits and for what took how long."""
    return clock()


@contextmanager
def within(seconds: float, *, since: float | None = None) -> Iterator[TimeLimit]:
    """What runs in here is cut short when so many seconds have passed, `since` a moment of `now`.

    A limit around this one still holds.
    """
    outer = _limit.get()
    at = (now() if since is None else since) + seconds
    limit = TimeLimit(seconds, at) if at < outer.at else outer
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
    at = _limit.get().at
    return at - now() if at < inf else inf


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

    def spent(self) -> bool:
        """Whether to stop: everything is used up, or the user's time is."""
        return self.left <= 0 or time_is_up()
