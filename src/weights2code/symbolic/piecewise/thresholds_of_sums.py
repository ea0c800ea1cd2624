"""Decisions by thresholds of one weighted sum: `[2*a - b + c > 3]`, or stairs along it.

The values of y follow one another along a direction (`common_direction`). Once it is known, the number of
each threshold is the simplest one in the gap that the rows leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weights2code.language import Const, Expr, Number, op
from weights2code.symbolic.engine import number_cost, preference
from weights2code.symbolic.notation import (
    branch,
    compare,
    opposite,
    simplest_between,
    simplest_test,
    weighted_sum,
)
from weights2code.symbolic.piecewise.common_direction import Border, Separation, written
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import sum_expr

MOST_VARIABLES = 9
#: Values of y, and of a variable with a rule of its own for each.
MOST_VALUES = 9
FEWEST_ROWS = 8
#: So many rows of so many variables leave no room for another rule that is shorter.
MANY_ROWS = 500
SEVERAL = 4
#: Rows for every free number of the rule.
ROWS_EACH = 5
#: A weight with more digits than this is long: 2 is not, 0.8 is.
FEW_DIGITS = 1.2
#: What a rule says in bits, about: for each different part of it, and for each digit.
BITS_A_PART = 4.0
BITS_A_DIGIT = 3.3
#: A rule may take at most this share of what the targets say.
SHARE_TOLD = 0.3


def threshold_stage(problem: Problem, collector: Collector) -> bool:
    """Offer decisions along one direction, or along one for every value of a discrete variable.

    Whether nothing shorter is to be expected: a choice between two values on many rows of several variables.
    """
    values = len(np.unique(problem.y))
    if not 1 <= len(problem.variables) <= MOST_VARIABLES or not problem.whole:
        return False
    if not 2 <= values <= MOST_VALUES or len(problem.y) < FEWEST_ROWS:
        return False
    found = min(_along(problem), key=_length, default=None)
    if found is not None and _believable(problem, found):
        candidate = collector.offer(found)
        many = len(problem.y) >= MANY_ROWS and len(problem.variables) >= SEVERAL
        return many and values == 2 and candidate is not None and candidate.exact
    if found is None and collector.exact is None:
        expr = by_parts(problem)
        if expr is not None and _believable(problem, expr):
            collector.offer(expr)
    return False


def by_parts(problem: Problem) -> Expr | None:
    """A rule of its own for every value of a discrete variable."""
    found: list[Expr] = []
    for j, (gate, domain) in enumerate(zip(problem.variables, problem.domains, strict=True)):
        levels = np.unique(problem.X[:, j]) if domain.discrete else np.zeros(0)
        if not 2 <= len(levels) <= MOST_VALUES:
            continue
        rules: list[Expr] = []
        for level in levels:
            part = _part(problem, problem.X[:, j] == level)
            single = len(np.unique(part.y)) == 1
            rule = Const(part.y[0]) if single else min(_along(part), key=_length, default=None)
            if rule is None:
                break
            rules.append(rule)
        if len(rules) < len(levels):
            continue
        expr = rules[-1]
        for level, rule in list(zip(levels, rules, strict=True))[-2::-1]:
            expr = branch(op("eq", gate, Const(float(level))), rule, expr)
        found.append(expr)
    return min(found, key=preference, default=None)


def _part(problem: Problem, rows: np.ndarray) -> Problem:
    place = np.cumsum(rows) - 1
    return replace(
        problem,
        X=problem.X[rows],
        y=problem.y[rows],
        measured=problem.measured[rows],
        weights=problem.weights[rows],
        rows=place[problem.rows[rows[problem.rows]]],
    )


def _believable(problem: Problem, expr: Expr) -> bool:
    """Whether a rule says less than the targets do; where every combination was seen it is only a wording."""
    if _every_row(problem):
        return True
    shares = np.unique(problem.y, return_counts=True)[1] / len(problem.y)
    told = -len(problem.y) * float(np.sum(shares * np.log2(shares)))
    parts = set(expr.walk())
    digits = sum(number_cost(part.value) for part in parts if isinstance(part, Const))
    return BITS_A_PART * len(parts) + BITS_A_DIGIT * digits <= SHARE_TOLD * told


def _every_row(problem: Problem) -> bool:
    """Whether the rows are all combinations of the values of the columns."""
    return len(problem.y) >= np.prod([len(np.unique(column)) for column in problem.X.T], dtype=float)


def _length(expr: Expr) -> tuple[float, ...]:
    """As formulas are preferred, but all digits count: the rows of reals are many, and say what is meant."""
    nodes, *others = preference(expr)
    digits = sum(number_cost(node.value) for node in expr.walk() if isinstance(node, Const))
    return (nodes + 0.5 * digits, *others)


def _along(problem: Problem) -> Iterator[Expr]:
    """Rules along one direction that are right on all rows."""
    X, y = problem.X, problem.y
    for order in _orders(X, y):
        sides = [np.flatnonzero(y == level) for level in order]
        borders = [Border(low, high) for low, high in itertools.pairwise(sides)]
        if len(y) < ROWS_EACH * (X.shape[1] + len(borders)) and not _every_row(problem):
            continue
        separation = Separation(problem, X, range(X.shape[1]), borders)
        guess = separation.guess()
        if guess is None:
            continue
        judged = Collector(problem)
        simple = [weights for best in separation.directions(guess) for weights in separation.simple(best)]
        for weights in dict.fromkeys(simple):
            sign = _orientation(weights, len(borders))
            turned = tuple(sign * w for w in weights)
            real = any(w and not d.discrete for w, d in zip(weights, problem.domains, strict=True))
            for form in written(turned) if real else [turned]:
                if real and _held(problem, form):
                    continue
                for expr in _write(problem, form, sides[::sign], order[::sign]):
                    candidate = judged.offer(expr)
                    if candidate is not None and candidate.exact:
                        yield expr
        if simple:
            return


def _held(problem: Problem, weights: tuple[Number, ...]) -> bool:
    """Whether a discrete value enters a sum of reals by a long number: it chooses between two thresholds, and
    is no term, but their difference can pass for its weight."""
    discrete = [abs(w) for w, domain in zip(weights, problem.domains, strict=True) if domain.discrete]
    return any(number_cost(w) > FEW_DIGITS for w in discrete)


def _orientation(weights: tuple[int, ...], borders: int) -> int:
    """Few minus signs; where there are several thresholds, the values of y rise with the sum."""
    positive, negative = sum(w > 0 for w in weights), sum(w < 0 for w in weights)
    return -1 if (positive < negative if borders == 1 else not positive) else 1


def _orders(X: np.ndarray, y: np.ndarray) -> Iterator[list[float]]:
    """Orders that the values may have along a direction: their own, and that of the means of their rows."""
    levels = [float(v) for v in np.unique(y)]
    yield levels
    if len(levels) > 2:
        spread = X.std(axis=0)
        scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
        means = np.stack([scaled[y == level].mean(axis=0) for level in levels])
        axis = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][0]
        along = [levels[i] for i in np.argsort(means @ axis)]
        if along not in (levels, levels[::-1]):
            yield along


def _write(
    problem: Problem, weights: tuple[Number, ...], sides: list[np.ndarray], levels: list[float]
) -> Iterator[Expr]:
    """The values as they follow one another along a sum: a chain of choices, and a sum of tests."""
    direction = sum_expr(problem, weights)
    values = problem.values(direction)
    whole = all(
        w == 0 or (isinstance(w, int) and domain.discrete)
        for w, domain in zip(weights, problem.domains, strict=True)
    )
    gaps = [(float(values[low].max()), float(values[high].min())) for low, high in itertools.pairwise(sides)]
    if whole and any(below >= above for below, above in gaps):
        return
    for choose in (_whole,) if whole else (_with_ends, _well_inside):
        tests = [choose(direction, below, above) for below, above in gaps]
        chain: Expr = Const(levels[0])
        for test, level in zip(tests, levels[1:], strict=True):
            chain = branch(test, Const(level), chain)
        yield chain
        steps = [int(after - before) for before, after in itertools.pairwise(levels)]
        yield weighted_sum(list(zip(steps, tests, strict=True)), int(levels[0]))
        if 0 in levels[1:-1]:  # negative levels are seen from above: `[a > b] - [a < b]`
            zero = levels.index(0)
            early = zip(steps[:zero], tests[:zero], strict=True)
            below = [(-step, opposite(test) or op("not", test)) for step, test in early]
            yield weighted_sum([*zip(steps[zero:], tests[zero:], strict=True), *below])


def _whole(direction: Expr, below: float, above: float) -> Expr:
    return simplest_test(direction, below, above, whole=True)


def _with_ends(direction: Expr, below: float, above: float) -> Expr:
    """The simplest number of a gap, its ends included, which are decimals up to rounding."""
    below, above = round(below, 9), round(above, 9)
    return _test(direction, below, simplest_between(min(below, above), max(below, above)), above)


def _well_inside(direction: Expr, below: float, above: float) -> Expr:
    """The simplest number well inside of a gap; where there is only rounding inside, `>=` instead of `>`."""
    if above - below < 1e-9 * (1 + abs(below)):
        return compare("ge", direction, Const(simplest_between(round(below, 9), round(below, 9))).value)
    edge = min(1e-8 * (1 + abs(below) + abs(above)), 0.25 * abs(above - below))
    return _test(direction, below, simplest_between(below + edge, above - edge), above)


def _test(direction: Expr, below: float, level: float, above: float) -> Expr:
    return compare("ge" if below < above <= level else "gt", direction, Const(level).value)
