"""Polynomials of degree two, all terms at once: least squares says which of them are there.

What is exact with few terms is written with the variable taken out that most of the products share:
`a*(b - 2*c) + b`.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from weights2code.language import Expr, Number, Var
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import snap_linear

#: Terms of a polynomial that is still a rule, and variables of all terms.
_MOST_TERMS, _MOST_VARIABLES = 14, 12
#: A term counts for nothing below this share of the largest.
_NOTHING = 1e-7


def polynomial_stage(problem: Problem, collector: Collector) -> None:
    """Offer the polynomial of degree two that is exact, if there is one."""
    k, X = len(problem.variables), problem.Xs
    if not 2 <= k <= _MOST_VARIABLES:
        return
    terms = [(j,) for j in range(k)] + list(itertools.combinations_with_replacement(range(k), 2))
    if len(problem.ys) < 2 * len(terms):
        return
    columns = np.stack([*(np.prod(X[:, list(term)], axis=1) for term in terms), np.ones(len(X))], axis=1)
    problem.spend("fits", columns.shape[1] ** 2 / 4)
    scale = np.abs(columns).max(axis=0)
    solution, *_ = np.linalg.lstsq(columns / np.where(scale > 0, scale, 1.0), problem.ys, rcond=1e-10)
    left = np.max(np.abs(columns / np.where(scale > 0, scale, 1.0) @ solution - problem.ys))
    if left > max(problem.accuracy, 1e-9 * problem.scale):
        return
    size = np.abs(solution[:-1])
    used = np.flatnonzero(size > _NOTHING * size.max())
    if not 1 <= len(used) <= _MOST_TERMS:
        return
    matrix = np.column_stack([columns[:, used], np.ones(len(X))])
    *weights, constant = snap_linear(matrix, problem.ys, problem.accuracy, noise=problem.noise)
    named = [tuple(problem.variables[j] for j in terms[i]) for i in used]
    collector.offer(_taken_out(dict(zip(named, weights, strict=True)), constant))


def _taken_out(weights: dict[tuple[Var, ...], Number], constant: Number) -> Expr:
    """The sum, with the variable that most products share taken out of them."""
    shared = Counter(v for term in weights if len(term) == 2 for v in set(term))
    sums: list[tuple[Number, Expr]] = []
    for variable, count in sorted(shared.items(), key=lambda item: -item[1]):
        products = {term: w for term, w in weights.items() if len(term) == 2 and variable in term}
        if count < 2 or len(products) < 2:
            break
        others = [(w, term[1] if term[0] == variable else term[0]) for term, w in products.items()]
        sums.append((1, variable * weighted_sum(others, weights.pop((variable,), 0))))
        weights = {term: w for term, w in weights.items() if term not in products}
    single = [(w, term[0] if len(term) == 1 else term[0] * term[1]) for term, w in weights.items()]
    return weighted_sum([*sums, *single], constant)
