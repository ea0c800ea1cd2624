"""All small trees over the operands, each asked for every gauge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weights2code.language import Expr
from weights2code.symbolic.gauge.judge import Judge
from weights2code.symbolic.gauge.screen import Screen
from weights2code.symbolic.search.collector import Collector
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.trees import Enumeration, Recipe

#: Trees of a block that are judged on all rows, for each gauge.
_JUDGED = 12
#: Trees whose levels are looked at together.
_ASKED = 4000


class GaugeTrees(Enumeration):
    """The enumeration of the search, with the comparison up to a gauge in place of the exact one."""

    def __init__(self, problem: Problem, judge: Judge) -> None:
        super().__init__(problem, Collector(problem))
        self.judge = judge
        self.order = np.arange(len(self.rows))
        rows = problem.rows[self.rows]
        self.screen = Screen(judge, rows)
        # the screen keeps its rows in the order of v
        place = {int(row): i for i, row in enumerate(rows)}
        self.order = np.array([place[int(row)] for row in self.screen.rows])
        self.quantities: list[Expr] = []

    def _compare(self, values: np.ndarray, recipes: Callable[[int], Recipe], valid: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            maybe, ordered = self.screen.pairs(values, self.order)
        maybe, ordered = maybe[valid[maybe]], ordered[valid[ordered]]
        self.problem.spend("trees", 0.5 * values.size)
        tolerance = self.judge.tolerance
        if len(ordered):
            some = values[ordered][:, self.order]
            left = self.screen.lines(some)
            near = left <= tolerance
            self._judge(ordered[near][np.argsort(left[near], kind="stable")], recipes)
            self._judge(ordered[~near & self.screen.curves(some)], recipes)
        for start in range(0, len(maybe), _ASKED):
            part = maybe[start : start + _ASKED]
            self.problem.spend("sorted cells", 3 * len(part) * values.shape[1])
            if self.problem.expired():
                return
            self._judge(part[self.screen.levels(values[part][:, self.order])], recipes)

    def _judge(self, hits: np.ndarray, recipes: Callable[[int], Recipe]) -> None:
        for i in hits[:_JUDGED]:
            expr = self.build(recipes(int(i)))
            if self.judge.offer(expr) is not None:
                self.quantities.append(expr)
