"""Functions of a whole window: majority, parity, range, a value against the mean of the last few.

With many values of one sequence, formulas that treat them alike are far more likely than their number
suggests. The sum, the largest and the smallest of each sequence's values become the variables of a small
problem; what solves it is written out in the values themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from weights2code.language import Expr, op
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.whole_numbers import substitute_solution

#: Values that make a window, and the most parts (four a window) that a glance can take in.
WINDOW = 3
MOST_PARTS = 12


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
