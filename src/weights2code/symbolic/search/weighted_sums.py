"""Weighted sums of the variables with small whole weights: the inner level of most atoms.

They are enumerated from the shortest to the longest, up to sign, and written well: a test on a sum moves
what is negative to the other side, `[a1 + b1 > y1]` rather than `[a1 + b1 - y1 >= 1]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weights2code.language import OPERATORS, Expr, Number, op
from weights2code.symbolic.engine import number_cost
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem


@dataclass(frozen=True, slots=True)
class Inner:
    """A weighted sum of variables, its values on the rows searched on, and whether they are whole."""

    weights: tuple[int, ...]
    expr: Expr
    values: np.ndarray
    whole: bool

    @property
    def width(self) -> int:
        return sum(1 for w in self.weights if w)


def inner_sums(problem: Problem, limit: int, weights: tuple[int, ...] = (1,)) -> list[Inner]:
    """At most `limit` sums, shortest first; `weights` are the sizes that coefficients may have."""
    X = problem.Xs
    whole = [domain.discrete for domain in problem.domains]
    sums: list[Inner] = []
    for chosen in itertools.islice(weight_vectors(X.shape[1], weights), limit):
        values = X @ np.array(chosen, dtype=float)
        support = [j for j, w in enumerate(chosen) if w]
        sums.append(Inner(chosen, sum_expr(problem, chosen), values, all(whole[j] for j in support)))
    return sums


def weight_vectors(count: int, sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Weight vectors up to sign and common factor: few variables first, small and positive weights first."""
    signed = sorted((s * sign for s in sizes for sign in (1, -1)), key=lambda v: (abs(v), v < 0))
    for width in range(1, count + 1):
        choices = []
        for support in itertools.combinations(range(count), width):
            for values in itertools.product(signed, repeat=width):
                if values[0] < 0 or np.gcd.reduce(values) != 1:
                    continue
                key = (sum(abs(v) for v in values), sum(v < 0 for v in values), support, values)
                choices.append(key)
        for _, _, support, values in sorted(choices):
            vector = [0] * count
            for j, v in zip(support, values, strict=True):
                vector[j] = v
            yield tuple(vector)


def sum_expr(problem: Problem, weights: Sequence[Number], constant: Number = 0) -> Expr:
    """The affine function of the problem's variables."""
    return weighted_sum(list(zip(weights, problem.variables, strict=True)), constant)


_STRICT = {"ge": ("gt", -1), "gt": ("ge", 1), "le": ("lt", 1), "lt": ("le", -1)}


def comparison(problem: Problem, name: str, weights: tuple[int, ...], level: Number, whole: bool) -> Expr:
    """`[sum name level]`, written with as few minus signs and as small a number as possible."""
    if whole and name in _STRICT and isinstance(level, int):
        other, step = _STRICT[name]
        if number_cost(level + step) < number_cost(level):
            name, level = other, level + step
    left = tuple(max(w, 0) for w in weights)
    right = tuple(max(-w, 0) for w in weights)
    if not any(left):
        left, right, name, level = right, left, OPERATORS[name].mirror or name, -level
    if not any(right):
        return op(name, sum_expr(problem, left), level)
    if level >= 0:
        return op(name, sum_expr(problem, left), sum_expr(problem, right, level))
    return op(name, sum_expr(problem, left, -level), sum_expr(problem, right))


def simplest_level(below: int, above: int) -> int:
    """The simplest threshold t with below < t <= above, so that u >= t separates."""
    options = [t for t in (0, 1, 2, 5, 10) if below < t <= above]
    return options[0] if options else above
