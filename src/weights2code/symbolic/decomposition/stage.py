"""Functional decomposition as a stage of the search: y = F(s(A), rest), one step of a rule at a time.

Splits of the variables say which of them act through few levels, separators write those levels as a short
formula, and F is searched for on the rows that are left by the whole search again. What is a function of
some variables is often the same function at other lags: then it replaces them there too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import Expr, Var, infer
from weights2code.symbolic.decomposition.separators import Separator, separators
from weights2code.symbolic.decomposition.splits import numbered, splits
from weights2code.symbolic.gauge import forms
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem, prepare
from weights2code.symbolic.search.walk import Search

#: Variables and steps of a rule, at most.
_MOST_VARIABLES, _DEEPEST = 9, 3
#: Splits whose formulas are looked for, formulas of each, and formulas that are followed.
_SPLITS, _EACH, _FOLLOWED = 10, 3, 4
#: Shares of the effort that is left: for the formulas of all splits, and for what follows from one.
_FORMULAS, _FOLLOW = 0.3, 0.45
#: Levels of the target that are worth a formula of all variables, and the share of the effort for it.
_MOST_LEVELS, _EVERYTHING = 64, 0.3


@dataclass(frozen=True, slots=True)
class Step:
    """New variables, what they stand for, and the variables that stay beside them."""

    parts: dict[Var, Expr]
    kept: tuple[Var, ...]


def decomposition_stage(search: Search) -> None:
    """Split, name a step, search on with it; the first step that leads to something exact is enough."""
    problem = search.problem
    if search.depth >= _DEEPEST or not 2 <= len(problem.variables) <= _MOST_VARIABLES:
        return
    for step in _steps(problem):
        if problem.expired() or _follow(search, step):
            return


def _steps(problem: Problem) -> Iterator[Step]:
    """Steps to go on with, the most promising first."""
    everything = splits(problem)
    for sizes in ((1, 2), (3,), (4,)):
        chosen = [split for split in everything if len(split.inner) in sizes][:_SPLITS]
        share = _FORMULAS * problem.effort.left / max(len(chosen), 3)
        found = [s for split in chosen for s in separators(problem, split, share, _EACH)]
        found.sort(key=lambda separator: separator.cost)
        for separator in found[:_FOLLOWED]:
            yield from _with_copies(problem, separator)
    yield from _of_everything(problem)


def _with_copies(problem: Problem, separator: Separator) -> Iterator[Step]:
    """The step at all lags at which its variables occur, if y is a function of that; else the step alone."""
    expr, variables = separator.expr, separator.expr.variables()
    shared = {problem.variables[j] for j in separator.split.shared}
    lag = min(variable.lag for variable in variables)
    parts, gone = {_new(problem, lag): expr}, set(variables) - shared
    alone = Step(dict(parts), _without(problem, gone))
    for shift in range(-lag, max(variable.lag for variable in problem.variables) + 1):
        moved = {v: Var(v.name, v.lag + shift) for v in variables}
        leaving = {moved[v] for v in variables if v not in shared}
        if shift and set(moved.values()) <= set(problem.variables) and not leaving & gone:
            trial = Step(
                {**parts, _new(problem, lag + shift): expr.substitute(moved)},
                _without(problem, gone | leaving),
            )
            if _reduced(problem, trial, 1.0) is not None:
                parts, gone = trial.parts, gone | leaving
    if len(parts) > 1:
        yield Step(parts, _without(problem, gone))
    yield alone


def _without(problem: Problem, gone: set[Var]) -> tuple[Var, ...]:
    return tuple(variable for variable in problem.variables if variable not in gone)


def _of_everything(problem: Problem) -> Iterator[Step]:
    """Formulas of all variables that y is a function of."""
    if len(np.unique(problem.y)) > _MOST_LEVELS:
        return
    effort = _EVERYTHING * problem.effort.left
    problem.effort.spend(effort)
    for form in forms(
        problem.Xs,
        problem.ys,
        variables=problem.variables,
        domains=problem.domains,
        tolerance=0.2,
        weights=np.ones(len(problem.ys)),
        effort=effort,
        most=_EACH,
    ):
        yield Step({_new(problem, 0): form.expr}, ())


def _new(problem: Problem, lag: int) -> Var:
    """A variable that the problem does not have at any lag."""
    names = {variable.name for variable in problem.variables}
    number = next(i for i in range(len(names) + 1) if f"part{i}" not in names)
    return Var(f"part{number}", lag)


def _reduced(problem: Problem, step: Step, effort: float) -> Problem | None:
    """The problem in the variables of a step; None if they do not determine y."""
    values = [problem.values(expr) for expr in step.parts.values()]
    kept = [problem.X[:, problem.variables.index(variable)] for variable in step.kept]
    X = np.stack([*values, *kept], axis=1)
    if not np.all(np.isfinite(X)):
        return None
    problem.spend("sorted cells", 2 * X.size)
    code = numbered(X)
    first = np.zeros(int(code.max()) + 1, dtype=np.int64)
    first[code] = np.arange(len(code))
    if len(first) == len(code) or np.any(problem.y[first[code]] != problem.y):
        return None
    new = prepare(
        X[first],
        problem.y[first],
        variables=(*step.parts, *step.kept),
        domains=tuple(infer(column) for column in X.T),
        tolerance=problem.tolerance,
        effort=effort,
        operators=problem.operators,
    )
    return new


def _follow(search: Search, step: Step) -> bool:
    """Search on with the step; whether that gave something exact."""
    problem = search.problem
    effort = _FOLLOW * problem.effort.left
    new = _reduced(problem, step, effort)
    if new is None:
        return False
    found = Collector(new)
    Search(new, found, search.stages, depth=search.depth + 1).run()
    problem.effort.spend(effort - max(new.effort.left, 0.0))
    if found.exact is None:
        return False
    # a table of one variable holds all that it can be asked for
    kind = "formula" if len(new.variables) == 1 else found.exact.kind
    candidate = search.collector.offer(found.exact.expr.substitute(step.parts), kind)
    return candidate is not None and candidate.exact
