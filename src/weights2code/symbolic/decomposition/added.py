"""Functions of one variable each, or of those of one lag each, added up: y = f(u) + g(v) + ....

Whether y is such a sum, and which functions are added, is one least squares on the values that each variable
takes, or that the variables of a lag take together. A function that is no line is a problem of few variables,
which the whole search answers: `[a > b] + [a > b one step back] + ...` is many times the same one.
"""

from __future__ import annotations

import itertools

import numpy as np

from weights2code.language import Expr, Var
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search

#: Values of all variables together, and rows for each of them.
_MOST_VALUES, _ROWS_EACH = 120, 1.5
#: Functions that are no lines; more are a table of tables.
_MOST_CURVES = 3
_EFFORT = 0.1
#: The same for functions of one lag: values together, rows for each of them, rows that are asked
#: after, and the share of the effort for each.
_MOST_TOGETHER, _ROWS_TOGETHER, _ASKED, _EACH = 600, 10, 1000, 0.4
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


def added_by_lag_stage(search: Search) -> None:
    """Offer the sum of functions of the variables of one lag each that y is, if it is one."""
    problem = search.problem
    groups = [
        [j for j, variable in enumerate(problem.variables) if variable.lag == lag]
        for lag in sorted({variable.lag for variable in problem.variables})
    ]
    if len(groups) < 2 or max(map(len, groups)) < 2:
        return
    order = np.random.default_rng(8).permutation(len(problem.y))
    codes, tables = [], []
    for group in groups:
        problem.spend("sorted cells", len(group) * len(order) / 4)
        table, code = np.unique(problem.X[:, group], axis=0, return_inverse=True)
        codes.append(code.reshape(-1))
        tables.append(table)
    values = sum(map(len, tables))
    asked = order[_ROWS_TOGETHER * values :][:_ASKED]
    if values > _MOST_TOGETHER or len(asked) < values:
        return
    functions = _of_groups(problem, codes, order[: _ROWS_TOGETHER * values], asked)
    if functions is None:
        return
    terms: list[tuple[int, Expr]] = []
    written: dict[bytes, Expr] = {}
    for group, table, function in zip(groups, tables, functions, strict=True):
        variables = tuple(problem.variables[j] for j in group)
        mark = function.tobytes() + " ".join(v.name for v in variables).encode()
        if mark not in written:
            effort = _EACH * problem.effort.left
            found = search.below(derived(problem, table, function, variables, effort))
            if found.exact is None:
                return
            written[mark] = found.exact.expr
        expr = written[mark]
        back = max((variables[0].lag - v.lag for v in expr.variables()), default=0)
        terms.append((1, _later(expr, back)))
    rest = problem.y[order[0]] - problem.values(weighted_sum(terms), problem.X[order[:1]])[0]
    candidate = search.collector.offer(weighted_sum(terms, round(float(rest))))
    search.settled = candidate is not None and candidate.exact


def _of_groups(
    problem: Problem, codes: list[np.ndarray], rows: np.ndarray, asked: np.ndarray
) -> list[np.ndarray] | None:
    """What each value of each group adds, whole numbers from 0 on; None if y is no such sum."""
    widths = [int(code.max()) + 1 for code in codes]
    starts = np.cumsum([0, *widths])
    places = np.stack(codes, axis=1) + starts[:-1]
    design = np.zeros((len(rows), starts[-1]))
    np.put_along_axis(design, places[rows], 1.0, axis=1)
    problem.spend("separation cells", len(rows) * design.shape[1] ** 2 / 4)
    solution = np.linalg.lstsq(design.T @ design, design.T @ problem.y[rows], rcond=1e-9)[0]
    if np.max(np.abs(solution[places[asked]].sum(axis=1) - problem.y[asked])) > _WHOLE:
        return None
    functions = [solution[a:b] - solution[a:b].min() for a, b in itertools.pairwise(starts)]
    if any(np.max(np.abs(f - np.round(f))) > _WHOLE for f in functions):
        return None
    return [np.round(f) for f in functions]


def _later(expr: Expr, lag: int) -> Expr:
    return expr.substitute({v: Var(v.name, v.lag + lag) for v in expr.variables()})
