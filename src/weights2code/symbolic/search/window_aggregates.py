"""Functions of a whole window: majority, parity, range, a value against the mean of the last few.

With many values of one sequence, formulas that treat them alike are far more likely than their number
suggests. The sum, the largest and the smallest of each sequence's values become the variables of a small
problem; what solves it is written out in the values themselves. Medians and other order statistics are tried
before that: alone, beside one variable, and compared with one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from weights2code.language import BITS, OPERATORS, Expr, op, where
from weights2code.language.operators import MOST_ORDERED, order_name
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.sums_of_atoms import fit_sum
from weights2code.symbolic.search.whole_numbers import substitute_solution

#: Values that make a window, and the most parts (four a window) that a glance can take in.
WINDOW = 3
MOST_PARTS = 12


def order_stage(problem: Problem, collector: Collector) -> None:
    """An order statistic of all values of a sequence, or of all variables: itself, an affine function of it
    and of one variable, or a comparison with one."""
    count = len(problem.variables)
    if not problem.allows("max", "min"):
        return
    groups: dict[str, list[int]] = {}
    for j, variable in enumerate(problem.variables):
        groups.setdefault(variable.name, []).append(j)
    windows = {tuple(members) for members in groups.values()} | {tuple(range(count))}
    levels = np.unique(problem.ys)
    for members in sorted(windows, key=len):
        if not WINDOW <= len(members) <= MOST_ORDERED:
            continue
        if all(problem.domains[j] == BITS for j in members):
            continue  # a majority, which is a sum
        problem.spend("atom cells", 2 * len(members) * len(problem.Xs))
        inner = np.sort(problem.Xs[:, list(members)], axis=1)[:, 1:-1]
        for place, column in enumerate(inner.T, start=2):
            expr = op(order_name(place, len(members)), *(problem.variables[j] for j in members))
            if np.all(np.abs(column - problem.ys) <= problem.accuracy):
                collector.offer(expr)
                return
            for j, variable in enumerate(problem.variables):
                if problem.expired():
                    return
                value = problem.Xs[:, j]
                if len(levels) == 2:
                    for name in ("gt", "ge", "lt", "le"):
                        holds = OPERATORS[name].numpy(value, column) != 0
                        for no, yes in (levels, levels[::-1]):
                            if np.array_equal(np.where(holds, yes, no), problem.ys):
                                test = op(name, variable, expr)
                                collector.offer(test if (no, yes) == (0, 1) else where(test, yes, no))
                elif _adds_up(np.stack([column, value, np.ones(len(value))], axis=1), problem):
                    collector.offer_all(fit_sum(problem, [expr, variable], np.stack([column, value])))


def _adds_up(matrix: np.ndarray, problem: Problem) -> bool:
    """Whether the target is a weighted sum of some columns, as far as the rows that are searched on show."""
    problem.spend("fits", matrix.shape[1] ** 2)
    weights = np.linalg.lstsq(matrix, problem.ys, rcond=None)[0]
    allowed = max(problem.accuracy, 1e-9 * problem.scale)
    return bool(np.abs(matrix @ weights - problem.ys).max() <= allowed)


def window_stage(
    problem: Problem, collector: Collector, search: Callable[[Problem, Collector], object]
) -> None:
    """Search in the aggregates of every window, beside its newest value and what is in no window."""
    groups: dict[str, list[int]] = {}
    for j, variable in enumerate(problem.variables):
        groups.setdefault(variable.name, []).append(j)
    parts: list[Expr] = []
    columns: list[np.ndarray] = []
    X = problem.Xs
    for members in groups.values():
        newest = min(members, key=lambda j: problem.variables[j].lag)
        singles = [newest] if len(members) >= WINDOW else members
        parts += [problem.variables[j] for j in singles]
        columns += [X[:, j] for j in singles]
        if len(members) >= WINDOW:
            values = [problem.variables[j] for j in members]
            parts.append(reduce(lambda left, right: left + right, values))
            columns.append(X[:, members].sum(axis=1))
            for name, extreme in (("max", X[:, members].max(1)), ("min", X[:, members].min(1))):
                if problem.allows(name):
                    parts.append(reduce(lambda left, right, name=name: op(name, left, right), values))
                    columns.append(extreme)
    if len(parts) > MOST_PARTS or all(len(members) < WINDOW for members in groups.values()):
        return
    problem.spend("atom cells", len(columns) * len(X))
    table = np.stack(columns, axis=1)
    if not problem.discrete:
        table = np.round(table, 12)  # a sum in another order is the same number
    reduced, meaning = substitute_solution(problem, parts, table)
    found = Collector(reduced)
    search(reduced, found)
    if found.exact is not None:
        collector.offer(found.exact.expr.substitute(meaning))
