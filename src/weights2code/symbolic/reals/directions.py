"""Short sums and products of a few variables: what a border between regions of reals may be a level of.

`b > a`, `2*x - y > 0.3`, `x*(2*x - y) > 6.4`: a border is seldom longer. All of them are weighted sums of
variables, of products of two and of quotients, so that one matrix product gives the values of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from weights2code.language import Const, Expr, Var, op
from weights2code.symbolic.notation import weighted_sum

#: Columns that are multiplied; the column ~j divides.
Term = tuple[int, ...]
Form = tuple[tuple[Term, float], ...]
#: Variables of which products are made, products beside two variables, sums of three and of four, and all
#: sums of four.
MOST_MULTIPLIED, MOST_BESIDE, MOST_IN_SUMS, MOST_IN_LONG_SUMS, MOST_IN_ALL_SUMS = 7, 6, 9, 8, 7
#: Weights of four variables; the first alone where there are many.
FOUR = ((1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2))
#: Weights of two variables that are no mere signs, and their proportions in a product of a sum.
UNEQUAL = ((1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (4, 1))
FACTORS = ((1, 1), (1, 2), (2, 1), (3, 1), (1, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Weights (directions, terms), and about how many nodes each direction has."""

    terms: tuple[Term, ...]
    weights: np.ndarray
    sizes: np.ndarray

    def values(self, X: np.ndarray, chosen: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(directions, rows)"""
        weights = self.weights[chosen]
        used = np.flatnonzero(weights.any(axis=0))
        columns = [reduce(np.multiply, (_column(X, j) for j in self.terms[i])) for i in used]
        return weights[:, used] @ np.stack(columns)

    def used(self) -> list[list[Term]]:
        """The terms of each."""
        return [[self.terms[i] for i in np.flatnonzero(row)] for row in self.weights]

    def some(self, chosen: np.ndarray) -> Directions:
        return Directions(self.terms, self.weights[chosen], self.sizes[chosen])

    def expr(self, index: int, variables: Sequence[Var]) -> Expr:
        """The direction as a formula; what two products share is written once."""
        row = self.weights[index]
        form = [(Const(float(row[i])).value, self.terms[i]) for i in np.flatnonzero(row)]
        if len(form) == 2 and all(len(term) == 2 for _, term in form):
            shared = set(form[0][1]) & set(form[1][1])
            if shared:
                j = min(shared)
                rest = [(weight, variables[_without(term, j)]) for weight, term in form]
                return variables[j] * weighted_sum(rest)
        return weighted_sum([(weight, _written(term, variables)) for weight, term in form])


def directions(
    real: Sequence[bool], divisors: Sequence[int] = (), more: Sequence[Mapping[Term, float]] = ()
) -> Directions:
    """Those of columns of which some are real, the shortest first; reals may be divided by the `divisors`.

    `more` are directions as weights of terms. No two are the same up to sign.
    """
    if not more:
        return _plain(tuple(real), tuple(divisors))
    known = _known(tuple(real), tuple(divisors))
    return _table(dict.fromkeys([*known, *(tuple(sorted(form.items())) for form in more)]))


@lru_cache(maxsize=32)
def _plain(real: tuple[bool, ...], divisors: tuple[int, ...]) -> Directions:
    return _table(dict.fromkeys(_known(real, divisors)))


@lru_cache(maxsize=32)
def _known(real: tuple[bool, ...], divisors: tuple[int, ...]) -> tuple[Form, ...]:
    found: dict[Form, None] = {}
    for terms in (*_all(len(real)), *_quotients(real, divisors)):
        form: Form = tuple(sorted(terms.items()))
        opposite = tuple((term, -weight) for term, weight in form)
        mixed = any(j >= 0 and real[j] for term in terms for j in term)
        if mixed and form not in found and opposite not in found:
            found[form] = None
    return tuple(found)


def _table(forms: Mapping[Form, None]) -> Directions:
    places = {term: i for i, term in enumerate(dict.fromkeys(term for form in forms for term, _ in form))}
    weights, sizes = np.zeros((len(forms), len(places))), np.zeros(len(forms))
    for i, form in enumerate(forms):
        for term, weight in form:
            weights[i, places[term]] = weight
        sizes[i] = sum(2 * len(term) + (2 if abs(weight) != 1 else 0) for term, weight in form) - 1
    return Directions(tuple(places), weights, sizes)


def _all(count: int) -> Iterator[Mapping[Term, float]]:
    for j in range(count):
        yield {(j,): 1}
    for i, j in itertools.combinations(range(count), 2):
        for one, two in ((1, 1), *UNEQUAL):
            yield {(i,): one, (j,): two}
            yield {(i,): one, (j,): -two}
    if count <= MOST_IN_SUMS:
        for places in itertools.combinations(range(count), 3):
            for sizes in ((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)):
                yield from _signed(places, sizes)
    if count <= MOST_IN_LONG_SUMS:
        for places in itertools.combinations(range(count), 4):
            for sizes in FOUR if count <= MOST_IN_ALL_SUMS else FOUR[:1]:
                yield from _signed(places, sizes)
    if count <= MOST_MULTIPLIED:
        yield from _products(count)


def _products(count: int) -> Iterator[Mapping[Term, float]]:
    places = range(count)
    for i, j in itertools.combinations_with_replacement(places, 2):
        yield {(i, j): 1}
    for i, j in itertools.combinations_with_replacement(places, 2):
        for k in places:
            for one, two in ((1, 1), (1, -1), (2, 1), (2, -1), (1, 2), (1, -2)):
                yield {(i, j): one, (k,): two}
    for i in places:
        for j, k in itertools.combinations(places, 2):
            for one, two in FACTORS:
                for sign in (1, -1):
                    first, second = (min(i, j), max(i, j)), (min(i, k), max(i, k))
                    yield {first: one, second: sign * two}
    if count <= MOST_BESIDE:
        for product in itertools.combinations(places, 2):
            for k, m in itertools.combinations(places, 2):
                for one, two in itertools.product((1, -1), repeat=2):
                    yield {product: 1, (k,): one, (m,): two}


def _quotients(real: Sequence[bool], divisors: Sequence[int]) -> Iterator[Mapping[Term, float]]:
    """Means: `total/count`, and one beside another variable."""
    for divisor in divisors:
        others = [j for j in range(len(real)) if j != divisor]
        for i in others:
            if real[i]:
                yield {(i, ~divisor): 1}
                yield from ({(i, ~divisor): 1, (j,): weight} for j in others for weight in (1, -1, 2, -2))


def _signed(places: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[Mapping[Term, float]]:
    for signs in itertools.product((1, -1), repeat=len(places) - 1):
        yield {(j,): size * sign for j, size, sign in zip(places, sizes, (1, *signs), strict=True)}


def _column(X: np.ndarray, j: int) -> np.ndarray:
    return X[:, j] if j >= 0 else 1.0 / X[:, ~j]


def _without(term: Term, j: int) -> int:
    return term[1] if term[0] == j else term[0]


def _written(term: Term, variables: Sequence[Var]) -> Expr:
    above: Expr = reduce(lambda a, b: a * b, [variables[j] for j in term if j >= 0])
    for j in term:
        above = above if j >= 0 else op("div", above, variables[~j])
    return above
