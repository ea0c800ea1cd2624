"""Regression up to a gauge: what an intermediate variable means, whatever numbers stand for it.

The values v of a variable of a network are a gauge g of something that means more: v = g(e). Two gauges are
told apart, the plainer first: an affine map; and levels, where v is constant on each value of e. Two ways
lead to e. Entries of the bank are asked whether v is a function of them. And v is written in plain numbers
(its levels as whole numbers, reals in the unit of their largest linear piece), for which formulas are looked
for as for any other target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from math import log2
from typing import Literal

import numpy as np

from weights2code.language import OPERATORS, Const, Domain, Expr, Var, infer
from weights2code.simplify.forms import tidied
from weights2code.symbolic.engine import preference
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.notation import clipped
from weights2code.symbolic.search.bank import CELL, Bank, Block
from weights2code.symbolic.search.pieces import planes
from weights2code.symbolic.search.readings import Reader, left_over
from weights2code.symbolic.search.rows import Problem, prepare
from weights2code.symbolic.search.table import Goal, Table

Kind = Literal["affine", "levels"]

#: Curves like sines are left out: within a tolerance they look like anything.
USED = frozenset(name for name, entry in OPERATORS.items() if entry.rank < OPERATORS["sin"].rank)
#: The share of the weight that may be off; where v has levels on reals, near the borders between them.
OFF, OFF_NEAR = 0.005, 0.02
#: More levels than this, or than this share of the rows unless they are few, say nothing.
MOST_LEVELS, SHARE, FEW = 64, 0.75, 16
#: On reals v may have so many levels, each of at least this share, and ramps between them of at most this.
RAMPED, LEAST_LEVEL, RAMPS = 6, 0.03, 0.15
#: What counts like so many nodes: a gauge that is less plain, each level beyond two, twice as many levels as
#: needed, as many as rows, all that may be off.
GAUGE: dict[Kind, float] = {"affine": 0.0, "levels": 0.5}
LEVEL, FINER, NOTHING, WRONG = 0.7, 3.0, 4.0, 3.0
#: Pairs of rows that are clearly apart: asked first, asked in all, and how many may be wrong.
FIRST, PAIRS, WRONG_PAIRS = 16, 80, 1
#: Entries of a block that are judged for each gauge, and their largest cost.
JUDGED, LARGEST = 12, 5
#: The cost of a form that is plain enough to end the search; forms that a bank is made of alone.
PLAIN, COARSER = 5.0, 3
#: The share of the effort for banks, and nodes of a formula that is searched.
BANK, LONGEST = 0.5, 15
#: The share of the rows that makes a plane a piece; the share that pieces explain if the rest is left out;
#: the largest weight of a plane that makes the others whole.
PIECE, EXPLAINED, WEIGHT = 0.05, 0.9, 5


@dataclass(frozen=True, slots=True)
class Form:
    """A formula e that a variable is a function of, and of which kind.

    The `error` is the largest deviation from the best such function, more where rows are off. The formula
    takes so many values on the rows (`levels`, 0 for reals). Forms are sorted by `cost`: nodes, and what the
    gauge, levels beyond need and the error add.
    """

    expr: Expr
    kind: Kind
    error: float
    levels: int
    cost: float


def forms(
    columns: np.ndarray,
    values: np.ndarray,
    *,
    variables: tuple[Var, ...],
    domains: tuple[Domain, ...],
    tolerance: float,
    weights: np.ndarray,
    effort: float,
    most: int = 8,
) -> list[Form]:
    """Formulas of the operands that `values` are a function of within the tolerance, the plainest first.

    `columns` are distinct rows of the operands (m, k), each occurring as often as `weights` say; the variable
    may be `tolerance` from the best function of the formula. Effort is in seconds of a usual machine.
    """
    problem = prepare(columns, values, variables=variables, domains=domains, tolerance=tolerance,
                      weights=weights, effort=effort, operators=USED)  # fmt: skip
    if len(problem.X) != len(columns):
        raise ValueError("the rows of the operands must be distinct")
    if np.ptp(values) <= 2 * tolerance:
        return []
    judge = Judge(problem)
    look(judge)
    wanted = plain_numbers(judge) if judge.limit() > PLAIN and not problem.expired() else None
    if wanted is not None:
        rows, y, near = wanted
        found = NativeEngine().search(
            problem.X[rows], y, variables=variables, domains=domains, tolerance=near, operators=USED,
            weights=problem.weights[rows], effort=problem.effort.left, max_complexity=LONGEST,
        )  # fmt: skip
        for candidate, digits in product(found, (1, 2, 17)):
            if candidate.kind == "formula":
                judge.offer(candidate.expr.transform(partial(_plain, digits)))
    return judge.best(most)


@dataclass
class Judge:
    """The rows of one variable, and the forms found so far."""

    problem: Problem
    found: dict[tuple[Kind, bytes], Form] = field(default_factory=dict)
    asked: set[Expr] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.v, self.tolerance = self.problem.measured, self.problem.tolerance
        self.share = self.problem.weights / self.problem.weights.sum()

    @cached_property
    def code(self) -> np.ndarray | None:
        """The number of the level of v that each row is on; None if v has no levels.

        Levels lie apart; on reals there may be ramps between them, whose rows have -1.
        """
        most, least, ramps = (MOST_LEVELS, 0, 0) if self.problem.discrete else (RAMPED, LEAST_LEVEL, RAMPS)
        order = np.argsort(self.v, kind="stable")
        v, share, code, starts = self.v[order], self.share[order], np.full(len(self.v), -1), list[int]()
        ends = np.searchsorted(v, v + 2 * self.tolerance, side="right")
        while np.any(code < 0) and len(starts) <= most:
            # the window that holds most of what no other holds
            held = np.concatenate([[0.0], np.cumsum(np.where(code < 0, share, 0.0))])
            best = int(np.argmax(held[ends] - held[:-1]))
            if held[ends[best]] - held[best] < least:
                break
            window = slice(best, ends[best])
            code[window] = np.where(code[window] < 0, len(starts), code[window])
            starts.append(best)
        on, rest = code >= 0, share[code < 0].sum()
        if not 2 <= len(starts) <= most or rest > min(ramps, 0.5 * share[code == len(starts) - 1].sum()):
            return None
        code[on] = np.argsort(np.argsort(starts))[code[on]]
        apart = np.array_equal(np.diff(code[on]) != 0, np.diff(v[on]) > self.tolerance)
        return code[np.argsort(order)] if apart else None

    @cached_property
    def known(self) -> np.ndarray:
        """Rows that count: all but those on ramps."""
        return np.ones(len(self.v), bool) if self.code is None else self.code >= 0

    @cached_property
    def off(self) -> float:
        """The share of the weight that may be off."""
        if self.code is None or self.problem.discrete:
            return OFF
        return min(OFF_NEAR, 0.1 * float(np.bincount(self.code[self.known], self.share[self.known]).min()))

    def best(self, most: int) -> list[Form]:
        """The plainest forms."""
        return sorted(self.found.values(), key=lambda form: (form.cost, preference(form.expr)))[:most]

    def limit(self) -> float:
        """The cost of the best form so far."""
        return min((form.cost for form in self.found.values()), default=np.inf)

    def offer(self, expr: Expr) -> None:
        """Judge a formula on all rows; for each gauge, of those that tell the same rows apart one is kept."""
        expr = clipped(tidied(expr))
        values = np.round(self.problem.values(expr), 9) if expr not in self.asked else np.zeros(1)
        self.asked.add(expr)
        if not np.all(np.isfinite(values)) or np.ptp(values) <= 1e-9:
            return
        distinct, first, parts = np.unique(values, return_index=True, return_inverse=True)
        form = self.form_of(expr, values, parts, len(distinct))
        if form is not None:
            # parts are numbered in the order in which they appear
            mark = form.kind, np.argsort(np.argsort(first))[parts].astype(np.int32).tobytes()
            if mark not in self.found or form.cost < self.found[mark].cost:
                self.found[mark] = form

    def form_of(self, expr: Expr, values: np.ndarray, parts: np.ndarray, count: int) -> Form | None:
        self.problem.effort.spend(3 * CELL * 4 * len(values))
        rows, found = len(values), list[Form]()

        def add(kind: Kind, error: float | None, extra: float = 0.0) -> None:
            if error is not None:
                cost = preference(expr)[0] + GAUGE[kind] + extra + error / self.tolerance
                levels = count if count <= max(MOST_LEVELS, rows // 4) else 0
                found.append(Form(expr, kind, error, levels, round(float(cost), 3)))

        useful = rows if isinstance(expr, Var) else max(SHARE * rows, rows - 1 if rows <= FEW else 0)
        test = count == 2 and self.code is not None and self.code.max() == 1
        add("affine", self.levels(parts)[1] if test else self.affine(values))
        if count <= min(MOST_LEVELS, useful) and not test:
            centres, error = self.levels(parts)
            needed = 1 + int(np.sum(np.diff(np.sort(centres)) > self.tolerance))
            extra = LEVEL * max(0, needed - 2) + FINER * log2(count / needed)
            add("levels", error, extra + (NOTHING if count == rows else 0.0))
        return min(found, key=lambda form: form.cost, default=None)

    def within(self, deviation: np.ndarray) -> float | None:
        """The largest deviation but for rows that are off, which add to it; None if too many are."""
        wrong = (deviation > self.tolerance * (1 + 1e-9)) & self.known
        share = float(self.share[wrong].sum()) / self.off
        largest = float(deviation[~wrong & self.known].max(initial=0.0))
        return largest + WRONG * self.tolerance * share if share <= 1 else None

    def levels(self, parts: np.ndarray) -> tuple[np.ndarray, float | None]:
        """The middle of v on each level of a formula, and the deviation from it."""
        order = np.lexsort((self.v, parts))
        order = order[self.known[order]]
        starts = np.flatnonzero(np.r_[True, np.diff(parts[order]) > 0])
        v, ends = self.v[order], np.r_[starts[1:], len(order)]
        low, high, median = v[starts], v[ends - 1], v[(starts + ends - 1) // 2]
        middle = np.where(high - low <= 2 * self.tolerance, 0.5 * (low + high), median)
        if len(starts) <= parts.max() or np.ptp(middle) <= 2 * self.tolerance:  # one level is all ramp
            return middle, None
        return middle, self.within(np.abs(self.v - middle[parts]))

    def affine(self, values: np.ndarray) -> float | None:
        """The deviation from the best affine function of the values, rows that are far off left out."""
        share = self.share
        for _ in range(3):
            x, y = (w - (share @ w) / share.sum() for w in (values, self.v))
            slope = (share @ (x * y)) / max(share @ (x * x), 1e-300)
            if abs(slope) * np.ptp(values) <= 2 * self.tolerance:
                return None
            deviation = np.abs(y - slope * x)
            error, near = self.within(deviation), deviation <= 2 * self.tolerance
            if error is not None or float(self.share[~near].sum()) > 4 * self.off:
                return error
            share = np.where(near, self.share, 0.0)
        return None


def look(judge: Judge) -> None:
    """Entries of a bank of the operands, and of banks of one form alone of which v needs fewer levels."""
    problem, rows = judge.problem, judge.known
    kept = (1 - BANK) * problem.effort.left
    problem.effort.spend(kept)
    Look(judge, Table(problem.variables, problem.domains, problem.X[rows]), judge.v[rows], lambda e: e).run()
    for form in judge.best(COARSER):
        if form.kind != "affine" and form.cost > PLAIN and form.levels:
            u, first = np.unique(problem.values(form.expr)[rows], return_index=True)
            table, put = Table((Var("u"),), (infer(u),), u[:, None]), {Var("u"): form.expr}
            Look(judge, table, judge.v[rows][first], lambda e, put=put: e.substitute(put)).run()
    problem.effort.spend(-kept)


class Look:
    """Thousands of entries at once, on the rows of a bank: which may v be a function of?

    Rows whose values of v are clearly apart must not share a value of the entry; along one of which v is an
    affine function they stand in order.
    """

    def __init__(self, judge: Judge, table: Table, v: np.ndarray, finish: Callable[[Expr], Expr]) -> None:
        self.judge, self.v, self.finish = judge, v[table.few], finish
        self.bank = Bank(table, judge.problem, (), judge.code is not None)
        low, high = np.nonzero(self.v[None] - self.v[:, None] > 2.2 * judge.tolerance)
        chosen = np.random.default_rng(4).permutation(len(low))[:PAIRS]
        self.low, self.high = low[chosen], high[chosen]

    def run(self) -> None:
        self.look(self.bank.kept(1))
        for cost in range(2, LARGEST + 1):
            if cost < self.judge.limit() and not self.judge.problem.expired():
                if cost == LARGEST:  # `x + 2*y` before `x + y + y`
                    self.bank.add_sums(self.look)
                self.bank.grow(cost, self.look)

    def look(self, block: Block) -> None:
        """The entries of a block that pass are judged on all rows."""
        judge, V = self.judge, block.values
        judge.problem.effort.spend(CELL * len(V) * FIRST)
        apart = ordered = np.arange(len(V))
        for pairs in (slice(0, FIRST), slice(0, None)):
            difference = V[apart][:, self.high[pairs]] - V[apart][:, self.low[pairs]]
            up, down = np.sum(difference > 1e-9, axis=1), np.sum(difference < -1e-9, axis=1)
            least = difference.shape[1] - WRONG_PAIRS
            ordered, apart = apart[np.maximum(up, down) >= least], apart[up + down >= least]
        judge.problem.effort.spend(CELL * len(apart) * V.shape[1] * 4)
        Q = np.full((len(self.v), 1), len(self.v) ** -0.5)
        straight = left_over(V[ordered], Q, self.v) <= len(self.v) * judge.tolerance**2
        for hits in (ordered[straight], ordered[~straight], apart[self.levels(V[apart])]):
            for i in hits[:JUDGED]:
                judge.offer(self.finish(block.write(int(i))))

    def levels(self, V: np.ndarray) -> np.ndarray:
        """Entries with ties on each of which v is constant."""
        order, rows = np.argsort(V, axis=1, kind="stable"), V.shape[1]
        tied = np.diff(np.take_along_axis(V, order, 1), axis=1) <= 1e-9
        jumps = tied & (np.abs(np.diff(self.v[order], axis=1)) > 2.2 * self.judge.tolerance)
        least = (1 - SHARE) * rows if rows > FEW else 1
        return (jumps.sum(axis=1) <= 4 * OFF * rows) & (tied.sum(axis=1) >= least)


def plain_numbers(judge: Judge) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Rows, plain numbers that v may stand for on them, and what these may be off by."""
    problem, v, code = judge.problem, judge.v, judge.code
    if code is not None:
        rows = np.flatnonzero(code >= 0)
        X, level = problem.X[rows], code[rows]
        centre = np.bincount(level, v[rows]) / np.bincount(level)
        even = (centre - centre[0]) / np.diff(centre).min()
        y = (np.round(even) if np.all(np.abs(even - np.round(even)) <= 0.15) else np.arange(len(even)))[level]
        if len(centre) > 2:  # nothing where the operands are nothing, and up with them
            y = y - y[np.argmin(np.sum(np.abs(X), axis=1))]
            y = y if np.sum((X - X.mean(axis=0)).T * y) >= 0 else -y
        return rows, y.astype(float), 0.3
    goal = Goal(v - judge.tolerance, v + judge.tolerance)
    table = Table(problem.variables, problem.domains, problem.X)
    reader = Reader(problem, table, goal.at(table.few), beside=False, near=False)
    found = planes(reader, reader.goal.known)
    P = np.array([[float(w) for w in weights] for weights, _ in found]).reshape(-1, 1 + problem.X.shape[1])
    holds = goal.agrees(P @ np.vstack([np.ones(len(v)), problem.X.T]))
    share = holds @ judge.share
    share[share < PIECE] = 0.0
    sloped = share * np.any(P[:, 1:], axis=1)
    if not sloped.any():
        return None
    explained = np.any(holds[share > 0], axis=0)
    rows = np.flatnonzero(explained | (judge.share[explained].sum() < EXPLAINED))
    start, *slopes = P[np.argmax(sloped)]
    slack = judge.tolerance / np.maximum(np.ptp(problem.X, axis=0), 1e-9)
    units = max(slopes, key=abs) / np.arange(1, WEIGHT + 1)  # all weights whole, or the largest one
    off = [np.abs(slopes - unit * np.round(slopes / unit)) - 0.01 * abs(unit) for unit in units]
    unit = float(units[np.argmax(np.all(off <= slack, axis=1))])
    return rows, (v[rows] - start) / unit, judge.tolerance / abs(unit)


def _plain(digits: int, node: Expr) -> Expr:
    """A number with so many digits."""
    return Const(float(f"{float(node.value):.{digits}g}")) if isinstance(node, Const) else node
