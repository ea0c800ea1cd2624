"""Always faithful, never pretty: a lookup table on a small finite domain, labelled as what it is.

It is merged into a decision list: rows that share a value are
described by one test where one suffices, and the commonest value is the default.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from weights2code.language import Const, Expr, Number, Op, Var, is_boolean, op
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import simplest

MOST_ROWS = 64
_QUESTIONS = {"eq": np.equal, "ge": np.greater_equal}


def table_stage(problem: Problem, collector: Collector) -> None:
    """Offer the table of a finite domain with few distinct rows; combinations never seen get a
    neighbour's value, which is why the label matters.
    """
    if problem.discrete and len(problem.X) <= MOST_ROWS:
        problem.spend("tables", len(problem.X) ** 2)
        collector.offer(table(problem.variables, problem.X, problem.y, problem.accuracy), kind="table")


def table(variables: tuple[Var, ...], X: np.ndarray, y: np.ndarray, tolerance: float) -> Expr:
    """A formula that repeats the rows: nested choices on one variable after another."""
    return _choose(variables, X, [simplest(float(v), tolerance) for v in y])


def _choose(variables: tuple[Var, ...], X: np.ndarray, values: list[Number]) -> Expr:
    """The smallest decision tree whose first question is the best of all single questions."""
    if len(set(values)) == 1:
        return Const(values[0])
    best: tuple[float, int, float, str] | None = None
    for j in range(X.shape[1]):
        for level, name in itertools.product(np.unique(X[:, j]), _QUESTIONS):
            holds = _QUESTIONS[name](X[:, j], level)
            if holds.all() or not holds.any():
                continue
            key = (_disorder(values, holds), j, float(level), name)
            best = key if best is None else min(best, key)
    if best is None:  # rows that no question tells apart: the collector will see the error that is left
        return Const(values[0])
    _, j, level, name = best
    holds = _QUESTIONS[name](X[:, j], level)
    yes = _choose(variables, X[holds], [v for v, h in zip(values, holds, strict=True) if h])
    no = _choose(variables, X[~holds], [v for v, h in zip(values, holds, strict=True) if not h])
    test = op(name, variables[j], Const(level).value)
    if yes == Const(1) and no == Const(0):
        return test
    if no == Const(0) and yes != Const(0):
        return op("mul", test, yes)
    if yes == Const(1) and _is_bit(no):
        return op("or", test, no)
    return op("where", test, yes, no)


def _is_bit(expr: Expr) -> bool:
    if isinstance(expr, Op) and expr.name == "mul":
        return all(_is_bit(argument) for argument in expr.args)
    return is_boolean(expr)


def _disorder(values: list[Number], holds: np.ndarray) -> float:
    """How many more distinct answers than one the two sides still hold, weighted by their runs."""
    total = 0.0
    for side in (True, False):
        counts = Counter(v for v, h in zip(values, holds, strict=True) if h == side)
        total += sum(-c * np.log(c / counts.total()) for c in counts.values())
    return round(float(total), 9)
