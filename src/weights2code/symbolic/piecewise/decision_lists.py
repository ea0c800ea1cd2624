"""Branches: one formula where a test holds, another where it does not, nested a little.

For all tests and all atoms at once, matrix products give the residual of fitting the atom to the rows
where the test holds. A test whose both sides are met gives `where`; one side alone leaves the other side as
a smaller problem of the same kind, which gives decision lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations, islice

import numpy as np

from weights2code.language import Const, Expr, Number, op
from weights2code.symbolic.notation import opposite
from weights2code.symbolic.search.atoms import Pool
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import assemble
from weights2code.symbolic.snapping import simplest, snap_linear

#: Tests of one variable against the extremum of a group of others.
_EXTREME_TESTS = 640
_TESTS = 700
_LEAVES = 260
#: Tests in a row of which several are tried at each place; in longer lists every test gives a constant, and
#: only the one that settles most is tried.
_DEPTH = 3
#: The most different values that a label has, and so the most entries of a list that tells them apart.
_LABELS = 32


def branch_stage(problem: Problem, collector: Collector, pool: Pool, more_tests: Pool) -> None:
    """Offer the decision lists found; tests come from the dictionary and from `more_tests`."""
    tests = _joined_pools(pool.tests(), more_tests.tests())
    order = np.argsort(tests.cost, kind="stable")[:_TESTS]
    tests = _joined_pools(tests.take(order), extreme_tests(problem))
    bits = np.all((pool.values == 0) | (pool.values == 1), axis=1)
    rough = np.flatnonzero(~bits)[:_LEAVES]
    short = np.flatnonzero(bits & (pool.cost <= 3))[:60]
    leaves = _with_variables(problem, pool.take(np.concatenate([rough, short])))
    if not len(tests):
        return
    search = _Branches(problem, tests, leaves)
    everywhere = np.ones(len(problem.ys), dtype=bool)
    found = search.solve(everywhere, _DEPTH)
    labels = len(np.unique(problem.ys))
    if not found and _DEPTH + 1 < labels <= _LABELS:
        found = search.solve(everywhere, labels - 1)
    collector.offer_all(found)


def _joined_pools(a: Pool, b: Pool) -> Pool:
    known = {row.tobytes() for row in a.values.astype(bool)}
    fresh = [i for i, row in enumerate(b.values.astype(bool)) if row.tobytes() not in known]
    return a + b.take(np.array(fresh, dtype=int))


def _with_variables(problem: Problem, pool: Pool) -> Pool:
    known = set(pool.exprs)
    extra = [j for j, v in enumerate(problem.variables) if v not in known]
    variables: list[Expr] = [problem.variables[j] for j in extra]
    return Pool(variables, problem.Xs[:, extra].T, np.ones(len(extra), dtype=int)) + pool


class _Branches:
    def __init__(self, problem: Problem, tests: Pool, leaves: Pool) -> None:
        self.problem, self.tests, self.leaves = problem, tests, leaves
        self.y = problem.ys
        self.C = tests.values
        centre = leaves.values - leaves.values.mean(axis=1, keepdims=True)
        norm = np.linalg.norm(centre, axis=1, keepdims=True)
        self.A = centre / np.where(norm > 0, norm, 1.0) * np.sqrt(len(self.y))
        spread = float(np.std(self.y)) or 1.0
        self.z = (self.y - self.y.mean()) / spread
        self.goal = (problem.accuracy / spread) ** 2 + 1e-11

    def solve(self, rows: np.ndarray, depth: int) -> list[Expr]:
        """Formulas that meet the target on `rows`, cheapest first; at most a few."""
        whole = self.leaf(rows)
        if whole is not None:
            return [whole]
        if depth == 0 or self.problem.expired():
            return []
        C = self.C[:, rows]
        sizes = C.sum(axis=1)
        mixed = np.flatnonzero((sizes > 0) & (sizes < rows.sum()))
        long = depth > _DEPTH
        yes, no = self._reach(C, rows, long), self._reach(1.0 - C, rows, long)
        both = [t for t in mixed if yes[t] and no[t]]
        self.problem.spend("tests", len(C))
        results: list[Expr] = []
        for t in sorted(both, key=lambda t: int(self.tests.cost[t]))[:12]:
            side = self._join(t, rows)
            if side is not None:
                results.append(side)
        if results or depth == 1:
            return sorted(results, key=Expr.size)
        # One side only: prefer the tests that settle the most rows for the least writing.
        share = np.where(yes, sizes, 0) + np.where(no, rows.sum() - sizes, 0)
        least = max(4, 0.5 * rows.sum() / (depth + 1)) if long else 0.1 * rows.sum()
        price = 0.0 if long else 0.02 * rows.sum()
        ranked = [t for t in mixed if yes[t] != no[t] and share[t] >= least]
        ranked.sort(key=lambda t: (-share[t] + price * self.tests.cost[t], t))
        for t in ranked[: 1 if long else 2 * depth]:
            settled = (self.C[t] > 0) == bool(yes[t])
            leaf = self.leaf(rows & settled)
            rest = self.solve(rows & ~settled, depth - 1) if leaf is not None else []
            if leaf is not None and rest:
                pair = (leaf, rest[0]) if yes[t] else (rest[0], leaf)
                results.append(_where(self.tests.exprs[t], *pair))
            if self.problem.expired():
                break
        return sorted(results, key=Expr.size)

    def _join(self, t: int | np.intp, rows: np.ndarray) -> Expr | None:
        holds = self.C[t] > 0
        a, b = self.leaf(rows & holds), self.leaf(rows & ~holds)
        return _where(self.tests.exprs[t], a, b) if a is not None and b is not None else None

    def _reach(self, C: np.ndarray, rows: np.ndarray, constant: bool) -> np.ndarray:
        """For each test, whether a constant (or else one atom) meets the target where it holds."""
        self.problem.spend("test cells", C.size * (1 if constant else len(self.A)))
        z, A = self.z[rows], self.A[:, rows]
        count = np.maximum(C.sum(axis=1), 1.0)
        mean = C @ z / count
        square = C @ (z * z) / count - mean**2
        flat = square <= self.goal
        if constant:
            return flat
        mA = C @ A.T / count[:, None]
        vA = C @ (A * A).T / count[:, None] - mA**2
        cA = C @ (A * z).T / count[:, None] - mA * mean[:, None]
        with np.errstate(all="ignore"):
            left = square[:, None] - cA**2 / vA
        met = np.any((left <= self.goal) & (vA > 1e-9), axis=1) & (count >= 4)
        return flat | met

    def leaf(self, rows: np.ndarray) -> Expr | None:
        """The cheapest constant or single atom that meets the target on `rows`."""
        y = self.y[rows]
        tolerance = self.problem.accuracy
        if len(y) == 0:
            return Const(0)
        if np.ptp(y) <= 2 * tolerance:
            return Const(simplest(0.5 * float(y.min() + y.max()), tolerance))
        if len(y) < 4:
            return None
        self.problem.spend("leaf cells", len(self.A) * len(y))
        z, A = self.z[rows], self.A[:, rows]
        z = z - z.mean()
        A = A - A.mean(axis=1, keepdims=True)
        vA = np.sum(A * A, axis=1)
        with np.errstate(all="ignore"):
            left = z @ z - (A @ z) ** 2 / vA
        fits = np.flatnonzero((left <= self.goal * len(y)) & (vA > 1e-9))
        found: list[Expr] = []
        for i in fits[np.argsort(self.leaves.cost[fits], kind="stable")][:4]:
            values = self.leaves.values[i][rows]
            columns = np.stack([values, np.ones(len(y))], axis=1)
            self.problem.spend("fits", columns.shape[1] ** 2)
            slope, offset = snap_linear(columns, y, tolerance, noise=self.problem.noise)
            if np.max(np.abs(float(slope) * values + float(offset) - y)) <= tolerance * 1.000001 + 1e-12:
                found.append(assemble([(slope, self.leaves.exprs[i])], offset))
        return min(found, key=Expr.size, default=None)


def _where(test: Expr, yes: Expr, no: Expr) -> Expr:
    """`where`, or a product with the test where one side is zero, or a sum where both are constants."""
    turned = opposite(test)
    if isinstance(yes, Const) and isinstance(no, Const):
        return assemble([(_exact(yes.value, no.value), test)], no.value)
    if no == Const(0):
        return op("mul", test, yes)
    if yes == Const(0) and turned is not None:
        return op("mul", turned, no)
    return op("where", test, yes, no)


def _exact(a: Number, b: Number) -> Number:
    return a - b if isinstance(a, int) and isinstance(b, int) else float(a) - float(b)


def extreme_tests(problem: Problem) -> Pool:
    """[v > max(S)], [v >= max(S)] and the same with min: what votes, counters and priorities decide by.

    S is all other variables, then the groups of two, of three and so on, as many as there is room for.
    """
    count = len(problem.variables)
    sizes = [count - 1, *range(2, count - 1)] if count > 2 else []
    groups = ((v, group) for size in sizes for v in range(count) for group in _others(count, v, size))
    atoms: list[tuple[Expr, np.ndarray]] = []
    for v, group in islice(groups, _EXTREME_TESTS // 4):
        column, members = problem.Xs[:, list(group)], [problem.variables[j] for j in group]
        for name, bound in (("max", column.max(1)), ("min", column.min(1))):
            extreme = reduce(lambda a, b, name=name: op(name, a, b), members)
            for test, holds in (("gt", problem.Xs[:, v] > bound), ("ge", problem.Xs[:, v] >= bound)):
                atoms.append((op(test, problem.variables[v], extreme), holds.astype(float)))
    atoms = [atom for atom in atoms if problem.permits(atom[0])]
    table = np.array([holds for _, holds in atoms]) if atoms else np.zeros((0, len(problem.ys)))
    return Pool([expr for expr, _ in atoms], table, np.array([expr.size() for expr, _ in atoms], dtype=int))


def _others(count: int, v: int, size: int) -> Iterator[tuple[int, ...]]:
    return combinations([j for j in range(count) if j != v], size)
