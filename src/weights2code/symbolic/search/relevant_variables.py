"""Which variables matter: with many real ones, most of the dictionary is about the wrong ones.

A greedy sum of atoms is fitted to what the linear part leaves; each variable is credited with what the atoms
that read it gained. The search then starts again on the variables that earned something.
"""

from __future__ import annotations

import numpy as np

from weights2code.symbolic.search.sums_of_atoms import Basis

_STEPS = 8
_SHARE = 0.03


def relevant_variables(basis: Basis) -> list[int]:
    """Indices of the variables that a greedy fit uses, beside those with a clear linear part."""
    problem = basis.problem
    X, y = problem.Xs, problem.ys
    matrix = np.hstack([X, np.ones((len(X), 1))])
    slope = np.linalg.lstsq(matrix, y, rcond=None)[0][:-1]
    share = np.abs(slope) * np.std(X, axis=0) / (float(np.std(y)) or 1.0)
    places = {variable: j for j, variable in enumerate(problem.variables)}
    credit = np.zeros(X.shape[1])
    A = np.where(basis.alive[:, None], basis.A, 0.0)
    rest = basis.y.copy()
    problem.spend("atom cells", _STEPS * A.size)
    for _ in range(_STEPS):
        top = A @ rest
        best = int(np.argmax(np.abs(top)))
        gain = float(top[best] ** 2)
        for variable in basis.pool.exprs[best].variables():
            credit[places[variable]] += gain
        direction = A[best].copy()
        rest = rest - top[best] * direction
        A = A - np.outer(A @ direction, direction)
        norm = np.linalg.norm(A, axis=1)
        A = np.where(norm[:, None] > 1e-6, A / np.where(norm > 1e-6, norm, 1.0)[:, None], 0.0)
    total = basis.total or 1.0
    return [j for j in range(X.shape[1]) if credit[j] >= _SHARE * total or share[j] >= _SHARE]
