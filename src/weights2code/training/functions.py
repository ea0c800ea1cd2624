"""Sub-MLPs that are wired for a simple function of two values: exact where the function has corners, and on
whole numbers; a product of reals is as near as many units make it."""

from __future__ import annotations

import numpy as np

from weights2code.graph import OperatorNode
from weights2code.training.memories import ONE, ONE_MORE

#: How steep a comparison of reals is, as a share of their range, and the units of a product of reals.
STEEP = 1e-6
UNITS = 128


def operator(
    function: str,
    operands: tuple[int, ...],
    units: list[float],
    ranges: list[tuple[float, float]],
    *,
    whole: bool = True,
) -> OperatorNode:
    """The function (`memories.FUNCTIONS`) of two operands that are so many users' units each; it gives users'
    units. The ranges are in users' units too."""
    if function == ONE:
        return OperatorNode("", operands, np.zeros((1, 1)), np.zeros(1), np.zeros(1), 1.0)
    if function == ONE_MORE:
        weight = np.array([[units[0]], [-units[0]]])
        return OperatorNode("", operands, weight, np.array([1.0, -1.0]), np.array([1.0, -1.0]), 0.0)
    one, other = units
    rows: list[tuple[float, float, float, float]] = []  # weights of both, bias, output weight
    if function == "difference":
        rows = [(1, -1, 0, 1), (-1, 1, 0, -1)]
    elif function == "sum":
        rows = [(1, 1, 0, 1), (-1, -1, 0, -1)]
    elif function == "distance":
        rows = [(1, -1, 0, 1), (-1, 1, 0, 1)]
    elif function == "larger":
        rows = [(1, -1, 0, 1), (0, 1, 0, 1), (0, -1, 0, -1)]
    elif function == "smaller":
        rows = [(-1, 1, 0, -1), (0, 1, 0, 1), (0, -1, 0, -1)]
    elif function == "greater":
        steep = 1.0 if whole else 1.0 / (STEEP * max(high - low for low, high in ranges))
        rows = [(steep, -steep, 0, 1), (steep, -steep, -1, -1)]
    elif function == "equal":
        rows = [(1, -1, 1, 1), (1, -1, 0, -2), (1, -1, -1, 1)]
    elif function == "different":
        rows = [(1, -1, 0, 1), (1, -1, -1, -1), (-1, 1, 0, 1), (-1, 1, -1, -1)]
    elif function == "product":
        rows = _product(ranges, whole)
    else:
        raise ValueError(f"no sub-MLP is known for {function}")
    first, second, bias, output = (np.array(column, float) for column in zip(*rows, strict=True))
    weight = np.stack([first * one, second * other], axis=1)
    return OperatorNode("", operands, weight, bias, output, 0.0)


def _product(ranges: list[tuple[float, float]], whole: bool) -> list[tuple[float, float, float, float]]:
    """A quarter of the square of the sum less that of the difference, each square between its corners."""
    (low, high), (least, most) = ranges
    rows: list[tuple[float, float, float, float]] = []
    for sign in (1.0, -1.0):
        ends = sorted((sign * least, sign * most))
        first, last = low + ends[0], high + ends[1]
        step = 1.0 if whole else max((last - first) / UNITS, 1e-12)
        corners = np.arange(np.floor(first / step), np.ceil(last / step) + 1) * step
        slopes = (corners[1:] + corners[:-1]) / 4  # of the square over four, from corner to corner
        changes = np.diff(slopes, prepend=0.0)
        # left of all corners the function is 0: begin at the first, and add what the square is there
        rows += [
            (1.0, sign, -float(corner), sign * float(change))
            for corner, change in zip(corners[:-1], changes, strict=True)
            if change
        ]
        rows.append((0.0, 0.0, 1.0, sign * float(corners[0]) ** 2 / 4))
    return rows


def table(
    levels: tuple[tuple[tuple[float, ...], float], ...], operands: tuple[int, ...], units: list[float]
) -> OperatorNode:
    """A sub-MLP that gives each of some points its level: along one direction in which no two lie together,
    it is straight from each to the next."""
    points, wanted = np.array([point for point, _ in levels]), np.array([level for _, level in levels])
    along = np.ones(points.shape[1])
    for slot in range(1, points.shape[1]):
        marks = np.unique(points[:, slot])
        before = points[:, :slot] @ along[:slot]
        along[slot] = (np.ptp(before) + 1.0) / (np.min(np.diff(marks)) if len(marks) > 1 else 1.0)
    codes = points @ along
    order = np.argsort(codes)
    codes, wanted = codes[order], wanted[order]
    slopes = np.diff(wanted) / np.diff(codes)
    changes = np.diff(slopes, prepend=0.0)
    kept = np.flatnonzero(changes) if np.any(changes) else np.array([0])
    weight = np.repeat(along[None] * np.array(units), len(kept), axis=0)
    return OperatorNode("", operands, weight, -codes[kept], changes[kept], float(wanted[0]))
