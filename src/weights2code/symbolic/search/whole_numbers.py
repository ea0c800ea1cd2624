"""Whole-number functions: tests of weighted sums, remainders, carries, and remainders inside tests.

Every search here asks a question that is answered for thousands of weighted sums u at once:
does a threshold on u separate the two values of y; is u - y a multiple of some m, so that y = u mod m; is
(y - u) mod m a single bit, so that y is u plus a carry; do u mod m and one variable determine y. Only what
passes is written as a formula and judged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weights2code.language import Expr, Number, Var, infer, op
from weights2code.symbolic.notation import opposite, weighted_sum
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import comparison, simplest_level, sum_expr, weight_vectors


class SumScan:
    """Weighted sums of the whole-number variables, as one matrix, shortest first."""

    #: Most weighted sums that one scan looks at.
    MOST = 4000

    def __init__(self, problem: Problem, limit: int = MOST) -> None:
        self.problem = problem
        columns = [j for j, domain in enumerate(problem.domains) if domain.discrete]
        count = len(columns)
        sizes = (1, 2, 3, 4) if count <= 3 else (1, 2, 4) if count <= 4 else (1, 2) if count <= 5 else (1,)
        vectors = []
        for vector in itertools.islice(weight_vectors(count, sizes), limit):
            full = [0] * len(problem.variables)
            for j, w in zip(columns, vector, strict=True):
                full[j] = w
            vectors.append(full)
        problem.spend("sums", len(vectors))
        problem.spend("sum cells", len(vectors) * len(problem.ys))
        self.weights = np.array(vectors, dtype=np.int64).reshape(len(vectors), len(problem.variables))
        self.values = self.weights @ np.where([d.discrete for d in problem.domains], problem.Xs, 0).T.astype(
            np.int64
        )

    def __len__(self) -> int:
        return len(self.weights)

    def row(self, i: int | np.intp) -> tuple[int, ...]:
        return tuple(int(w) for w in self.weights[i])

    def test(self, bits: np.ndarray, keep: int = 3) -> list[Expr]:
        """Tests of a sum that equal `bits` (booleans) on every row: thresholds, equalities, bands."""
        if not len(self) or bits.all() or not bits.any():
            return []
        self.problem.spend("sum cells", self.values.size)
        yes, no = self.values[:, bits], self.values[:, ~bits]
        low_yes, high_yes = yes.min(axis=1), yes.max(axis=1)
        low_no, high_no = no.min(axis=1), no.max(axis=1)
        found: list[Expr] = []
        for i in np.flatnonzero(low_yes > high_no)[:keep]:
            level = simplest_level(int(high_no[i]), int(low_yes[i]))
            found.append(comparison(self.problem, "ge", self.row(i), level, True))
        for i in np.flatnonzero(high_yes < low_no)[:keep]:
            level = simplest_level(int(high_yes[i]), int(low_no[i]))
            found.append(comparison(self.problem, "lt", self.row(i), level, True))
        found.extend(self._equal(low_yes, high_yes, no, "eq", keep))
        found.extend(self._equal(low_no, high_no, yes, "ne", keep))
        if not found:
            found.extend(self._bands(low_yes, high_yes, no, inside=True))
            found.extend(self._bands(low_no, high_no, yes, inside=False))
        return sorted(found, key=lambda e: e.size())[:keep]

    def _equal(
        self, low: np.ndarray, high: np.ndarray, others: np.ndarray, name: str, keep: int
    ) -> Iterator[Expr]:
        single = np.flatnonzero(low == high)
        single = single[np.all(others[single] != low[single, None], axis=1)]
        for i in single[:keep]:
            yield comparison(self.problem, name, self.row(i), int(low[i]), True)

    def _bands(
        self, low: np.ndarray, high: np.ndarray, others: np.ndarray, *, inside: bool
    ) -> Iterator[Expr]:
        """Sums that lie in an interval exactly where the bit is one (or zero)."""
        outside = np.all((others < low[:, None]) | (others > high[:, None]), axis=1)
        for i in np.flatnonzero(outside)[:2]:
            below = others[i][others[i] < low[i]].max(initial=int(low[i]) - 1)
            above = others[i][others[i] > high[i]].min(initial=int(high[i]) + 1)
            a, b = int(low[i]), int(high[i])
            # Widen the interval within the gap so that its middle is a whole number, if that is possible.
            if (a + b) % 2 and b + 1 < above:
                b += 1
            elif (a + b) % 2 and a - 1 > below:
                a -= 1
            middle: Number = (a + b) // 2 if (a + b) % 2 == 0 else (a + b) / 2
            shifted = sum_expr(self.problem, self.row(i), -middle)
            radius = b - middle
            yield op("le" if inside else "gt", op("abs", shifted), radius)

    def remainders(self, y: np.ndarray, keep: int = 4) -> list[Expr]:
        """`(u + c) % m + d` with u - y a multiple of m up to a constant, for any m at all."""
        spread = int(y.max() - y.min())
        found: list[Expr] = []
        if spread == 0:
            return found
        target = y.astype(np.int64)
        self.problem.spend("sum cells", 2 * self.values.size)
        for sign in (1, -1):
            d = self.values - sign * target
            d = d - d[:, :1]
            few = np.gcd.reduce(d[:, : min(40, d.shape[1])], axis=1)
            for i in np.flatnonzero((few > spread) | (few == 0)):
                m = int(np.gcd.reduce(d[i]))
                if m <= spread:
                    continue
                low = int(target.min())
                shift = int((target[0] - low - sign * self.values[i, 0]) % m)
                if shift > m // 2:
                    shift -= m
                weights = self.row(i) if sign > 0 else tuple(-w for w in self.row(i))
                inner = sum_expr(self.problem, weights, shift)
                found.append(weighted_sum([(1, op("mod", inner, m))], low))
                if len(found) >= keep:
                    return sorted(found, key=lambda e: e.size())
        return sorted(found, key=lambda e: e.size())

    def quotients(self, y: np.ndarray, keep: int = 3) -> list[Expr]:
        """`floor((u + c) / m) + d`: equal steps of a sum."""
        found: list[Expr] = []
        if np.ptp(y) == 0:
            return found
        target = y.astype(np.int64)
        self.problem.spend("sorted cells", 2 * self.values.size)
        for sign in (1, -1):
            values = sign * self.values
            ordered = np.argsort(values, axis=1, kind="stable")
            steps = np.diff(target[ordered], axis=1)
            for i in np.flatnonzero(np.all(steps >= 0, axis=1)):
                m, shift = _stairs(values[i], target)
                if m > 1:
                    weights = tuple(sign * w for w in self.row(i))
                    low = int(np.floor((values[i, 0] + shift) / m))
                    found.append(
                        weighted_sum([(1, sum_expr(self.problem, weights, shift) // m)], int(target[0]) - low)
                    )
                    if len(found) >= keep:
                        return found
        return found


def _stairs(u: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """Width m and shift c of `floor((u + c)/m)` whose steps are those of y, or (0, 0)."""
    levels = np.unique(y)
    if len(levels) < 2 or np.any(np.diff(levels) != 1):
        return 0, 0
    first = np.array([u[y == level].min() for level in levels])
    last = np.array([u[y == level].max() for level in levels])
    for m in range(2, int(np.ptp(u)) + 2):
        for shift in sorted(range(-(m // 2), m - m // 2), key=abs):
            f, g = (first + shift) // m, (last + shift) // m
            if np.all(f == g) and np.all(np.diff(f) == 1):
                return m, shift
        if len(levels) > 2 and m > np.max(np.diff(first)) + 1:
            break
    return 0, 0


def whole_number_stage(problem: Problem, collector: Collector, scan: SumScan) -> None:
    """Direct tests, remainders, quotients, then a sum plus a bit, with and without a remainder."""
    y = problem.ys
    values = np.unique(y)
    if len(values) == 2:
        for expr in scan.test(y == values[1]):
            collector.offer(two_valued(expr, values))
    collector.offer_all(scan.remainders(y) + scan.quotients(y))


def two_valued(test: Expr, values: np.ndarray) -> Expr:
    """The bit scaled to the two values it stands for."""
    low, high = int(values[0]), int(values[1])
    if (low, high) == (-1, 0):
        turned = opposite(test)
        return op("neg", turned) if turned is not None else weighted_sum([(1, test)], -1)
    return weighted_sum([(high - low, test)], low)


def carry_stage(problem: Problem, collector: Collector, scan: SumScan) -> None:
    """`u + s*bit` and `(u + bit) % m`: take u away and see whether a single bit is left."""
    y = problem.ys.astype(np.int64)
    low, high = int(y.min()), int(y.max())
    U = scan.values[:800]
    for m in (0, high + 1) if low == 0 else (0,):
        for sign in (1, -1):
            problem.spend("sum cells", U.size)
            rest = y - sign * U
            if m:
                rest = rest % m
            lowest, highest = rest.min(axis=1, keepdims=True), rest.max(axis=1, keepdims=True)
            single = np.all((rest == lowest) | (rest == highest), axis=1) & (lowest < highest)[:, 0]
            for i in np.flatnonzero(single)[:60]:
                if problem.expired():
                    return
                levels = np.array([lowest[i, 0], highest[i, 0]])
                weights = tuple(sign * w for w in scan.row(i))
                for test in scan.test(rest[i] == levels[1], keep=1):
                    collector.offer(_with_carry(problem, weights, test, levels, m))


def _with_carry(problem: Problem, weights: tuple[int, ...], test: Expr, levels: np.ndarray, m: int) -> Expr:
    low, step = int(levels[0]), int(levels[1] - levels[0])
    if m and step > m // 2:
        # one more is the same as m - 1 less
        turned = opposite(test)
        if turned is not None:
            low, step, test = int(levels[1]) % m, m - step, turned
    if m and low > m // 2:
        low -= m
    inner = weighted_sum([*zip(weights, problem.variables, strict=True), (step, test)], low)
    return op("mod", inner, m) if m else inner


def substitute_solution(
    problem: Problem, parts: list[Expr], columns: np.ndarray
) -> tuple[Problem, dict[Var, Expr]]:
    """The problem in new variables (`columns`, one row a searched row), and what they stand for."""
    names = tuple(Var(f"part{i}") for i in range(len(parts)))
    rows, first = np.unique(columns, axis=0, return_index=True)
    y = problem.ys[first]
    reduced = replace(
        problem,
        variables=names,
        domains=tuple(infer(rows[:, i]) for i in range(len(parts))),
        X=rows.astype(float),
        y=y,
        measured=y,
        weights=np.ones(len(y)),
        rows=np.arange(len(y)),
        noise=0.0,
    )
    return reduced, dict(zip(names, parts, strict=True))
