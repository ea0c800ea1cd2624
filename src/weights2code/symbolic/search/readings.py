"""Readings: what is wanted as a simple function of one quantity.

A line, alone or beside a linear function of the columns; a threshold, one value or an interval for two
values; a remainder, one remainder of several, a quotient. All are asked of thousands of entries at once, a
few rows first; what passes is written with plain numbers and held against all rows of the goal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weights2code.language import Const, Expr, Number, is_boolean, op
from weights2code.symbolic.notation import branch, compare, opposite, simplest_test, weighted_sum
from weights2code.symbolic.search.bank import CELL, Block
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.searched import modulo
from weights2code.symbolic.search.table import Goal, Table
from weights2code.symbolic.snapping import simplest, snap_linear

#: Rows that are asked first; entries of a block that a line is written of; the same beside a linear function.
FEW, LINES, BESIDE = 24, 8, 5
#: Tests and remainders that are written of a block; divisors of which one remainder is asked for.
TESTS, REMAINDERS, DIVISORS = 6, 4, 12
#: Seconds of a usual machine for a fit with plain numbers.
FIT = 4.5e-4


def number(value: float) -> Number:
    """As short as it is meant to be."""
    return round(value) if abs(value - round(value)) < 1e-6 else float(f"{value:.6g}")


class Reader:
    """One goal on the rows of the bank; an `inner` one is part of a rule, and not all of it."""

    def __init__(
        self, problem: Problem, table: Table, goal: Goal, *, beside: bool, near: bool, inner: bool = False
    ) -> None:
        self.problem, self.table, self.goal = problem, table, goal
        self.X = table.X[table.few]
        self.columns = np.column_stack([np.ones(len(self.X)), self.X])
        self.near, self.nearest, self.inner = near, np.inf, inner
        known = goal.known
        k = self.X.shape[1]
        self.asked = known[np.linspace(0, len(known) - 1, min(FEW + 3 * k, len(known))).astype(int)]
        self.y = goal.middle[self.asked]
        self.bases = [(False, np.linalg.qr(self.columns[self.asked, :1])[0])] if len(known) > 2 else []
        if beside and len(known) >= k + 5:
            self.bases.append((True, orthonormal(self.columns[self.asked])))
        self.good = good_enough(self.y, goal.slack)
        values = np.unique(goal.middle[known].round(6)) if goal.whole else np.empty(0)
        self.two = len(values) == 2 and len(known) > 2
        if self.two:
            high = goal.middle > 0.5 * (values[0] + values[1])
            self.ones, self.zeros = known[high[known]], known[~high[known]]
            self.least, self.most = number(float(values[0])), number(float(values[1]))
            if goal.modulus is not None and self.most - self.least > goal.modulus / 2:
                self.most -= goal.modulus
        discrete = table.discrete and goal.whole and len(values) > 1
        self.remainders = discrete and goal.modulus is None and bool(goal.middle[known].min() >= 0)

    def constant(self) -> Expr | None:
        """A number that is right on all rows."""
        goal = self.goal
        if goal.modulus is not None:
            values = np.unique(goal.middle[goal.known])
            return Const(int(values[0])) if len(values) == 1 else None
        low, high = float(np.max(goal.low)), float(np.min(goal.high))
        if low > high:
            return None
        if np.isfinite(low) and np.isfinite(high):
            return Const(simplest(0.5 * (low + high), 0.5 * (high - low)))
        return Const(
            0 if low <= 0 <= high else int(np.ceil(low)) if np.isfinite(low) else int(np.floor(high))
        )

    def read(self, block: Block) -> list[Expr]:
        """Formulas for the goal, each out of one entry."""
        if not len(block) or len(self.goal.known) < 2:
            return []
        self.problem.effort.spend(CELL * len(block) * len(self.asked) * (1 + len(self.bases)))
        found = [*self.lines(block)] if self.goal.modulus is None else []
        if self.two:
            found += self.tests(block)
        if self.remainders:
            found += self.whole_parts(block)
        return found

    def lines(self, block: Block) -> Iterator[Expr]:
        """`a*v + b`, alone and beside a linear function of the columns."""
        V = block.values[:, self.asked]
        for beside, Q in self.bases:
            left = left_over(V, Q, self.y)
            hits = np.flatnonzero(left <= self.good)[: BESIDE if beside else LINES]
            if self.near and not len(hits):
                hits = self._nearer(left)
            for i in hits:
                exprs, values = [block.write(int(i))], block.values[i][:, None]
                if beside:
                    exprs += self.table.variables
                    values = np.column_stack([values, self.X])
                fitted = self.fit(exprs, values)
                if fitted is not None:
                    yield fitted

    def _nearer(self, left: np.ndarray) -> np.ndarray:
        """Nobody said how exact is exact enough: what comes much nearer than all before may be meant."""
        i = int(np.argmin(left))
        share = float(left[i]) / max(float(np.sum((self.y - self.y.mean()) ** 2)), 1e-300)
        if share > 1e-3 or share > 0.5 * self.nearest:
            return np.empty(0, dtype=int)
        self.nearest = share
        return np.array([i])

    def fit(self, exprs: Sequence[Expr], columns: np.ndarray) -> Expr | None:
        """The least squares sum of some formulas and a constant with plain numbers, if it meets the goal."""
        goal, known = self.goal, self.goal.known
        matrix = np.column_stack([columns, np.ones(len(columns))])
        if len(known) < min(matrix.shape[1] + 1, len(columns)) or not np.all(np.isfinite(matrix)):
            return None
        self.problem.effort.spend(2e-5)
        weights = np.linalg.lstsq(matrix[known], goal.middle[known], rcond=None)[0]
        rough = matrix @ weights
        off = np.abs(rough - np.clip(rough, goal.low, goal.high))
        if not self.near and off.max() > 3 * goal.slack + 1e-7 * (1 + np.abs(goal.middle).max()):
            return None
        self.problem.effort.spend(FIT * matrix.shape[1] ** 2 / 4)
        *plain, constant = snap_linear(
            matrix[known], goal.middle[known], goal.slack, noise=self.problem.noise
        )
        if not self.near and not goal.met(matrix @ np.array([float(c) for c in (*plain, constant)])):
            return None
        return assemble(list(zip(plain, exprs, strict=True)), constant)

    # ------------------------------------------------------------------------------------------------ tests

    def tests(self, block: Block) -> Iterator[Expr]:
        """Two values, told apart by a threshold, one value or an interval of an entry, or by a remainder."""
        V = block.values
        ones, zeros = self.ones[:: max(len(self.ones) // 12, 1)], self.zeros[:: max(len(self.zeros) // 12, 1)]
        yes, no = V[:, ones], V[:, zeros]
        low_yes, high_yes, low_no, high_no = yes.min(1), yes.max(1), no.min(1), no.max(1)
        cut = (low_yes > high_no) | (high_yes < low_no)
        inside = np.all((no < low_yes[:, None]) | (no > high_yes[:, None]), axis=1)
        outside = np.all((yes < low_no[:, None]) | (yes > high_no[:, None]), axis=1)
        passed = np.flatnonzero(cut | inside | outside)
        count = 0
        for i in passed[np.argsort(~cut[passed], kind="stable")]:
            test = self.test(block, int(i))
            if test is not None:
                yield branch(test, Const(self.most), Const(self.least))
                count += 1
                if count >= TESTS:
                    break
        if self.table.discrete and self.problem.allows("mod"):
            yield from self._one_remainder(block, ones, zeros)

    def test(self, block: Block, i: int) -> Expr | None:
        """The test that one entry is above or below a number, is a number, or lies between two."""
        v = block.values[i]
        yes, no = v[self.ones], v[self.zeros]
        whole = self.table.discrete and bool(np.all(v == np.round(v)))
        found = threshold(block, i, yes, no, whole)
        if found is not None:
            return found
        for name, one, other in (("eq", yes, no), ("ne", no, yes)):
            low, high = float(one.min()), float(one.max())
            if low == high and not np.any(other == low) and self.table.discrete:
                return compare(name, block.write(i), number(low))
            if (
                np.any((other >= low) & (other <= high))
                or not (other < low).any()
                or not (other > high).any()
            ):
                continue
            below, above = float(other[other < low].max()), float(other[other > high].min())
            return _between(block.write(i), (below, low, high, above), whole, inside=name == "eq")
        return None

    def _one_remainder(self, block: Block, ones: np.ndarray, zeros: np.ndarray) -> Iterator[Expr]:
        """`v % m == c`, for the one value or the other."""
        V, count = block.values, 0
        usable = np.all(V[:, ones] == np.round(V[:, ones]), axis=1) & (
            np.ptp(V[:, [*ones, *zeros]], axis=1) > 1
        )
        usable = np.flatnonzero(usable)
        yes, no = V[np.ix_(usable, ones)], V[np.ix_(usable, zeros)]
        self.problem.effort.spend(CELL * (yes.size + no.size) * DIVISORS)
        for m in range(2, DIVISORS + 1):
            yes_rest, no_rest = yes % m, no % m
            for name, one, other, all_one, all_other in (
                ("eq", yes_rest, no_rest, self.ones, self.zeros),
                ("ne", no_rest, yes_rest, self.zeros, self.ones),
            ):
                level = one[:, :1]
                good = np.all(one == level, axis=1) & ~np.any(other == level, axis=1)
                for i in usable[good]:
                    rest = V[i] % m
                    if (
                        np.ptp(V[i]) < m
                        or np.ptp(rest[all_one])
                        or np.any(rest[all_other] == rest[all_one[0]])
                    ):
                        continue
                    test = op(name, op("mod", block.write(int(i)), m), int(rest[all_one[0]]))
                    yield branch(test, Const(self.most), Const(self.least))
                    count += 1
                    if count >= REMAINDERS:
                        return

    # ------------------------------------------------------------------------------ remainders and quotients

    def whole_parts(self, block: Block) -> Iterator[Expr]:
        """`(v + c) % m` and `(v + c) // m` of whole numbers, for either sign of the entry."""
        known, y = self.goal.known, np.round(self.goal.middle)
        top = int(y[known].max()) + 1
        asked = self.asked[:: max(len(self.asked) // 10, 1)]
        V = block.values[:, asked]
        whole = np.flatnonzero(np.all(np.round(V) == V, axis=1) & (np.ptp(V, axis=1) > 0))
        if top > 500:
            return
        if self.problem.allows("mod"):
            for sign in (1, -1):
                rest = (sign * V[whole] - y[asked]).astype(np.int64)
                divisor = np.gcd.reduce(rest - rest[:, :1], axis=1)
                for i in whole[divisor >= top][:REMAINDERS]:
                    yield from self._remainder(block, int(i), sign, y, top)
        if self.problem.allows("floor", "div"):
            yield from self._quotients(block, asked, whole, y)

    def _remainder(self, block: Block, i: int, sign: int, y: np.ndarray, top: int) -> Iterator[Expr]:
        known = self.goal.known
        rest = (sign * block.values[i, known] - y[known]).astype(np.int64)
        m = int(np.gcd.reduce(rest - rest[0]))
        if m >= max(top, 2):
            inner = modulo(weighted_sum([(sign, block.write(i))], int(-rest[0] % m)), m)
            yield op("mod", inner, m)

    def _quotients(self, block: Block, asked: np.ndarray, whole: np.ndarray, y: np.ndarray) -> Iterator[Expr]:
        known = self.goal.known
        V = block.values[:, asked]
        for m in range(2, 41 if block.cost <= 2 else 11):
            for sign in (1, -1):
                spread = np.ptp(sign * V[whole] - m * y[asked], axis=1)
                for i in whole[spread < m][:REMAINDERS]:
                    rest = sign * block.values[i, known] - m * y[known]
                    least, most = -int(rest.min()), m - 1 - int(rest.max())
                    if least <= most and np.ptp(block.values[i]) >= m:
                        shift = min(max(0, least), most)
                        yield weighted_sum([(sign, block.write(int(i)))], shift) // Const(m)


def threshold(block: Block, i: int, yes: np.ndarray, no: np.ndarray, whole: bool) -> Expr | None:
    """The test that an entry is above, or below, a number, if that tells `yes` from `no`."""
    if yes.min() > no.max():
        low, high, turned = float(no.max()), float(yes.min()), False
    elif yes.max() < no.min():
        low, high, turned = float(yes.max()), float(no.min()), True
    else:
        return None
    expr = block.write(i)
    if is_boolean(expr):
        return expr if not turned else opposite(expr) or op("eq", expr, 0)
    test = simplest_test(expr, low, high, whole=whole)
    return (opposite(test) or op("eq", test, 0)) if turned else test


def _between(
    expr: Expr, ends: tuple[float, float, float, float], whole: bool, *, inside: bool
) -> Expr | None:
    """The test that an entry lies between two numbers (or does not), as a distance or as two tests."""
    below, low, high, above = ends
    if not whole:
        first, last = simplest_test(expr, below, low), opposite(simplest_test(expr, high, above))
        if last is None:
            return None
        if inside:
            return op("and", first, last)
        below_first, above_last = opposite(first), opposite(last)
        return None if below_first is None or above_last is None else op("or", below_first, above_last)
    a, b = int(low), int(high)
    if (a + b) % 2 and b + 1 < above:
        b += 1
    elif (a + b) % 2 and a - 1 > below:
        a -= 1
    middle: Number = (a + b) // 2 if (a + b) % 2 == 0 else (a + b) / 2
    away = op("abs", weighted_sum([(1, expr)], -middle))
    return op("le" if inside else "gt", away, b - middle)


def assemble(terms: list[tuple[Number, Expr]], constant: Number) -> Expr:
    """`weighted_sum`, with one minus a test written as the opposite test."""
    live = [(c, e) for c, e in terms if c != 0]
    for place, (coefficient, expr) in enumerate(live):
        turned = opposite(expr)
        if turned is not None and coefficient < 0 and constant == -coefficient:
            live[place] = (-coefficient, turned)
            constant = 0
            break
    return weighted_sum(live, constant)


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what the columns span."""
    scale = np.linalg.norm(columns, axis=0)
    Q, R = np.linalg.qr(columns / np.where(scale > 0, scale, 1.0))
    return Q[:, np.abs(np.diag(R)) > 1e-9]


def good_enough(y: np.ndarray, slack: float) -> float:
    """Squares that a fit may leave."""
    return len(y) * slack**2 + 1e-12 * float(np.sum((y - y.mean()) ** 2)) if len(y) else 0.0


def left_over(V: np.ndarray, Q: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The squares that each row of V leaves of y beside the basis Q."""
    rest = y - Q @ (Q.T @ y)
    inside = V @ Q
    square = np.einsum("ij,ij->i", V, V)
    norm = square - np.einsum("ij,ij->i", inside, inside)
    with np.errstate(all="ignore"):
        left = rest @ rest - (V @ rest) ** 2 / norm
    left[norm <= 1e-9 * square + 1e-12] = np.inf
    return left


def left_over_two(V: np.ndarray, Q: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The squares that each pair in V (m, 2, rows) leaves of y beside the basis Q."""
    rest = y - Q @ (Q.T @ y)
    V = V - (V @ Q) @ Q.T
    norm = np.linalg.norm(V, axis=2)
    with np.errstate(all="ignore"):
        c = (V @ rest) / norm
        overlap = np.einsum("ij,ij->i", V[:, 0], V[:, 1]) / norm.prod(axis=1)
        gain = (c[:, 0] ** 2 + c[:, 1] ** 2 - 2 * c[:, 0] * c[:, 1] * overlap) / (1 - overlap**2)
    return np.where((norm.min(axis=1) > 1e-7) & (np.abs(overlap) < 1 - 1e-9), rest @ rest - gain, np.inf)
