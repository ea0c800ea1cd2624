"""One test at several lags, added up: y = s[t] + s[t-1] + s[t-2], s[t] - s[t-2], (s[t] - s[t-1]) % 6.

Where a sum of tests is as large or as small as it can be, it says what each of them was. So y itself labels
s, at every lag at which it is read, and s is a problem of its own, of fewer variables and of two values.
Whether labels that came from one lag are right about those from another is asked of nearest rows first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np

from weights2code.language import Expr, Var, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.rows import Problem, derived
from weights2code.symbolic.search.walk import Search

#: Values of y at most, tests that are added, and rows that are enough to see them.
_MOST_VALUES, _MOST_TESTS, _FEWEST_ROWS = 7, 6, 200
#: Weights of two and of three tests; more are all added.
_WEIGHTS = {
    2: ((1, 1), (1, -1), (1, 2), (2, 1), (1, -2), (2, -1)),
    3: ((1, 1, 1), (1, -2, 1)),
}
#: Rows that say which variables matter, intervals of each alone and in pairs, and how far beyond chance.
_ROWS, _ALONE, _PAIRED, _CLEAR = 12_000, 8, 4, 8.0
#: Labels that are searched on; the fewest, those asked and those asked among, as many of either kind; and how
#: often they may be wrong.
_LABELS, _FEWEST_LABELS, _ASKED, _AMONG, _WRONG = 16_000, 40, 600, 3000, 0.3
#: Sums that are followed, and the share of the effort that is left for each.
_FOLLOWED, _SHARE = 2, 0.5


@dataclass(frozen=True, slots=True)
class Combination:
    """y = offset + scale * (the tests at their lags, weighted), or what that leaves when divided."""

    weights: tuple[int, ...]
    lags: tuple[int, ...]
    offset: int = 0
    scale: int = 1
    divisor: int | None = None

    def written(self, tests: list[Expr]) -> Expr:
        total = weighted_sum(
            [(self.scale * w, test) for w, test in zip(self.weights, tests, strict=True)], self.offset
        )
        return total if self.divisor is None else op("mod", total, self.divisor)

    def known(self) -> Iterator[tuple[int, int, int]]:
        """A value of y, the place of a test, and what the test is then: wherever there is no choice."""
        ways: dict[int, list[tuple[int, ...]]] = {}
        for bits in itertools.product((0, 1), repeat=len(self.weights)):
            total = self.offset + self.scale * sum(w * b for w, b in zip(self.weights, bits, strict=True))
            ways.setdefault(total if self.divisor is None else total % self.divisor, []).append(bits)
        for value, found in ways.items():
            for place in range(len(self.weights)):
                if len({bits[place] for bits in found}) == 1:
                    yield value, place, found[0][place]


@dataclass(frozen=True, slots=True)
class Labelled:
    """What y says of the test that it may be a combination of."""

    combination: Combination
    variables: tuple[Var, ...]
    X: np.ndarray
    holds: np.ndarray
    wrong: float


def repeated_test_stage(search: Search) -> None:
    """Search the test that y may be a sum of, at several lags, from the labels that y gives it."""
    problem = search.problem
    if len(problem.y) < _FEWEST_ROWS or not any(variable.lag for variable in problem.variables):
        return
    values = np.unique(problem.y)
    if not 3 <= len(values) <= _MOST_VALUES:
        return
    reach = max(variable.lag for variable in problem.variables)
    possible = list(combinations([int(value) for value in values], reach))
    if not possible:
        return
    matter = relevant(problem)
    found = [item for c in possible if (item := _labelled(problem, c, matter)) is not None]
    for item in sorted(found, key=lambda item: item.wrong)[:_FOLLOWED]:
        if problem.expired() or search.collector.exact is not None:
            return
        known = dict(zip(problem.variables, problem.domains, strict=True))
        domains = tuple(known[variable] for variable in item.variables)
        effort = _SHARE * problem.effort.left
        smaller = derived(problem, item.X, item.holds, item.variables, effort, domains)
        if smaller.contradictory:
            continue
        test = search.below(smaller, depth=search.depth)
        if test.exact is not None and test.exact.kind == "formula":
            tests = [_at(test.exact.expr, lag) for lag in item.combination.lags]
            candidate = search.collector.offer(item.combination.written(tests))
            search.settled = candidate is not None and candidate.exact


def combinations(values: list[int], reach: int) -> Iterator[Combination]:
    """The sums of tests, at lags up to `reach`, that have these values and no others."""
    scale = reduce(gcd, [value - values[0] for value in values])
    for count in range(2, _MOST_TESTS + 1):
        for gap in range(1, reach // (count - 1) + 1):
            lags = tuple(range(0, count * gap, gap))
            for weights in _WEIGHTS.get(count, ((1,) * count,)):
                sums = {sum(chosen) for chosen in itertools.product(*((0, w) for w in weights))}
                lowest = min(sums)
                if sorted(scale * (total - lowest) + values[0] for total in sums) == values:
                    yield Combination(weights, lags, values[0] - scale * lowest, scale)
                elif lowest < 0 and values[0] == 0 and values[-1] > 1:
                    divisor = values[-1] + 1
                    if sorted({total % divisor for total in sums}) == values:
                        yield Combination(weights, lags, divisor=divisor)


def relevant(problem: Problem) -> set[Var]:
    """The variables that y depends on, alone or in pairs, as far as counts of some rows show."""
    rows = np.random.default_rng(11).permutation(len(problem.y))[:_ROWS]
    y = np.unique(problem.y[rows], return_inverse=True)[1].reshape(-1)
    X = problem.X[rows]
    k = X.shape[1]
    problem.spend("sorted cells", 2 * X.size + X.size * k / 4)
    fine = [_intervals(column, _ALONE) for column in X.T]
    chosen = {j for j in range(k) if _dependence(fine[j], y) > _CLEAR}
    rough = [_intervals(column, _PAIRED) for column in X.T]
    alone = [_dependence(codes, y) for codes in rough]
    for i, j in itertools.combinations(range(k), 2):
        together = rough[i] * (int(rough[j].max()) + 1) + rough[j]
        if {i, j} - chosen and _dependence(together, y) > max(alone[i], 0) + max(alone[j], 0) + _CLEAR:
            chosen |= {i, j}
    return {problem.variables[j] for j in chosen}


def _intervals(column: np.ndarray, count: int) -> np.ndarray:
    ends = np.unique(np.quantile(column, np.arange(1, count) / count))
    return np.unique(np.searchsorted(ends, column), return_inverse=True)[1].reshape(-1)


def _dependence(codes: np.ndarray, y: np.ndarray) -> float:
    """How far the counts are from those of chance, in standard deviations of a chi-squared test."""
    size = int(y.max()) + 1
    table = np.bincount(codes * size + y, minlength=(int(codes.max()) + 1) * size).reshape(-1, size)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / len(y)
    freedom = max((table.shape[0] - 1) * (size - 1), 1)
    return float(
        (((table - expected) ** 2 / np.maximum(expected, 1e-9)).sum() - freedom) / (2 * freedom) ** 0.5
    )


def _labelled(problem: Problem, combination: Combination, matter: set[Var]) -> Labelled | None:
    """The labels that y gives the test; None if those of one lag say nothing about those of another."""
    place = {variable: j for j, variable in enumerate(problem.variables)}
    variables = tuple(
        v for v in problem.variables if all(Var(v.name, v.lag + lag) in matter for lag in combination.lags)
    )
    # what the test reads, at all lags, is all that matters
    read = {Var(v.name, v.lag + lag) for v in variables for lag in combination.lags}
    if not variables or read != matter:
        return None
    order = np.random.default_rng(13).permutation(len(problem.y))
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for n, lag in enumerate(combination.lags):
        said = {value: holds for value, at, holds in combination.known() if at == n}
        rows = order[np.isin(problem.y[order], list(said))][: _LABELS // len(combination.lags)]
        holds = np.zeros(len(rows))
        for value, label in said.items():
            holds[problem.y[rows] == value] = label
        columns = [place[Var(v.name, v.lag + lag)] for v in variables]
        parts.append((problem.X[rows][:, columns], holds))
    (X, one), (Z, other) = parts[0], parts[-1]
    problem.spend("neighbours", _ASKED * _AMONG)
    known, asked = _as_many(one, _AMONG), _as_many(other, _ASKED)
    if min(len(known), len(asked)) < _FEWEST_LABELS:
        return None
    wrong = _disagreement(X[known], one[known], Z[asked], other[asked])
    if wrong > _WRONG:
        return None
    holds = np.concatenate([labels for _, labels in parts])
    return Labelled(combination, variables, np.concatenate([X for X, _ in parts]), holds, wrong)


def _as_many(holds: np.ndarray, most: int) -> np.ndarray:
    """Places of as many labels of the one kind as of the other."""
    yes, no = np.flatnonzero(holds), np.flatnonzero(holds == 0)
    count = min(len(yes), len(no), most // 2)
    return np.concatenate([yes[:count], no[:count]])


def _disagreement(X: np.ndarray, holds: np.ndarray, Z: np.ndarray, other: np.ndarray) -> float:
    """How often the nearest of the rows X has another label than a row of Z."""
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    X, Z = X / spread, Z / spread
    nearest = np.argmin((X * X).sum(1)[None, :] - 2 * Z @ X.T, axis=1)
    return float(np.mean(holds[nearest] != other))


def _at(expr: Expr, lag: int) -> Expr:
    return expr.substitute({v: Var(v.name, v.lag + lag) for v in expr.variables()})
