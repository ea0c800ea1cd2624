"""Tests of the form "this variable exceeds all of those": what votes, counters and priorities decide by."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from weights2code.language import Expr, op
from weights2code.symbolic.dictionary import Pool
from weights2code.symbolic.problem import Problem, uses_only

MOST_VARIABLES = 6
LARGEST_GROUP = 3


def extreme_tests(problem: Problem) -> Pool:
    """[v > max(S)], [v >= max(S)] and their opposites, for groups S of two or three other variables."""
    exprs: list[Expr] = []
    values: list[np.ndarray] = []
    count = len(problem.variables)
    if count <= MOST_VARIABLES:
        for v in range(count):
            others = [j for j in range(count) if j != v]
            for size in range(2, LARGEST_GROUP + 1):
                for group in combinations(others, size):
                    for name in ("max", "min"):
                        extreme: Expr = problem.variables[group[0]]
                        for j in group[1:]:
                            extreme = op(name, extreme, problem.variables[j])
                        column = problem.Xs[:, list(group)]
                        bound = column.max(1) if name == "max" else column.min(1)
                        for test, holds in (
                            ("gt", problem.Xs[:, v] > bound),
                            ("ge", problem.Xs[:, v] >= bound),
                        ):
                            exprs.append(op(test, problem.variables[v], extreme))
                            values.append(holds.astype(float))
    if problem.operators is not None:
        kept = [i for i, expr in enumerate(exprs) if uses_only(expr, problem.operators)]
        exprs, values = [exprs[i] for i in kept], [values[i] for i in kept]
    table = np.array(values) if values else np.zeros((0, len(problem.ys)))
    return Pool(exprs, table, np.array([expr.size() for expr in exprs], dtype=int))
