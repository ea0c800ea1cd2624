"""The forms of a variable: what it is a function of, the plainest first.

Quantities that are short (operands, their weighted sums, products, extrema, tests of pairs) are asked first
whether v runs along them, and what its curve says; then tests joined, choices, and all small trees.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from weights2code.effort import Effort
from weights2code.language import Domain, Expr, Var, op
from weights2code.symbolic.gauge.additive import additive
from weights2code.symbolic.gauge.branches import Quantity, choices, joined, small_choices, switched
from weights2code.symbolic.gauge.judge import Form, Judge
from weights2code.symbolic.gauge.profiles import readings
from weights2code.symbolic.gauge.screen import Screen
from weights2code.symbolic.gauge.sums import plain_weights
from weights2code.symbolic.gauge.trees import GaugeTrees
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import prepare
from weights2code.symbolic.search.weighted_sums import weight_vectors

#: Sizes of the weights of sums, by how many operands there are; more have weight one.
_WEIGHTS = {1: (1,), 2: (1, 2, 3, 4, 5, 6), 3: (1, 2, 3), 4: (1, 2)}
_MOST_SUMS = 500
#: Quantities whose curve is read, and those of which tests are joined or choose.
_READ, _JOINED, _CHOOSE = 40, 120, 24
_LARGEST_TREE = 7
#: Curves like sines are left out: within a tolerance they look like anything.
_OPERATORS = frozenset({"abs", "max", "min", "mod", "floor", "eq", "ne", "ge", "gt", "div"})


def forms(
    columns: np.ndarray,
    values: np.ndarray,
    *,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    tolerance: float,
    weights: np.ndarray,
    effort: float,
    most: int = 8,
) -> list[Form]:
    """Formulas of the operands that `values` are a function of within the tolerance, the plainest first.

    Parameters
    ----------
    columns, values
        Distinct rows of the operands (m, k), and the variable on each (m,).
    variables, domains
        The name and the domain of each column.
    tolerance
        How far the variable may be from the best function of the formula.
    weights
        How often each row occurs.
    effort
        What may be done, in seconds of a usual machine.
    most
        Forms returned, at most.
    """
    X = np.asarray(columns, dtype=float)
    order = np.lexsort(X.T[::-1])  # as the search on trees keeps them
    X, v = X[order], np.asarray(values, dtype=float)[order]
    weight = np.asarray(weights, dtype=float)[order]
    judge = Judge(X, v, weight, variables, domains, tolerance, Effort(effort))
    if len(v) < 2 or np.ptp(v) <= 2 * tolerance:
        return []
    judge.offer_all(linear(judge))
    quantities = list(short_quantities(judge))
    read_curves(judge, quantities)
    if judge.limit() > 5 and not judge.effort.spent():
        judge.offer_all(joined(judge, quantities[:_JOINED]))
        judge.offer_all(switched(judge, quantities[:_CHOOSE]))
        if judge.labels is None:
            tests = [q for q in quantities if np.all((q[1] == 0) | (q[1] == 1))]
            others = [q for q in quantities if not np.all((q[1] == 0) | (q[1] == 1))]
            judge.offer_all(choices(judge, others[:_CHOOSE], tests[:_CHOOSE]))
            judge.offer_all(small_choices(judge, Screen(judge), tests[:_CHOOSE]))
            judge.offer_all(additive(judge, quantities[:_JOINED]))
    search_trees(judge)
    return judge.best(most)


def linear(judge: Judge) -> Iterator[Expr]:
    """The affine function that fits best, with plain weights."""
    F = np.hstack([np.ones((len(judge.v), 1)), judge.X])
    root = np.sqrt(judge.share)
    solved = np.linalg.lstsq(F * root[:, None], judge.v * root, rcond=None)[0]
    if judge.share @ (judge.v - F @ solved) ** 2 > judge.tolerance**2:
        return
    slack = 0.8 * judge.tolerance / np.maximum(np.ptp(judge.X, axis=0), 1e-9)
    for _, numbers in plain_weights(solved[1:], slack):
        if any(numbers):
            first = next(n for n in numbers if n)
            numbers = [-n for n in numbers] if first < 0 and not any(n > 0 for n in numbers) else numbers
            yield weighted_sum(list(zip(numbers, judge.variables, strict=True)))


def short_quantities(judge: Judge) -> Iterator[Quantity]:
    """Operands, tests, extrema and products of two, weighted sums: the shortest first."""
    names, X = judge.variables, judge.X
    whole = [domain.discrete for domain in judge.domains]
    yield from zip(names, X.T, strict=True)
    for name, domain in zip(names, judge.domains, strict=True):
        if domain.kind != "bits":
            yield name * name, judge.values(name * name)
    pairs = list(itertools.combinations(range(len(names)), 2))
    for i, j in pairs:
        a, b = names[i], names[j]
        for expr in (op("max", a, b), op("min", a, b), op("gt", a, b), op("ge", a, b), a * b, abs(a - b)):
            yield expr, judge.values(expr)
        if whole[i] and whole[j]:
            expr = op("eq", a, b)
            yield expr, judge.values(expr)
    sizes = _WEIGHTS.get(len(names), (1,))
    for vector in itertools.islice(weight_vectors(len(names), sizes), _MOST_SUMS):
        if np.count_nonzero(vector) > 1:
            expr = weighted_sum(list(zip(vector, names, strict=True)))
            yield expr, X @ np.array(vector, dtype=float)
    for i, j in pairs:
        for k in range(len(names)):
            if k not in (i, j):
                for expr in (names[i] * names[j] + names[k], names[i] * names[j] - names[k]):
                    yield expr, judge.values(expr)


def read_curves(judge: Judge, quantities: list[Quantity]) -> None:
    """What the curve of v along each quantity says, where v is a function of it."""
    screen = Screen(judge)
    U = np.stack([values[screen.rows] for _, values in quantities])
    judge.effort.spend(1e-7 * U.size)
    apart, _ = screen.pairs(U)
    runs = np.union1d(apart[screen.levels(U[apart])], np.flatnonzero(screen.curves(U)))
    # an operand that tells all rows apart may still be one that v repeats along
    runs = np.union1d(runs, apart[apart < len(judge.variables)])
    for i in runs[:_READ]:
        if judge.effort.spent():
            return
        judge.offer_all(readings(judge, *quantities[i]))


def search_trees(judge: Judge) -> None:
    """Trees of growing size, while a plainer form can still come."""
    problem = prepare(
        judge.X,
        judge.v,
        variables=judge.variables,
        domains=judge.domains,
        tolerance=judge.tolerance,
        weights=judge.weights,
        effort=judge.effort.left,
        operators=_OPERATORS,
    )
    if len(problem.X) != len(judge.X):
        raise ValueError("the rows of the operands must be distinct")
    trees = GaugeTrees(problem, judge)
    for size in range(2, _LARGEST_TREE + 1):
        if problem.expired() or size > judge.enough():
            break
        trees.grow(size)
    judge.effort.left = min(judge.effort.left, problem.effort.left)
    for expr in trees.quantities[:_READ]:
        if judge.effort.spent():
            break
        judge.offer_all(readings(judge, expr, judge.values(expr)))
