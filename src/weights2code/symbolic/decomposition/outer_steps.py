"""Last steps, undone: y = max(v, r), y = p if r else q, y = v + r, y = 1 if r else 0 if q else v.

Where an extremum is above the variable that bounds it, y is what is left of the rule; where y is one of two
values, it says which. What is left is a problem of fewer rows, and mostly of fewer variables or values: rows
on which y does not show it are left out, as nothing is known of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.data.sufficiency import determines
from weights2code.language import Const, Expr, op
from weights2code.symbolic.decomposition.peeling import peelings
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem, derived

#: The least share of rows on which y is the variable that bounds it, or one of two that are chosen from.
_SHARE = 0.1
#: Rows that are left, at least; more of what sets a kept value, as few are seen through without that.
_FEWEST, _FEWEST_SET = 6, 150
#: Rows must repeat without a variable to show that it is not needed.
_REPEATS = 0.1
#: Steps of one kind that are given.
_MOST = 2


@dataclass(frozen=True, slots=True)
class OuterStep:
    """What a last step leaves of the problem, one or two problems, and y made of what they are."""

    problems: tuple[Problem, ...]
    whole: Callable[..., Expr]


def outer_steps(problem: Problem, effort: float) -> Iterator[OuterStep]:
    """Last steps after which less is read, or two values are left; `effort` is for what each leaves."""
    for peeled in peelings(problem):
        if peeled.independent or peeled.divisor is not None:
            left = peeled.problem
            left.effort.left = effort
            yield OuterStep((left,), peeled.whole)
    yield from itertools.islice(_bounds(problem, effort), _MOST)
    yield from itertools.islice(_resets(problem, effort), 1)
    if len(np.unique(problem.y)) > 2:
        yield from itertools.islice(_choices(problem, effort), _MOST)


def _bounds(problem: Problem, effort: float) -> Iterator[OuterStep]:
    """y = max(v + c, r) or min(v + c, r), where r does not read v."""
    for j, variable in enumerate(problem.variables):
        for name, sign in (("max", 1.0), ("min", -1.0)):
            above = sign * (problem.y - problem.X[:, j])
            least = float(above.min())
            free = above > least
            if not _SHARE <= 1 - np.mean(free) < 1:
                continue
            kept = _needed(problem, free, j)
            left = None if j in kept else _left(problem, free, problem.y, kept, effort)
            if left is not None:
                bound = weighted_sum([(1, variable)], round(sign * least))
                yield OuterStep((left,), lambda rest, name=name, bound=bound: op(name, bound, rest))


def _choices(problem: Problem, effort: float) -> Iterator[OuterStep]:
    """y = p if r else q, where p and q are variables, their negatives or numbers."""
    y = problem.y
    ends: list[tuple[Expr, np.ndarray]] = []
    for variable, column in zip(problem.variables, problem.X.T, strict=True):
        ends += [(variable, column), (op("neg", variable), -column)]
    values, counts = np.unique(y, return_counts=True)
    for value in values[np.argsort(-counts)][:_MOST]:
        ends.append((Const(int(value)), np.full(len(y), value)))
    problem.spend("sorted cells", len(ends) * len(y) / 8)
    often = [(expr, column, y == column) for expr, column in ends]
    often = [item for item in often if _SHARE <= np.mean(item[2]) < 1]
    for (p, first, at_p), (q, second, at_q) in itertools.combinations(often, 2):
        apart = first != second
        only = np.mean(at_p & apart), np.mean(at_q & apart)
        if min(only) < _SHARE / 2 or not np.all(at_p | at_q):
            continue
        left = _left(problem, apart, at_p.astype(float), list(range(len(problem.variables))), effort)
        if left is not None:
            yield OuterStep((left,), lambda test, p=p, q=q: op("where", test, p, q))


def _resets(problem: Problem, effort: float) -> Iterator[OuterStep]:
    """y = c if r else d if q else v: a value is kept until something sets it to one of two numbers."""
    for j, (variable, column) in enumerate(zip(problem.variables, problem.X.T, strict=True)):
        other = problem.y != column
        values = np.unique(problem.y[other])
        if len(problem.variables) < 2 or len(values) != 2 or np.mean(other) < _SHARE / 2:
            continue
        parts: list[Problem] = []
        for value in values[::-1]:
            known = other | (column != value)
            fewer = _needed(problem, known, j, problem.y == value)
            if j in fewer:
                break
            part = _left(problem, known, (problem.y == value) & other, fewer, effort)
            if part is not None and np.ptp(part.y) > 0 and len(part.y) >= _FEWEST_SET:
                parts.append(part)
        if len(parts) == 2:
            high, low = (int(value) for value in values[::-1])
            yield OuterStep(
                tuple(parts),
                lambda first, second, v=variable, high=high, low=low: op(
                    "where", first, Const(high), op("where", second, Const(low), v)
                ),
            )


def _needed(problem: Problem, rows: np.ndarray, doubted: int, y: np.ndarray | None = None) -> list[int]:
    """The columns without the one in doubt, if the others are seen to determine y on the rows; else all."""
    every = list(range(len(problem.variables)))
    fewer = [i for i in every if i != doubted]
    if not fewer:
        return every
    problem.spend("sorted cells", problem.X.size)
    y = problem.y if y is None else y
    determined, repeats = determines(problem.X[rows][:, fewer], y[rows])
    return fewer if determined and repeats >= _REPEATS else every


def _left(
    problem: Problem, rows: np.ndarray, y: np.ndarray, kept: list[int], effort: float
) -> Problem | None:
    if np.count_nonzero(rows) < _FEWEST:
        return None
    problem.spend("sorted cells", 2 * problem.X.size)
    variables = tuple(problem.variables[j] for j in kept)
    left = derived(problem, problem.X[rows][:, kept], y[rows].astype(float), variables, effort)
    return None if left.contradictory else left
