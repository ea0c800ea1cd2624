"""The operations that random programs are made of, by family.

A family is a function that looks at what it may read (a `Bench`) and lists everything that makes sense there:
windows of bits and windows of reals are not the same. One of the list becomes a step of the program.
Constants come from the values that a signal really takes, so that thresholds fall where something happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import inf

import numpy as np

from chance import Chance
from weights2code.language import Const, Definition, Expr, Retrieval, Var, infer, maximum, minimum, op, where


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """A named sequence that a step may read, with a sample of its values."""

    name: str
    values: np.ndarray

    def __call__(self, lag: int = 0) -> Var:
        return Var(self.name, lag)

    @property
    def whole(self) -> bool:
        return infer(self.values).discrete

    @property
    def bit(self) -> bool:
        return infer(self.values).kind == "bits"

    @property
    def low(self) -> float:
        return float(self.values.min())

    @property
    def high(self) -> float:
        return float(self.values.max())


@dataclass(frozen=True, slots=True)
class Made:
    """A step's definition, hidden steps that it needs before it, and start values."""

    definition: Definition
    before: Mapping[str, Definition] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)


Variant = Expr | Made


@dataclass(frozen=True, slots=True, eq=False)
class Bench(Chance):
    """What a stage works with: the name of its step, the newest signal `a`, and one or two more, if any."""

    name: str
    rng: np.random.Generator
    a: Signal
    b: Signal | None
    c: Signal | None
    may_remember: bool

    @property
    def past(self) -> Var:
        """The stage's own value one step back."""
        return Var(self.name, 1)

    def helper(self, what: str) -> str:
        return f"{self.name}_{what}"

    def threshold(self, signal: Signal, low: float = 0.3, high: float = 0.7) -> float:
        """A number in the middle of what the signal takes: whole, or with one decimal."""
        value = float(np.quantile(signal.values, self.rng.uniform(low, high)))
        return round(value) if signal.whole else round(value, 1)

    def numbers(self) -> list[Signal]:
        return [signal for signal in (self.a, self.b, self.c) if signal is not None and not signal.bit]

    def bits(self) -> list[Signal]:
        return [signal for signal in (self.a, self.b, self.c) if signal is not None and signal.bit]


def _total(terms: list[Expr]) -> Expr:
    return reduce(lambda left, right: left + right, terms)


def window(k: Bench) -> list[Variant]:
    """The last few values of a signal."""
    a, lag = k.a, k.between(1, 3)
    recent: list[Expr] = [a(i) for i in range(k.between(2, 4))]
    short = recent[:3]
    found: list[Variant] = [_total(recent), a() - a(lag), reduce(maximum, short), reduce(minimum, short)]
    found += [Made(a(lag + 1)), op("gt", a(), a(lag))]
    if a.bit:
        found += [_total(recent) % 2, op("ne", a(), a(lag)), _total(recent) >= 2, 2 * a() + a(lag)]
    else:
        found += [a() - 2 * a(1) + a(2), op("gt", a(1), maximum(a(), a(2))), k.between(2, 3) * a() - a(lag)]
    if k.b is not None:
        found += [a() + k.b(lag), op("gt", a(), k.b(lag))]
        if a.whole and k.b.whole:
            found.append(a().equals(k.b(lag)))
    if k.b is not None and k.c is not None:
        found += [a() + k.b(lag) - k.c(), maximum(a(1), k.b()) - k.c(lag), op("gt", a() + k.b(lag), k.c())]
    return found


def arithmetic(k: Bench) -> list[Variant]:
    """Plain arithmetic on the present."""
    a, factor = k.a, k.between(2, 4)
    if k.b is None:
        found: list[Variant] = [factor * a() + k.between(-3, 3), k.between(2, 9) - a()]
        return found if a.bit else [*found, abs(a() - k.threshold(a)), a() * a()]
    b = k.b
    found = [a() + b(), a() - b(), factor * a() - b(), a() + factor * b(), a() * b(), abs(a() - b())]
    found += [maximum(a(), b()), minimum(a(), b())]
    if k.c is not None:
        found += [a() + b() + k.c(), a() * b() + k.c(), maximum(maximum(a(), b()), k.c()), a() - b() * k.c()]
    for bit in k.bits():
        found += [where(bit(), other(), -other()) for other in k.numbers()[:1]]
    return found


def modular(k: Bench) -> list[Variant]:
    """Remainders and whole quotients."""
    a, m, factor = k.a, k.between(2, 7), k.between(2, 3)
    if not a.whole:
        return []
    found: list[Variant] = [a() % m, (a() + a(k.between(1, 2))) % m, (factor * a() + k.between(1, m)) % m]
    found.append((a() - a(1)) % m)
    if not a.bit:
        found += [a() // m, (a() * a()) % m]
    if k.b is not None and k.b.whole:
        found += [(a() + k.b()) % m, (a() + factor * k.b()) % m, (a() * k.b()) % m]
        if k.c is not None and k.c.whole:
            found += [(a() + k.b() + k.c()) % m, (a() + k.b() * k.c()) % m]
    if k.may_remember:
        found += [(k.past + a()) % m, (factor * k.past + a()) % m, (a() - k.past) % m]
        found.append(Made((k.past + a()) % m, start={k.name: 1.0}))
        if k.b is not None and k.b.whole:
            found += [(k.past + a() + k.b()) % m, (k.past + a() * k.b()) % m]
    return found


def comparison(k: Bench) -> list[Variant]:
    """Comparisons, logic, and choices by them."""
    a = k.a
    found: list[Variant] = []
    if not a.bit:
        low, high = k.threshold(a, 0.15, 0.45), k.threshold(a, 0.55, 0.85)
        found += [a() >= k.threshold(a), op("and", a() >= low, a() < high)]
        found += [where(a() > k.threshold(a), a(), k.between(-2, 2)), op("gt", a(), 0) - op("lt", a(), 0)]
        if a.whole:
            found.append(a().equals(k.threshold(a)))
    if k.b is not None:
        b = k.b
        found += [a() > b(), where(a() > b(), a() - b(), 0), where(a() >= b(), 1, -1), op("ge", b(), a())]
        if a.bit and b.bit:
            found += [op("ne", a(), b()), op("and", a(), op("not", b())), op("or", a(), b())]
        elif not b.bit:
            join = ("and", "or")[k.between(0, 1)]
            left = op("not", a()) if a.bit else a() > k.threshold(a)
            found += [op(join, left, b() > k.threshold(b)), where(left, b(), k.between(-1, 1))]
        if a.whole and b.whole:
            found.append(a().equals(b()))
        if k.c is not None:
            found += [where(a() > b(), k.c(), 0), where(a() > b(), k.c(), a()), a() + b() > k.c()]
            found.append(op("and", a() >= b(), b() >= k.c()))
    return found


def clip(k: Bench) -> list[Variant]:
    """Saturation: bounds on a value or on what is accumulated."""
    a = k.a
    low, high = k.threshold(a, 0.1, 0.4), k.threshold(a, 0.6, 0.9)
    found: list[Variant] = []
    if not a.bit:
        found += [
            op("clip", a(), low, high),
            op("relu", a() - k.threshold(a)),
            a() - op("clip", a(), low, high),
        ]
        found.append(minimum(a(), k.threshold(a)))
        if k.b is not None:
            found += [op("relu", a() - k.b()), op("clip", a() + k.b(), low, high)]
    if k.may_remember:
        reach = k.between(3, 8)
        centre = k.threshold(a, 0.4, 0.6)
        found += [
            op("clip", k.past + a() - centre, -reach, reach),
            op("clip", k.past + a() - centre, 0, reach),
        ]
        found.append(op("clip", k.past + 2 * a() - 1, 0, reach) if a.bit else maximum(k.past + a() - high, 0))
        if k.b is not None:
            found += [op("clip", k.past + a() - k.b(), 0, reach), op("clip", k.past + a() - k.b(), -2, reach)]
        if not a.bit:
            step = 1 if a.whole else 0.5
            found.append(k.past + op("clip", a() - k.past, -step, step))
    return found


def hysteresis(k: Bench) -> list[Variant]:
    """Two thresholds, and what was in between; latches and dead bands."""
    a, past = k.a, k.past
    found: list[Variant] = []
    if not a.bit:
        low, high = k.threshold(a, 0.15, 0.4), k.threshold(a, 0.6, 0.85)
        found += [where(a() >= high, 1, where(a() <= low, 0, past)), where(past, a() > low, a() > high)]
        found.append(where(a() > high, 1, where(a() < low, -1, past)))
        spread = float(np.std(a.values))
        band = max(1, round(spread)) if a.whole else round(spread, 1)
        found.append(where(abs(a() - past) > band, a(), past))
        found.append(Made(where(past, a() > low, a() > high), start={k.name: 1.0}))
    if a.bit:
        found += [where(a().equals(a(1)), a(), past), where(past, maximum(a(), a(1)), minimum(a(), a(1)))]
    if k.b is not None:
        b = k.b
        if a.bit and b.bit:
            found += [
                maximum(a(), past * (1 - b())),
                where(b(), 0, maximum(a(), past)),
                where(b(), a(), past),
            ]
        elif a.bit:
            found += [
                where(a(), b() > k.threshold(b), past),
                op("or", a(), op("and", past, b() < k.threshold(b))),
            ]
        else:
            found += [where(a() > b(), 1, where(a() + 1 < b(), 0, past))]
    return found


def recurrence(k: Bench) -> list[Variant]:
    """Rules that read their own last value."""
    a, past = k.a, k.past
    found: list[Variant] = [a() - past, abs(past - a()), a() - 0.5 * past, 0.5 * past + a()]
    found += [where(a().equals(a(1)), past + 1, 1) if a.whole else where(a() > a(1), past + 1, 0)]
    found += [where(op("gt", a(), k.threshold(a)), past + 1, 0), a() + 1 - past]
    found.append(a() - Var(k.name, 2))
    if a.bit:
        found += [
            a() * (1 - past),
            where(a(), 1 - past, past),
            Made(where(a(), 1 - past, past), start={k.name: 1}),
        ]
    else:
        drop = 1 if a.whole else 0.1
        found += [maximum(a(), past - drop), minimum(a(), past + drop), 0.8 * past + 0.2 * a()]
    if k.b is not None:
        b = k.b
        if b.bit:
            found += [where(b(), a(), past), where(b(), 0, past + a()), where(b(), a(), -past)]
        else:
            high = b.values.max() if b.whole else k.threshold(b, 0.6, 0.9)
            found += [
                where(b() >= high, a(), past),
                where(b() >= high, 0, past + a()),
                0.5 * past + a() - b(),
            ]
    if k.b is not None and k.c is not None:
        found += [where(a() > k.b(), k.c(), past), 0.5 * past + a() - k.b() + k.c()]
    return found


def aggregate(k: Bench) -> list[Variant]:
    """Sums, means, counts and extrema of everything so far."""
    a, total, count = k.a, k.helper("total"), k.helper("count")
    so_far: dict[str, Definition] = {total: Var(total, 1) + a()}
    counted = so_far | {count: Var(count, 1) + 1}
    mean = Var(total) / Var(count)
    found: list[Variant] = [k.past + a(), Made(mean, counted)]
    if a.bit:
        found += [Made(2 * Var(total) > Var(count), counted), Made(2 * Var(total) - Var(count), counted)]
        found.append(Made(where(a(), Var(total), 0), so_far))
    else:
        high, low, centre = k.helper("high"), k.helper("low"), k.threshold(a)
        highest: dict[str, Definition] = {high: maximum(Var(high, 1), a())}
        lowest: dict[str, Definition] = {low: minimum(Var(low, 1), a())}
        above, below = {high: -inf}, {low: inf}
        found += [
            Made(maximum(k.past, a()), start={k.name: -inf}),
            Made(minimum(k.past, a()), start={k.name: inf}),
        ]
        found += [Made(Var(high) - Var(low), highest | lowest, above | below), k.past + (a() > centre)]
        found += [Made(Var(high) - a(), highest, above), Made(a() - Var(low), lowest, below)]
        found += [
            Made(a() * Var(count) > Var(total), counted),
            Made(Var(total) > centre * Var(count), counted),
        ]
        if a.whole:
            found += [k.past + a().equals(centre), Made(Var(total) % 3, so_far)]
    if k.b is not None:
        found += [k.past + a() - k.b(), k.past + (a() > k.b()), k.past + a() * k.b()]
        if a.whole and k.b.whole:
            found.append(k.past + a().equals(k.b()))
    if k.b is not None and k.c is not None:
        found += [k.past + where(a() > k.b(), k.c(), 0), k.past + a() - k.b() * k.c()]
    return found


def lookup(k: Bench) -> list[Variant]:
    """Tables of values, choices by an input, and what stood beside a key when it was last seen."""
    keys = [s for s in (k.a, k.b, k.c) if s is not None and s.whole and len(np.unique(s.values)) <= 10]
    if not keys:
        return []
    key = keys[0]
    places = np.unique(key.values).tolist()
    found: list[Variant] = []
    if len(places) <= 5:
        entries = k.rng.permutation(max(len(places), 4))[: len(places)].tolist()
        table: Expr = Const(entries[-1])
        for place, entry in list(zip(places, entries, strict=True))[-2::-1]:
            table = where(key().equals(place), entry, table)
        found += [table, table]
    others = [s for s in (k.a, k.b, k.c) if s is not None and s is not key]
    if others:
        value = others[0]
        found += [Made(Retrieval(key.name, value.name, key()))] * 2
        found.append(where(key().equals(places[0]), value(), value(1)))
    if len(others) == 2:
        first, second = others
        found += [where(key().equals(places[-1]), first(), second())] * 2
        if second.whole and np.isin(np.unique(second.values), places).all():
            found += [Made(Retrieval(key.name, first.name, second()))] * 2
    return found


def carry(k: Bench) -> list[Variant]:
    """Digit by digit: what does not fit goes over to the next position."""
    a, b = k.a, k.b
    if not a.whole or a.low < 0:
        return []
    over = k.helper("carry")
    base = int(a.high) + 1
    m = k.between(3, 7)
    before: Expr = Var(over, 1)
    bucket = before + a()
    found: list[Variant] = [
        Made((base * before + a()) // m, {over: (base * before + a()) % m}),  # long division
        Made(
            bucket >= m, {over: bucket % m if a.high <= m else op("relu", bucket - m)}
        ),  # count to m, then over
    ]
    if b is not None and b.whole and b.low >= 0:
        base = int(max(a.high, b.high)) + 1
        total, difference = a() + b() + before, a() - b() - before
        found += [Made(total % base, {over: total // base})] * 3
        found += [Made(difference % base, {over: difference < 0})] * 2
        found.append((a() + b() + k.past) // base)
    return found


FAMILIES: dict[str, Callable[[Bench], list[Variant]]] = {
    "window": window,
    "arithmetic": arithmetic,
    "modular": modular,
    "comparison": comparison,
    "clip": clip,
    "hysteresis": hysteresis,
    "recurrence": recurrence,
    "aggregate": aggregate,
    "lookup": lookup,
    "carry": carry,
}
#: Families that need no memory: what stands before or after the chief operation of a program.
LIGHT = ("window", "arithmetic", "modular", "comparison", "clip")
#: Families whose state is seen only where they come last.
STATEFUL = ("hysteresis", "recurrence", "carry")
