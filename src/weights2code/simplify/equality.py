"""When two expressions count as equal: on every value of a small domain, else on many chosen points.

Equality is exact. Expressions are compared on Python ints and Fractions, where a float constant means the
decimal that it prints (0.1 + 0.2 is 0.3); only constants with more digits than anybody wrote, and functions
such as exp, are compared as floats within rounding. A fast pass in NumPy sorts out most candidates first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from weights2code.language import OPERATORS, Const, Domain, Expr, Number, Op, Var, evaluate, evaluate_exact
from weights2code.language import exact_number as exactly

MOST_COMPLETE = 2**14
RANDOM_POINTS = 1024
EXACT_POINTS = 192
FEW_POINTS = 48

#: Where pieces of a formula meet, it is looked at here too.
_BESIDE = (-0.5, -0.25, -0.125, 0, 0.125, 0.25, 0.5)
_DIGITS = 12
_ROUNDING = 1e-10
_LOOSELY = 1e-7


@dataclass(frozen=True)
class CheckSet:
    """Points of the domain: an array of shape (points, variables), and whether they are all of it."""

    variables: tuple[Var, ...]
    points: np.ndarray
    complete: bool
    #: Exact values of the expressions that were asked for before.
    known: dict[Expr, list[Number | None]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> Mapping[Var, np.ndarray]:
        """The points, a column a variable."""
        return {v: self.points[:, i] for i, v in enumerate(self.variables)}

    @cached_property
    def chosen(self) -> np.ndarray:
        """Rows that are compared exactly, and the first of them before all others."""
        return np.random.default_rng(0).permutation(len(self.points))[:EXACT_POINTS]

    @cached_property
    def rows(self) -> list[dict[Var, Number]]:
        """The chosen points in exact numbers."""
        return [dict(zip(self.variables, map(exactly, row), strict=True)) for row in self.points[self.chosen]]

    def values(self, expr: Expr) -> np.ndarray:
        """The expression at every point, as floats."""
        with np.errstate(all="ignore"):
            return np.broadcast_to(evaluate(expr, self.columns), len(self.points))

    def equal(self, first: Expr, second: Expr) -> bool:
        """Whether the two expressions agree on the whole check set."""
        a, b = self.values(first), self.values(second)
        defined = np.isfinite(a)
        scale = 1 + float(np.max(np.abs(a[defined]), initial=0))
        if not np.array_equal(a[~defined], b[~defined], equal_nan=True):
            return False
        if not np.all(np.abs(a[defined] - b[defined]) <= _ROUNDING * scale):
            return False
        if _is_inexact(first) or _is_inexact(second):
            return True
        if first not in self.known:
            self.known[first] = [_exact_value(first, row) for row in self.rows]
        pairs = zip(self.known[first], self.rows, strict=True)
        return all(value is None or _exact_value(second, row) == value for value, row in pairs)

    def may_equal(self, first: Expr) -> Callable[[Expr], bool]:
        """Whether another expression agrees with this one at a few points: what does not is not equal."""
        few = {v: column[self.chosen[:FEW_POINTS]] for v, column in self.columns.items()}
        with np.errstate(all="ignore"):
            expected = np.asarray(evaluate(first, few), dtype=float)
        defined = np.isfinite(expected)
        room = _LOOSELY * (1 + float(np.max(np.abs(expected), initial=0, where=defined)))

        def agrees(other: Expr) -> bool:
            with np.errstate(all="ignore"):
                return not np.any((np.abs(evaluate(other, few) - expected) > room) & defined)

        return agrees


def _exact_value(expr: Expr, values: dict[Var, Number]) -> Number | None:
    try:
        return evaluate_exact(expr, values)
    except (ArithmeticError, ValueError):
        return None


def check_set(domains: Mapping[Var, Domain], numbers: Sequence[float] = ()) -> CheckSet:
    """All points of a small discrete domain; else random points, extremes, ties and near ties.

    `numbers` are constants of the formula: there, and a little beside, its pieces may meet.
    """
    variables, ranges = tuple(domains), list(domains.values())
    discrete = [domain.discrete for domain in ranges]
    if all(discrete) and math.prod(int(d.high - d.low) + 1 for d in ranges) <= MOST_COMPLETE:
        rows = list(itertools.product(*(domain.values() for domain in ranges)))
        return CheckSet(variables, np.array(rows, dtype=float).reshape(len(rows), -1), True)
    rng = np.random.default_rng(0)
    random = np.stack([_random_column(domain, rng) for domain in ranges], axis=1)
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
    return CheckSet(variables, np.unique(np.clip(points, low, high), axis=0), False)


def _random_column(domain: Domain, rng: np.random.Generator) -> np.ndarray:
    if domain.discrete:
        return rng.integers(int(domain.low), int(domain.high) + 1, RANDOM_POINTS).astype(float)
    # dyadic numbers stay short as fractions
    return np.round(rng.uniform(domain.low, domain.high, RANDOM_POINTS) * 1024) / 1024


def _is_inexact(expr: Expr) -> bool:
    for node in expr.walk():
        if isinstance(node, Op):
            power = node.args[1] if node.name == "pow" else Const(1)
            if OPERATORS[node.name].irrational or not (
                isinstance(power, Const) and isinstance(power.value, int)
            ):
                return True
        elif isinstance(node, Const) and isinstance(node.value, float):
            digits = repr(node.value).partition("e")[0].replace(".", "").lstrip("-0")
            if len(digits) > _DIGITS:
                return True
    return False
