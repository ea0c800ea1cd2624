"""Short sums and products of a few variables: what a border between regions of reals may be a level of.

`b > a`, `2*x - y > 0.3`, `x*(2*x - y) > 6.4`: a border is seldom longer. All of them are weighted sums of
variables and of products of two, so that one matrix product gives the values of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from weights2code.language import Const, Expr
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem

Term = tuple[int, ...]
#: Variables of which products are made, and of which sums of three and of four.
MOST_MULTIPLIED, MOST_IN_SUMS, MOST_IN_LONG_SUMS = 6, 9, 8
#: Weights of four variables; the first alone where there are many.
FOUR = ((1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2))
#: Weights of two variables that are no mere signs, and their proportions in a product of a sum.
UNEQUAL = ((1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (4, 1))
FACTORS = ((1, 1), (1, 2), (2, 1), (3, 1), (1, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Formulas, and their weights on terms: products of columns."""

    exprs: tuple[Expr, ...]
    terms: tuple[Term, ...]
    weights: np.ndarray

    def values(self, X: np.ndarray, chosen: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(directions, rows)"""
        columns = np.stack([reduce(np.multiply, (X[:, j] for j in term)) for term in self.terms])
        return self.weights[chosen] @ columns

    def used(self) -> list[list[Term]]:
        """The terms of each."""
        return [[self.terms[i] for i in np.flatnonzero(row)] for row in self.weights]

    def some(self, chosen: np.ndarray) -> Directions:
        exprs = tuple(expr for expr, one in zip(self.exprs, chosen, strict=True) if one)
        return Directions(exprs, self.terms, self.weights[chosen])


def directions(problem: Problem, more: Sequence[Mapping[Term, float]] = ()) -> Directions:
    """Those with a real variable in them, the shortest first, and `more`; no two are the same up to sign."""
    real = {j for j, domain in enumerate(problem.domains) if not domain.discrete}
    found: dict[tuple[tuple[Term, float], ...], Expr] = {}
    for expr, terms in (*_all(problem), *(_sum(problem, terms) for terms in more)):
        if not any(j in real for term in terms for j in term):
            continue
        form = tuple(sorted(terms.items()))
        opposite = tuple((term, -w) for term, w in form)
        if form not in found and opposite not in found:
            found[form] = expr
    places = {term: i for i, term in enumerate(dict.fromkeys(t for form in found for t, _ in form))}
    weights = np.zeros((len(found), len(places)))
    for i, form in enumerate(found):
        for term, weight in form:
            weights[i, places[term]] = weight
    return Directions(tuple(found.values()), tuple(places), weights)


def _all(problem: Problem) -> Iterator[tuple[Expr, Mapping[Term, float]]]:
    count = len(problem.variables)
    for j in range(count):
        yield _sum(problem, {(j,): 1})
    for i, j in itertools.combinations(range(count), 2):
        for one, two in ((1, 1), *UNEQUAL):
            yield _sum(problem, {(i,): one, (j,): two})
            yield _sum(problem, {(i,): one, (j,): -two})
    if count <= MOST_IN_SUMS:
        for places in itertools.combinations(range(count), 3):
            for sizes in ((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)):
                for signs in itertools.product((1, -1), repeat=2):
                    yield _sum(problem, _signed(places, sizes, (1, *signs)))
    if count <= MOST_IN_LONG_SUMS:
        for places in itertools.combinations(range(count), 4):
            for sizes in FOUR if count < MOST_IN_LONG_SUMS else FOUR[:1]:
                for signs in itertools.product((1, -1), repeat=3):
                    yield _sum(problem, _signed(places, sizes, (1, *signs)))
    if count <= MOST_MULTIPLIED:
        yield from _products(problem)


def _products(problem: Problem) -> Iterator[tuple[Expr, Mapping[Term, float]]]:
    variables = problem.variables
    places = range(len(variables))
    for i, j in itertools.combinations_with_replacement(places, 2):
        yield variables[i] * variables[j], {(i, j): 1}
    for i, j in itertools.combinations_with_replacement(places, 2):
        for k in places:
            for one, two in ((1, 1), (1, -1), (2, 1), (2, -1), (1, 2), (1, -2)):
                yield _sum(problem, {(i, j): one, (k,): two})
    for i in places:
        for j, k in itertools.combinations(places, 2):
            for one, two in FACTORS:
                for sign in (1, -1):
                    factor = weighted_sum([(one, variables[j]), (sign * two, variables[k])])
                    first, second = (min(i, j), max(i, j)), (min(i, k), max(i, k))
                    yield variables[i] * factor, {first: one, second: sign * two}
    for i, j in itertools.combinations(places, 2):
        for k, m in itertools.combinations(places, 2):
            for signs in itertools.product((1, -1), repeat=2):
                yield _sum(problem, {(i, j): 1, (k,): signs[0], (m,): signs[1]})


def _signed(places: tuple[int, ...], sizes: tuple[int, ...], signs: tuple[int, ...]) -> dict[Term, float]:
    return {(j,): size * sign for j, size, sign in zip(places, sizes, signs, strict=True)}


def _sum(problem: Problem, terms: Mapping[Term, float]) -> tuple[Expr, Mapping[Term, float]]:
    written = [
        (Const(weight).value, reduce(lambda a, b: a * b, [problem.variables[j] for j in term]))
        for term, weight in terms.items()
    ]
    return weighted_sum(written), terms
