"""One of two: y is a variable, or something else, and a test says which: y = Q if P(Q, rest) else v.

Where y is not v it is Q, which often needs fewer variables: that is a problem of its own. Where v and Q
differ, y says which of them it is, and the test may read Q: `a if s > c else s`, where s is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data.sufficiency import determines
from weights2code.language import Expr, Var, op
from weights2code.symbolic.piecewise.special_values import FEWEST_ROWS
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search

#: y must be the variable in at least this share of the rows, and something else in as many.
_SHARE = 0.15
#: Shares of the effort for what y is otherwise, and for the test.
_OTHERWISE, _TEST = 0.25, 0.5
#: Variables that are tried.
_MOST = 2


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A variable that y often is, and what it is otherwise as a problem of fewer variables."""

    variable: Var
    problem: Problem
    share: float


def either_stage(search: Search) -> None:
    """Choices between a variable and something that needs fewer variables than y."""
    problem, collector = search.problem, search.collector
    if search.peeled or len(problem.variables) < 2:
        return
    found = [item for v in problem.variables if (item := _otherwise(problem, v)) is not None]
    for item in sorted(found, key=lambda item: -item.share)[:_MOST]:
        if problem.expired() or collector.exact is not None:
            return
        rest = _searched(search, item.problem)
        if rest is None:
            continue
        test = _searched(search, _test(problem, item.variable, rest))
        if test is not None:
            chosen = op("where", test.substitute({_REST: rest}), item.variable, rest)
            collector.offer(chosen)


#: What y is otherwise, as a variable of the test.
_REST = Var("otherwise")


def _otherwise(problem: Problem, variable: Var) -> Otherwise | None:
    column = problem.X[:, problem.variables.index(variable)]
    other = problem.y != column
    share = 1.0 - float(np.mean(other))
    if not _SHARE <= share <= 1 - _SHARE or np.count_nonzero(other) < FEWEST_ROWS:
        return None
    X, y = problem.X[other], problem.y[other]
    if np.ptp(y) == 0:
        return None
    kept = list(range(len(problem.variables)))
    for j in reversed(range(len(kept))):
        problem.spend("sorted cells", X.size)
        fewer = [i for i in kept if i != j]
        if fewer and determines(X[:, fewer], y)[0]:
            kept = fewer
    if len(kept) == len(problem.variables):
        return None
    return Otherwise(variable, _problem(problem, X, y, kept, _OTHERWISE), share)


def _test(problem: Problem, variable: Var, rest: Expr) -> Problem:
    """Whether y is the variable, on the rows that say so; what it is otherwise is one more variable."""
    column, values = problem.X[:, problem.variables.index(variable)], problem.values(rest)
    apart = column != values
    wider = replace(problem, variables=(*problem.variables, _REST), X=np.column_stack([problem.X, values]))
    kept = list(range(len(wider.variables)))
    X, y = wider.X[apart], (problem.y == column)[apart].astype(float)
    # what was computed is read in place of what it was computed from
    for variable_of in rest.variables():
        fewer = [j for j in kept if wider.variables[j] != variable_of]
        if determines(X[:, fewer], y)[0]:
            kept = fewer
    return _problem(wider, X, y, kept, _TEST)


def _problem(problem: Problem, X: np.ndarray, y: np.ndarray, kept: list[int], share: float) -> Problem:
    variables = tuple(problem.variables[j] for j in kept)
    return derived(problem, X[:, kept], y, variables, share * problem.effort.left)


def _searched(search: Search, problem: Problem) -> Expr | None:
    """The formula that the whole search finds."""
    found = search.below(problem, peeled=True)
    return found.exact.expr if found.exact is not None and found.exact.kind == "formula" else None
