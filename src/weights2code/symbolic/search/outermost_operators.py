"""What stands outermost: a remainder, a test, a bound of something that enumeration already made.

A tree v need not equal the target to explain it. If v - y is a multiple of one number on every row, y is v
up to that remainder; if the two values of y lie apart along v, or one remainder of v is that of all rows of
the one value, y is a test of v; if y is v or a variable, whichever is larger, y is bounded. All are asked of
thousands of trees at once, a few rows first.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.notation import opposite, simplest_test, weighted_sum
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.whole_numbers import two_valued

#: Rows that are asked first, and the trees of a block that are looked at further.
_FEW = 14
_KEEP = 6
#: How often y must be at a bound, and bounds that are asked.
_OFTEN, _MOST_BOUNDS = 0.2, 2
#: The largest divisor of which one remainder is asked for.
_MODULUS = 12


def _bounds(problem: Problem) -> list[tuple[str, Expr, float, int, float]]:
    """Variables, shifted, that y is never below, or above, and often at."""
    if not (problem.whole and problem.discrete) or len(problem.variables) < 2:
        return []
    found: list[tuple[float, tuple[str, Expr, float, int, float]]] = []
    for j, variable in enumerate(problem.variables):
        for name, sign in (("max", 1.0), ("min", -1.0)):
            above = sign * (problem.y - problem.X[:, j])
            least = float(above.min())
            share = float(np.mean(above == least))
            if _OFTEN <= share < 1 and share >= 2 * float(np.mean(above == least + 1)):
                bound = weighted_sum([(1, variable)], round(sign * least))
                found.append((share, (name, bound, sign, j, sign * least)))
    found.sort(key=lambda item: -item[0])
    return [bound for _, bound in found[:_MOST_BOUNDS]] if problem.allows("max", "min") else []


class Outer:
    """Which trees, given as values (m, n), are one operation away from the target."""

    def __init__(self, problem: Problem, X: np.ndarray, y: np.ndarray) -> None:
        self.problem, self.y = problem, y
        self.levels = np.unique(problem.y)
        self.remainder = problem.whole and problem.discrete and len(self.levels) > 1 and problem.allows("mod")
        self.test = problem.whole and len(self.levels) == 2
        few = np.argsort(np.random.default_rng(2).random(len(y)))[:_FEW]
        if self.test:  # both values must be among the first few
            ones, zeros = np.flatnonzero(y == self.levels[1]), np.flatnonzero(y != self.levels[1])
            few = np.concatenate([ones[: _FEW // 2], zeros[: _FEW // 2]])
        self.few = few
        self.bounds = [(name, expr, sign, X[:, j] + shift) for name, expr, sign, j, shift in _bounds(problem)]

    def bounded(self, values: np.ndarray) -> list[tuple[int, str, Expr, int | None]]:
        """Trees whose maximum, or minimum, with a bound is the target, or that of a remainder of them.

        With each comes the bound, and the divisor if there is one.
        """
        found: list[tuple[int, str, Expr, int | None]] = []
        for name, expr, sign, bound in self.bounds:
            free = sign * (self.y - bound) > 0
            at = np.flatnonzero(free)[:_FEW]
            if len(at) < 4:
                continue
            some = values[:, at[:4]]
            alive = np.flatnonzero((np.abs(some).max(axis=1) < 1e6) & np.all(some == np.round(some), axis=1))
            rest = (values[np.ix_(alive, at)] - self.y[at]).astype(np.int64)
            common = np.gcd.reduce(rest, axis=1)
            top = self.y[at].max()
            for i, divisor in zip(alive[common != 1], common[common != 1], strict=True):
                for m in (None,) if not divisor else range(2, _MODULUS + 1):
                    if m is not None and (divisor % m or m <= top):
                        continue
                    part = values[i] if m is None else values[i] % m
                    if np.array_equal(np.where(sign * (part - bound) > 0, part, bound), self.y):
                        found.append((int(i), name, expr, m))
                        break
                if len(found) >= _KEEP:
                    return found
        return found

    def remainders(self, values: np.ndarray) -> list[int]:
        """Trees v of whole numbers with v - y or v + y constant up to multiples of a large enough number."""
        if not self.remainder:
            return []
        spread = int(np.ptp(self.problem.y))
        some = values[:, self.few]
        whole = np.flatnonzero(np.all(some == np.round(some), axis=1) & (np.abs(some).max(axis=1) < 1e6))
        found: list[int] = []
        for sign in (1, -1):
            rest = some[whole].astype(np.int64) - sign * self.y[self.few].astype(np.int64)
            divisor = np.gcd.reduce(rest - rest[:, :1], axis=1)
            for i in whole[divisor > spread]:
                rest = values[i] - sign * self.y
                if np.all(values[i] == np.round(values[i])):
                    full = int(np.gcd.reduce((rest - rest[0]).astype(np.int64)))
                    if full > spread and int(i) not in found:
                        found.append(int(i))
        return found[:_KEEP]

    def tests(self, values: np.ndarray) -> list[int]:
        """Trees along which the two values of the target lie apart."""
        if not self.test:
            return []
        found = np.arange(len(values))
        for rows in (self.few, slice(None)):
            ones = self.y[rows] == self.levels[1]
            if not ones.any() or ones.all():
                continue
            part = values[found][:, rows]
            yes, no = part[:, ones], part[:, ~ones]
            found = found[(yes.min(1) > no.max(1)) | (yes.max(1) < no.min(1))]
        return [int(i) for i in found[:_KEEP]]

    def divisions(self, values: np.ndarray) -> list[tuple[int, int]]:
        """Trees and divisors of which one remainder tells the two values of the target apart."""
        if not (self.test and self.remainder):
            return []
        found: list[tuple[int, int]] = []
        ones = self.y == self.levels[1]
        for holds in (ones, ~ones):
            at = self.few[holds[self.few]]
            if len(at) < 3:
                continue
            some = values[:, at]
            alive = np.flatnonzero((np.abs(some).max(axis=1) < 1e6) & np.all(some == np.round(some), axis=1))
            for last in (3, len(at)):  # what all have in common divides their differences
                whole = values[np.ix_(alive, at[:last])].astype(np.int64)
                common = np.gcd.reduce(whole[:, 1:] - whole[:, :1], axis=1)
                alive = alive[common > 1]
            for i, divisor in zip(alive, common[common > 1], strict=True):
                for m in range(2, _MODULUS + 1):
                    rest = values[i] % m
                    first = rest[at[0]]
                    if divisor % m == 0 and np.array_equal(rest == first, holds):
                        found.append((int(i), m))
                        break
                if len(found) >= _KEEP:
                    return found
        return found[:_KEEP]

    def written_division(self, expr: Expr, m: int) -> list[Expr]:
        """`[v % m == c]`, or its opposite."""
        rest = self.problem.values(expr) % m
        ones = self.problem.y == self.levels[1]
        for name, holds in (("eq", ones), ("ne", ~ones)):
            at = rest[holds]
            if at.min() == at.max() and not np.any(rest[~holds] == at[0]):
                return [two_valued(op(name, op("mod", expr, m), int(at[0])), self.levels)]
        return []

    def written_remainders(self, expr: Expr) -> list[Expr]:
        """`(v + c) % m + d` for the tree, with the number m that all rows agree on."""
        problem = self.problem
        values = problem.values(expr)
        if not np.all(np.isfinite(values)) or np.any(values != np.round(values)):
            return []
        low, spread = int(self.levels[0]), int(np.ptp(self.levels))
        found: list[Expr] = []
        for sign in (1, -1):
            rest = (values - sign * problem.y).astype(np.int64)
            m = int(np.gcd.reduce(rest - rest[0]))
            if m <= spread:
                continue
            shift = int((problem.y[0] - low - sign * values[0]) % m)
            shift = shift - m if shift > m // 2 else shift
            found.append(weighted_sum([(1, op("mod", weighted_sum([(sign, expr)], shift), m))], low))
        return found

    def written_tests(self, expr: Expr) -> list[Expr]:
        """`[v > c]`, or `[v < c]`, with the simplest c in the gap."""
        if not self.problem.discrete and any(isinstance(node, Const) for node in expr.walk()):
            return []  # on reals the threshold is the constant
        values = self.problem.values(expr)
        if not np.all(np.isfinite(values)):
            return []
        ones = self.problem.y == self.levels[1]
        whole = bool(np.all(values == np.round(values)))
        yes, no = values[ones], values[~ones]
        test: Expr | None = None
        if yes.min() > no.max():
            test = simplest_test(expr, float(no.max()), float(yes.min()), whole=whole)
        elif yes.max() < no.min():
            test = opposite(simplest_test(expr, float(yes.max()), float(no.min()), whole=whole))
        return [] if test is None else [two_valued(test, self.levels)]
