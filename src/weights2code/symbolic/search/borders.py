"""Borders sharpened with all rows: thresholds of a formula that is wrong on few of them.

A search sees some of the rows, and a threshold between two of these may lie on the wrong side of others. It
moves past the rows that are wrong, to the simplest number in the gap there, as long as fewer are wrong then.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.language import Const, Expr, Op
from weights2code.symbolic.notation import opposite, simplest_test
from weights2code.symbolic.search.rows import Problem

#: The share of rows that may be wrong, and the tests of a formula that may be moved.
FEW, MOST_TESTS = 0.03, 10
#: Comparisons, and whether they hold below their number.
ORDER = {"gt": False, "ge": False, "lt": True, "le": True}


def sharpened(problem: Problem, expr: Expr, wrong: np.ndarray) -> Expr | None:
    """The same formula with other thresholds, if these make it right on all rows."""
    tests = _tests(expr)
    if not 0 < len(tests) <= MOST_TESTS or np.mean(wrong) > FEW:
        return None
    for _ in range(2 * len(tests)):
        best: tuple[int, Expr, np.ndarray] | None = None
        for test in tests:
            for moved in _moved(problem, test, wrong):
                other = expr.transform(lambda node, test=test, moved=moved: moved if node == test else node)
                still = np.abs(problem.values(other) - problem.y) > problem.accuracy * (1 + 1e-9)
                if best is None or still.sum() < best[0]:
                    best = int(still.sum()), other, still
        if best is None or best[0] >= wrong.sum():
            return None
        _, expr, wrong = best
        if not best[0]:
            return expr
        tests = _tests(expr)
    return None


def _tests(expr: Expr) -> list[Op]:
    """The different comparisons with a number."""
    compared = (node for node in expr.walk() if isinstance(node, Op) and node.name in ORDER)
    return [*dict.fromkeys(node for node in compared if isinstance(node.args[1], Const))]


def _moved(problem: Problem, test: Op, wrong: np.ndarray) -> Iterator[Expr]:
    """The test with its threshold beyond the rows that are wrong, on either side."""
    v, level = problem.values(test.args[0]), float(test.args[1].value)  # pyright: ignore
    places = np.unique(v)
    whole = problem.discrete and bool(np.all(places == np.round(places)))
    for side, above in ((v[wrong & (v >= level)], True), (v[wrong & (v <= level)], False)):
        if not len(side):
            continue
        at = (
            int(np.searchsorted(places, side.max())) + 1
            if above
            else int(np.searchsorted(places, side.min()))
        )
        if 0 < at < len(places):
            found = simplest_test(test.args[0], float(places[at - 1]), float(places[at]), whole=whole)
            turned = opposite(found) if ORDER[test.name] else found
            if turned is not None:
                yield turned
