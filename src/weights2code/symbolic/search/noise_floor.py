"""When is what is left over noise? The question behind a tolerance that nobody gave.

A formula has reached the floor if its residual is small and white: neighbours in the input space do not
share it, and it has no outliers. The search then starts again with that floor as its tolerance, which lets it
stop early and snap constants.
"""

from __future__ import annotations

import numpy as np

from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem

_LEAST_ROWS = 40
#: Residuals larger than this share of the target's spread are never taken for noise.
_SMALL = 0.03
#: Rows whose neighbours are looked for, and seconds of a usual machine for two of them.
ROWS, PAIR = 800, 1e-8


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
    problem.effort.spend(PAIR * min(len(problem.y), ROWS) ** 2)
    if not is_white(problem.X, residual):
        return None
    return max(1.1 * best.max_error, 4.5 * best.rmse)


def is_white(X: np.ndarray, residual: np.ndarray) -> bool:
    """Whether a residual looks like independent draws."""
    centred = residual - residual.mean()
    rms = float(np.sqrt(np.mean(centred**2)))
    if rms == 0 or float(np.max(np.abs(centred))) > 5.5 * rms:
        return False
    return _neighbour_ratio(X, centred / rms) >= 1.0 - 3.5 / np.sqrt(min(len(residual), ROWS))


def _neighbour_ratio(X: np.ndarray, r: np.ndarray) -> float:
    """Half the mean square difference of nearest neighbours: one for noise, near zero for structure."""
    spread = np.ptp(X, axis=0)
    Z = (X / np.where(spread > 0, spread, 1.0))[:: max(1, len(X) // ROWS)]
    s = r[:: max(1, len(X) // ROWS)]
    square = np.sum(Z**2, axis=1)
    distance = square[:, None] + square[None, :] - 2 * Z @ Z.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argmin(distance, axis=1)
    return float(np.mean((s - s[nearest]) ** 2) / 2 / np.mean(s**2))
