"""Decisions by thresholds of one weighted sum, which discrete variables may gate.

`1 if e > 0.52 else 0 if e < -0.52 else y1` with e a sum of reals: given y1 it is one threshold of e, another
for every value of y1, and e is the same. So the rows are split by the values of one or two discrete
variables, or of none; in every part the values of y follow one another along a direction that all parts share
(`common_direction`). Once it is known, the rule is a small table of the gates and of where e lies, and the
shortest tree of tests of that table is written. What a test of a single variable settles is taken away first
where nothing else helps: `b > 0.3 and a + c > 1.1`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weights2code.language import Const, Expr, Number, op
from weights2code.symbolic.engine import number_cost, preference
from weights2code.symbolic.notation import branch, simplest_test
from weights2code.symbolic.piecewise.common_direction import Border, Separation, written
from weights2code.symbolic.piecewise.threshold_tables import (
    Table,
    Tree,
    Values,
    filled,
    idle,
    shared_gaps,
    stairs,
    well_inside,
    whole_threshold,
    with_ends,
)
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.weighted_sums import sum_expr

MOST_VARIABLES = 9
MOST_VALUES = 9
MOST_LEVELS = 9
FEWEST_ROWS = 8
#: So many rows of so many variables leave no room for another rule that is shorter.
MANY_ROWS = 500
SEVERAL = 4
#: A gate with a rule of its own for each value has at most so many.
MOST_RULES = 4
#: Weights with more digits than this, all in all, are long: 2 is not, 0.8 is.
FEW_DIGITS = 1.2
#: Nodes that a value held between two thresholds takes beside its tests.
WRITTEN_OUT = 6
#: Parts that the gates may split the rows into, and rows for every free number of the rule.
MOST_PARTS = 40
ROWS_EACH = 5
#: What a rule says in bits, about: for each different part of it, and for each digit.
BITS_A_PART = 4.0
BITS_A_DIGIT = 3.3
#: A rule may take at most this share of what the targets say.
SHARE_TOLD = 0.3
#: Thresholds that a rule may have, with gates and without.
MOST_THRESHOLDS = 9
MOST_GATED = 5
#: Nodes that writing one table of its values handles, about.
NODES_EACH = 10
#: Tests of single variables tried as a first step, the share of rows that one must settle, and steps.
MOST_FIRST = 8
SETTLED = 0.04
STEPS = 2


@dataclass(frozen=True, slots=True)
class _Found:
    """A rule that is right on all rows, the digits of its weights, and whether it holds a gate's value."""

    expr: Expr
    gates: tuple[int, ...]
    digits: float
    holds: bool


def threshold_stage(problem: Problem, collector: Collector) -> bool:
    """Offer decisions along one direction, gated or not, and after tests of single variables.

    Whether nothing shorter is to be expected: a choice between two values, or one that is held, along a sum,
    on many rows of several variables.
    """
    values = len(np.unique(problem.y))
    if not 1 <= len(problem.variables) <= MOST_VARIABLES or not problem.whole:
        return False
    if not 2 <= values <= MOST_VALUES or len(problem.y) < FEWEST_ROWS:
        return False
    found = along_sums(problem)
    if found is not None and _believable(problem, found.expr):
        candidate = collector.offer(found.expr)
        many = len(problem.y) >= MANY_ROWS and len(problem.variables) >= SEVERAL
        return many and (values == 2 or found.holds) and candidate is not None and candidate.exact
    if found is None and collector.exact is None:
        expr = by_parts(problem) or after_tests(problem, STEPS)
        if expr is not None and _believable(problem, expr):
            collector.offer(expr)
    return False


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


def along_sums(problem: Problem) -> _Found | None:
    """The shortest rule along one direction: without gates, with one, with two.

    A bit that is held between two thresholds also enters one sum, with their difference as its weight. Where
    that makes the weights long, the two thresholds are meant.
    """
    plain = min(_along(problem, ()), key=_length, default=None)
    if plain is not None and plain.digits <= FEW_DIGITS:
        return plain
    gates = [j for j in range(len(problem.variables)) if 2 <= len(_levels(problem, j)) <= MOST_LEVELS]
    found = [rule for j in gates for rule in _along(problem, (j,))]
    singles = {j for rule in found for j in rule.gates}
    for pair in itertools.combinations(gates, 2):
        # beside a gate that does alone, only a bit is likely to make the rule shorter
        shorter = singles & {*pair} and min(len(_levels(problem, j)) for j in pair) == 2
        if (not singles or shorter) and not problem.expired():
            found.extend(_along(problem, pair))
    found += [plain] if plain is not None else []
    if not found:
        return None
    shortest = min(found, key=_length)
    # two thresholds write the sum twice
    most = 2 * _length(shortest)[0] + WRITTEN_OUT
    held = [r for r in found if r.holds and r.digits < shortest.digits and _length(r)[0] <= most]
    return min(held if shortest.digits > FEW_DIGITS and held else [shortest], key=_length)


def _length(rule: _Found) -> tuple[float, ...]:
    """As formulas are preferred, but all digits count: the rows of reals are many, and say what is meant."""
    nodes, *others = preference(rule.expr)
    digits = sum(number_cost(node.value) for node in rule.expr.walk() if isinstance(node, Const))
    return (nodes + 0.5 * digits, *others)


def _levels(problem: Problem, column: int) -> np.ndarray:
    """The values of a discrete column; none of a real one."""
    return np.unique(problem.X[:, column]) if problem.domains[column].discrete else np.zeros(0)


def by_parts(problem: Problem) -> Expr | None:
    """A rule of its own for every value of a gate."""
    found: list[Expr] = []
    for j, gate in enumerate(problem.variables):
        levels = _levels(problem, j)
        if not 2 <= len(levels) <= MOST_RULES:
            continue
        rules: list[tuple[float, Expr]] = []
        for level in levels:
            part = _part(problem, problem.X[:, j] == level)
            single = len(np.unique(part.y)) == 1
            plain = [] if single else list(_along(part, ()))
            if not single and not plain:
                break
            rules.append((level, Const(part.y[0]) if single else min(plain, key=_length).expr))
        if len(rules) < len(levels):
            continue
        bit = list(levels) == [0, 1]
        expr = rules[0 if bit else -1][1]
        for level, rule in rules[1:] if bit else rules[-2::-1]:
            expr = branch(gate if bit else op("eq", gate, Const(level)), rule, expr)
        found.append(expr)
    return min(found, key=preference, default=None)


def after_tests(problem: Problem, steps: int) -> Expr | None:
    """`leaf if x > t else rest`: a constant or a variable gives all rows beyond a threshold."""
    if steps == 0 or problem.expired():
        return None
    for test in list(_first_tests(problem))[:MOST_FIRST]:
        left = ~test.settled
        rest = _part(problem, left)
        if len(np.unique(rest.y)) == 1:
            continue
        rule = along_sums(rest)
        found = by_parts(rest) if rule is None else rule.expr
        if found is None and steps > 1 and test.share > 0.15:
            found = after_tests(rest, steps - 1)
        if found is None:
            continue
        expr = _joined(problem, test, found)
        if expr is not None:
            return expr
    return None


@dataclass(frozen=True, slots=True)
class _First:
    """The rows beyond a threshold of one variable, all given by one leaf."""

    column: int
    sign: int
    leaf: Expr
    settled: np.ndarray

    @property
    def share(self) -> float:
        return float(np.mean(self.settled))


def _first_tests(problem: Problem) -> Iterator[_First]:
    """Tests that settle some rows, those of most rows first."""
    X, y = problem.X, problem.y
    leaves: list[tuple[Expr, np.ndarray]] = [(Const(float(v)), np.full(len(y), v)) for v in np.unique(y)]
    leaves += [(v, X[:, j]) for j, v in enumerate(problem.variables) if problem.domains[j].discrete]
    found: list[_First] = []
    for leaf, values in leaves:
        wrong = values != y
        if not wrong.any() or wrong.all():
            continue
        for sign in (1, -1):
            bound = np.max(sign * X[wrong], axis=0)
            for j in range(X.shape[1]):
                settled = sign * X[:, j] > bound[j]
                if SETTLED <= np.mean(settled) < 1:
                    found.append(_First(j, sign, leaf, settled))
    yield from sorted(found, key=lambda test: (-test.share, test.column))


def _joined(problem: Problem, test: _First, rest: Expr) -> Expr | None:
    """The threshold lies between the last row that the leaf gets wrong and the first that the rest does."""
    x = test.sign * problem.X[:, test.column]
    rest_wrong = problem.values(rest) != problem.y
    leaf_wrong = problem.values(test.leaf) != problem.y
    below, above = float(np.max(x[leaf_wrong])), float(np.min(x[rest_wrong], initial=np.inf))
    if not below < above < np.inf:
        return None
    variable, whole = problem.variables[test.column], problem.domains[test.column].discrete
    if test.sign > 0:
        return branch(simplest_test(variable, below, above, whole=whole), test.leaf, rest)
    turned = simplest_test(variable, -above, -below, whole=whole)
    return branch(turned, rest, test.leaf)


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


def _along(problem: Problem, gates: tuple[int, ...]) -> Iterator[_Found]:
    """Rules along a direction that all parts of the rows share."""
    X, y = problem.X, problem.y
    free = [j for j in range(X.shape[1]) if j not in gates]
    parts = _parts(X[:, list(gates)])
    mixed = [rows for rows in parts if np.ptp(y[rows]) > 0]
    if not free or not mixed:
        return
    # the part that shows most of the direction comes first
    mixed.sort(key=lambda rows: -(len(rows) - np.max(np.unique(y[rows], return_counts=True)[1])))
    for order in _orders(X[mixed[0]][:, free], y[mixed[0]]):
        borders = _borders(y, mixed[0], order)
        first = Separation(problem, X, free, borders)
        guess = first.guess()
        if guess is None:
            continue
        values = X[:, first.columns] @ (guess / first.spread)
        for rows in mixed[1:]:
            levels = np.unique(y[rows])
            along = sorted(levels, key=lambda v: float(values[rows[y[rows] == v]].mean()))
            borders += _borders(y, rows, along)
        if len(y) < ROWS_EACH * (len(free) + len(borders)) and not _every_row(problem):
            continue
        separation = first if len(mixed) == 1 else Separation(problem, X, free, borders)
        guess = guess if len(mixed) == 1 else separation.guess()
        if guess is None:
            continue
        judged = Collector(problem)
        simple = [weights for best in separation.directions(guess) for weights in separation.simple(best)]
        trees: dict[tuple[Values, int], Tree | None] = {}
        for weights in dict.fromkeys(simple):
            sign = _orientation(weights, len(borders))
            turned = tuple(sign * w for w in weights)
            real = any(w and not d.discrete for w, d in zip(weights, problem.domains, strict=True))
            for form in written(turned) if real else [turned]:
                digits = sum(number_cost(w) for w in {abs(w) for w in form} - {0, 1})
                forms = {tree.expr: tree for tree in _write(problem, gates, form, sign, borders, trees)}
                for tree in forms.values():
                    candidate = judged.offer(tree.expr)
                    if candidate is not None and candidate.exact:
                        yield _Found(tree.expr, gates, digits, tree.holds)
        if simple:
            return


def _orientation(weights: tuple[int, ...], borders: int) -> int:
    """Few minus signs; where there are several thresholds, the values of y rise with the sum."""
    positive, negative = sum(w > 0 for w in weights), sum(w < 0 for w in weights)
    return -1 if (positive < negative if borders == 1 else not positive) else 1


def _parts(columns: np.ndarray) -> list[np.ndarray]:
    """The rows of every combination of values; none where these are too many."""
    place, count = np.zeros(len(columns), dtype=np.int16), 1
    for column in columns.T:
        levels = np.unique(column)
        place, count = place * np.int16(len(levels)) + np.searchsorted(levels, column), count * len(levels)
        if count > MOST_PARTS:
            return []
    order = np.argsort(place.astype(np.int16), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(place[order])) + 1)


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


def _borders(y: np.ndarray, rows: np.ndarray, order: Sequence[float]) -> list[Border]:
    sides = [rows[y[rows] == level] for level in order]
    return [Border(low, high) for low, high in itertools.pairwise(sides)]


def _write(
    problem: Problem,
    gates: tuple[int, ...],
    weights: tuple[Number, ...],
    sign: int,
    borders: list[Border],
    trees: dict[tuple[Values, int], Tree | None],
) -> Iterator[Tree]:
    """The rule with this direction in all its forms; `trees` are those written before."""
    direction = sum_expr(problem, weights)
    values = problem.values(direction)
    whole = all(
        w == 0 or (isinstance(w, int) and domain.discrete)
        for w, domain in zip(weights, problem.domains, strict=True)
    )
    sides = [(b.low, b.high) if sign > 0 else (b.high, b.low) for b in borders]
    gaps = shared_gaps([(float(values[low].max()), float(values[high].min())) for low, high in sides])
    if whole and any(below >= above for below, above in gaps):
        return
    place = np.searchsorted([0.5 * (below + above) for below, above in gaps], values)
    table: dict[tuple[int, tuple[float, ...]], float] = {}
    parts = map(tuple, problem.X[:, list(gates)].tolist())
    for i, part, value in zip(place.tolist(), parts, problem.y.tolist(), strict=True):
        table[i, part] = value
    if len(gaps) > (MOST_GATED if gates else MOST_THRESHOLDS):
        return
    if any(idle(table, g) for g in range(len(gates))):
        return  # said with fewer gates
    key = (frozenset(table.items()), direction.size())
    if key not in trees:
        variables = tuple(problem.variables[j] for j in gates)
        writer = Table(variables, len(gaps), table, direction.size())
        trees[key] = writer.write()
        problem.spend("offers", NODES_EACH * len(writer.known))
    for choose in (whole_threshold,) if whole else (with_ends, well_inside):
        thresholds = [choose(direction, below, above) for below, above in gaps]
        tree = trees[key]
        if tree is not None:
            yield replace(tree, expr=filled(tree.expr, thresholds))
        if not gates and len(table) == len(gaps) + 1:
            for expr in stairs(thresholds, [table[i, ()] for i in range(len(gaps) + 1)]):
                yield Tree(expr, 0)
