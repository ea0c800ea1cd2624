"""Pieces: different affine rules on different sides of thresholds, wherever the thresholds lie.

Along one direction (a variable, or the difference or sum of two) the lowest rows show one affine rule and
the highest another. Each is extended as far as it stays exact; what lies between may follow a third. The
thresholds then lie in known gaps, and are the simplest numbers there. On real inputs no list of thresholds
made beforehand would hold the right one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from weights2code.language import Const, Expr, Var
from weights2code.symbolic.notation import branch, simplest_test
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import sum_expr
from weights2code.symbolic.snapping import simplest, snap_linear

MOST_VARIABLES = 6
MOST_ROWS = 20_000
#: Rows of a rule beyond its free numbers that must agree before it is believed.
SPARE_ROWS = 6


@dataclass(frozen=True, slots=True)
class Piece:
    """An affine rule and the rows (a range of the sorted order) on which it is exact."""

    rule: Expr
    first: int
    last: int


def piece_stage(problem: Problem, collector: Collector) -> None:
    """Offer two- and three-piece formulas along every direction."""
    if len(problem.variables) > MOST_VARIABLES or len(problem.ys) < 4 * (len(problem.variables) + SPARE_ROWS):
        return
    # All rows, not the few that are searched on: a threshold is as sharp as the gap that it lies in.
    # Those searched on are among them: they hold what earlier formulas got wrong.
    kept = np.union1d(np.arange(0, len(problem.y), 1 + len(problem.y) // MOST_ROWS), problem.rows)
    X, y = problem.X[kept], problem.y[kept]
    for direction, values in directions(problem.variables, X):
        if problem.expired():
            return
        problem.spend("pieces", 1)
        problem.spend("piece cells", X.size)
        collector.offer_all(along(problem, X, y, direction, values))


def directions(variables: tuple[Var, ...], X: np.ndarray) -> Iterator[tuple[Expr, np.ndarray]]:
    """Variables, then differences, then sums of two."""
    for j, variable in enumerate(variables):
        yield variable, X[:, j]
    for i, j in combinations(range(len(variables)), 2):
        yield variables[i] - variables[j], X[:, i] - X[:, j]
    for i, j in combinations(range(len(variables)), 2):
        yield variables[i] + variables[j], X[:, i] + X[:, j]


def along(
    problem: Problem, X: np.ndarray, y: np.ndarray, direction: Expr, values: np.ndarray
) -> Iterator[Expr]:
    """Formulas that are exact on these rows, with one or two thresholds of `direction`."""
    order = np.argsort(values, kind="stable")
    X, y, u = X[order], y[order], values[order]
    low = _grow(problem, X, y, np.arange(len(y)))
    if low is None or low.last == len(y):
        return
    high = _grow(problem, X, y, np.arange(len(y))[::-1])
    if high is None:
        return
    if low.last >= high.first:
        # rows that obey both rules say nothing: the threshold lies anywhere among them
        test = _test(direction, u, high.first, low.last)
        if test is not None:
            yield branch(test, high.rule, low.rule)
        return
    middle = _grow(problem, X, y, np.arange(low.last, high.first))
    if middle is None or middle.last != high.first:
        return
    meets = np.abs(problem.values(middle.rule, X) - y) <= problem.accuracy + 1e-9 * problem.scale
    before, after = ~meets[: low.last], ~meets[high.first :]
    start = low.last - int(np.argmax(before[::-1])) if before.any() else 1
    end = high.first + int(np.argmax(after)) if after.any() else len(u) - 1
    first, second = _test(direction, u, start, low.last), _test(direction, u, high.first, end)
    if first is not None and second is not None:
        yield branch(second, high.rule, branch(first, middle.rule, low.rule))


def _grow(problem: Problem, X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Piece | None:
    """The affine rule of the first of `rows`, extended along them as far as it is exact.

    A rule needs some rows to be seen; the first few may not show how every variable enters, so it is fitted
    again on all rows it was found to hold on.
    """
    free = X.shape[1] + 1
    start = min(free + SPARE_ROWS, len(rows))
    if start < free:
        return _constant(problem, y, rows)
    reach, found = start, None
    for _ in range(6):
        seen = rows[:reach]
        design = np.column_stack([X[seen], np.ones(len(seen))])
        solution = np.linalg.lstsq(design, y[seen], rcond=1e-9)[0]
        everywhere = np.column_stack([X[rows], np.ones(len(rows))]) @ solution
        wrong = np.abs(everywhere - y[rows]) > problem.accuracy + 1e-9 * problem.scale
        extent = int(np.argmax(wrong)) if wrong.any() else len(rows)
        if extent < reach:
            break
        found = rows[:extent]
        if extent == reach or extent == len(rows):
            break
        reach = extent
    if found is None:
        return None
    design = np.column_stack([X[found], np.ones(len(found))])
    *weights, constant = snap_linear(design, y[found], problem.accuracy)
    return Piece(sum_expr(problem, weights, constant), int(found.min()), int(found.max()) + 1)


def _constant(problem: Problem, y: np.ndarray, rows: np.ndarray) -> Piece | None:
    if not len(rows) or np.ptp(y[rows]) > 2 * problem.accuracy:
        return None
    rule = Const(simplest(float(y[rows].mean()), problem.accuracy))
    return Piece(rule, int(rows.min()), int(rows.max()) + 1)


def _test(direction: Expr, u: np.ndarray, first: int, last: int) -> Expr | None:
    """The simplest test that holds from some place between `first` and `last` on, and not before."""
    first, last = max(first, 1), min(last, len(u) - 1)
    if first > last or u[last] <= u[first - 1]:
        return None
    whole = bool(np.all(u == np.round(u)))
    return simplest_test(direction, float(u[first - 1]), float(u[last]), whole=whole)
