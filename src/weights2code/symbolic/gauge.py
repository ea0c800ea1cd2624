"""Regression up to a gauge: what an intermediate variable means, whatever numbers stand for it.

The values v of a variable of a network are a gauge g of something that means more: v = g(e). Where v has
levels, these are plain whole numbers first, since what stands for them means nothing. Then g is a line, or
any function of an e that takes few values. Two ways lead to e: entries of the bank are asked whether v is
such a function of them, and formulas are looked for as for any other target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, log2

import numpy as np

from weights2code.language import OPERATORS, Domain, Expr, Var
from weights2code.simplify.forms import tidied
from weights2code.symbolic.engine import preference
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.notation import clipped
from weights2code.symbolic.search.bank import CELL, Bank, Block
from weights2code.symbolic.search.readings import left_over
from weights2code.symbolic.search.rows import Problem, prepare
from weights2code.symbolic.search.table import Table

#: Curves like sines are left out: within a tolerance they look like anything.
USED = frozenset(name for name, entry in OPERATORS.items() if entry.rank < OPERATORS["sin"].rank)
#: The share of the weight that may be off.
OFF = 0.005
#: A formula with more values than this share of the rows, unless these are few, says nothing by its levels.
SHARE, FEW = 0.75, 16
#: What counts like so many nodes: no line, twice as many levels as needed, all that may be off.
LEVELS, FINER, WRONG = 1.0, 3.0, 3.0
#: Entries of a block that are judged, their largest cost, and the share of the effort for all of them.
JUDGED, LARGEST, BANK = 12, 5, 0.5
#: The cost of a form that is plain enough to end the search; nodes of a formula that is searched.
PLAIN, LONGEST = 5.0, 15
#: Forms that are given.
MOST = 8
#: What plain numbers of levels may be off by; how uneven levels may be that are multiples of something.
NEAR, UNEVEN = 0.3, 0.15


def forms(
    columns: np.ndarray,
    values: np.ndarray,
    *,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    tolerance: float | None,
    weights: np.ndarray,
    effort: float,
) -> list[Expr]:
    """Formulas of the operands that `values` are a function of, the plainest first.

    `columns` are distinct rows of the operands (m, k), each occurring as often as `weights` say. Values may
    be `tolerance` from the function; without one they are levels. Effort is in seconds of a usual machine.
    """
    levels = tolerance is None
    near = NEAR if tolerance is None else tolerance
    wanted = plain_levels(columns, values) if levels else values
    problem = prepare(columns, wanted, variables=variables, domains=domains, tolerance=near, weights=weights,
                      effort=BANK * effort, operators=USED)  # fmt: skip
    if len(problem.X) != len(columns):
        raise ValueError("the rows of the operands must be distinct")
    if np.ptp(wanted) <= 2 * near or (levels and len(np.unique(wanted)) == len(wanted)):
        return []
    judge, table = Judge(problem), Table(variables, domains, problem.X)
    judge.look_at(Bank(table, problem, (), levels))
    if judge.limit() > PLAIN:
        found = NativeEngine().search(
            columns, wanted, variables=variables, domains=domains, tolerance=near, operators=USED,
            weights=weights, effort=problem.effort.left + (1 - BANK) * effort, max_complexity=LONGEST,
        )  # fmt: skip
        for candidate in found:
            if candidate.kind == "formula":
                judge.offer(candidate.expr)
    return sorted(judge.found, key=lambda expr: (judge.found[expr], preference(expr)))[:MOST]


def plain_levels(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Levels as whole numbers: multiples of the least gap if they are, else one after the other; nothing
    where the operands are nothing, and up with them."""
    level, place = np.unique(values, return_inverse=True)
    even = (level - level[0]) / np.diff(level).min(initial=inf)
    whole = np.round(even)
    plain = (whole if np.all(np.abs(even - whole) <= UNEVEN) else np.arange(len(level)))[place.reshape(-1)]
    if len(level) > 2:
        plain = plain - plain[np.argmin(np.sum(np.abs(columns), axis=1))]
        plain = plain if np.sum((columns - columns.mean(axis=0)).T * plain) >= 0 else -plain
    return plain.astype(float)


@dataclass
class Judge:
    """The rows of one variable, and what the forms found so far cost."""

    problem: Problem
    found: dict[Expr, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.v = self.problem.measured
        self.share = self.problem.weights / self.problem.weights.sum()

    def limit(self) -> float:
        """The cost of the best form so far."""
        return min(self.found.values(), default=inf)

    def offer(self, expr: Expr) -> None:
        """Judge a formula on all rows."""
        expr = clipped(tidied(expr))
        values, tolerance = np.round(self.problem.values(expr), 9), self.problem.tolerance
        if expr in self.found or not np.all(np.isfinite(values)) or np.ptp(values) <= 1e-9:
            return
        self.problem.effort.spend(12 * CELL * len(values))
        for nearest, extra in self.fits(values):
            distance = np.abs(self.v - nearest)
            wrong = distance > tolerance * (1 + 1e-9)
            off = float(self.share[wrong].sum())
            if off <= OFF and np.ptp(nearest) > 2 * tolerance:
                extra += WRONG * off / OFF + distance[~wrong].max(initial=0.0) / tolerance
                cost = round(float(preference(expr)[0] + extra), 3)
                self.found[expr] = min(cost, self.found.get(expr, inf))

    def fits(self, values: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
        """The line of a formula's values that is nearest to v, and, if they are few, the function of them
        that is; and what each costs."""
        x = values - self.share @ values
        line = self.share @ self.v + (self.share @ (x * self.v)) / (self.share @ (x * x)) * x
        yield line, 0.0
        distinct, parts = np.unique(values, return_inverse=True)
        rows = len(values)
        if len(distinct) <= max(SHARE * rows, rows - 1 if rows <= FEW else 0):
            middle = np.bincount(parts, self.share * self.v) / np.bincount(parts, self.share)
            needed = 1 + int(np.sum(np.diff(np.sort(middle)) > self.problem.tolerance))
            yield middle[parts], LEVELS + FINER * log2(len(distinct) / needed)

    def look_at(self, bank: Bank) -> None:
        """Entries by their cost, until one is found that costs less than the next."""
        few = bank.table.few

        def look(block: Block) -> None:
            for i in self.likely(block.values, self.v[few]):
                self.offer(block.write(int(i)))

        look(bank.kept(1))
        for cost in range(2, LARGEST + 1):
            if cost < self.limit() and not self.problem.expired():
                if cost == LARGEST:  # `x + 2*y` before `x + y + y`
                    bank.add_sums(look)
                bank.grow(cost, look)

    def likely(self, V: np.ndarray, v: np.ndarray) -> list[int]:
        """Entries that v may be a line of, and such as it may be another function of, those that tell least
        apart first."""
        self.problem.effort.spend(4 * CELL * V.size)
        tolerance = self.problem.tolerance
        order = np.argsort(V, axis=1, kind="stable")
        tied = np.diff(np.take_along_axis(V, order, 1), axis=1) <= 1e-9
        jumps = np.sum(tied & (np.abs(np.diff(v[order], axis=1)) > 2.2 * tolerance), axis=1)
        hits = np.flatnonzero((jumps <= 4 * OFF * len(v)) & tied.any(axis=1))
        hits = hits[np.argsort(-tied[hits].sum(axis=1), kind="stable")][:JUDGED]
        Q = np.full((len(v), 1), len(v) ** -0.5)
        straight = np.flatnonzero(left_over(V, Q, v) <= len(v) * tolerance**2)
        return [*straight[:JUDGED], *hits]
