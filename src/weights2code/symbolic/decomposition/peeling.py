"""What a rule adds up, and what keeps it within bounds, taken off: y = clip(u + r, low, high), (u + r) % m,
max(u, r).

A level, a stock or a counter is its last value plus something, often kept between two ends. Between the ends
y - u says what that something is: it needs fewer variables than y, or has far fewer values. That is a problem
of its own, which is searched as a whole; where y is at an end the rows say nothing of it. Of a remainder they
say the rest up to multiples of the divisor. Of the larger of a variable and something else, such as the most
so far, they say that something wherever y is above the variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import Expr, Var, op
from weights2code.symbolic.decomposition.splits import examples, numbered
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.piecewise.special_values import FEWEST_ROWS, SPECIAL
from weights2code.symbolic.search.rows import Problem, derived

#: A variable goes if so many rows have another that differs in nothing else.
_REPEATS = 0.3
#: y is the larger of a variable and something else if it is the variable on this share of the rows at least.
_MET = 0.05
#: What is left has few values if it has at most so many, and at most this share of the values of y.
_FEW, _SHARE = 7, 0.5
#: Variables at most of which all stay, if what is left needs those that are carried over.
_ALL_KEPT = 3
_LARGEST_DIVISOR = 60
#: Rows that rule out most sums at once.
_GLANCED = 200
#: The share of the effort that what is left may take.
_EFFORT = 0.5

Terms = tuple[tuple[int, int], ...]
Ends = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Peeled:
    """What is left of y without a sum, on the rows between the ends; each term is a weight and a variable."""

    terms: tuple[tuple[int, Var], ...]
    ends: Ends
    problem: Problem
    divisor: int | None = None
    #: What was taken off is needed for nothing else, which only a true sum shows.
    independent: bool = False
    #: What y is the larger or the smaller of, beside what is left.
    beside: tuple[str, Var] | None = None

    def whole(self, rest: Expr) -> Expr:
        """y, given a formula of what is left."""
        if self.beside is not None:
            name, variable = self.beside
            return op(name, variable, rest)
        total = weighted_sum([*self.terms, (1, rest)])
        low, high = self.ends
        if self.divisor is not None:
            return op("mod", total, self.divisor)
        if low is not None and high is not None:
            return op("clip", total, low, high)
        if low is not None:
            return op("max", total, low)
        return total if high is None else op("min", total, high)


def peelings(problem: Problem) -> Iterator[Peeled]:
    """The ways to take y apart that leave less than it: without bounds, else within those that y shows."""
    found = list(_within(problem, (None, None)))
    ends = _ends(problem)
    if ends != (None, None) and not any(peeled.independent for peeled in found):
        found += _within(problem, ends)
    yield from found or _modulo(problem)
    yield from _beside(problem)


def _ends(problem: Problem) -> Ends:
    """The least and the largest value of y, where it is often there.

    If it is so at one end, rows that pile up at the other are an end as well, however few.
    """
    low, high = float(problem.y.min()), float(problem.y.max())
    often = [np.mean(problem.y == end) >= SPECIAL for end in (low, high)]
    if any(often):
        for i, (end, beside) in enumerate(((low, low + 1), (high, high - 1))):
            there = np.count_nonzero(problem.y == end)
            often[i] |= there >= FEWEST_ROWS and there > np.count_nonzero(problem.y == beside)
    return (int(low) if often[0] else None, int(high) if often[1] else None)


def _within(problem: Problem, ends: Ends) -> Iterator[Peeled]:
    inside = np.ones(len(problem.y), dtype=bool)
    if ends[0] is not None:
        inside &= problem.y > ends[0]
    if ends[1] is not None:
        inside &= problem.y < ends[1]
    X, y = problem.X[inside], problem.y[inside]
    if len(y) < FEWEST_ROWS or np.ptp(y) < 2:
        return
    gone = tuple(_independent(problem, X, y))
    if gone:
        X, y = _without(X, y, gone)
    kept = [j for j in range(len(problem.variables)) if j not in {j for _, j in gone}]
    few = _few_values(problem, X, y, kept, np.ptp(problem.y) + 1)
    if few is not None:
        y = y - sum(weight * X[:, j] for weight, j in few)
    ways = [kept]
    if few is not None and not gone:
        # rows too rare to say which variables are done with: what is carried over is
        carried = {j for weight, j in few if weight == 1 and problem.variables[j].lag}
        ways = [[j for j in kept if j not in carried], *ways[len(problem.variables) > _ALL_KEPT :]]
    for kept in ways if gone or few else ():
        left = _problem(problem, X[:, kept], y, kept) if kept else None
        if left is not None:
            named = tuple((weight, problem.variables[j]) for weight, j in (*gone, *(few or ())))
            yield Peeled(named, ends, left, independent=bool(gone))
            return


def _modulo(problem: Problem) -> Iterator[Peeled]:
    """y as a remainder: all values from 0 to less than a divisor."""
    divisor = int(problem.y.max()) + 1
    if problem.y.min() != 0 or not 2 <= divisor <= _LARGEST_DIVISOR:
        return
    gone = tuple(_independent(problem, problem.X, problem.y, divisor))
    kept = [j for j in range(len(problem.variables)) if j not in {j for _, j in gone}]
    if not gone or not kept:
        return
    X, y = _without(problem.X, problem.y, gone)
    left = _problem(problem, X[:, kept], y % divisor, kept)
    if left is not None:
        named = tuple((weight, problem.variables[j]) for weight, j in gone)
        yield Peeled(named, (None, None), left, divisor)


def _beside(problem: Problem) -> Iterator[Peeled]:
    """y as the larger, or the smaller, of a variable and of something that does not depend on it."""
    for j, variable in enumerate(problem.variables):
        difference = problem.y - problem.X[:, j]
        for name, passed, never in (
            ("max", difference > 0, difference < 0),
            ("min", difference < 0, difference > 0),
        ):
            there = int(np.count_nonzero(passed))
            if never.any() or there < FEWEST_ROWS or there > (1 - _MET) * len(passed):
                continue
            kept = [k for k in range(len(problem.variables)) if k != j]
            problem.spend("sorted cells", 2 * there * len(kept))
            X, y = problem.X[passed][:, kept], problem.y[passed]
            code = numbered(X)
            first = examples(code)
            if len(first) <= (1 - _REPEATS) * len(code) and np.array_equal(y[first[code]], y):
                left = _problem(problem, X[first], y[first], kept)
                if left is not None:
                    yield Peeled((), (None, None), left, independent=True, beside=(name, variable))


def _independent(
    problem: Problem, X: np.ndarray, y: np.ndarray, divisor: int | None = None
) -> Iterator[tuple[int, int]]:
    """Variables that are added, or taken away, and are not needed otherwise."""
    for j in range(X.shape[1]):
        problem.spend("sorted cells", 2 * X.size)
        code = numbered(np.delete(X, j, axis=1)) if X.shape[1] > 1 else np.zeros(len(y), dtype=np.int64)
        first = examples(code)
        if len(first) > (1 - _REPEATS) * len(code):
            continue
        for weight in (1, -1):
            rest = y - weight * X[:, j]
            rest = rest if divisor is None else rest % divisor
            if np.array_equal(rest[first[code]], rest):
                yield weight, j
                break


def _without(X: np.ndarray, y: np.ndarray, gone: Terms) -> tuple[np.ndarray, np.ndarray]:
    y = y - sum(weight * X[:, j] for weight, j in gone)
    kept = [j for j in range(X.shape[1]) if j not in {j for _, j in gone}]
    if not kept:
        return X, y
    _, first = np.unique(X[:, kept], axis=0, return_index=True)
    return X[first], y[first]


def _few_values(
    problem: Problem, X: np.ndarray, y: np.ndarray, kept: list[int], widest: float
) -> Terms | None:
    """One or two variables, added or taken away, without which y has few values; the fewest."""
    values = len(np.unique(y))
    best: tuple[int, int, Terms] | None = None
    singles = [((weight, j),) for j in kept for weight in (1, -1)]
    pairs = [(*a, *b) for a, b in itertools.combinations(singles, 2) if a[0][1] != b[0][1]]
    for terms in (*singles, *pairs):
        if len(np.unique(y[:_GLANCED] - sum(weight * X[:_GLANCED, j] for weight, j in terms))) > _FEW:
            continue
        problem.spend("sorted cells", len(y))
        rest = y - sum(weight * X[:, j] for weight, j in terms)
        if np.ptp(rest) > widest:
            continue
        count = len(np.unique(rest))
        if 1 < count <= min(_FEW, _SHARE * values) and (best is None or (count, len(terms)) < best[:2]):
            best = (count, len(terms), terms)
    return best[2] if best else None


def _problem(problem: Problem, X: np.ndarray, y: np.ndarray, kept: list[int]) -> Problem | None:
    variables = tuple(problem.variables[j] for j in kept)
    left = derived(problem, X, y, variables, _EFFORT * problem.effort.left)
    return None if left.contradictory else left
