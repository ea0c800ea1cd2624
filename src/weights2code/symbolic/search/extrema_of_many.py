"""Extrema of many values: windowed maxima and minima, however wide.

What never exceeds the target may stand inside a maximum; if at every row one of these meets the target, the
maximum of a few of them is the target. The few are chosen greedily, those that meet the most rows first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import simplest

#: Sums of two variables join in with at most this many variables.
FEW = 6


def envelope_stage(problem: Problem, collector: Collector) -> None:
    """Offer the maximum and the minimum of the fewest members that explain every row."""
    members = list(_members(problem))
    values = np.stack([value for _, value in members])
    allowed = max(problem.accuracy, 1e-9 * problem.scale)
    cost = np.array([expr.size() for expr, _ in members])
    for name, sign in (("max", 1.0), ("min", -1.0)):
        if not problem.allows(name):
            continue
        distance = sign * (problem.ys - values)
        inside = np.all(distance >= -allowed, axis=1)
        meets = inside[:, None] & (distance <= allowed)
        if not meets.any(axis=0).all():
            continue
        chosen = _cover(meets, cost)
        if len(chosen) >= 2:
            expr = members[chosen[0]][0]
            for i in chosen[1:]:
                expr = op(name, expr, members[i][0])
            collector.offer(expr)


def _members(problem: Problem) -> Iterator[tuple[Expr, np.ndarray]]:
    X = problem.Xs
    variables = problem.variables
    for j, variable in enumerate(variables):
        yield variable, X[:, j]
    if X.min() < 0 and problem.allows("abs"):
        for j, variable in enumerate(variables):
            yield op("abs", variable), np.abs(X[:, j])
    if len(variables) <= FEW:
        for i, j in itertools.combinations(range(len(variables)), 2):
            yield variables[i] + variables[j], X[:, i] + X[:, j]
            yield variables[i] - variables[j], X[:, i] - X[:, j]
            yield variables[j] - variables[i], X[:, j] - X[:, i]
    for end in (float(problem.ys.min()), float(problem.ys.max())):
        if np.sum(problem.ys == end) > 3:
            yield Const(simplest(end, problem.accuracy)), np.full(len(X), end)


def _cover(meets: np.ndarray, cost: np.ndarray) -> list[int]:
    """Few members that meet every row, in the order in which they were listed, constants last."""
    chosen: list[int] = []
    left = np.ones(meets.shape[1], dtype=bool)
    while left.any():
        gain = (meets & left).sum(axis=1) / (1.0 + 0.2 * cost)
        best = int(np.argmax(gain))
        chosen.append(best)
        left &= ~meets[best]
    for i in sorted(chosen, key=lambda i: int(meets[i].sum())):
        rest = [j for j in chosen if j != i]
        if rest and meets[rest].any(axis=0).all():
            chosen = rest
    return sorted(chosen)
