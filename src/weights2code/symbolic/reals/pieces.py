"""Pieces of real functions of reals, wherever their borders lie.

`x if |x1 - 0.4| > |x - 0.4| else -x` follows one rule here and another there (`local_rules`). Which one is
a label of each row, and labels have borders (`borders`). The shortest tree of tests of these borders, with
the rules as its leaves, is the formula; maxima and minima of the rules where they say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.notation import branch, flattened
from weights2code.symbolic.piecewise.joined_planes import MOST_FOLDED, folded, joined
from weights2code.symbolic.reals.borders import Border, borders
from weights2code.symbolic.reals.cells import seldom_shorter, suits
from weights2code.symbolic.reals.directions import Term
from weights2code.symbolic.reals.local_rules import LocalRule, local_rules, terms_of
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.walk import Search

#: Variables of which polynomials are made, by degree.
MOST_OF_DEGREE = {1: 9, 2: 3, 3: 2}
#: Rows on which extrema of the rules are tried.
FOLDED_ROWS = 2000
#: Discrete variables of at most so many values are asked for each of them.
MOST_LEVELS = 10
#: Sets of cells that a tree is looked for.
MOST_SETS = 4000


def local_piece_stage(search: Search) -> None:
    """Offer trees of tests over rules that hold in parts of the space."""
    problem = search.problem
    if problem.whole or not suits(problem):
        return
    count = len(problem.variables)
    for degree, most in MOST_OF_DEGREE.items():
        if count > most or problem.expired():
            return
        terms = terms_of(count, degree)
        rules = local_rules(problem, terms)
        if rules is None:
            continue
        if degree == 1:
            _extrema(search, rules)
        else:
            _bounded(search, rules)
        if search.collector.exact is None or search.collector.exact.kind != "formula":
            _tree(search, rules, terms)
        if search.collector.exact is not None:
            seldom_shorter(problem)
        return


def _extrema(search: Search, rules: list[LocalRule]) -> None:
    problem, planes = search.problem, [rule.weights for rule in rules]
    rows = np.random.default_rng(42).permutation(len(problem.y))[:FOLDED_ROWS]
    if 2 <= len(planes) <= 3:
        search.collector.offer_all(joined(problem, planes))
    elif 4 <= len(planes) <= MOST_FOLDED:
        search.collector.offer_all(folded(problem, planes, problem.X[rows], problem.y[rows]))


def _bounded(search: Search, rules: list[LocalRule]) -> None:
    """One of two rules, whichever is larger or smaller; or one between two bounds."""
    exprs = [rule.expr for rule in rules]
    bounds = sorted((e for e in exprs if isinstance(e, Const)), key=lambda bound: float(bound.value))
    others = [e for e in exprs if not isinstance(e, Const)]
    if len(exprs) == 2:
        search.collector.offer_all(op(name, *exprs) for name in ("max", "min"))
    elif len(bounds) == 2 and len(others) == 1:
        search.collector.offer(op("clip", *others, *bounds))


def _tree(search: Search, rules: list[LocalRule], terms: Sequence[Term]) -> None:
    problem = search.problem
    right = np.stack([rule.holds for rule in rules])
    alone = np.flatnonzero(right.sum(axis=0) == 1)
    label = np.argmax(right[:, alone], axis=0)
    if len(np.unique(label)) < 2:
        return
    labelled = replace(
        problem,
        X=problem.X[alone],
        y=label.astype(float),
        measured=label.astype(float),
        weights=problem.weights[alone],
        rows=np.arange(min(len(alone), len(problem.rows))),
    )
    found = borders(labelled, label, _differences(rules, terms))
    if found is None:
        return
    tree = Tests(labelled, found, label).write([rule.expr for rule in rules])
    if tree is not None:
        search.collector.offer(tree)
        search.collector.offer(flattened(tree))


def _differences(rules: list[LocalRule], terms: Sequence[Term]) -> list[dict[Term, float]]:
    """Where two rules meet, one may end and the other begin."""
    found: list[dict[Term, float]] = []
    for i, one in enumerate(rules):
        for other in rules[:i]:
            apart = [float(p) - float(q) for p, q in zip(one.weights[:-1], other.weights[:-1], strict=True)]
            if any(apart):
                found.append({t: round(w, 9) for t, w in zip(terms, apart, strict=True) if abs(w) > 1e-9})
    return found


@dataclass
class Tests:
    """The cells of some borders and of discrete values, and the tests that tell them apart."""

    problem: Problem
    found: list[Border]
    label: np.ndarray
    best: dict[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.problem
        self.tests: list[Expr] = [border.test() for border in self.found]
        holds = [border.above() for border in self.found]
        for j, domain in enumerate(problem.domains):
            levels = np.unique(problem.X[:, j]).tolist()
            if not domain.discrete or not 2 <= len(levels) <= MOST_LEVELS:
                continue
            if levels == [0, 1]:
                self.tests.append(problem.variables[j])
                holds.append(problem.X[:, j] == 1)
            else:
                self.tests += [op("eq", problem.variables[j], Const(level).value) for level in levels]
                holds += [problem.X[:, j] == level for level in levels]
        table = np.column_stack([*holds, self.label])
        self.table = np.unique(table.astype(np.int64), axis=0)

    def write(self, leaves: list[Expr]) -> Expr | None:
        """The tree with the fewest nodes."""
        self.sizes = [leaf.size() for leaf in leaves]
        every = tuple(range(len(self.table)))
        return None if self._size(every) >= 10**6 else self._written(every, leaves)

    def _size(self, rows: tuple[int, ...]) -> int:
        """Nodes of the smallest tree for some cells."""
        if rows in self.best:
            return self.best[rows][0]
        part = self.table[list(rows)]
        if len({*part[:, -1].tolist()}) == 1:
            self.best[rows] = (self.sizes[int(part[0, -1])], -1)
            return self.best[rows][0]
        self.best[rows] = (10**6, -1)
        if len(self.best) > MOST_SETS:
            return 10**6
        smallest = (10**6, -1)
        for i, test in enumerate(self.tests):
            yes = tuple(r for r, one in zip(rows, part[:, i], strict=True) if one)
            if 0 < len(yes) < len(rows):
                no = tuple(r for r, one in zip(rows, part[:, i], strict=True) if not one)
                size = 1 + test.size() + self._size(yes)
                if size < smallest[0]:
                    smallest = min(smallest, (size + self._size(no), i))
        self.best[rows] = smallest
        return smallest[0]

    def _written(self, rows: tuple[int, ...], leaves: list[Expr]) -> Expr:
        size, test = self.best[rows]
        del size
        part = self.table[list(rows)]
        if test < 0:
            return leaves[int(part[0, -1])]
        yes = tuple(r for r, one in zip(rows, part[:, test], strict=True) if one)
        no = tuple(r for r, one in zip(rows, part[:, test], strict=True) if not one)
        return branch(self.tests[test], self._written(yes, leaves), self._written(no, leaves))
