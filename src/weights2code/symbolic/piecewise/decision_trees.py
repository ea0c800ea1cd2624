"""Which rule holds where: decision trees of short tests over affine rules.

Every row is right under some of the rules that were found (`affine_rules`). Along a direction (a variable, a
short sum, a difference of two rules, a distance) the rows below a threshold may all share a rule; so may
those above. Running intersections of the sets of right rules, from both ends, show all such thresholds of
all directions at once. What one threshold does not settle is a smaller problem of the same kind. A
threshold lies in a gap between rows, and is the simplest number there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.engine import preference
from weights2code.symbolic.notation import branch, simplest_test
from weights2code.symbolic.piecewise.affine_rules import Rule, affine_rules
from weights2code.symbolic.piecewise.joined_planes import MOST_FOLDED, folded, joined
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import comparison, inner_sums, simplest_level, sum_expr

MOST_VARIABLES = 7
#: Rows that a tree is grown on, and how often rows are added on which it turned out wrong.
SAMPLE = 1200
ROUNDS = 5
ADDED = 300
DEPTH = 3
#: Where no threshold settles a side: directions asked beyond which place a rule is not needed, the share of
#: rows that the rule must have alone and that each side must have, and places tried.
SHORT_DIRECTIONS, LEAST_ALONE, BALANCED, MOST_ENDS = 12, 0.02, 0.1, 4
#: Whole-number variables with at most this many values are asked for each of them.
MOST_LEVELS = 10


def region_stage(problem: Problem, collector: Collector, more: tuple[Expr, ...] = ()) -> None:
    """Offer trees, and extrema of the rules where they are what the rules are joined by.

    With `more`, these formulas are the rules instead of affine ones.
    """
    if len(problem.variables) > MOST_VARIABLES or len(problem.y) < 8:
        return
    rng = np.random.default_rng(4)
    sample = rng.permutation(len(problem.y))[:SAMPLE]
    sample = np.union1d(sample, problem.rows[:SAMPLE])
    for _ in range(ROUNDS):
        if problem.expired():
            return
        X, y = problem.X[sample], problem.y[sample]
        problem.spend("rules", len(y) * X.shape[1])
        rules = [_given(problem, expr, X, y) for expr in more] or affine_rules(problem, X, y)
        if not rules:
            return
        if not more and 2 <= len(rules) <= 3:
            collector.offer_all(joined(problem, [rule.weights for rule in rules]))
        if not more and 4 <= len(rules) <= MOST_FOLDED:
            collector.offer_all(folded(problem, [rule.weights for rule in rules], X, y))
        tree = _Trees(problem, X, y, rules).solve(np.ones(len(y), dtype=bool), DEPTH)
        if tree is None:
            return
        collector.offer(tree)
        wrong = np.flatnonzero(
            np.abs(problem.values(tree) - problem.y) > problem.accuracy * (1 + 1e-9) + 1e-12
        )
        if not len(wrong) or len(sample) == len(problem.y):
            return
        sample = np.unique(np.concatenate([sample, rng.permutation(wrong)[:ADDED]]))


def _given(problem: Problem, expr: Expr, X: np.ndarray, y: np.ndarray) -> Rule:
    right = np.abs(problem.values(expr, X) - y) <= problem.accuracy + 1e-9 * problem.scale
    return Rule((), expr, right)


@dataclass(frozen=True, slots=True)
class Direction:
    """Something to compare with a threshold; `whole` values have a next smaller one."""

    expr: Expr
    weights: tuple[int, ...] | None
    values: np.ndarray
    whole: bool
    test: bool = False


def directions(problem: Problem, X: np.ndarray, rules: list[Rule]) -> Iterator[Direction]:
    """Variables, equalities, short sums, distances, products, extrema, differences of rules."""
    here = replace(problem, X=X, rows=np.arange(len(X)))
    k = len(problem.variables)
    for inner in inner_sums(here, 60 if k <= 4 else 45):
        yield Direction(inner.expr, inner.weights, inner.values, inner.whole)
    for inner in inner_sums(here, 3 * k * k, (1, 2)):
        if inner.width == 2 and max(map(abs, inner.weights)) == 2:
            yield Direction(inner.expr, inner.weights, inner.values, inner.whole)
    for j, (variable, domain) in enumerate(zip(problem.variables, problem.domains, strict=True)):
        levels = np.unique(X[:, j])
        if domain.discrete and 2 < len(levels) <= MOST_LEVELS:
            for level in levels:
                equal = op("eq", variable, Const(float(level)).value)
                yield Direction(equal, None, (X[:, j] == level) * 1.0, True, test=True)
        if levels[0] < 0 < levels[-1]:
            yield Direction(op("abs", variable), None, np.abs(X[:, j]), domain.discrete)
            if not domain.discrete:
                yield Direction(variable * variable, None, X[:, j] ** 2, False)
    for i, j in itertools.combinations(range(k), 2):
        a, b = problem.variables[i], problem.variables[j]
        u, v = X[:, i], X[:, j]
        whole = problem.domains[i].discrete and problem.domains[j].discrete
        if whole:
            yield Direction(op("eq", a, b), None, (u == v) * 1.0, True, test=True)
        yield Direction(op("abs", a - b), None, np.abs(u - v), whole)
        yield Direction(op("max", a, b), None, np.maximum(u, v), whole)
        yield Direction(op("min", a, b), None, np.minimum(u, v), whole)
        if not whole:
            yield Direction(a * b, None, u * v, False)
    for one, other in itertools.combinations([rule for rule in rules if rule.weights], 2):
        weights = [float(p) - float(q) for p, q in zip(one.weights[:-1], other.weights[:-1], strict=True)]
        if sum(w != 0 for w in weights) >= 2:
            expr = sum_expr(problem, [Const(round(w, 9)).value for w in weights])
            yield Direction(expr, None, X @ np.array(weights), False)


class _Trees:
    """The rows of one problem, sorted along every direction once."""

    def __init__(self, problem: Problem, X: np.ndarray, y: np.ndarray, rules: list[Rule]) -> None:
        self.problem, self.X, self.y, self.rules = problem, X, y, rules
        self.allowed = problem.accuracy + 1e-9 * problem.scale
        self.bits = np.zeros(len(y), dtype=np.int16)
        for i, rule in enumerate(rules):
            self.bits |= np.where(rule.holds, 1 << i, 0).astype(np.int16)
        every = directions(problem, X, rules)
        self.directions = usable = [d for d in every if np.ptp(d.values) > 0 and problem.permits(d.expr)]
        self.table = np.stack([d.values for d in usable]) if usable else np.zeros((0, len(y)))
        problem.spend("sorted cells", self.table.size)
        self.order = np.argsort(self.table, axis=1, kind="stable")
        self.sorted = np.take_along_axis(self.table, self.order, axis=1)
        self.cost = np.array([d.expr.size() for d in usable])
        self.two_valued = [i for i, d in enumerate(usable) if len(np.unique(d.values)) == 2]

    def solve(self, rows: np.ndarray, depth: int) -> Expr | None:
        """The shortest formula found that is right on `rows`."""
        shared = int(np.bitwise_and.reduce(self.bits[rows], initial=-1))
        if shared:
            right = [rule.expr for i, rule in enumerate(self.rules) if shared >> i & 1]
            return min(right, key=preference)
        if depth == 0 or not self.directions or self.problem.expired():
            return None
        self.problem.spend("direction cells", self.table.size)
        below, above = self._pure(rows)
        settled = [self._both(direction, place, rows) for direction, place in self._cuts(below, above)]
        found = [expr for expr in settled if expr is not None]
        if found:
            return min(found, key=preference)
        if depth == 1:
            return None
        for low, direction, count in self._one_sided(below, above, rows):
            expr = self._one_side(direction, count, low, rows, depth)
            if expr is not None:
                found.append(expr)
        if not found:
            for direction in self.two_valued[:24]:
                high = self.table[direction] == self.table[direction].max()
                upper, lower = rows & high, rows & ~high
                if min(upper.sum(), lower.sum()) < 4:
                    continue
                sides = [self.solve(part, min(depth - 1, 1)) for part in (upper, lower)]
                if sides[0] is not None and sides[1] is not None:
                    expr = self._joined(direction, rows, sides[0], sides[1])
                    if expr is not None:
                        found.append(expr)
        if not found:
            for direction, cut in self._ends_of_rules(rows):
                high = self.table[direction] > cut
                upper = self.solve(rows & high, depth - 1)
                lower = None if upper is None else self.solve(rows & ~high, depth - 1)
                expr = None if upper is None or lower is None else self._joined(direction, rows, upper, lower)
                if expr is not None:
                    return expr
        return min(found, key=preference) if found else None

    def _ends_of_rules(self, rows: np.ndarray) -> list[tuple[int, float]]:
        """Directions and places beyond which a rule is never needed: on that side one rule less is left."""
        short = np.argsort(self.cost, kind="stable")[:SHORT_DIRECTIONS]
        total = int(rows.sum())
        found: dict[tuple[int, float], float] = {}
        for i in range(len(self.rules)):
            alone = rows & (self.bits == 1 << i)
            if alone.sum() < max(4, LEAST_ALONE * total):
                continue
            for direction in short:
                values = self.table[direction]
                first, last = float(values[alone].min()), float(values[alone].max())
                before, after = values[rows & (values < first)], values[rows & (values > last)]
                for side, cut in ((before, before.max(initial=-np.inf)), (after, last)):
                    share = len(side) / total
                    if BALANCED <= share <= 1 - BALANCED:
                        key = (int(direction), float(cut))
                        found[key] = max(found.get(key, 0.0), min(share, 1 - share))
        ranked = sorted(found, key=lambda key: (0.1 * self.cost[key[0]] - found[key], key))
        return ranked[:MOST_ENDS]

    def _pure(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each direction and place: whether all rows before it share a rule; all from it on."""
        bits = np.where(rows, self.bits, np.int16(-1))[self.order]
        below = np.bitwise_and.accumulate(bits, axis=1) != 0
        above = np.bitwise_and.accumulate(bits[:, ::-1], axis=1)[:, ::-1] != 0
        return below[:, :-1], above[:, 1:]

    def _cuts(self, below: np.ndarray, above: np.ndarray) -> list[tuple[int, int]]:
        """Directions with a place that settles both sides, the shortest directions first."""
        jump = self.sorted[:, 1:] > self.sorted[:, :-1]
        both = below & above & jump
        some = np.flatnonzero(both.any(axis=1))
        some = some[np.argsort(self.cost[some], kind="stable")][:4]
        return [(int(d), int(np.argmax(both[d]))) for d in some]

    def _both(self, direction: int, place: int, rows: np.ndarray) -> Expr | None:
        cut = self.sorted[direction, place]
        high = self.table[direction] > cut
        upper, lower = self.solve(rows & high, 0), self.solve(rows & ~high, 0)
        return None if upper is None or lower is None else self._joined(direction, rows, upper, lower)

    def _one_sided(
        self, below: np.ndarray, above: np.ndarray, rows: np.ndarray
    ) -> list[tuple[bool, int, int]]:
        """(from below, direction, row count) that settle the most rows for the least writing."""
        jump = self.sorted[:, 1:] > self.sorted[:, :-1]
        active = rows[self.order]
        before = np.cumsum(active, axis=1)[:, :-1]
        total = int(rows.sum())
        ranked: list[tuple[float, bool, int, int]] = []
        for low, settles, count in ((True, below, before), (False, above, total - before)):
            share = np.where(settles & jump, count, 0)
            best = np.argmax(share, axis=1)
            most = share[np.arange(len(share)), best]
            for d in np.flatnonzero((most >= max(3, 0.04 * total)) & (most < total)):
                ranked.append((-most[d] / total + 0.03 * self.cost[d], low, int(d), int(best[d])))
        ranked.sort()
        return [(low, d, place) for _, low, d, place in ranked[:6]]

    def _one_side(self, direction: int, place: int, low: bool, rows: np.ndarray, depth: int) -> Expr | None:
        high = self.table[direction] > self.sorted[direction, place]
        settled = rows & (~high if low else high)
        one, rest = self.solve(settled, 0), self.solve(rows & ~settled, depth - 1)
        if one is None or rest is None:
            return None
        if self._right(rest)[rows].all():
            return rest  # what was settled first is right under it too
        return self._joined(direction, rows, *((rest, one) if low else (one, rest)))

    def _right(self, expr: Expr) -> np.ndarray:
        return np.abs(self.problem.values(expr, self.X) - self.y) <= self.allowed

    def _joined(self, direction: int, rows: np.ndarray, upper: Expr, lower: Expr) -> Expr | None:
        """`upper` above a threshold and `lower` below: anywhere between where each begins to be wrong."""
        order = self.order[direction]
        order = order[rows[order]]
        u = self.table[direction][order]
        wrong_above, wrong_below = ~self._right(upper)[order], ~self._right(lower)[order]
        first = len(u) - int(np.argmax(wrong_above[::-1])) if wrong_above.any() else 1
        last = int(np.argmax(wrong_below)) if wrong_below.any() else len(u) - 1
        if first > last or first < 1 or last >= len(u) or u[last] <= u[first - 1]:
            return None
        chosen = self.directions[direction]
        test = self._test(chosen, float(u[first - 1]), float(u[last]))
        return branch(test, upper, lower)

    def _test(self, direction: Direction, below: float, above: float) -> Expr:
        if direction.test:
            return direction.expr
        if direction.whole and direction.weights is not None:
            level = simplest_level(int(below), int(above))
            return comparison(self.problem, "ge", direction.weights, level, True)
        return simplest_test(direction.expr, below, above, whole=direction.whole)
