"""Functions of one variable each, added up: y = f(u) + g(v) + ....

Whether y is such a sum, and which functions are added, is one least squares on the values that each variable
takes. A function that is no line is a problem of one variable, which the whole search answers.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import Expr
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search

#: Values of all variables together, and rows for each of them.
_MOST_VALUES, _ROWS_EACH = 120, 1.5
#: Functions that are no lines; more are a table of tables.
_MOST_CURVES = 3
_EFFORT = 0.1
#: How far a whole number may be off.
_WHOLE = 1e-6


def added_stage(search: Search) -> None:
    """Offer the sum of functions of one variable each that y is, if it is one."""
    problem = search.problem
    if len(problem.variables) < 2:
        return
    levels = [np.unique(column) for column in problem.X.T]
    values = sum(map(len, levels))
    if values > _MOST_VALUES or len(problem.ys) < _ROWS_EACH * values:
        return
    functions = _functions(problem, levels)
    if functions is None:
        return
    curves = [j for j, f in enumerate(functions) if _slope(levels[j], f) is None]
    if not 1 <= len(curves) <= _MOST_CURVES:
        return
    terms: list[tuple[int, Expr]] = []
    for j, (level, function) in enumerate(zip(levels, functions, strict=True)):
        slope = _slope(level, function)
        written = problem.variables[j] if slope is not None else _curve(search, j, level, function)
        if written is None:
            return
        terms.append((1 if slope is None else slope, written))
    rest = problem.ys - problem.values(weighted_sum(terms), problem.Xs)
    search.collector.offer(weighted_sum(terms, round(float(rest[0]))))


def _functions(problem: Problem, levels: list[np.ndarray]) -> list[np.ndarray] | None:
    """What each value of each variable adds; None if y is no such sum of whole numbers."""
    X, y = problem.Xs, problem.ys
    blocks = [X[:, [j]] == level[None, 1:] for j, level in enumerate(levels)]
    design = np.hstack([*blocks, np.ones((len(y), 1), dtype=bool)]).astype(float)
    problem.spend("fits", design.shape[1] ** 2 / 4)
    solution = np.linalg.lstsq(design, y, rcond=1e-10)[0]
    if np.max(np.abs(design @ solution - y)) > _WHOLE or np.any(np.abs(solution % 1 - 0.5) < 0.5 - _WHOLE):
        return None
    functions, start = [], 0
    for level in levels:
        functions.append(np.append(0.0, np.round(solution[start : start + len(level) - 1])))
        start += len(level) - 1
    return functions


def _slope(level: np.ndarray, function: np.ndarray) -> int | None:
    """The weight of a function that is a line."""
    if len(level) < 2:
        return 0
    slope = (function[-1] - function[0]) / (level[-1] - level[0])
    line = np.array_equal(slope * (level - level[0]), function) and slope == round(slope)
    return int(slope) if line else None


def _curve(search: Search, j: int, level: np.ndarray, function: np.ndarray) -> Expr | None:
    whole = search.problem
    effort = _EFFORT * whole.effort.left
    problem = derived(whole, level[:, None], function, (whole.variables[j],), effort)
    found = search.below(problem, peeled=True)
    return found.exact.expr if found.exact is not None else None
