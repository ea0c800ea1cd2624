"""Ways in which a state without end goes on: from its last value and from a quantity of the inputs.

Sums and alternating sums, queues and other sums between ends, extrema that fade, lengths of runs: each is one
operation with a few numbers in it. Many are followed through the same sequences at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np

from weights2code.language import Expr, Var, maximum, minimum, op, where
from weights2code.memory.quantities import Quantity

#: Ends of sums, at most.
FARTHEST_END = 12
#: How much an extremum fades at each step.
FADING = (1, 2, 3)
#: Divisors of remainders.
DIVISORS = range(2, 10)
#: Numbers that are taken off at each step, at most.
MOST_TAKEN = 24


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to go on: the next values of states, from the last ones, a quantity, the condition if it has one
    and the numbers; and its formula."""

    step: Callable[..., np.ndarray]
    rule: Callable[..., Expr]


def _less(value: Expr, number: float) -> Expr:
    return value if not number else value - plain(number) if number > 0 else value + plain(-number)


def plain(number: float) -> int | float:
    """A whole number as one."""
    return int(number) if float(number).is_integer() else float(number)


def _remainder(state: Expr, quantity: Expr, factor: int, divisor: int) -> Expr:
    if factor == divisor - 1 and factor > 1:
        return (quantity - state) % divisor
    return ((state if factor == 1 else factor * state) + quantity) % divisor


KINDS: dict[str, Kind] = {
    "sum": Kind(lambda s, f: s + f, lambda s, f: s + f),
    "alternating": Kind(lambda s, f, k: f + k - s, lambda s, f, k: _less(f, -k) - s),
    "distance": Kind(lambda s, f: np.abs(s - f), lambda s, f: abs(s - f)),
    "queue": Kind(lambda s, f, k: np.maximum(s + f - k, 0), lambda s, f, k: maximum(_less(s + f, k), 0)),
    "fading high": Kind(lambda s, f, k: np.maximum(f, s - k), lambda s, f, k: maximum(f, _less(s, k))),
    "fading low": Kind(lambda s, f, k: np.minimum(f, s + k), lambda s, f, k: minimum(f, _less(s, -k))),
    "following": Kind(
        lambda s, f, k: s + np.clip(f - s, -k, k), lambda s, f, k: s + op("clip", f - s, plain(-k), plain(k))
    ),
    "run": Kind(
        lambda s, f, k, r: np.where(f == k, s + 1, r),
        lambda s, f, k, r: where(f, s + 1, int(r)) if k else where(f, int(r), s + 1),
    ),
    "begun again": Kind(lambda s, f, c: np.where(c, 0, s + f), lambda s, f, c: where(c, 0, s + f)),
    "held": Kind(lambda s, f, c: np.where(c, f, s), lambda s, f, c: where(c, f, s)),
    "turned": Kind(lambda s, f, c: np.where(c, f, -s), lambda s, f, c: where(c, f, -s)),
    "remainder": Kind(
        lambda s, f, w, m: np.mod(w * s + f, m),
        lambda s, f, w, m: _remainder(s, f, int(w), int(m)),
    ),
    "in a band": Kind(
        lambda s, f, k: np.where(np.abs(f - s) > k, f, s),
        lambda s, f, k: where(op("gt", abs(f - s), plain(k)), f, s),
    ),
    "between": Kind(
        lambda s, f, k, low, high: np.clip(s + f - k, low, high),
        lambda s, f, k, low, high: op("clip", _less(s + f, k), int(low), int(high)),
    ),
}


@dataclass(frozen=True, slots=True)
class Update:
    """A kind of update with its numbers."""

    kind: str
    numbers: tuple[float, ...] = ()

    def rule(self, state: Var, quantity: Quantity) -> Expr:
        """The formula of the state, of its last value."""
        when = () if quantity.when is None else (quantity.when,)
        return KINDS[self.kind].rule(state, quantity.formula, *when, *self.numbers)

    def implies(self, other: Update) -> bool:
        """Whether the other need not be asked: it has an end more, or tells more than is needed."""
        if self.kind == "remainder" and other.kind == "remainder":
            (factor, divisor), (other_factor, other_divisor) = self.numbers, other.numbers
            return other_divisor % divisor == 0 and (other_factor - factor) % divisor == 0
        if self.kind == "remainder":
            return other.kind == "sum" and self.numbers[0] == 1
        if self.kind == "sum":
            return True
        return self.kind == "queue" and other.kind == "between" and self.numbers[0] == other.numbers[0]

    @property
    def cut(self) -> bool:
        """Whether it is a sum that may not go on: what it was before that is worth looking at."""
        return self.kind in ("queue", "between")

    def before_cut(self, state: Var, quantity: Expr) -> Expr:
        """The sum before it was cut."""
        return _less(state + quantity, self.numbers[0])


def updates(quantity: Quantity) -> Iterator[Update]:
    """What a quantity may be used in, without sums between two ends."""
    if quantity.when is not None:
        yield from (Update(kind) for kind in ("begun again", "held", "turned"))
        return
    values = quantity.values
    low, high = float(values.min()), float(values.max())
    yield from (Update("remainder", (float(w), float(m))) for m in DIVISORS for w in _factors(m))
    yield Update("sum")
    yield from (Update("alternating", (k,)) for k in (0.0, 1.0))
    yield Update("distance")
    yield from (Update("queue", (k,)) for k in _taken(values))
    if high - low > 1:
        yield from (Update("fading high", (k,)) for k in FADING)
        yield from (Update("fading low", (k,)) for k in FADING)
        yield from (Update("following", (k,)) for k in FADING if 2 * k < high - low)
        yield from (Update("in a band", (float(k),)) for k in range(1, min(int(high - low), MOST_TAKEN)))
    if (low, high) == (0, 1):
        yield from (Update("run", (k, r)) for k in (0.0, 1.0) for r in (0.0, 1.0))


def _factors(divisor: int) -> list[int]:
    """Those with which what was long ago does not drop out of a remainder: else it is a window."""
    return [factor for factor in range(1, divisor) if gcd(factor, divisor) == 1]


def between_ends(k: float, low: float, high: float) -> Iterator[Update]:
    """Sums less k between ends that are at least so far."""
    lows = [-float(end) for end in range(int(-low), FARTHEST_END + 1)] if low else [0.0]
    highs = [float(end) for end in range(int(high), FARTHEST_END + 1)]
    yield from (Update("between", (k, one, other)) for one in lows for other in highs)


def _taken(values: np.ndarray) -> list[float]:
    """Whole numbers that a quantity is sometimes above and sometimes below."""
    low, high = int(np.ceil(values.min())), int(np.floor(values.max()))
    taken = [float(k) for k in range(low + 1, high)] if high - low > 1 else []
    if low < 0 < high and 0.0 not in taken:
        taken.append(0.0)
    if not taken and high > low:
        taken = [float(high)] if low < 0 else []
    return sorted(taken, key=lambda k: abs(k - values.mean()))[:MOST_TAKEN]


def followed(chosen: list[Update], quantity: Quantity) -> np.ndarray:
    """States from 0 on, shape (updates, sequences, positions)."""
    values, held = quantity.values, quantity.held
    states = np.empty((len(chosen), *values.shape))
    for kind in {update.kind for update in chosen}:
        places = [place for place, update in enumerate(chosen) if update.kind == kind]
        numbers = np.array([chosen[place].numbers for place in places])
        step, parts = KINDS[kind].step, [column[:, None] for column in numbers.T]
        state, own = np.zeros((len(places), len(values))), np.empty((len(places), *values.shape))
        for t in range(values.shape[1]):
            given = (values[:, t],) if held is None else (values[:, t], held[:, t])
            state = step(state, *given, *parts)
            own[..., t] = state
        states[places] = own
    return states
