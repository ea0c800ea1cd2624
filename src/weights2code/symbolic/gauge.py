"""Regression up to a gauge: what an intermediate variable means, whatever numbers stand for it.

The values v of a variable of a network are a gauge g of something that means more: v = g(e). Three gauges are
told apart, the plainest first: an affine map; levels, where v is constant on each value of e; a monotone
function. Two ways lead to e. Entries of the bank are asked whether v is a function of them. And v is written
in plain numbers (its levels as whole numbers, reals in the unit of their largest linear piece), for which
formulas are searched as for any other target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from math import log2
from typing import Literal

import numpy as np

from weights2code.language import Const, Domain, Expr, Var, evaluate, infer
from weights2code.symbolic.engine import preference
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.notation import branch, clipped, tidy
from weights2code.symbolic.search.bank import CELL, Bank, Block
from weights2code.symbolic.search.pieces import planes
from weights2code.symbolic.search.readings import Reader, left_over
from weights2code.symbolic.search.rows import Problem, prepare
from weights2code.symbolic.search.table import Goal, Table

Kind = Literal["affine", "levels", "monotone"]

#: Curves like sines are left out: within a tolerance they look like anything.
OPERATORS = frozenset(
    {"abs", "max", "min", "clip", "mod", "floor", "div", "eq", "ne", "ge", "gt", "le", "lt"}
    | {"where", "and", "or", "not"}
)
#: The share of the weight that may be off; of a test of reals, near its threshold.
OFF, OFF_NEAR = 0.005, 0.02
#: A formula of more values than this, or than this share of the rows unless they are few, says nothing as
#: levels.
MOST_LEVELS, SHARE, FEW = 64, 0.75, 16
#: On reals v may have so many levels with ramps between, each of at least this share, and all of this.
RAMPED, LEAST_LEVEL, NEAR_LEVELS = 6, 0.03, 0.85
#: What counts like so many nodes: a gauge that is less plain, each level beyond two, twice as many levels as
#: needed, as many as rows, the error in tolerances, the share of what may be wrong.
GAUGE: dict[Kind, float] = {"affine": 0.0, "levels": 0.5, "monotone": 7.0}
LEVEL, FINER, NOTHING, WRONG = 0.7, 3.0, 4.0, 3.0
#: Pairs of rows that are clearly apart: asked first, asked in all, and how many may be wrong.
FIRST, PAIRS, WRONG_PAIRS = 16, 80, 1
#: Entries of a block that are judged for each gauge; the largest cost of an entry; a form that is plain.
JUDGED, LARGEST, PLAIN = 12, 5, 5.0
#: Tests that choose between columns and small numbers.
CHOOSE = 60
#: Forms that a bank is made of alone.
COARSER = 3
#: The share of the effort for banks, and nodes of a formula that is searched.
BANK, LONGEST = 0.5, 15
#: Rows that a plane must hold on to be a piece; what must be explained to leave out the rest.
PIECE, EXPLAINED = 0.05, 0.9
#: What the largest weight of a plane may be where it makes the others whole.
WEIGHTS = (1, 2, 3, 4, 5, 10)


@dataclass(frozen=True, slots=True)
class Form:
    """A formula that a variable is a function of.

    Parameters
    ----------
    expr
        The formula e.
    kind
        What the variable is of it: an affine map, one value for each of its levels, a monotone function.
    error
        Largest deviation from the best such function, but for the small share of rows that may be off.
    levels
        How many values the formula takes on the rows; 0 for reals.
    cost
        What forms are sorted by: nodes, and what its gauge, levels beyond need and the error add.
    """

    expr: Expr
    kind: Kind
    error: float
    levels: int
    cost: float

    def __str__(self) -> str:
        return f"{self.expr}  ({self.kind}, {self.levels} levels, error {self.error:.3g})"

    def says_as_much(self, longer: Form) -> bool:
        """Whether this leaves nothing to a longer one of the same gauge."""
        if self.kind != longer.kind or preference(longer.expr)[0] <= preference(self.expr)[0] + 0.5:
            return False
        return longer.error >= 0.9 * self.error if self.kind == "affine" else longer.levels >= self.levels


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

    Parameters
    ----------
    columns, values
        Distinct rows of the operands (m, k), and the variable on each (m,).
    variables, domains
        The name and the domain of each column.
    tolerance
        How far the variable may be from the best function of the formula.
    weights
        How often each row occurs.
    effort
        What may be done, in seconds of a usual machine.
    most
        Forms returned, at most.
    """
    problem = prepare(columns, values, variables=variables, domains=domains, tolerance=tolerance,
                      weights=weights, effort=effort, operators=OPERATORS)  # fmt: skip
    if len(problem.X) != len(columns):
        raise ValueError("the rows of the operands must be distinct")
    judge = Judge(problem, problem.measured, problem.weights / problem.weights.sum(), tolerance)
    if len(values) < 2 or np.ptp(judge.v) <= 2 * tolerance:
        return []
    look(judge)
    for rows, y, near in plain_numbers(judge):
        if judge.limit() <= PLAIN or problem.expired():
            break
        spent = min(problem.effort.left, 0.5 * effort)
        found = NativeEngine().search(
            problem.X[rows], y[rows], variables=variables, domains=domains, tolerance=near,
            weights=problem.weights[rows], effort=spent, operators=OPERATORS, max_complexity=LONGEST,
        )  # fmt: skip
        problem.effort.spend(spent)
        for candidate in found:
            if candidate.kind == "formula":
                for digits in (1, 2, 17):
                    judge.offer(candidate.expr.transform(partial(_shortened, digits)))
    return judge.best(most)


def look(judge: Judge) -> None:
    """Entries of a bank of the operands; and of banks of one form alone, where v needs fewer of its levels."""
    problem, rows = judge.problem, judge.known
    kept = (1 - BANK) * problem.effort.left
    problem.effort.spend(kept)
    Look(judge, Table(problem.variables, problem.domains, problem.X[rows]), judge.v[rows], lambda e: e).run()
    for form in judge.best(COARSER):
        if form.kind != "affine" and form.cost > PLAIN and form.levels:
            u, first = np.unique(problem.values(form.expr)[rows], return_index=True)
            one, expr = Var("u"), form.expr
            table = Table((one,), (infer(u),), u[:, None])
            Look(judge, table, judge.v[rows][first], lambda e, expr=expr: e.substitute({one: expr})).run()
    problem.effort.spend(-kept)


@dataclass
class Judge:
    """The rows of one variable, and the forms found so far."""

    problem: Problem
    v: np.ndarray
    share: np.ndarray
    tolerance: float
    found: dict[tuple[Kind, bytes], Form] = field(default_factory=dict)
    asked: set[Expr] = field(default_factory=set)

    @cached_property
    def known(self) -> np.ndarray:
        """Rows that count: all, but on reals those on the ramps between a few levels of v."""
        everything = np.ones(len(self.v), bool)
        if self.problem.discrete:
            return everything
        order = np.argsort(self.v)
        v, near, weights = self.v[order], np.zeros(len(self.v), bool), []
        ends = np.searchsorted(v, v + 2 * self.tolerance, side="right")
        while len(weights) <= RAMPED:
            # the window that holds most of what no other holds
            fresh = np.concatenate([[0.0], np.cumsum(np.where(near, 0.0, self.share[order]))])
            held = fresh[ends] - fresh[:-1]
            best = int(np.argmax(held))
            if held[best] < LEAST_LEVEL:
                break
            near[best : ends[best]] = True
            weights.append(float(held[best]))
        rest = 1.0 - sum(weights)
        if not 2 <= len(weights) <= RAMPED or rest > min(1 - NEAR_LEVELS, 0.5 * min(weights)):
            return everything
        inside = np.flatnonzero(near)
        near[: inside[0]] = near[inside[-1] :] = True  # a ramp leads from one level to another
        known = np.zeros(len(v), bool)
        known[order[near]] = True
        return known

    @cached_property
    def code(self) -> np.ndarray | None:
        """The number of the level that each known row is on, -1 for the others; None if v has no levels."""
        rows = np.flatnonzero(self.known)
        order = rows[np.argsort(self.v[rows], kind="stable")]
        v = self.v[order]
        group = np.r_[0, np.cumsum(np.diff(v) > self.tolerance)]
        starts = np.flatnonzero(np.r_[True, np.diff(group) > 0])
        width = np.maximum.reduceat(v, starts) - np.minimum.reduceat(v, starts)
        if not 2 <= len(starts) <= MOST_LEVELS or width.max() > 2.2 * self.tolerance:
            return None
        code = np.full(len(self.v), -1)
        code[order] = group
        return code

    @cached_property
    def two(self) -> bool:
        return self.code is not None and int(self.code.max()) == 1

    def best(self, most: int) -> list[Form]:
        """The plainest forms; one that is longer than another of its gauge must say more, or fit better."""
        kept: list[Form] = []
        for form in sorted(self.found.values(), key=lambda form: (form.cost, preference(form.expr))):
            if len(kept) < most and not any(other.says_as_much(form) for other in kept):
                kept.append(form)
        return kept

    def limit(self) -> float:
        """The cost of the best form so far."""
        return min((form.cost for form in self.found.values()), default=np.inf)

    def offer(self, expr: Expr) -> None:
        """Judge a formula on all rows; for each gauge, of those that tell the same rows apart one is kept."""
        expr = clipped(tidy(expr.transform(_folded)))
        if expr in self.asked:
            return
        self.asked.add(expr)
        values = np.round(self.problem.values(expr), 9)
        if not np.all(np.isfinite(values)) or np.ptp(values) <= 1e-9:
            return
        distinct, first, parts = np.unique(values, return_index=True, return_inverse=True)
        form = self.form_of(expr, values, parts.reshape(-1), len(distinct))
        if form is not None:
            # parts are numbered in the order in which they appear
            mark = form.kind, np.argsort(np.argsort(first))[parts.reshape(-1)].astype(np.int32).tobytes()
            if mark not in self.found or form.cost < self.found[mark].cost:
                self.found[mark] = form

    def form_of(self, expr: Expr, values: np.ndarray, parts: np.ndarray, count: int) -> Form | None:
        self.problem.spend("sorted cells", 4 * len(values))
        rows, found = len(values), list[Form]()

        def add(kind: Kind, error: float, extra: float = 0.0) -> None:
            levels = count if count <= max(MOST_LEVELS, rows // 4) else 0
            cost = preference(expr)[0] + GAUGE[kind] + extra + error / self.tolerance
            found.append(Form(expr, kind, error, levels, round(cost, 3)))

        if self.two and count == 2:
            centres, error, wrong = self.levels(parts, near=True)
            if error is not None:
                add("affine", error, WRONG * wrong)
            return found[0] if found else None
        error = self.affine(values)
        if error is not None:
            add("affine", error)
        useful = rows if isinstance(expr, Var) else max(SHARE * rows, rows - 1 if rows <= FEW else 0)
        if count <= min(MOST_LEVELS, useful):
            centres, error, _ = self.levels(parts)
            if error is not None:
                needed = 1 + int(np.sum(np.diff(np.sort(centres)) > self.tolerance))
                extra = LEVEL * max(0, needed - 2) + FINER * log2(count / needed)
                add("levels", error, extra + (NOTHING if count == rows else 0.0))
        elif not found and not self.two:
            error = self.monotone(values)
            if error is not None:
                add("monotone", error)
        return min(found, key=lambda form: form.cost, default=None)

    def within(self, deviation: np.ndarray, off: float = OFF) -> tuple[float | None, float]:
        """The largest deviation but for rows that may be off (None if too many are), and their share."""
        wrong = (deviation > self.tolerance * (1 + 1e-9)) & self.known
        share = float(self.share[wrong].sum())
        if share > off:
            return None, 1.0
        return float(deviation[~wrong & self.known].max(initial=0.0)), share / off

    def levels(self, parts: np.ndarray, *, near: bool = False) -> tuple[np.ndarray, float | None, float]:
        """The middle of v on each level of a formula, the deviation from it, and the share that is off."""
        order = np.lexsort((self.v, parts))
        order = order[self.known[order]]
        starts = np.flatnonzero(np.r_[True, np.diff(parts[order]) > 0])
        if len(starts) <= parts.max():  # a level that is all ramp
            return np.empty(0), None, 1.0
        v, ends = self.v[order], np.r_[starts[1:], len(order)]
        low, high, median = v[starts], v[ends - 1], v[(starts + ends - 1) // 2]
        middle = np.where(high - low <= 2 * self.tolerance, 0.5 * (low + high), median)
        off = OFF
        if near and not self.problem.discrete and self.code is not None:
            rarer = min(float(self.share[self.code == level].sum()) for level in (0, 1))
            off = min(OFF_NEAR, 0.1 * rarer)
        error, share = self.within(np.abs(self.v - middle[parts]), off)
        return middle, None if np.ptp(middle) <= 2 * self.tolerance else error, share

    def affine(self, values: np.ndarray) -> float | None:
        """The deviation from the best affine function of the values, rows that are far off left out."""
        share = self.share
        for _ in range(3):
            total = share.sum()
            x, y = values - (share @ values) / total, self.v - (share @ self.v) / total
            square = share @ (x * x)
            if square <= 1e-12 * (1e-12 + float(np.max(np.abs(values))) ** 2):
                return None
            slope = (share @ (x * y)) / square
            if abs(slope) * np.ptp(values) <= 2 * self.tolerance:
                return None
            deviation = np.abs(y - slope * x)
            error, _ = self.within(deviation)
            near = deviation <= 2 * self.tolerance
            if error is not None or float(self.share[~near].sum()) > 4 * OFF:
                return error
            share = np.where(near, self.share, 0.0)
        return None

    def monotone(self, values: np.ndarray) -> float | None:
        """The deviation of v from the best monotone function of the values."""
        order = np.argsort(values, kind="stable")
        sign = np.sign((self.share * (values - self.share @ values)) @ (self.v - self.share @ self.v))
        e, v = values[order], sign * self.v[order]
        starts = np.flatnonzero(np.r_[True, np.diff(e) > 0])
        above = np.maximum.accumulate(np.maximum.reduceat(v, starts))
        below = np.minimum.accumulate(np.minimum.reduceat(v, starts)[::-1])[::-1]
        error = 0.5 * float(np.max(above - below))
        return error if error <= self.tolerance else None


class Look:
    """Thousands of entries at once, on the rows of the bank: which may v be a function of?

    Rows whose values of v are clearly apart must not share a value of the entry; along one of which v is a
    monotone function they stand in order.
    """

    def __init__(self, judge: Judge, table: Table, v: np.ndarray, finish: Callable[[Expr], Expr]) -> None:
        self.judge, self.table, self.finish = judge, table, finish
        self.v = v[table.few]
        self.bank = Bank(table, judge.problem, (), judge.code is not None)
        low, high = np.nonzero(self.v[None] - self.v[:, None] > 2.2 * judge.tolerance)
        chosen = np.random.default_rng(4).permutation(len(low))[:PAIRS]
        self.low, self.high = low[chosen], high[chosen]
        self.Q = np.full((len(self.v), 1), len(self.v) ** -0.5)

    def run(self) -> None:
        self.look(self.bank.kept(1))
        for cost in range(2, LARGEST + 1):
            if cost < self.judge.limit() and not self.judge.problem.expired():
                self.bank.grow(cost, self.look)
        if self.judge.limit() > PLAIN and not self.judge.problem.expired():
            self.bank.add_sums(self.look)
            self.look(self.choices())

    def look(self, block: Block) -> None:
        """The entries of a block that pass are judged on all rows."""
        judge, V = self.judge, block.values
        judge.problem.effort.spend(CELL * len(V) * FIRST)
        apart = ordered = np.arange(len(V))
        for pairs in (slice(0, FIRST), slice(0, None)):
            difference = V[apart][:, self.high[pairs]] - V[apart][:, self.low[pairs]]
            up, down = np.sum(difference > 1e-9, axis=1), np.sum(difference < -1e-9, axis=1)
            least = difference.shape[1] - WRONG_PAIRS
            ordered = apart[np.maximum(up, down) >= least]
            apart = apart[up + down >= least]
        judge.problem.effort.spend(CELL * len(apart) * V.shape[1] * 4)
        straight = left_over(V[ordered], self.Q, self.v) <= len(self.v) * judge.tolerance**2
        for hits in (ordered[straight], ordered[~straight], apart[self.levels(V[apart])]):
            for i in hits[:JUDGED]:
                judge.offer(self.finish(block.write(int(i))))

    def levels(self, V: np.ndarray) -> np.ndarray:
        """Entries with ties on each of which v is constant."""
        rows = V.shape[1]
        order = np.argsort(V, axis=1, kind="stable")
        e, v = np.take_along_axis(V, order, 1), self.v[order]
        tied = np.diff(e, axis=1) <= 1e-9
        jumps = tied & (np.abs(np.diff(v, axis=1)) > 2.2 * self.judge.tolerance)
        most = max((1 - SHARE) * rows, 1) if rows > FEW else 1
        return (jumps.sum(axis=1) <= 4 * OFF * rows) & (tied.sum(axis=1) >= most)

    def choices(self) -> Block:
        """One of two columns or small numbers, by a test."""
        bank, columns = self.bank, list(zip(self.table.variables, self.bank.X.T, strict=True))
        live = bank.varying(3, len(bank))
        tests = [int(i) for i in live if np.all((bank.values[i] == 0) | (bank.values[i] == 1))][:CHOOSE]
        sides = [*columns, *((-x, -column) for x, column in columns)]
        sides += [(Const(n), np.full(len(self.v), float(n))) for n in (0, 1, 2)]
        T, S = bank.values[tests].reshape(-1, len(self.v)) > 0.5, np.stack([values for _, values in sides])
        places = [(t, i, j) for t, i, j in product(range(len(tests)), range(len(S)), range(len(S))) if i != j]
        t, i, j = np.array(places, dtype=int).reshape(-1, 3).T
        self.judge.problem.effort.spend(CELL * len(places) * len(self.v))

        def write(place: int) -> Expr:
            t, i, j = places[place]
            return branch(bank.expr(tests[t]), sides[i][0], sides[j][0])

        return Block(np.where(T[t], S[i], S[j]), write, 6)


def plain_numbers(judge: Judge) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Rows, plain numbers that v may stand for on them, and what these may be off by."""
    problem, code = judge.problem, judge.code
    if code is not None:
        rows = np.flatnonzero(code >= 0)
        centre = np.bincount(code[rows], judge.v[rows]) / np.bincount(code[rows])
        even = (centre - centre[0]) / np.diff(centre).min()
        steps = np.round(even) if np.all(np.abs(even - np.round(even)) <= 0.15) else np.arange(len(even))
        y = steps[code].astype(float)
        if not judge.two:  # nothing where the operands are nothing
            y -= y[rows[np.argmin(np.sum(np.abs(problem.X[rows]), axis=1))]]
        down = np.sum((problem.X[rows] - problem.X[rows].mean(axis=0)) * y[rows, None]) < 0
        yield rows, -y if down and not judge.two else y, 0.3
        return
    goal = Goal(judge.v - judge.tolerance, judge.v + judge.tolerance)
    table = Table(problem.variables, problem.domains, problem.X)
    few = table.few
    reader = Reader(problem, table, goal.at(few), beside=False, near=False)
    design = np.column_stack([np.ones(len(problem.X)), problem.X])
    pieces: list[tuple[float, np.ndarray, np.ndarray]] = []
    for weights, _ in planes(reader):
        plane = np.array([float(w) for w in weights])
        holds = goal.agrees(design @ plane)
        pieces.append((float(judge.share[holds].sum()), plane, holds))
    pieces = sorted((piece for piece in pieces if piece[0] >= PIECE), key=lambda piece: -piece[0])
    sloped = [piece[1] for piece in pieces if np.any(piece[1][1:])]
    if not sloped:
        return
    explained = np.any([piece[2] for piece in pieces], axis=0)
    rows = np.flatnonzero(explained) if judge.share[explained].sum() >= EXPLAINED else np.arange(len(judge.v))
    unit = _unit(sloped[0][1:], judge.tolerance / np.maximum(np.ptp(problem.X, axis=0), 1e-9))
    yield rows, (judge.v - sloped[0][0]) / unit, judge.tolerance / abs(unit)


def _unit(weights: np.ndarray, slack: np.ndarray) -> float:
    """What makes the weights whole numbers, each within its slack; else the largest of them one."""
    largest = float(weights[np.argmax(np.abs(weights))])
    for count in WEIGHTS:
        unit = largest / count
        if np.all(np.abs(weights - np.round(weights / unit) * unit) <= slack + 0.01 * abs(unit)):
            return unit
    return largest


def _shortened(digits: int, node: Expr) -> Expr:
    """A number with so many digits."""
    return Const(float(f"{float(node.value):.{digits}g}")) if isinstance(node, Const) else node


def _folded(node: Expr) -> Expr:
    """Numbers that stand together are one."""
    if node.size() > 1 and all(isinstance(argument, Const) for argument in getattr(node, "args", ())):
        with np.errstate(all="ignore"):
            value = float(evaluate(node, {}))
        return Const(value) if np.isfinite(value) else node
    return node
