"""The largest value of an affine function on a box cut by half spaces, as a bound that holds for sure.

A solver is asked for multipliers of the half spaces; whatever these are, if none is negative, taking so much
of each half space off the function and bounding the rest on the box is right. So its tolerances cost
sharpness, never soundness.
"""

from __future__ import annotations

import numpy as np

from weights2code.network.bounds.leaves import UNIT

_LEAST = 1e-300


def tightened(
    low: np.ndarray, high: np.ndarray, matrix: np.ndarray, limit: np.ndarray, whole: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """A smaller box that holds all points of the box with `matrix @ x <= limit`; None if there is none."""
    if not len(limit):
        return low, high
    size = np.maximum(np.abs(low), np.abs(high))
    least = np.minimum(matrix * low, matrix * high)
    total = least.sum(axis=1, keepdims=True)
    error = 1.01 * (len(low) + 4) * UNIT * (np.abs(matrix) @ size + np.abs(limit)) + _LEAST
    if (total[:, 0] - error > limit).any():
        return None
    room = limit[:, None] - (total - least) + error[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ends = room / matrix
        pad = 4 * UNIT * np.abs(ends) + _LEAST
        above = np.where((matrix > 0) & np.isfinite(ends), ends + pad, np.inf).min(axis=0)
        below = np.where((matrix < 0) & np.isfinite(ends), ends - pad, -np.inf).max(axis=0)
    above, below = np.where(whole, np.floor(above), above), np.where(whole, np.ceil(below), below)
    low, high = np.maximum(low, below), np.minimum(high, above)
    return None if (low > high).any() else (low, high)


def on_box(slope: np.ndarray, number: float, low: np.ndarray, high: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest value on the box alone, and where it is taken."""
    point = np.where(slope >= 0, high, low)
    size = np.abs(slope) @ np.abs(point) + abs(number)
    return float(slope @ point + number + 1.01 * (len(low) + 4) * UNIT * size + _LEAST), point


def largest_value(
    slope: np.ndarray,
    number: float,
    low: np.ndarray,
    high: np.ndarray,
    matrix: np.ndarray,
    limit: np.ndarray,
) -> tuple[float, np.ndarray | None]:
    """A number that slope @ x + number does not pass, and a point where it is nearly reached.

    The number is minus infinity if there is no point for sure; the point is None if the solver found none.
    """
    from scipy.optimize import linprog

    bound, point = on_box(slope, number, low, high)
    middle, half = (low + high) / 2, (high - low) / 2
    rows = matrix * half
    norm = np.abs(rows).max(axis=1, initial=0.0)
    room = limit - matrix @ middle
    cutting = (np.abs(rows).sum(axis=1) > room) & (norm > 0)
    weight = slope * half
    scale = np.abs(weight).max(initial=0.0)
    if not cutting.any() or not scale:
        return bound, point
    rows, room = rows[cutting] / norm[cutting, None], room[cutting] / norm[cutting]
    matrix, limit, norm = matrix[cutting], limit[cutting], norm[cutting]
    solved = linprog(-weight / scale, rows, room, bounds=(-1.0, 1.0), method="highs")
    if solved.status == 0:
        multiples = np.maximum(-solved.ineqlin.marginals, 0.0) * scale / norm
        found = _bound(slope, number, low, high, matrix, limit, multiples)
        return min(bound, found), np.clip(middle + half * solved.x, low, high)
    if solved.status == 2:
        count, leaves = rows.shape
        apart = linprog(
            np.append(np.zeros(leaves), 1.0),
            np.hstack([rows, -np.ones((count, 1))]),
            room,
            bounds=[(-1.0, 1.0)] * leaves + [(None, None)],
            method="highs",
        )
        if apart.status == 0:
            multiples = np.maximum(-apart.ineqlin.marginals, 0.0) / norm
            if _bound(np.zeros(leaves), 0.0, low, high, matrix, limit, multiples) < 0:
                return -np.inf, None
    return bound, None


def _bound(
    slope: np.ndarray,
    number: float,
    low: np.ndarray,
    high: np.ndarray,
    matrix: np.ndarray,
    limit: np.ndarray,
    multiples: np.ndarray,
) -> float:
    size = np.maximum(np.abs(low), np.abs(high))
    rest = slope - matrix.T @ multiples
    value = np.maximum(rest * low, rest * high).sum() + multiples @ limit + number
    terms = (np.abs(slope) + np.abs(matrix).T @ multiples) @ size + multiples @ np.abs(limit) + abs(number)
    return float(value + 1.01 * (len(low) + len(limit) + 8) * UNIT * terms + _LEAST)
