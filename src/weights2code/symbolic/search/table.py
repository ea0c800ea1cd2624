"""Rows and what is wanted on them: a goal is one interval a row.

Tolerance, cells of which nothing is known (from minus to plus infinity) and bounds of one side are all the
same thing. A goal may hold up to multiples of a number: that is what stands inside a remainder. Rows that
agree in some quantities must have a value in common: the one test behind a column dropped and a quantity
put in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weights2code.language import Domain, Expr, Var, compile_numpy, infer

INF = np.inf
#: Rows that the bank holds values on; more where a formula turned out wrong on others.
ROWS = 200
#: Bits that rows must tell which agree in some quantities, and could differ in what is wanted.
EVIDENCE = 14.0
#: What a node counts for beside a bit of what is left; how much worse than the best a step may be.
COST, WITHIN = 0.5, 2.5
#: A list may say at most this share of what the goal says, and of one on all rows that there are, in bits,
#: at so many bits a node.
TOLD, TOLD_ALL, NODE = 0.35, 0.7, 4.0


@dataclass(frozen=True, eq=False)
class Goal:
    """Between which numbers the value must lie on every row, up to multiples of `modulus` if there is one."""

    low: np.ndarray
    high: np.ndarray
    modulus: int | None = None

    @cached_property
    def tight(self) -> np.ndarray:
        """Rows on which the value is known, as a mask."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    @cached_property
    def known(self) -> np.ndarray:
        return np.flatnonzero(self.tight)

    @cached_property
    def middle(self) -> np.ndarray:
        """The value where it is known, and 0 elsewhere; up to a modulus the least that is not negative."""
        value = 0.5 * (np.where(self.tight, self.low, 0.0) + np.where(self.tight, self.high, 0.0))
        return value if self.modulus is None else np.round(value) % self.modulus

    @cached_property
    def slack(self) -> float:
        width = (self.high - self.low)[self.known]
        return max(float(width.min()) / 2, 1e-9) if len(width) else 1e-9

    @cached_property
    def whole(self) -> bool:
        """Whether all that is known are whole numbers."""
        y = self.middle[self.known]
        return bool(np.all(np.abs(y - np.round(y)) <= 1e-5))

    @cached_property
    def levels(self) -> np.ndarray:
        """The different values that are known, as multiples of the slack."""
        return np.unique(self.coded)

    @cached_property
    def coded(self) -> np.ndarray:
        """A whole number for the value of each known row: by gaps where values lie in narrow groups."""
        y = self.middle[self.known]
        if self.whole or not len(y):
            return np.round(y).astype(np.int64)
        order = np.argsort(y, kind="stable")
        group = np.r_[0, np.cumsum(np.diff(y[order]) > self.slack)]
        starts = np.flatnonzero(np.r_[True, np.diff(group) > 0])
        width = np.maximum.reduceat(y[order], starts) - np.minimum.reduceat(y[order], starts)
        if width.max() > 2.2 * self.slack:
            return np.round(np.clip(y / max(2 * self.slack, 1e-9), -1e15, 1e15)).astype(np.int64)
        code = np.empty(len(y), dtype=np.int64)
        code[order] = group
        return code

    @cached_property
    def bits(self) -> float:
        """Of one known cell, about."""
        return float(np.log2(1 + len(self.levels)))

    def agrees(self, values: np.ndarray) -> np.ndarray:
        """On which rows values (or each row of a matrix) are right."""
        allowed = 1e-9 * (1 + np.abs(values))
        if self.modulus is not None:
            apart = np.abs(values - self.middle) % self.modulus
            return (np.minimum(apart, self.modulus - apart) <= 1e-6) | ~self.tight
        return (values >= self.low - allowed) & (values <= self.high + allowed)

    def met(self, values: np.ndarray) -> bool:
        return bool(np.all(self.agrees(values)))

    def at(self, rows: np.ndarray) -> Goal:
        """On some rows alone."""
        return Goal(self.low[rows], self.high[rows], self.modulus)

    def where(self, rows: np.ndarray) -> Goal:
        """With nothing known but on these rows, a mask."""
        return replace(self, low=np.where(rows, self.low, -INF), high=np.where(rows, self.high, INF))

    def key(self) -> bytes:
        scale = max(self.slack, 1e-9)
        ends = np.clip(np.stack([self.low, self.high]), -1e9, 1e9) / scale
        return np.round(ends).astype(np.int64).tobytes() + str(self.modulus).encode()


def bit_goal(yes: np.ndarray, no: np.ndarray) -> Goal:
    """One where `yes`, zero where `no`, anything elsewhere."""
    return Goal(
        np.where(yes, 1.0, np.where(no, 0.0, -INF)) - 1e-6, np.where(yes, 1.0, np.where(no, 0.0, INF)) + 1e-6
    )


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows of some columns."""

    variables: tuple[Var, ...]
    domains: tuple[Domain, ...]
    X: np.ndarray
    #: Rows that must be among those of the bank.
    told: tuple[int, ...] = ()

    @cached_property
    def discrete(self) -> bool:
        return all(domain.discrete for domain in self.domains)

    @cached_property
    def bits(self) -> bool:
        return bool(np.all((self.X == 0) | (self.X == 1)))

    @cached_property
    def complete(self) -> bool:
        """Whether the rows are all combinations of the values of the columns: nothing can be overfitted."""
        return self.discrete and len(self.X) >= np.prod([len(np.unique(c)) for c in self.X.T], dtype=float)

    @cached_property
    def few(self) -> np.ndarray:
        """Rows of the bank: those with the ends of every column, those that are told, an even choice."""
        if len(self.X) <= ROWS * 1.25:
            return np.arange(len(self.X))
        ends = {int(i) for column in self.X.T for i in (np.argmin(column), np.argmax(column))} | {*self.told}
        others = np.random.default_rng(1).permutation(len(self.X))[: max(ROWS - len(ends), ROWS // 2)]
        return np.unique([*ends, *others.tolist()])

    def values(self, expr: Expr) -> np.ndarray:
        with np.errstate(all="ignore"):
            result = compile_numpy(expr, self.variables)(*self.X.T)
        return np.broadcast_to(np.asarray(result, dtype=float), (len(self.X),))

    def only(self, places: Sequence[int] | np.ndarray) -> Table:
        """Some columns alone, all rows."""
        kept = [(self.variables[i], self.domains[i]) for i in places]
        return Table(tuple(v for v, _ in kept), tuple(d for _, d in kept), self.X[:, list(places)])

    @cached_property
    def named(self) -> list[tuple[Var, np.ndarray, Domain]]:
        """The columns, each with its variable and its domain."""
        return list(zip(self.variables, self.X.T, self.domains, strict=True))

    @cached_property
    def codes(self) -> np.ndarray:
        """A whole number for every value of every column (k, n)."""
        return np.array([np.unique(c, return_inverse=True)[1].reshape(-1) for c in self.X.T], dtype=np.int64)


def joined(codes: Sequence[np.ndarray]) -> np.ndarray:
    """A number for every combination, from 0 on without gaps."""
    code = np.zeros(len(codes[0]), dtype=np.int64)
    for other in codes:
        code = code * (int(other.max(initial=0)) + 1) + other
        if int(code.max(initial=0)) > 2**40:
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
    most = int(code.max(initial=0)) + 1
    if most > 8 * len(code):
        return np.unique(code, return_inverse=True)[1].reshape(-1)
    there = np.zeros(most, dtype=np.int64)
    there[code] = 1
    return (np.cumsum(there) - 1)[code]


def common(goal: Goal, code: np.ndarray) -> Goal | None:
    """The goal of groups of rows, what their intervals share; None if a group has nothing in common."""
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(code[order]) > 0])
    if goal.modulus is not None:
        low = np.where(goal.tight, goal.middle - 1e-6, -INF)
        high = np.where(goal.tight, goal.middle + 1e-6, INF)
    else:
        low, high = goal.low, goal.high
    least = np.maximum.reduceat(low[order], starts)
    most = np.minimum.reduceat(high[order], starts)
    if np.any(least > most + 1e-9 * (1 + np.abs(least))):
        return None
    return Goal(least, np.maximum(least, most), goal.modulus)


def merged(
    table: Table, goal: Goal, columns: Sequence[np.ndarray], variables: Sequence[Var], code: np.ndarray
) -> tuple[Table, Goal] | None:
    """The table in other columns, rows that agree in them made one; None if these rows contradict each other.

    `code` numbers the combinations of the columns from 0 on.
    """
    shared = common(goal, code)
    if shared is None:
        return None
    first = np.zeros(int(code.max()) + 1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    X = np.stack([column[first] for column in columns], axis=1)
    told = tuple(sorted({int(code[i]) for i in table.told}))
    domains = tuple(
        table.domains[table.variables.index(v)] if v in table.variables else infer(column)
        for v, column in zip(variables, X.T, strict=True)
    )
    return Table(tuple(variables), domains, X, told), shared


@dataclass(frozen=True, eq=False)
class Left:
    """What a step leaves to be found, what becomes of a formula for it, and the nodes that this adds.

    Where a rule has two parts, `then` says what is left once the first is found.
    """

    step: str
    table: Table
    goal: Goal
    finish: Callable[[Expr], Expr]
    cost: float
    then: Callable[[Expr], Left] | None = None
    #: Nodes of a part that was found before.
    sure: float = 0.0


def size(goal: Goal) -> float:
    """Cells that are known times bits of one."""
    return len(goal.known) * goal.bits


def room(table: Table) -> float:
    """Bits of a place in the table: all combinations of the values of its columns."""
    return float(np.sum(np.log2(table.codes.max(axis=1) + 1.0)))


def left_to_say(table: Table, goal: Goal) -> float:
    """Bits of a place in the table, of the share of it that is known, and of what there is to say of one."""
    return room(table) + float(np.log2(max(len(goal.known), 1) / len(table.X)) + np.log2(goal.bits))


def evidence(goal: Goal) -> float:
    """Bits that one pair of rows tells which agree in what is wanted, though it could differ."""
    shares = np.unique(goal.coded, return_counts=True)[1] / max(len(goal.known), 1)
    return -float(np.log2(np.sum(shares**2))) if len(shares) else 0.0


def believable(table: Table, goal: Goal, expr: Expr) -> bool:
    """Whether a formula of many parts says less than the goal does."""
    shares = np.unique(goal.coded, return_counts=True)[1] / len(goal.known)
    rows = len(goal.known) * len(table.X) / len(goal.low)  # it will be held against all of the table
    told = -rows * float(np.sum(shares * np.log2(shares)))
    return NODE * expr.size() <= (TOLD_ALL if table.complete else TOLD) * told
