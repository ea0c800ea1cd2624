"""Sums of atoms: every pair, every product of two.

All of it is linear algebra on the dictionary. With the always-present columns (the constant, or the
constant and the variables) projected out, the Gram matrix gives the residual of every pair at once, and
three more matrix products that of every product A*B. So `affine + c*A*B` over a thousand atoms costs
a few matrix multiplications. What fits is then fitted again, snapped and judged on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weights2code.language import Const, Expr, Number, Op, op
from weights2code.symbolic.notation import opposite, weighted_sum
from weights2code.symbolic.search.atoms import Pool
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import snap_linear

#: Pairs of atoms that fit, of which a formula is made.
_PAIRS = 8
#: Atoms, the smallest, whose products are tried.
_FACTORS = 700


def fit_sum(
    problem: Problem, atoms: Sequence[Expr], values: np.ndarray, *, linear: bool = False
) -> Iterator[Expr]:
    """`c0 + c1*atom1 + ...` (and the variables, if `linear`), fitted on the searched rows and snapped.

    Nothing where an atom has no value on some row.
    """
    exprs = list(atoms)
    columns = [*values]
    if linear:
        known = set(exprs)
        for j, variable in enumerate(problem.variables):
            if variable not in known:
                exprs.append(variable)
                columns.append(problem.Xs[:, j])
    matrix = np.stack([*columns, np.ones(len(problem.ys))], axis=1)
    if np.all(np.isfinite(matrix)):
        problem.spend("fits", matrix.shape[1] ** 2)
        *weights, constant = snap_linear(matrix, problem.ys, problem.accuracy, noise=problem.noise)
        yield assemble(list(zip(weights, exprs, strict=True)), constant)


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what the columns span."""
    scale = np.linalg.norm(columns, axis=0)
    Q, R = np.linalg.qr(columns / np.where(scale > 0, scale, 1.0))
    return Q[:, np.abs(np.diag(R)) > 1e-9]


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


class Basis:
    """The dictionary seen from the target, after what is always present has been projected out."""

    def __init__(self, problem: Problem, pool: Pool, *, linear: bool) -> None:
        self.problem, self.pool, self.linear = problem, pool, linear
        ones = np.ones((len(problem.ys), 1))
        self.Q = orthonormal(np.hstack([ones, problem.Xs]) if linear else ones)
        y = problem.ys - self.Q @ (self.Q.T @ problem.ys)
        self.y = y - self.Q @ (self.Q.T @ y)
        self.total = float(self.y @ self.y)
        spread = float(np.sum((problem.ys - problem.ys.mean()) ** 2))
        self.goal = len(y) * problem.accuracy**2 + 1e-13 * max(spread, 1e-300)
        problem.spend("atom cells", pool.values.size)
        A = pool.values - (pool.values @ self.Q) @ self.Q.T
        norm = np.linalg.norm(A, axis=1)
        size = np.linalg.norm(pool.values, axis=1)
        alive = norm > 1e-7 * np.where(size > 0, size, 1.0)
        self.A = np.where(alive[:, None], A / np.where(alive, norm, 1.0)[:, None], 0.0)
        self.alive = alive
        self.c = self.A @ self.y

    def _fitted(self, *indices: int) -> Iterator[Expr]:
        pool = self.pool
        exprs = [pool.exprs[i] for i in indices]
        return fit_sum(self.problem, exprs, pool.values[list(indices)], linear=self.linear)

    def pairs(self, keep: int = _PAIRS) -> Iterator[Expr]:
        """Every pair, through the Gram matrix."""
        c = self.c
        self.problem.spend("pairs", len(c) ** 2)
        self.problem.spend("pair cells", len(c) ** 2 * len(self.y))
        G = self.A @ self.A.T
        with np.errstate(all="ignore"):
            gain = (c[:, None] ** 2 + c[None, :] ** 2 - 2 * np.outer(c, c) * G) / (1 - G**2)
        left = self.total - gain
        left[(np.abs(G) > 1 - 1e-9) | ~(self.alive[:, None] & self.alive[None, :])] = np.inf
        left[np.tril_indices(len(c))] = np.inf
        for i, j in self._best(left, self.pool.cost, keep):
            yield from self._fitted(i, j)

    def products(self) -> Iterator[Expr]:
        """Every product of two atoms on top of what is always present."""
        pool = _both_ways(self.pool.take(np.arange(min(_FACTORS, len(self.pool)))))
        values = pool.values
        self.problem.spend("pairs", len(values) ** 2 * self.Q.shape[1])
        self.problem.spend("pair cells", len(values) ** 2 * len(self.y) * (2 + self.Q.shape[1]))
        scale = np.max(np.abs(values), axis=1)
        V = values / np.where(scale > 0, scale, 1.0)[:, None]
        gain_top = (V * self.y) @ V.T
        square = (V**2) @ (V**2).T
        for q in self.Q.T:
            square = square - ((V * q) @ V.T) ** 2
        with np.errstate(all="ignore"):
            left = self.total - gain_top**2 / square
        left[square <= 1e-9 * len(self.y)] = np.inf
        left[np.tril_indices(len(V), -1)] = np.inf
        for i, j in self._best(left, pool.cost, _PAIRS):
            expr = product(pool.exprs[i], pool.exprs[j])
            yield from fit_sum(self.problem, [expr], (values[i] * values[j])[None], linear=self.linear)

    def _best(self, left: np.ndarray, cost: np.ndarray, keep: int) -> Iterator[tuple[int, int]]:
        """The pairs that fit, cheapest first; where none fits, the two with the least residual."""
        rows, columns = np.nonzero(left <= self.goal)
        if len(rows):
            order = np.argsort(cost[rows] + cost[columns], kind="stable")[:keep]
            yield from zip(rows[order].tolist(), columns[order].tolist(), strict=True)
            return
        for flat in np.argpartition(left, min(1, left.size - 1), axis=None)[:2]:
            i, j = np.unravel_index(flat, left.shape)
            if np.isfinite(left[i, j]):
                yield int(i), int(j)


def _both_ways(pool: Pool) -> Pool:
    """The pool with the opposite of every short test: in a product they are different factors."""
    turned = [(i, opposite(pool.exprs[i])) for i in np.flatnonzero(pool.cost <= 5)]
    tests = {int(i): expr for i, expr in turned if expr is not None}
    return pool + Pool([*tests.values()], 1.0 - pool.values[[*tests]], pool.cost[[*tests]])


def product(a: Expr, b: Expr) -> Expr:
    """`a*b`, with a test times a test as their conjunction's product and a reciprocal as a quotient."""
    for first, second in ((a, b), (b, a)):
        if isinstance(first, Op) and first.name == "div" and first.args[0] == Const(1):
            return op("div", second, first.args[1])
    return op("mul", a, b)
