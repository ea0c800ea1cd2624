"""Operators that change nothing on any row, as steps taken in turn leave behind."""

from __future__ import annotations

import numpy as np

from weights2code.language import Const, Expr, Op
from weights2code.symbolic.search.rows import Problem


def without_idle(problem: Problem, expr: Expr) -> Expr:
    """An exact formula with every operator replaced by an operand of it, where that is exact too."""
    searching = True
    while searching and not problem.expired():
        searching = False
        for node in sorted({n for n in expr.walk() if isinstance(n, Op)}, key=lambda n: (-n.size(), str(n))):
            for argument in node.args:
                if isinstance(argument, Const):
                    continue
                shorter = expr.transform(lambda n, node=node, by=argument: by if n == node else n)
                if _right(problem, shorter, problem.rows) and _right(problem, shorter, None):
                    expr, searching = shorter, True
                    break
            if searching:
                break
    return expr


def _right(problem: Problem, expr: Expr, rows: np.ndarray | None) -> bool:
    X, y = (problem.X, problem.y) if rows is None else (problem.X[rows], problem.y[rows])
    values = problem.values(expr, X)
    allowed = 0.0 if problem.whole else problem.accuracy
    return bool(np.all(np.isfinite(values)) and np.all(np.abs(values - y) <= allowed))
