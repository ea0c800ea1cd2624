"""All small formulas of the operands, as the bank makes them, each asked for every gauge."""

from __future__ import annotations

import numpy as np

from weights2code.language import Expr
from weights2code.symbolic.gauge.judge import Judge
from weights2code.symbolic.gauge.screen import Screen
from weights2code.symbolic.one.bank import Bank, Block
from weights2code.symbolic.one.table import Table
from weights2code.symbolic.search.rows import Problem

#: Entries of a block that are judged on all rows, for each gauge.
_JUDGED = 12
#: Entries whose levels are looked at together.
_ASKED = 4000


class GaugeTrees:
    """The bank of the search, with the comparison up to a gauge in place of readings."""

    def __init__(self, problem: Problem, judge: Judge) -> None:
        self.problem, self.judge = problem, judge
        table = Table(problem.variables, problem.domains, problem.X)
        self.bank = Bank(table, problem, [], whole=False)
        self.screen = Screen(judge, table.few)
        # the screen keeps its rows in the order of v
        place = {int(row): i for i, row in enumerate(table.few)}
        self.order = np.array([place[int(row)] for row in self.screen.rows])
        self.quantities: list[Expr] = []

    def grow(self, cost: int) -> None:
        """All entries of a cost, each held against v."""
        self.bank.grow(cost, self._compare)

    def _compare(self, block: Block) -> None:
        values = block.values
        maybe, ordered = self.screen.pairs(values, self.order)
        self.problem.spend("trees", 0.5 * values.size)
        tolerance = self.judge.tolerance
        if len(ordered):
            some = values[ordered][:, self.order]
            left = self.screen.lines(some)
            near = left <= tolerance
            self._judge(ordered[near][np.argsort(left[near], kind="stable")], block)
            self._judge(ordered[~near & self.screen.curves(some)], block)
        for start in range(0, len(maybe), _ASKED):
            part = maybe[start : start + _ASKED]
            self.problem.spend("sorted cells", 3 * len(part) * values.shape[1])
            if self.problem.expired():
                return
            self._judge(part[self.screen.levels(values[part][:, self.order])], block)

    def _judge(self, hits: np.ndarray, block: Block) -> None:
        for i in hits[:_JUDGED]:
            expr = block.write(int(i))
            if self.judge.offer(expr) is not None:
                self.quantities.append(expr)
