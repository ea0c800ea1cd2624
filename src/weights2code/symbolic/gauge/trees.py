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
        safe = np.where(valid[:, None], values, 0.0)[:, self.order]
        apart, ordered = self.screen.pairs(safe)
        tolerance = self.judge.tolerance
        lines = np.flatnonzero(ordered)
        if len(lines):
            left = self.screen.lines(safe[lines])
            near = lines[left <= tolerance]
            self._judge(near[np.argsort(left[left <= tolerance], kind="stable")], recipes)
            curved = lines[(left > tolerance)]
            self._judge(curved[self.screen.curves(safe[curved])] if len(curved) else curved, recipes)
        maybe = np.flatnonzero(apart)
        for start in range(0, len(maybe), 4000):
            part = maybe[start : start + 4000]
            self.problem.spend("sorted cells", 2 * len(part) * safe.shape[1])
            if self.problem.expired():
                return
            self._judge(part[self.screen.levels(safe[part])], recipes)

    def _judge(self, hits: np.ndarray, recipes: Callable[[int], Recipe]) -> None:
        for i in hits[:_JUDGED]:
            expr = self.build(recipes(int(i)))
            if self.judge.offer(expr) is not None:
                self.quantities.append(expr)
