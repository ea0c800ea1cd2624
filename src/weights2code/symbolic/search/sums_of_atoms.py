"""Sums of formulas: fitted on the searched rows, with plain numbers, and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weights2code.language import Expr, Number
from weights2code.symbolic.notation import opposite, weighted_sum
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import snap_linear


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
