"""`max(A, B)` and `min(A, B)` of two atoms: one is met on some rows and never passed on the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.search.atoms import Pool
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import Basis, assemble
from weights2code.symbolic.snapping import simplest, snap_linear

#: First atoms that are tried, and what is tried beside each: single atoms, else pairs.
_TRIES, _IMAGES, _PAIRS = 12, 4, 2


def extremum_stage(problem: Problem, collector: Collector, pool: Pool) -> None:
    """`max(A, B)` and `min(A, B)`: A met on some rows and never passed; B is what meets the others."""
    y, tolerance = problem.ys, max(problem.accuracy, 1e-9 * problem.scale)
    problem.spend("atom cells", pool.values.size)
    difference = pool.values - y
    met = np.abs(difference) <= tolerance
    count = met.sum(axis=1)
    sides = {
        "max": np.all(difference <= tolerance, axis=1),
        "min": np.all(difference >= -tolerance, axis=1),
    }
    for name, side in sides.items():
        useful = np.flatnonzero(side & (count >= max(4, 0.1 * len(y))) & (count < len(y)))
        useful = useful[np.argsort(-count[useful] + 0.02 * len(y) * pool.cost[useful], kind="stable")]
        for i in useful[:_TRIES]:
            if problem.expired():
                return
            first = pool.exprs[i]
            for expr in _meeting(problem, pool, ~met[i]):
                collector.offer(op(name, expr, first) if isinstance(first, Const) else op(name, first, expr))


def _meeting(problem: Problem, pool: Pool, rows: np.ndarray) -> list[Expr]:
    """Affine images of single atoms that meet the target on some rows."""
    y = problem.ys[rows]
    if np.ptp(y) <= 2 * problem.accuracy:
        return [Const(simplest(0.5 * float(y.min() + y.max()), problem.accuracy))]
    if len(y) < 5:
        return []
    problem.spend("leaf cells", len(pool) * len(y))
    A = pool.values[:, rows]
    centred = A - A.mean(axis=1, keepdims=True)
    z = y - y.mean()
    norm = np.sum(centred**2, axis=1)
    with np.errstate(all="ignore"):
        left = z @ z - (centred @ z) ** 2 / norm
    goal = len(y) * problem.accuracy**2 + 1e-13 * float(z @ z)
    fits = np.flatnonzero((left <= goal) & (norm > 1e-12 * (1 + np.sum(A**2, axis=1))))
    found = []
    for i in fits[np.argsort(pool.cost[fits], kind="stable")][:_IMAGES]:
        columns = np.stack([A[i], np.ones(len(y))], axis=1)
        slope, offset = snap_linear(columns, y, problem.accuracy, noise=problem.noise)
        found.append(assemble([(slope, pool.exprs[i])], offset))
    if not found and len(y) >= 12 and not problem.discrete:
        subset = np.flatnonzero(norm > 1e-12)[:300]
        part = replace(problem, rows=problem.rows[rows])
        some = Pool([pool.exprs[i] for i in subset], A[subset], pool.cost[subset])
        found.extend(Basis(part, some, linear=False).pairs(_PAIRS))
    return found
