"""Short formulas that tell conflicting rows apart, and as few others as possible.

What e must do is said by pairs of rows alone: it must differ on each. That is asked of all small trees,
weighted sums and choices at once, and whatever passes is made coarser, as far as the pairs allow: a
remainder, a quotient, a threshold, bounds, an equality.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import log2

import numpy as np

from weights2code.effort import Effort
from weights2code.language import Const, Expr, Number, op
from weights2code.symbolic.decomposition.splits import Split
from weights2code.symbolic.engine import preference
from weights2code.symbolic.gauge import forms
from weights2code.symbolic.notation import clipped, simplest_test, tidy, weighted_sum
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.trees import Enumeration, Recipe
from weights2code.symbolic.search.weighted_sums import weight_vectors

#: Pairs that are asked of all formulas at once, and formulas that are looked at closer, in one block.
_PAIRS, _CLOSER = 160, 8
_SURVIVORS = 500
_LARGEST_TREE = 5
_LARGEST_DIVISOR, _MODULUS = 24, 12
#: A formula that merges all may be so much longer than the trees that are not looked at.
_SETTLED = 3
#: Levels of a formula that is made coarser, and what trying that costs.
_MOST_LEVELS, _COARSER = 200, 7e-4
#: Sizes of the weights of sums, by how many variables there are; more have weight one.
_WEIGHTS = {2: (1, 2, 3, 4, 5, 6), 3: (1, 2, 3), 4: (1, 2)}
_MOST_SUMS = 400
#: What twice as many levels count for, in nodes.
_FINER = 3.0
#: What a formula counts for along which y does not grow or fall, in nodes.
_UNORDERED = 1.5
#: Least number of bits by which a formula must shrink the rows, and the least share of what is possible.
_GAIN, _SHARE = 0.2, 0.4
#: What the search up to a gauge may do.
_FORMS = 0.15
#: Thresholds of one variable in tests that choose.
_THRESHOLDS = 12


@dataclass(frozen=True, slots=True)
class Separator:
    """A formula e of the variables of a split that tells all conflicting rows apart.

    Its `gain` is the number of bits by which the rows shrink; `cost` its length, less what the gain is worth.
    """

    split: Split
    expr: Expr
    gain: float
    cost: float

    @property
    def missing(self) -> float:
        """By how many bits more the rows could shrink."""
        return self.split.gain - self.gain


@dataclass
class Separators:
    """The separators of one split found so far."""

    split: Split
    problem: Problem
    found: dict[bytes, Separator] = field(default_factory=dict)
    asked: set[Expr] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.groups = self.split.groups
        one, other = np.nonzero(np.triu(self.split.conflicts, 1))
        self.pairs = (one, other)

    def offer(self, expr: Expr) -> Separator | None:
        """Judge a formula on all conflicts; of formulas that merge the same rows the shortest is kept."""
        expr = clipped(tidy(expr))
        if expr in self.asked or len(expr.variables()) < len(self.problem.variables):
            return None
        self.asked.add(expr)
        values = self.problem.values(expr)
        if not np.all(np.isfinite(values)) or not self.problem.permits(expr):
            return None
        self.problem.spend("sorted cells", 2 * len(values))
        values = np.round(values, 9)
        if np.any(values[self.pairs[0]] == values[self.pairs[1]]):
            return None
        parts = np.unique(values, return_inverse=True)[1].reshape(-1)
        code = parts * (int(self.groups.max()) + 1) + self.groups
        _, first, parts = np.unique(code, return_index=True, return_inverse=True)
        gain = log2(len(values) / len(first))
        if gain < _GAIN or np.any(values != np.round(values)):
            return None
        if gain < _SHARE * self.split.gain:
            return None
        missing = min(self.split.gain - gain, 2.0)
        length, reads, *_ = preference(expr)
        again = reads - len(self.problem.variables)
        cost = length + again - _FINER * gain + missing + (0.0 if self.ordered(values) else _UNORDERED)
        mark = np.argsort(np.argsort(first))[parts.reshape(-1)].astype(np.int32).tobytes()
        known = self.found.get(mark)
        separator = Separator(self.split, expr, gain, round(cost, 3))
        if known is None or (cost, preference(expr)) < (known.cost, preference(known.expr)):
            self.found[mark] = separator
        return separator

    def offer_all(self, exprs: Iterator[Expr] | list[Expr]) -> None:
        for expr in exprs:
            self.offer(expr)

    def ordered(self, values: np.ndarray) -> bool:
        """Whether y grows with the formula, or falls, on nearly all conflicting pairs."""
        one, other = self.pairs
        mean = self.split.mean
        signs = (values[one] - values[other]) * (mean[one] - mean[other])
        up, down = np.count_nonzero(signs > 1e-9), np.count_nonzero(signs < -1e-9)
        return bool(min(up, down) <= 0.02 * len(one))

    def limit(self) -> float:
        """The cost of the best so far."""
        return min((separator.cost for separator in self.found.values()), default=np.inf)

    def settled(self, size: int) -> bool:
        """Whether a formula merges all that can be merged, and is hardly longer than what would come."""
        return any(s.missing < 0.1 and s.expr.size() <= size + _SETTLED for s in self.found.values())

    def best(self, most: int) -> list[Separator]:
        return sorted(self.found.values(), key=lambda s: (s.cost, preference(s.expr)))[:most]


def separators(problem: Problem, split: Split, effort: float, most: int) -> list[Separator]:
    """The best formulas for a split, within the effort, which is charged to the problem."""
    effort = min(effort, problem.effort.left)
    labels = split.labels.astype(float)
    nothing = np.zeros(len(labels))
    inner = replace(
        problem,
        variables=tuple(problem.variables[j] for j in split.inner),
        domains=tuple(problem.domains[j] for j in split.inner),
        X=split.rows,
        y=nothing,
        measured=nothing,
        weights=np.ones(len(labels)),
        rows=np.arange(len(labels)),
        noise=0.0,
        effort=Effort(effort),
    )
    found = Separators(split, inner)
    sums(found)
    choices(found)
    remainders_in_sums(found)
    trees = SeparatingTrees(inner, found)
    for size in range(2, _LARGEST_TREE + 1):
        if inner.expired() or size - _FINER * split.gain >= found.limit() or found.settled(size):
            break
        trees.grow(size)
    if not found.found and not split.shared and len(labels) > 2:
        half = min(0.5 * max(inner.effort.left, 0.0), _FORMS)
        inner.effort.spend(half)
        written = forms(
            split.rows,
            labels,
            variables=inner.variables,
            domains=inner.domains,
            tolerance=0.2,
            weights=np.ones(len(labels)),
            effort=half,
        )
        found.offer_all([form.expr for form in written])
    problem.effort.spend(effort - max(inner.effort.left, 0.0))
    return found.best(most)


def sums(found: Separators) -> None:
    """Weighted sums of all variables, and a product beside some of them."""
    problem = found.problem
    names, X = problem.variables, problem.X
    k = len(names)
    written: list[Expr] = [names[0]] if k == 1 else []
    columns = [X[:, 0]] if k == 1 else []
    if k > 1:
        vectors = [v for v in weight_vectors(k, _WEIGHTS.get(k, (1,))) if np.count_nonzero(v) == k]
        for v in vectors[:_MOST_SUMS]:
            written.append(weighted_sum(list(zip(v, names, strict=True))))
            columns.append(X @ np.array(v, dtype=float))
    problem.spend("sum cells", len(columns) * len(X))
    signs = list(itertools.product((0, 1, -1), repeat=k)) if k <= 3 else [(0,) * k]
    for (i, j), vector in itertools.product(itertools.combinations(range(k), 2), signs):
        written.append(weighted_sum([(1, names[i] * names[j]), *zip(vector, names, strict=True)]))
        columns.append(X[:, i] * X[:, j] + X @ np.array(vector, dtype=float))
    screen(found, np.stack(columns), found.pairs, lambda i: written[i])


def remainders_in_sums(found: Separators) -> None:
    """`u % m` plus or minus some of the variables, where u is a sum or product of two."""
    problem = found.problem
    names, X = problem.variables, problem.X
    k = len(names)
    if not 2 <= k <= 3 or not problem.allows("mod"):
        return
    inner = [
        expr
        for a, b in itertools.combinations(names, 2)
        for expr in (a + b, a - b, b - a, a * b, a + 2 * b, 2 * a + b, a + 3 * b, 3 * a + b)
    ]
    bases: list[Expr] = []
    columns: list[np.ndarray] = []
    for expr in inner:
        values = problem.values(expr)
        for m in range(2, min(_MODULUS, int(np.ptp(values))) + 1):
            bases.append(op("mod", expr, m))
            columns.append(values % m)
    if not bases:
        return
    signs = [v for v in itertools.product((0, 1, -1), repeat=k) if any(v)]
    S = np.array(signs, dtype=float) @ X.T
    problem.spend("trees", len(bases) * S.size)
    block = (np.stack(columns)[:, None, :] + S[None]).reshape(-1, len(X))
    screen(
        found,
        block,
        found.pairs,
        lambda i: weighted_sum(
            [(1, bases[i // len(signs)]), *zip(signs[i % len(signs)], names, strict=True)]
        ),
    )


def choices(found: Separators) -> None:
    """`p if test else q`, where p and q are variables, their negatives or small numbers."""
    problem = found.problem
    names, X = problem.variables, problem.X
    if len(names) > 3:
        return
    tests: list[tuple[Expr, np.ndarray]] = []
    for name, column in zip(names, X.T, strict=True):
        levels = np.unique(column)
        if len(levels) == 2 and levels[0] == 0 and levels[1] == 1:
            tests.append((name, column))
        elif len(levels) - 1 <= _THRESHOLDS:
            for low, high in itertools.pairwise(levels):
                tests.append((simplest_test(name, float(low), float(high), whole=True), column > low))
    for (a, u), (b, v) in itertools.combinations(list(zip(names, X.T, strict=True)), 2):
        tests += [(op("gt", a, b), u > v), (op("gt", b, a), v > u), (op("eq", a, b), u == v)]
    ends: list[tuple[Expr, np.ndarray]] = [(Const(c), np.full(len(X), float(c))) for c in (0, 1, -1)]
    for name, column in zip(names, X.T, strict=True):
        ends += [(name, column), (op("neg", name), -column)]
    if not tests:
        return
    T = np.stack([holds for _, holds in tests]).astype(bool)
    E = np.stack([values for _, values in ends])
    problem.spend("trees", len(T) * len(E) ** 2 * len(X))
    values = np.where(T[:, None, None, :], E[None, :, None, :], E[None, None, :, :]).reshape(-1, len(X))
    screen(
        found,
        values,
        found.pairs,
        lambda i: op("where", tests[i // len(E) ** 2][0], ends[i // len(E) % len(E)][0], ends[i % len(E)][0]),
    )


class SeparatingTrees(Enumeration):
    """The enumeration of the search, asked for conflicts in place of the target."""

    def __init__(self, problem: Problem, found: Separators) -> None:
        super().__init__(problem, Collector(problem))
        self.found = found
        place = np.full(len(problem.X), -1)
        place[problem.rows[self.rows]] = np.arange(len(self.rows))
        one, other = (place[side] for side in found.pairs)
        inside = np.flatnonzero((one >= 0) & (other >= 0))
        self.pairs = one[inside], other[inside]

    def _compare(self, values: np.ndarray, recipes: Callable[[int], Recipe], valid: np.ndarray) -> None:
        safe = np.where(valid[:, None], values, 0.0)
        screen(self.found, safe, self.pairs, lambda i: self.build(recipes(i)))


def screen(
    found: Separators, values: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], write: Callable[[int], Expr]
) -> None:
    """Which formulas, given as values (m, rows), differ on all pairs; these, and what is coarser.

    Those with few levels first.
    """
    count = len(pairs[0])
    if not count:
        return
    chosen = np.random.default_rng(1).permutation(count)[:_PAIRS]
    alive = np.arange(len(values))
    for few in (chosen[:10], chosen):
        one, other = pairs[0][few], pairs[1][few]
        found.problem.spend("trees", len(alive) * len(few))
        alive = alive[np.all(values[np.ix_(alive, one)] != values[np.ix_(alive, other)], axis=1)]
    alive = alive[:_SURVIVORS]
    found.problem.spend("sorted cells", len(alive) * values.shape[1])
    levels = 1 + np.count_nonzero(np.diff(np.sort(values[alive], axis=1), axis=1), axis=1)
    looked = 0
    for i in alive[np.argsort(levels, kind="stable")]:
        expr = write(int(i))
        if found.problem.expired() or looked >= _CLOSER:
            return
        if len(expr.variables()) == len(found.problem.variables):
            looked += 1
            found.offer_all(coarser(found, expr))


def coarser(found: Separators, expr: Expr) -> Iterator[Expr]:
    """The formula, and functions of it that still tell the pairs apart."""
    yield expr
    values = found.problem.values(expr)
    found.problem.effort.spend(_COARSER)
    if np.any(values != np.round(values)):
        return
    levels, place = np.unique(values, return_inverse=True)
    if not 3 <= len(levels) <= _MOST_LEVELS:
        return
    # which levels must be told apart
    place = place.reshape(-1)
    table = np.zeros((len(levels), len(levels)), dtype=bool)
    table[place[found.pairs[0]], place[found.pairs[1]]] = True
    table |= table.T
    if np.any(np.diag(table)):
        return
    low, high = (levels[side].astype(np.int64) for side in np.nonzero(np.triu(table)))
    yield from thresholds(expr, levels, low, high)
    yield from flat_middle(expr, levels, table)
    apart = np.unique(high - low)
    reach = min(_LARGEST_DIVISOR, int(np.ptp(levels)))
    for m in range(2, reach + 1):
        if np.all(apart % m):
            yield op("mod", expr, m)
            for shift in range(m):
                one, other = (low + shift) % m, (high + shift) % m
                least, most = int(np.minimum(one, other).max()), int(np.maximum(one, other).min())
                if least < most:
                    part = op("mod", _shifted(expr, shift if 2 * shift <= m else shift - m), m)
                    yield simplest_test(part, least, most, whole=True)
            break
    for m in range(reach, 1, -1):
        for shift in range(min(m, 3)):
            if np.all((low + shift) // m != (high + shift) // m):
                yield _shifted(expr, shift) // m
                return


def thresholds(expr: Expr, levels: np.ndarray, low: np.ndarray, high: np.ndarray) -> Iterator[Expr]:
    """A test, bounds, an equality, a distance that tell each low level from its high one."""
    bottom, top = int(low.max()), int(high.min())
    if bottom < top:
        yield simplest_test(expr, bottom, top, whole=True)
        return
    # all up to c and all from d on may be one
    c, d = int(levels[levels < top].max()), int(levels[levels > bottom].min())
    if c > levels[0] and d < levels[-1] and c < d:
        yield op("clip", expr, c, d)
    if c > levels[0]:
        yield op("max", expr, c)
    if d < levels[-1]:
        yield op("min", expr, d)
    for level in np.intersect1d(levels[1:-1], [low[0], high[0]]):
        if np.all((low == level) != (high == level)):
            yield op("eq", expr, int(level))
    # around a centre that no pair has in its middle
    middles = np.isin(np.arange(2 * int(levels[0]), 2 * int(levels[-1]) + 1), low + high)
    for centre in sorted(range(int(levels[0]) + 1, int(levels[-1])), key=abs):
        if not middles[2 * (centre - int(levels[0]))]:
            yield op("abs", _shifted(expr, -centre))
            break


def flat_middle(expr: Expr, levels: np.ndarray, table: np.ndarray) -> Iterator[Expr]:
    """`u - clip(u, c, d)`, where the levels from c to d need not be told apart."""
    longest, at, start = 0, 0, 0
    for end in range(len(levels)):
        clash = np.flatnonzero(table[start:end, end])
        start += int(clash[-1]) + 1 if len(clash) else 0
        if end - start > longest:
            longest, at = end - start, start
    if longest > 1 and at > 0 and at + longest < len(levels) - 1:
        c, d = int(levels[at]), int(levels[at + longest])
        yield expr - op("clip", expr, c, d)


def _shifted(expr: Expr, shift: Number) -> Expr:
    return expr if shift == 0 else expr + Const(shift) if shift > 0 else expr - Const(-shift)
