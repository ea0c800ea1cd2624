"""A test of one thing in one case and of another in the other: y = [(b if a > c else a)*c + a > 6].

Neither case shows in the whole, but in each of them y is a threshold along some small tree. All trees are
asked at once, on a few rows, for every short test that may tell the cases; what passes is asked of all rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import Expr, op
from weights2code.symbolic.engine import preference
from weights2code.symbolic.notation import opposite, simplest_test
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.trees import Enumeration
from weights2code.symbolic.search.whole_numbers import two_valued

#: Variables, trees that are asked, and those of each case that are asked of all rows.
_MOST_VARIABLES, _MOST_TREES, _CLOSER = 4, 6000, 25
#: Levels of a variable that are asked for a threshold; rows that each case must have, of those asked first.
_MOST_LEVELS, _FEWEST = 24, 12
#: Formulas that are offered.
_OFFERED = 3


@dataclass(frozen=True, slots=True)
class Threshold:
    """y holds where a tree is at least `above`, or, if `sign` is -1, at most `below`; none lies between."""

    expr: Expr
    sign: int
    below: float
    above: float

    def written(self) -> Expr:
        test = simplest_test(self.expr, self.below, self.above, whole=True)
        return test if self.sign > 0 else opposite(test) or 1 - test


def threshold_case_stage(problem: Problem, collector: Collector, trees: Enumeration) -> None:
    """Offer a choice between two thresholds, each along a tree of its own."""
    outer = trees.outer
    if not outer.test or not problem.discrete or len(problem.variables) > _MOST_VARIABLES:
        return
    places, values = _trees(trees)
    ones = trees.y == outer.levels[1]
    X = problem.Xs[trees.rows]
    found: list[tuple[int, Expr]] = []
    for test, holds, everywhere in _cases(problem, X):
        if problem.expired():
            return
        problem.spend("sum cells", values.size)
        sides: list[list[Threshold]] = []
        for side, whole in ((holds, everywhere), (~holds, ~everywhere)):
            if np.count_nonzero(side) < _FEWEST:
                break
            few = _apart(values, ones, side)
            sides.append([t for i in few if (t := _threshold(problem, trees, places[i], whole)) is not None])
            if not sides[-1]:
                break
        if len(sides) == 2 and all(sides):
            expr = _joined(test, *sides)
            found.append((expr.size(), two_valued(expr, outer.levels)))
    for _, expr in sorted(found, key=lambda item: (item[0], preference(item[1])))[:_OFFERED]:
        collector.offer(expr)


def _trees(trees: Enumeration) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The smallest trees: where they stand, and their values."""
    places = [(size, i) for size in sorted(trees.layers) for i in range(len(trees.layers[size].values))]
    values = np.concatenate([trees.layers[size].values for size in sorted(trees.layers)])
    return places[:_MOST_TREES], values[:_MOST_TREES]


def _cases(problem: Problem, X: np.ndarray) -> Iterator[tuple[Expr, np.ndarray, np.ndarray]]:
    """Short tests, on the rows asked first and on all rows."""
    names = problem.variables
    for i, j in itertools.combinations(range(len(names)), 2):
        for name, a, b in (("gt", i, j), ("gt", j, i), ("eq", i, j)):
            compare = np.greater if name == "gt" else np.equal
            yield (
                op(name, names[a], names[b]),
                compare(X[:, a], X[:, b]),
                compare(problem.X[:, a], problem.X[:, b]),
            )
    for j, name in enumerate(names):
        levels = np.unique(problem.X[:, j])
        if 2 < len(levels) <= _MOST_LEVELS:
            for low, high in itertools.pairwise(levels):
                test = simplest_test(name, float(low), float(high), whole=True)
                yield test, X[:, j] > low, problem.X[:, j] > low


def _apart(values: np.ndarray, ones: np.ndarray, side: np.ndarray) -> list[int]:
    """The trees along which the two values of y lie apart, on one side of a test."""
    yes, no = values[:, side & ones], values[:, side & ~ones]
    if not yes.shape[1] or not no.shape[1]:
        return [0]  # y is the same everywhere there, as far as is seen: any tree will do
    apart = (yes.min(axis=1) > no.max(axis=1)) | (yes.max(axis=1) < no.min(axis=1))
    return [int(i) for i in np.flatnonzero(apart)[:_CLOSER]]


def _threshold(
    problem: Problem, trees: Enumeration, place: tuple[int, int], rows: np.ndarray
) -> Threshold | None:
    expr = trees.build(trees.layers[place[0]].recipes[place[1]])
    values, ones = problem.values(expr, problem.X[rows]), problem.y[rows] == problem.y.max()
    if np.any(values != np.round(values)):
        return None
    yes, no = values[ones], values[~ones]
    if not len(yes):
        return Threshold(expr, 1, float(no.max()), float(no.max()) + 1)
    if not len(no):
        return Threshold(expr, 1, float(yes.min()) - 1, float(yes.min()))
    if yes.min() > no.max():
        return Threshold(expr, 1, float(no.max()), float(yes.min()))
    if yes.max() < no.min():
        return Threshold(expr, -1, float(yes.max()), float(no.min()))
    return None


def _joined(test: Expr, first: list[Threshold], second: list[Threshold]) -> Expr:
    """The shortest of all choices between the two; one threshold for both where there is one."""
    best: list[Expr] = []
    for one, other in itertools.product(first, second):
        below, above = max(one.below, other.below), min(one.above, other.above)
        if one.sign == other.sign and below < above:
            chosen = op("where", test, one.expr, other.expr)
            best.append(Threshold(chosen, one.sign, below, above).written())
    if not best:
        best = [op("where", test, first[0].written(), second[0].written())]
    return min(best, key=lambda expr: (expr.size(), preference(expr)))
