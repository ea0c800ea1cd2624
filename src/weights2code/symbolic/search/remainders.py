"""Remainders inside other functions: y from `w·x mod m` and at most one more variable.

Long division, checksums and cyclic counters have this form. For given m the weights are found by
elimination: two rows that agree in the extra variable but not in y must differ in w·x mod m, and every such
pair of rows strikes out one weight vector in m. All m^k vectors are struck at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from weights2code.language import Expr, op
from weights2code.symbolic.engine import number_cost
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import sum_expr
from weights2code.symbolic.search.whole_numbers import SumScan, substitute_solution, two_valued

#: Weight vectors that are kept at once, and how often one may be held against a conflict.
_MOST_VECTORS = 1_500_000
_WORK = 100_000_000
#: Readings of weight vectors that are tried, for one modulus and in all.
_READINGS = 220
_ALL_READINGS = 800
#: Different rows that a modulus needs for each of its values before a remainder explains anything.
_ROWS_EACH = 4


def remainder_stage(problem: Problem, collector: Collector) -> None:
    """Search moduli from 2 on, without and with one extra variable; stop at the first that works."""
    k = len(problem.variables)
    X, y = problem.Xs.astype(np.int64), problem.ys
    if not problem.discrete or k < 2 or not problem.allows("mod"):
        return
    ways = [(extra, [j for j in range(k) if j != extra]) for extra in (None, *range(k))]
    # a remainder and another variable have only so many combinations
    choices = {extra: 1 if extra is None else len(np.unique(X[:, extra])) for extra, _ in ways}
    conflicts = {
        extra: _conflicts(X[:, others], y, None if extra is None else X[:, extra])
        for extra, others in ways
        if len(others) >= 2 and 2 ** len(others) <= _MOST_VECTORS
    }
    values, work, readings = len(np.unique(y)), 0, 0
    for m in range(2, len(y) // _ROWS_EACH + 1):
        found = False
        for extra, others in ways:
            if extra not in conflicts or values > m * choices[extra]:
                continue
            if problem.expired() or work > _WORK or readings > _ALL_READINGS:
                return
            survivors, spent = _eliminate(conflicts[extra], m)
            work += spent
            problem.spend("eliminations", spent)
            if len(survivors):
                readings += m * min(len(survivors), 1 + _READINGS // m)
                found |= _write(problem, collector, survivors, others, extra, m)
        if found:
            return


def _eliminate(conflicts: np.ndarray, m: int) -> tuple[np.ndarray, int]:
    """Weight vectors modulo m under which the remainder tells all these differences from none; the work."""
    differences = np.unique(conflicts % m, axis=0)
    # A fixed shuffle: neighbours in sorted order strike out the same vectors.
    differences = differences[np.random.default_rng(3).permutation(len(differences))]
    k = differences.shape[1]
    weights = np.zeros((1, 0), dtype=np.float32)
    last = np.where(differences != 0, np.arange(k), -1).max(axis=1, initial=-1)
    nothing, work = np.zeros((0, k), dtype=np.int64), len(differences)
    if not len(differences) or np.any(last < 0):
        return nothing, work
    for j in range(k):
        # One more weight, and at once the constraints that need no later one.
        if m * len(weights) > _MOST_VECTORS:
            return nothing, work
        column = np.tile(np.arange(m, dtype=np.float32), len(weights))[:, None]
        weights = np.hstack([np.repeat(weights, m, axis=0), column])
        work += len(weights)
        constraints = differences[last == j, : j + 1].astype(np.float32)
        start, batch = 0, 4
        while start < len(constraints) and len(weights):
            work += len(weights) * batch
            values = weights @ constraints[start : start + batch].T
            # exact in float32: the products stay far below 2**24
            hits = np.any(values == m * np.floor(values / m), axis=1)
            weights = weights[~hits]
            start += batch
            batch = min(batch * 2, 512)
    return weights.astype(np.int64), work


def _conflicts(X: np.ndarray, y: np.ndarray, extra: np.ndarray | None) -> np.ndarray:
    """Distinct differences of rows that agree in `extra` but differ in y."""
    rows = X[:240]
    targets = y[:240]
    a, b = np.triu_indices(len(rows), 1)
    keep = targets[a] != targets[b]
    if extra is not None:
        keep &= extra[:240][a] == extra[:240][b]
    return np.unique(rows[a[keep]] - rows[b[keep]], axis=0)


def _write(
    problem: Problem,
    collector: Collector,
    survivors: np.ndarray,
    others: list[int],
    extra: int | None,
    m: int,
) -> bool:
    """Turn weight vectors into formulas, the shortest sums first; whether any is exact."""
    symmetric = np.where(survivors > m // 2, survivors - m, survivors)
    cost = [
        sum(number_cost(int(w)) + 2 for w in vector if w) + 2.0 * len({abs(int(w)) for w in vector if w})
        for vector in symmetric[:4000]
    ]
    exact = False
    for i in np.argsort(cost, kind="stable")[: 1 + _READINGS // m]:
        if problem.expired():
            break
        full = [0] * len(problem.variables)
        for j, w in zip(others, symmetric[i], strict=True):
            full[j] = int(w)
        for expr in _readings(problem, tuple(full), extra, m):
            candidate = collector.offer(expr)
            exact |= candidate is not None and candidate.exact
    return exact


def _readings(problem: Problem, weights: tuple[int, ...], extra: int | None, m: int) -> Iterator[Expr]:
    """Short functions of the remainder and the extra variable that give y."""
    y = problem.ys
    values = np.unique(y)
    sums = problem.Xs.astype(np.int64) @ np.array(weights)
    for shift in sorted(itertools.chain(range(m // 2 + 1), range(-((m - 1) // 2), 0)), key=abs):
        problem.spend("readings", 1)
        remainder = (sums + shift) % m
        part = op("mod", sum_expr(problem, weights, shift), m)
        parts = [part] if extra is None else [part, problem.variables[extra]]
        columns = remainder[:, None] if extra is None else np.stack([remainder, problem.Xs[:, extra]], 1)
        reduced, meaning = substitute_solution(problem, parts, columns)
        scan = SumScan(reduced, 60)
        found = scan.remainders(reduced.ys, 1) + scan.quotients(reduced.ys, 1)
        if len(values) == 2:
            found += [two_valued(test, values) for test in scan.test(reduced.ys == values[1], 1)]
        for expr in found:
            yield expr.substitute(meaning)
