"""Values that the target takes again and again, and a formula for the rest.

A real target that is exactly 0 or exactly 5 at many rows is clipped there, or a branch says so. The other
rows are a problem of their own, often a simple one. What solves them is clipped to the special values, or
joined with them by a tree of tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.piecewise.decision_trees import region_stage
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import simplest

#: Share of the rows from which a value is special.
SPECIAL = 0.03
MOST_VALUES = 3
FEWEST_ROWS = 24


def special_stage(
    problem: Problem, collector: Collector, search: Callable[[Problem, Collector], object]
) -> None:
    """Search without the special values, then put them back."""
    values, counts = np.unique(problem.ys, return_counts=True)
    if len(values) < 4:
        return
    order = np.argsort(-counts, kind="stable")
    if problem.whole:  # every whole number comes again: only the ends can be told to be special
        special = [float(values[0]), float(values[-1])]
        special = [v for v in special if np.mean(problem.ys == v) >= 2 * SPECIAL]
    else:
        special = [float(values[i]) for i in order[:MOST_VALUES] if counts[i] >= SPECIAL * len(problem.ys)]
    if not special:
        return
    others = ~np.isin(problem.y, special)
    if others.sum() < FEWEST_ROWS or problem.expired():
        return
    place = np.cumsum(others) - 1
    rows = problem.rows[others[problem.rows]]
    rest = replace(
        problem,
        X=problem.X[others],
        y=problem.y[others],
        measured=problem.measured[others],
        weights=problem.weights[others],
        rows=place[rows],
    )
    found = Collector(rest)
    search(rest, found)
    if found.exact is None:
        return
    constants = [Const(simplest(v, problem.accuracy)) for v in sorted(special)]
    collector.offer_all((found.exact.expr, *_clipped(found.exact.expr, constants)))
    if collector.exact is None:
        region_stage(problem, collector, more=(found.exact.expr, *constants))


def _clipped(expr: Expr, values: list[Const]) -> Iterator[Expr]:
    for value in values:
        yield op("relu", expr) if value == Const(0) else op("max", expr, value)
        yield op("min", expr, value)
    if len(values) >= 2:
        yield op("clip", expr, values[0], values[-1])
