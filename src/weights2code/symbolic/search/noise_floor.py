"""When is what is left over noise? The question behind a tolerance that nobody gave.

A formula has reached the floor if its residual is small and white: neighbours in the input space do not
share it, no simple function of the inputs explains it, and it has no outliers. The search then starts again
with that floor as its tolerance, which lets it stop early and snap constants.
"""

from __future__ import annotations

import itertools

import numpy as np

from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem

_LEAST_ROWS = 40
#: Residuals larger than this share of the target's spread are never taken for noise.
_SMALL = 0.03
#: Seconds of a usual machine for a row and two inputs.
PROBE = 2e-8


def noise_floor(problem: Problem, collector: Collector) -> float | None:
    """The tolerance that the best formula so far suggests, or None if its residual has structure."""
    if not problem.estimated or problem.whole or problem.noise > 0 or len(problem.y) < _LEAST_ROWS:
        return None
    best = collector.nearest()
    if collector.exact is not None or best is None:
        return None
    spread = float(np.std(problem.y))
    if best.kind != "formula" or not best.rmse <= _SMALL * spread or best.complexity > 31:
        return None
    residual = problem.y - problem.values(best.expr)
    problem.effort.spend(PROBE * len(problem.y) * problem.X.shape[1] ** 2)
    if not is_white(problem.X, residual):
        return None
    return max(1.1 * best.max_error, 4.5 * best.rmse)


def is_white(X: np.ndarray, residual: np.ndarray) -> bool:
    """Whether a residual looks like independent draws."""
    n = len(residual)
    centred = residual - residual.mean()
    rms = float(np.sqrt(np.mean(centred**2)))
    if rms == 0 or float(np.max(np.abs(centred))) > 5.5 * rms:
        return False
    if _neighbour_ratio(X, centred / rms) < 1.0 - 3.5 / np.sqrt(min(n, 800)):
        return False
    probes = _probes(X)
    correlation = np.abs(probes @ centred) / (rms * np.sqrt(n))
    return bool(np.max(correlation) < 4.2)


def _neighbour_ratio(X: np.ndarray, r: np.ndarray) -> float:
    """Half the mean square difference of nearest neighbours: one for noise, near zero for structure."""
    spread = np.ptp(X, axis=0)
    Z = (X / np.where(spread > 0, spread, 1.0))[:: max(1, len(X) // 800)]
    s = r[:: max(1, len(X) // 800)]
    square = np.sum(Z**2, axis=1)
    distance = square[:, None] + square[None, :] - 2 * Z @ Z.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argmin(distance, axis=1)
    return float(np.mean((s - s[nearest]) ** 2) / 2 / np.mean(s**2))


def _probes(X: np.ndarray) -> np.ndarray:
    """Normalised simple functions of the inputs: bumps, steps, waves and products."""
    spread = np.ptp(X, axis=0)
    Z = 2 * (X - X.min(axis=0)) / np.where(spread > 0, spread, 1.0) - 1
    columns = [*Z.T]
    columns += [Z[:, i] * Z[:, j] for i, j in itertools.combinations_with_replacement(range(Z.shape[1]), 2)]
    sums = [*Z.T] + [
        Z[:, i] + s * Z[:, j] for i, j in itertools.combinations(range(Z.shape[1]), 2) for s in (1, -1)
    ]
    for u in sums:
        columns += [np.abs(u - c) for c in (-0.5, 0.0, 0.5)]
        columns += [(u > c) * 1.0 for c in (-0.5, 0.0, 0.5)]
        columns += [f(k * u) for f in (np.sin, np.cos) for k in (2.0, 4.0)]
    P = np.stack(columns)
    P = P - P.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(P, axis=1, keepdims=True)
    return P / np.where(norm > 1e-12, norm, 1.0)
