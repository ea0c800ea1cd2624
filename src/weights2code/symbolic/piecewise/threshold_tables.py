"""How a decision along one direction is written: a small table of gates and thresholds as a tree of tests.

The thresholds cut the direction into intervals. For every interval and every combination of the gates' values
the table says what comes out, and the shortest tree of tests is found by trying all of them. A gate whose
value is kept between two thresholds is written out: `1 if e > c else 0 if e < d else y1`. The number of a
threshold is the simplest one in the gap that the rows leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from weights2code.language import Const, Expr, Number, Op, Var, op
from weights2code.symbolic.engine import preference
from weights2code.symbolic.notation import (
    branch,
    compare,
    opposite,
    simplest_between,
    simplest_test,
    weighted_sum,
)

#: Sub-tables that are written before a table counts as too long.
MOST_TABLES = 150


def idle(table: dict[tuple[int, tuple[float, ...]], float], gate: int) -> bool:
    """Whether the table says the same for all values of a gate."""
    without: dict[tuple[int, tuple[float, ...]], float] = {}
    return all(
        without.setdefault((i, part[:gate] + part[gate + 1 :]), value) == value
        for (i, part), value in table.items()
    )


def shared_gaps(gaps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The fewest gaps that lie in all of the given ones, in order."""
    shared: list[tuple[float, float]] = []
    for below, above in sorted(gaps):
        if shared and below < shared[-1][1]:
            shared[-1] = (below, min(above, shared[-1][1]))
        else:
            shared.append((below, above))
    return shared


@dataclass(frozen=True, slots=True)
class Threshold:
    """The tests that hold above a place in a gap of a direction, and below it."""

    over: Expr
    under: Expr


def whole_threshold(direction: Expr, below: float, above: float) -> Threshold:
    over = simplest_test(direction, below, above, whole=True)
    # the same from the other side: `-e > -t` is `e < t`
    under = simplest_test(op("neg", direction), -above, -below, whole=True)
    assert isinstance(under, Op)
    assert isinstance(under.args[1], Const)
    name = {"gt": "lt", "ge": "le"}[under.name]
    return Threshold(over, compare(name, direction, Const(-under.args[1].value).value))


def with_ends(direction: Expr, below: float, above: float) -> Threshold:
    """The simplest number of a gap, its ends included, which are decimals up to rounding."""
    below, above = round(below, 9), round(above, 9)
    return _threshold(direction, below, simplest_between(min(below, above), max(below, above)), above)


def well_inside(direction: Expr, below: float, above: float) -> Threshold:
    """The simplest number well inside of a gap; where there is only rounding inside, `>=` instead of `>`."""
    if above - below < 1e-9 * (1 + abs(below)):
        number = Const(simplest_between(round(below, 9), round(below, 9))).value
        return Threshold(compare("ge", direction, number), compare("le", direction, number))
    edge = min(1e-8 * (1 + abs(below) + abs(above)), 0.25 * abs(above - below))
    return _threshold(direction, below, simplest_between(below + edge, above - edge), above)


def _threshold(direction: Expr, below: float, level: float, above: float) -> Threshold:
    number = Const(level).value
    over = "ge" if below < above <= level else "gt"
    under = "le" if level <= below < above else "lt"
    return Threshold(compare(over, direction, number), compare(under, direction, number))


def stairs(thresholds: list[Threshold], levels: list[float]) -> Iterator[Expr]:
    """A sum of tests, with those of negative levels from above."""
    steps = [int(b - a) for a, b in itertools.pairwise(levels)]
    yield weighted_sum(
        [(step, threshold.over) for step, threshold in zip(steps, thresholds, strict=True)], int(levels[0])
    )
    if 0 in levels[1:-1]:
        zero = levels.index(0)
        terms: list[tuple[Number, Expr]] = [
            (step, threshold.over) if i >= zero else (-step, threshold.under)
            for i, (step, threshold) in enumerate(zip(steps, thresholds, strict=True))
        ]
        yield weighted_sum(terms[zero:] + terms[:zero])


#: Stands for the direction while a tree is written (no variable has this name), and the number of a threshold
#: for its place.
_DIRECTION = Var("<direction>")
Part = tuple[float, ...]
Parts = frozenset[Part]
Values = frozenset[tuple[tuple[int, Part], float]]


def filled(expr: Expr, thresholds: list[Threshold]) -> Expr:
    """With the tests in the place of the numbers of their thresholds."""

    def fill(node: Expr) -> Expr:
        if not isinstance(node, Op) or node.args[0] != _DIRECTION:
            return node
        assert isinstance(node.args[1], Const)
        threshold = thresholds[int(node.args[1].value)]
        test = threshold.over if node.name in ("gt", "le") else threshold.under
        turned = test if node.name in ("gt", "lt") else opposite(test)
        assert turned is not None
        return turned

    return expr.transform(fill)


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of tests; one that holds a gate's value between two thresholds is written out."""

    expr: Expr
    size: int
    holds: bool = False
    key: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        tests = sum(node == _DIRECTION for node in self.expr.walk())
        length, *others = preference(self.expr)
        object.__setattr__(self, "key", (not self.holds, length + tests * self.size, *others))


@dataclass(slots=True)
class Table:
    """The value for every interval of the direction and combination of the gates; some were never seen."""

    gates: tuple[Var, ...]
    thresholds: int
    values: dict[tuple[int, Part], float]
    size: int
    gated: bool = True
    known: dict[tuple[int, int, Parts], Tree | None] = field(default_factory=dict)

    def write(self) -> Tree | None:
        """By thresholds alone if that holds a value between two of them, else by tests of the gates too."""
        parts = frozenset(part for _, part in self.values)
        for gated in (False, True):
            self.gated, self.known = gated, {}
            tree = self._shortest(0, self.thresholds, parts)
            if tree is not None and tree.holds:
                return tree
        return tree

    def _shortest(self, first: int, last: int, parts: Parts) -> Tree | None:
        """The shortest tree of tests for some neighbouring intervals and some combinations."""
        key = (first, last, parts)
        if key not in self.known:
            if len(self.known) > MOST_TABLES:
                return None
            self.known[key] = None
            self.known[key] = self._grown(first, last, parts)
        return self.known[key]

    def _grown(self, first: int, last: int, parts: Parts) -> Tree | None:
        seen = [
            (part, self.values[i, part])
            for i in range(first, last + 1)
            for part in parts
            if (i, part) in self.values
        ]
        leaf = self._leaf(seen)
        if leaf is not None:
            return Tree(leaf, self.size, isinstance(leaf, Var) and first > 0 and last < self.thresholds)
        found: list[Tree] = []
        for test, holding in self._gate_tests(parts) if self.gated else ():
            yes, no = self._shortest(first, last, holding), self._shortest(first, last, parts - holding)
            if yes is not None and no is not None:
                found.append(_chosen(test, yes, no))
        for i in range(last - 1, first - 1, -1):
            upper, lower = self._shortest(i + 1, last, parts), self._shortest(first, i, parts)
            if upper is None or lower is None:
                continue
            if isinstance(lower.expr, Const) and not isinstance(upper.expr, Const):
                found.append(_chosen(op("lt", _DIRECTION, i), lower, upper))
            else:
                found.append(_chosen(op("gt", _DIRECTION, i), upper, lower))
        return min(found, key=lambda tree: tree.key, default=None)

    def _leaf(self, seen: list[tuple[tuple[float, ...], float]]) -> Expr | None:
        levels = {value for _, value in seen}
        if len(levels) <= 1:
            return Const(levels.pop() if levels else 0)
        for g, gate in enumerate(self.gates):
            if all(part[g] == value for part, value in seen):
                return gate
        return None

    def _gate_tests(self, parts: Parts) -> Iterator[tuple[Expr, Parts]]:
        for g, gate in enumerate(self.gates):
            every = {part[g] for _, part in self.values}
            levels = sorted({part[g] for part in parts})
            if len(levels) < 2:
                continue
            if every == {0, 1}:
                yield gate, frozenset(part for part in parts if part[g] == 1)
                continue
            for level in levels:
                test = op("eq", gate, Const(level))
                yield test, frozenset(part for part in parts if part[g] == level)
            for level in levels[1:-2]:
                yield op("gt", gate, Const(level)), frozenset(part for part in parts if part[g] > level)


def _chosen(test: Expr, yes: Tree, no: Tree) -> Tree:
    if yes.holds or no.holds:
        return Tree(op("where", test, yes.expr, no.expr), yes.size, holds=True)
    return Tree(branch(test, yes.expr, no.expr), yes.size)
