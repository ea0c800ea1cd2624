"""When two formulas or recurrences count as equal: the one place that decides what is accepted.

Formulas are compared on every value of a small domain, else on many chosen points. Equality is exact: on
Python ints and Fractions, where a float constant means the decimal that it prints (0.1 + 0.2 is 0.3); only
constants with more digits than anybody wrote, and functions such as exp, are compared as floats within
rounding. A fast pass in NumPy sorts out most candidates first. Recurrences are compared on random sequences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from weights2code.language import (
    OPERATORS,
    Const,
    Domain,
    Expr,
    Number,
    Op,
    Recurrence,
    Var,
    evaluate,
    evaluate_exact,
    exact_number,
    uniform,
)

MOST_COMPLETE = 2**14
RANDOM_POINTS = 1024
#: Points, the first of all, that are compared exactly, and before anything else.
EXACT_POINTS, FEW_POINTS = 192, 48

#: Where pieces of a formula meet, it is looked at here too.
_BESIDE = (-0.5, -0.25, -0.125, 0, 0.125, 0.25, 0.5)
_DIGITS = 12
_ROUNDING = 1e-10
#: Sequences and their length on which recurrences are compared, and what rounding may do to them.
_SEQUENCES, _LENGTH, _NEAR = 256, 24, 1e-9


@dataclass(frozen=True)
class CheckSet:
    """Points of the domain, an array of shape (points, variables)."""

    variables: tuple[Var, ...]
    points: np.ndarray
    #: Values, and exact ones, of the expressions that others were compared with.
    known: dict[Expr, np.ndarray] = field(default_factory=dict)
    exact: dict[Expr, list[Number | None]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> Mapping[Var, np.ndarray]:
        """The points, a column a variable."""
        return dict(zip(self.variables, self.points.T, strict=True))

    @cached_property
    def rows(self) -> list[dict[Var, Number]]:
        """The first points in exact numbers."""
        rows = self.points[:EXACT_POINTS]
        return [dict(zip(self.variables, map(exact_number, row), strict=True)) for row in rows]

    def values(self, expr: Expr, most: int | None = None) -> np.ndarray:
        """The expression at the first points, or at every point, as floats."""
        with np.errstate(all="ignore"):
            values = evaluate(expr, {v: column[:most] for v, column in self.columns.items()})
        return np.broadcast_to(values, len(self.points[:most]))

    def may_equal(self, first: Expr, second: Expr, most: int | None = FEW_POINTS) -> bool:
        """Whether two expressions agree as floats, at a few points or at so many."""
        if first not in self.known:
            self.known[first] = self.values(first)
        whole, b = self.known[first], self.values(second, most)
        a, room = whole[:most], _ROUNDING * (1 + np.max(np.abs(whole), initial=0, where=np.isfinite(whole)))
        with np.errstate(invalid="ignore"):
            return bool(np.all((np.abs(a - b) <= room) | (a == b) | (np.isnan(a) & np.isnan(b))))

    def equal(self, first: Expr, second: Expr) -> bool:
        """Whether the two expressions agree on the whole check set."""
        if not self.may_equal(first, second) or not self.may_equal(first, second, None):
            return False
        if _is_inexact(first) or _is_inexact(second):
            return True
        if first not in self.exact:
            self.exact[first] = [_exact_value(first, row) for row in self.rows]
        pairs = zip(self.exact[first], self.rows, strict=True)
        return all(value is None or _exact_value(second, row) == value for value, row in pairs)


def _exact_value(expr: Expr, values: dict[Var, Number]) -> Number | None:
    try:
        return evaluate_exact(expr, values)
    except (ArithmeticError, ValueError):
        return None


def _is_inexact(expr: Expr) -> bool:
    """Whether there are numbers with many digits, or what gives no fractions of fractions."""
    for node in expr.walk():
        if isinstance(node, Op):
            power = node.args[1] if node.name == "pow" else Const(1)
            natural = isinstance(power, Const) and isinstance(power.value, int)
            if OPERATORS[node.name].irrational or not natural:
                return True
        elif isinstance(node, Const) and isinstance(node.value, float):
            digits = repr(node.value).partition("e")[0].replace(".", "").lstrip("-0")
            if len(digits) > _DIGITS:
                return True
    return False


def check_set(domains: Mapping[Var, Domain], numbers: Sequence[float] = ()) -> CheckSet:
    """All points of a small discrete domain; else random points, extremes, ties and near ties.

    `numbers` are constants of the formula: there, and a little beside, its pieces may meet.
    """
    variables, ranges = tuple(domains), list(domains.values())
    discrete = [domain.discrete for domain in ranges]
    rng = np.random.default_rng(0)
    if all(discrete) and math.prod(domain.size for domain in ranges) <= MOST_COMPLETE:
        rows = list(itertools.product(*(domain.values() for domain in ranges)))
        return CheckSet(variables, rng.permutation(np.array(rows, float).reshape(len(rows), -1)))
    # dyadic numbers stay short as fractions
    random = np.round(uniform(rng, ranges, RANDOM_POINTS, 1)[:, 0] * 1024) / 1024
    # piecewise formulas differ where variables tie or nearly tie, which random reals never do
    ties = random[: RANDOM_POINTS // 4].copy()
    for row in ties:
        i, j = rng.integers(len(variables), size=2)
        row[i] = row[j] + rng.integers(-1, 2)
    corners = [(d.low, d.high, *(v for v in (-1.0, 0.0, 1.0) if d.low <= v <= d.high)) for d in ranges]
    extremes = np.array(list(itertools.islice(itertools.product(*corners), 256)), dtype=float)
    beside = np.array([n + d for n in (*numbers, 0) if math.isfinite(n) for d in _BESIDE])
    meetings = random[-RANDOM_POINTS // 4 :].copy()
    places = np.arange(len(meetings)), rng.integers(len(variables), size=len(meetings))
    meetings[places] = rng.choice(beside, len(meetings))
    points = np.concatenate([random, ties, rng.permuted(extremes, axis=0), meetings])
    points[:, discrete] = np.round(points[:, discrete])
    low, high = ([getattr(domain, end) for domain in ranges] for end in ("low", "high"))
    return CheckSet(variables, rng.permutation(np.unique(np.clip(points, low, high), axis=0)))


def same_outputs(recurrence: Recurrence, domains: Sequence[Domain]) -> Callable[[Recurrence], bool]:
    """Tells whether another gives the same outputs on random sequences; rounding may differ on reals."""
    x = uniform(np.random.default_rng(0), domains, _SEQUENCES, _LENGTH)
    with np.errstate(all="ignore"):
        expected = recurrence.run(x)

    @lru_cache
    def same(other: Recurrence) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.allclose(expected, other.run(x), rtol=_NEAR, atol=_NEAR, equal_nan=True))

    return same
