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

import numpy as np

from weights2code.language import (
    OPERATORS,
    Const,
    Domain,
    Expr,
    Number,
    Op,
    Var,
    evaluate,
    evaluate_exact,
    exact_number,
)

MOST_COMPLETE = 2**14
RANDOM_POINTS = 1024
EXACT_POINTS = 192
FEW_POINTS = 48

#: Where pieces of a formula meet, it is looked at here too.
_BESIDE = (-0.5, -0.25, -0.125, 0, 0.125, 0.25, 0.5)
_DIGITS = 12
_ROUNDING = 1e-10
_LOOSELY = 1e-7


@dataclass(frozen=True, slots=True)
class CheckSet:
    """Points of the domain: an array of shape (points, variables), and whether they are all of it."""

    variables: tuple[Var, ...]
    points: np.ndarray
    complete: bool
    columns: Mapping[Var, np.ndarray] = field(init=False)
    #: The same at a few points, for a first look.
    few: Mapping[Var, np.ndarray] = field(init=False)
    chosen: np.ndarray = field(init=False)
    #: The values of the variables at each chosen point, exactly, and of the expressions asked for before.
    rows: list[dict[Var, Number]] = field(init=False, default_factory=list)
    known: dict[Expr, list[Number | None]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        columns = {v: self.points[:, i] for i, v in enumerate(self.variables)}
        object.__setattr__(self, "columns", columns)
        count = len(self.points)
        rows = np.random.default_rng(0).permutation(count)[:EXACT_POINTS]
        object.__setattr__(self, "chosen", np.sort(rows))
        object.__setattr__(self, "few", {v: column[rows[:FEW_POINTS]] for v, column in columns.items()})

    def values(self, expr: Expr) -> np.ndarray:
        """The expression at every point, as floats."""
        with np.errstate(all="ignore"):
            return np.broadcast_to(evaluate(expr, self.columns), len(self.points))

    def equal(self, first: Expr, second: Expr) -> bool:
        """Whether the two expressions agree on the whole check set."""
        a, b = self.values(first), self.values(second)
        defined = np.isfinite(a)
        if not np.array_equal(a[~defined], b[~defined], equal_nan=True) or not np.all(
            np.isfinite(b[defined])
        ):
            return False
        scale = 1 + float(np.max(np.abs(a[defined]), initial=0))
        if not np.all(np.abs(a[defined] - b[defined]) <= _ROUNDING * scale):
            return False
        if _is_inexact(first) or _is_inexact(second):
            return True
        return all(map(self._agrees_with(second), self._rows(), self._exact(first)))

    def may_equal(self, first: Expr) -> Callable[[Expr], bool]:
        """Whether another expression agrees with this one at a few points: what does not is not equal."""

        def values(expr: Expr) -> np.ndarray:
            with np.errstate(all="ignore"):
                return np.asarray(evaluate(expr, self.few), dtype=float)

        expected = values(first)
        defined = np.isfinite(expected)
        room = _LOOSELY * (1 + float(np.max(np.abs(expected), initial=0, where=defined)))

        def agrees(other: Expr) -> bool:
            with np.errstate(all="ignore"):
                return not np.any((np.abs(values(other) - expected) > room) & defined)

        return agrees

    def _rows(self) -> list[dict[Var, Number]]:
        if not self.rows:
            for row in self.chosen:
                self.rows.append({v: exact_number(self.points[row, i]) for i, v in enumerate(self.variables)})
        return self.rows

    def _exact(self, expr: Expr) -> list[Number | None]:
        """The exact value at each chosen point, None where there is none; remembered."""
        if expr not in self.known:
            self.known[expr] = [_exact_value(expr, values) for values in self._rows()]
        return self.known[expr]

    @staticmethod
    def _agrees_with(other: Expr) -> Callable[[dict[Var, Number], Number | None], bool]:
        def agrees(values: dict[Var, Number], expected: Number | None) -> bool:
            return expected is None or _exact_value(other, values) == expected

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
    variables = tuple(domains)
    if all(domain.discrete for domain in domains.values()):
        sizes = [int(domain.high - domain.low) + 1 for domain in domains.values()]
        if math.prod(sizes) <= MOST_COMPLETE:
            rows = list(itertools.product(*(domain.values() for domain in domains.values())))
            return CheckSet(variables, np.array(rows, dtype=float).reshape(len(rows), -1), True)
    rng = np.random.default_rng(0)
    columns = [_random_column(domain, rng) for domain in domains.values()]
    random = np.stack(columns, axis=1)
    # piecewise formulas differ where variables tie or nearly tie, which random reals never do
    ties = random[: RANDOM_POINTS // 4].copy()
    for row in range(len(ties)):
        i, j = rng.integers(len(variables), size=2)
        ties[row, i] = ties[row, j] + rng.integers(-1, 2)
    corners = [
        (d.low, d.high, *(v for v in (-1.0, 0.0, 1.0) if d.low <= v <= d.high)) for d in domains.values()
    ]
    extremes = rng.permuted(
        np.array(list(itertools.islice(itertools.product(*corners), 256)), dtype=float), axis=0
    )
    beside = np.array([n + d for n in (*numbers, 0) if math.isfinite(n) for d in _BESIDE])
    meetings = random[-RANDOM_POINTS // 4 :].copy()
    rows = np.arange(len(meetings))
    meetings[rows, rng.integers(len(variables), size=len(rows))] = rng.choice(beside, len(rows))
    points = np.concatenate([random, ties, extremes, meetings])
    whole = [i for i, domain in enumerate(domains.values()) if domain.discrete]
    points[:, whole] = np.round(points[:, whole])
    low = np.array([domain.low for domain in domains.values()])
    high = np.array([domain.high for domain in domains.values()])
    return CheckSet(variables, np.unique(np.clip(points, low, high), axis=0), False)


def _random_column(domain: Domain, rng: np.random.Generator) -> np.ndarray:
    if domain.discrete:
        return rng.integers(int(domain.low), int(domain.high) + 1, RANDOM_POINTS).astype(float)
    # dyadic numbers stay short as fractions
    return np.round(rng.uniform(domain.low, domain.high, RANDOM_POINTS) * 1024) / 1024


def _is_inexact(expr: Expr) -> bool:
    for node in expr.walk():
        if isinstance(node, Op) and (
            OPERATORS[node.name].irrational or (node.name == "pow" and not _whole(node.args[1]))
        ):
            return True
        if isinstance(node, Const) and isinstance(node.value, float):
            digits = repr(node.value).partition("e")[0].replace(".", "").lstrip("-0")
            if len(digits) > _DIGITS:
                return True
    return False


def _whole(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, int)
