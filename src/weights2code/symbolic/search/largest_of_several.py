"""Which of several values is the largest, or the smallest: the most frequent symbol, the nearest of several.

Each level of the output stands for one variable, and wherever the output has that level, no other of those
variables is larger. Where two are largest together, the rows say which of them comes first.
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations

import numpy as np

from weights2code.language import Const, Expr, Number, Var, op
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import simplest

#: Levels at least, which is where a comparison ends, and at most; sets of variables that are tried.
FEWEST, MOST, MOST_SETS = 3, 10, 500


def winner_stage(problem: Problem, collector: Collector) -> None:
    """Offer the choice of the largest, or the smallest, of as many variables as there are levels."""
    levels = np.unique(problem.y)
    count = len(problem.variables)
    if not FEWEST <= len(levels) <= min(MOST, count):
        return
    for tried, chosen in enumerate(combinations(range(count), len(levels))):
        if tried == MOST_SETS or problem.expired():
            return
        for sign in (1.0, -1.0):
            problem.spend("cells", len(problem.ys) * len(chosen))
            order = _order(sign * problem.Xs[:, chosen], problem.ys, levels)
            if order is None:
                continue
            order = _order(sign * problem.X[:, chosen], problem.y, levels)
            if order is not None:
                ranked = [
                    (problem.variables[chosen[place]], simplest(float(levels[level]), problem.accuracy))
                    for place, level in order
                ]
                collector.offer(_written(ranked, "max" if sign > 0 else "min"))
                return


def _order(values: np.ndarray, y: np.ndarray, levels: np.ndarray) -> list[tuple[int, int]] | None:
    """Which variable each level stands for, those first that win where several are largest; None if levels do
    not stand for variables."""
    largest = values == values.max(axis=1, keepdims=True)
    stands = np.array([largest[y == level].all(axis=0) for level in levels])  # level, variable
    place_of: dict[int, int] = {}
    for level in np.argsort(stands.sum(1)):
        free = [int(place) for place in np.flatnonzero(stands[level]) if place not in place_of.values()]
        if len(free) != 1:
            return None
        place_of[int(level)] = free[0]
    waiting = dict(place_of)
    order: list[tuple[int, int]] = []
    open_rows = np.ones(len(y), bool)
    while waiting:
        # one that always wins where it is among the largest, of the rows that are not settled yet
        sure = (
            level
            for level, place in waiting.items()
            if np.all(y[largest[:, place] & open_rows] == levels[level])
        )
        level = next(sure, None)
        if level is None:
            return None
        place = waiting.pop(level)
        order.append((place, level))
        open_rows &= ~largest[:, place]
    return order


def _written(ranked: list[tuple[Var, Number]], extremum: str) -> Expr:
    """The first that is no smaller than all that come after it."""
    relation = "ge" if extremum == "max" else "le"
    chosen: Expr = Const(ranked[-1][1])
    for place in range(len(ranked) - 2, -1, -1):
        variable, level = ranked[place]
        others = reduce(
            lambda left, right: op(extremum, left, right), [other for other, _ in ranked[place + 1 :]]
        )
        chosen = op("where", op(relation, variable, others), level, chosen)
    return chosen
