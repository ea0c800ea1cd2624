"""Fewer and other columns: the first steps of a rule undone.

A column goes that is not needed. A quantity takes the place of the columns that it is made of, at every
lag where they stand, if rows that agree then have a value in common: a test, a sum, a remainder, whatever
the bank has. A sum along which the values lie apart takes the place of its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from weights2code.language import Expr, Var, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.search.bank import CELL, Bank
from weights2code.symbolic.search.linear import directions
from weights2code.symbolic.search.pieces import chosen
from weights2code.symbolic.search.readings import Reader, number
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.search.table import (
    COST,
    EVIDENCE,
    WITHIN,
    Goal,
    Left,
    Table,
    common,
    evidence,
    joined,
    merged,
    room,
    size,
)

#: Quantities that are put in: cells asked for, followed of those that are made of the same columns, and of
#: all; bits that they must save.
ASKED, SAME, PUT, LESS = 300_000, 3, 8, 0.3
#: Values that a column must have for its remainders to be asked for, and the largest divisor.
FEWEST_VALUES, MOST_PERIOD = 12, 1000
#: Parts that are followed, rows of one at least, and the share of what there is to say that they may leave.
PARTED, FEWEST_ROWS, SIMPLER = 3, 4, 0.95
#: Values that a column has at most by which rows are parted.
LEVELS = 6


def dropped(problem: Problem, left: Left) -> Left:
    """Without the columns that are seen not to be needed."""
    table, goal = left.table, left.goal
    if not table.discrete or len(table.variables) < 2:
        return left
    kept = list(range(len(table.variables)))
    for j in range(len(table.variables)):
        fewer = [i for i in kept if i != j]
        if fewer and _needless(problem, table, goal, fewer):
            kept = fewer
    if len(kept) == len(table.variables):
        return left
    code = joined([table.codes[i] for i in kept])
    smaller = merged(table, goal, [table.X[:, i] for i in kept], [table.variables[i] for i in kept], code)
    return left if smaller is None else replace(left, table=smaller[0], goal=smaller[1])


def _needless(problem: Problem, table: Table, goal: Goal, kept: Sequence[int]) -> bool:
    code = joined([table.codes[i] for i in kept])
    problem.effort.spend(CELL * 4 * len(code) * len(kept) + 5e-5)
    if common(goal, code) is None:
        return False
    pairs = len(goal.known) - len(np.unique(code[goal.known]))
    return pairs * evidence(goal) >= EVIDENCE


def put(reader: Reader, bank: Bank, goal: Goal, cost: int) -> Iterator[Left]:
    """Quantities in place of the columns that they are made of, those that leave the least room first."""
    table, problem = reader.table, reader.problem
    if not table.discrete or len(goal.known) < 6 or len(table.variables) < 2:
        return
    lefts: list[Left] = []
    ranked = sorted(_puts(reader, bank, cost), key=lambda found: found[0] + COST * int(bank.rank[found[1]]))
    seen: set[bytes] = set()
    for _, entry, kept in ranked:
        expr = bank.expr(entry)
        code = joined([_numbered(table.values(expr)), *(table.codes[i] for i in kept)])
        mark = np.array(code, dtype=np.int32).tobytes()
        if mark in seen:
            continue
        seen.add(mark)
        left = _with_copies(problem, table, goal, expr, [table.variables[i] for i in kept])
        if left is not None:
            lefts.append(left)
            if len(seen) >= 2 * PUT:
                break
    worth = [room(left.table) + COST * left.cost for left in lefts]
    for place in np.argsort(worth, kind="stable")[:PUT]:
        if worth[place] <= min(worth) + WITHIN:
            yield lefts[place]


def _numbered(values: np.ndarray) -> np.ndarray:
    return np.unique(np.round(values, 9), return_inverse=True)[1].reshape(-1)


def _agreeing(rest: np.ndarray, V: np.ndarray, goal: Goal) -> tuple[np.ndarray, np.ndarray]:
    """How often rows agree in what is kept and in each quantity, and whether such rows contradict."""
    key = rest * 1e8 + V
    order = np.argsort(key, axis=1)
    same = np.diff(np.take_along_axis(key, order, axis=1), axis=1) == 0
    apart = np.abs(np.diff(goal.middle[goal.known][order], axis=1)) > 2 * goal.slack
    return same.sum(axis=1), np.any(same & apart, axis=1)


def _puts(reader: Reader, bank: Bank, cost: int) -> Iterator[tuple[float, int, tuple[int, ...]]]:
    """Entries that leave no two rows that agree and differ in what is wanted, and less room.

    The room that is left, the entry, and the columns that stay beside it.
    """
    small, table = reader.goal, reader.table
    known = small.known
    codes = table.codes[:, table.few][:, known]
    k, count = len(codes), len(known)
    rooms = np.log2(codes.max(axis=1) + 1.0)
    told = evidence(small)
    groups: dict[int, list[int]] = {}
    for i in bank.varying(cost, ASKED // count):
        groups.setdefault(int(bank.reads[i]), []).append(int(i))
    for mask, entries in groups.items():
        inside = [j for j in range(k) if mask >> j & 1]
        others = tuple(j for j in range(k) if not mask >> j & 1)
        waiting = np.array(entries)
        for kept in (others, *(tuple(sorted((*others, j))) for j in inside if len(inside) > 1)):
            if not len(waiting) or reader.problem.expired():
                break
            rest = joined([codes[j] for j in kept]) if kept else np.zeros(count, dtype=np.int64)
            reader.problem.effort.spend(CELL * 3 * len(waiting) * count + 3e-5)
            V = np.round(bank.values[np.ix_(waiting, known)], 6)
            same, conflict = _agreeing(rest, V, small)
            levels = (np.diff(np.sort(V, axis=1), axis=1) > 0).sum(axis=1) + 1
            left = float(rooms[list(kept)].sum()) + np.log2(levels)
            good = np.flatnonzero(~conflict & (same * told >= EVIDENCE) & (left <= rooms.sum() - LESS))
            better = good[np.argsort(left[good] + COST * bank.rank[waiting[good]], kind="stable")][:SAME]
            yield from ((float(left[i]), int(waiting[i]), kept) for i in better)
            waiting = waiting[conflict]


def periods(reader: Reader, _: Bank, goal: Goal) -> Iterator[Left]:
    """A remainder in place of its column, by the smallest divisor that the rows do not contradict."""
    table, problem, known = reader.table, reader.problem, goal.known
    for j, (variable, domain) in enumerate(zip(table.variables, table.domains, strict=True)):
        x = table.X[known, j]
        spread = int(np.ptp(x)) if domain.discrete and len(x) else 0
        if spread < FEWEST_VALUES or not problem.allows("mod"):
            continue
        others = [i for i in range(len(table.variables)) if i != j]
        rest = joined([table.codes[i][known] for i in others] or [0 * known])
        divisors = np.arange(2, min(spread, MOST_PERIOD) + 1)
        problem.effort.spend(CELL * 3 * len(divisors) * len(x))
        same, conflict = _agreeing(rest, x[None] % divisors[:, None], goal)
        fine = ~conflict & (same * evidence(goal) >= EVIDENCE)
        if fine.any():
            expr = op("mod", variable, int(divisors[int(np.argmax(fine))]))
            left = _with_copies(problem, table, goal, expr, [table.variables[i] for i in others])
            if left is not None:
                yield left


def fresh(table: Table) -> str:
    return next(f"part{i}" for i in range(99) if all(v.name != f"part{i}" for v in table.variables))


def _with_copies(problem: Problem, table: Table, goal: Goal, expr: Expr, kept: Sequence[Var]) -> Left | None:
    """The table with a quantity in place of columns, and the same at other lags where that is possible."""
    reads = expr.variables()
    lag = min(v.lag for v in reads)
    name = fresh(table)
    parts: dict[Var, Expr] = {Var(name, lag): expr}
    gone = {v for v in table.variables if v not in kept}
    result = _replaced(problem, table, goal, parts, kept)
    if result is None:
        return None
    for shift in range(-lag, max(v.lag for v in table.variables) + 1):
        moved = {v: Var(v.name, v.lag + shift) for v in reads}
        if not shift or not {*moved.values()} <= {*table.variables}:
            continue
        leaving = {moved[v] for v in gone if v in moved} - gone
        if not leaving:
            continue
        more = {**parts, Var(name, lag + shift): expr.substitute(moved)}
        fewer = [v for v in table.variables if v not in gone | leaving]
        smaller = _replaced(problem, table, goal, more, fewer)
        if smaller is not None:
            parts, gone, result = more, gone | leaving, smaller
    meaning = dict(parts)
    cost = sum(max(e.size() - 1, 0) for e in parts.values())
    return Left("put", *result, lambda e: e.substitute(meaning), float(cost))


def _replaced(
    problem: Problem, table: Table, goal: Goal, parts: Mapping[Var, Expr], kept: Sequence[Var]
) -> tuple[Table, Goal] | None:
    """The same, if enough rows agree then."""
    problem.effort.spend(2e-4 + CELL * 8 * len(table.X) * (len(parts) + len(kept)))
    made = replaced(table, goal, parts, kept)
    agreed = 0 if made is None else len(goal.known) - len(made[1].known)
    return made if agreed * evidence(goal) >= EVIDENCE else None


def replaced(
    table: Table, goal: Goal, parts: Mapping[Var, Expr], kept: Sequence[Var]
) -> tuple[Table, Goal] | None:
    """The table with quantities in place of columns, of which some are kept; None if rows contradict it."""
    columns = [table.values(e) for e in parts.values()]
    if not all(np.all(np.isfinite(c)) for c in columns):
        return None
    places = [table.variables.index(v) for v in kept]
    code = joined([*(_numbered(c) for c in columns), *(table.codes[i] for i in places)])
    return merged(table, goal, [*columns, *(table.X[:, i] for i in places)], [*parts, *kept], code)


def parted(reader: Reader, _: Bank, goal: Goal) -> Iterator[Left]:
    """The rows with one value of a column, and then the others, each with a rule of their own."""
    table, problem = reader.table, reader.problem
    found: list[tuple[float, Expr, np.ndarray]] = []
    for j, (variable, domain) in enumerate(zip(table.variables, table.domains, strict=True)):
        levels = np.unique(table.X[:, j])
        if not domain.discrete or not 2 <= len(levels) <= LEVELS or len(table.variables) < 2:
            continue
        for level in levels[1:] if len(levels) == 2 else levels:
            here = table.X[:, j] == level
            sides = [goal.where(here), goal.where(~here)]
            if min(len(side.known) for side in sides) < FEWEST_ROWS:
                continue
            problem.effort.spend(1e-4)
            test = variable if table.bits and level == 1 else op("eq", variable, number(float(level)))
            found.append((sum(size(side) for side in sides), test, here))
    found.sort(key=lambda item: item[0])
    for left, test, here in found[:PARTED]:
        if left < SIMPLER * size(goal):
            # the side with less to say comes first
            yes = size(goal.where(here)) <= size(goal.where(~here))
            rest = partial(_other_part, table, goal, test, here, yes)
            nodes = float(test.size() + 2)
            yield Left("part", table, goal.where(here == yes), lambda e: e, nodes, rest)


def _other_part(table: Table, goal: Goal, test: Expr, here: np.ndarray, yes: bool, first: Expr) -> Left:
    """What is left once the formula of one side is known."""
    finish = partial(_sides, test, first, yes)
    nodes, sure = float(test.size() + first.size() + 1), float(first.size())
    return Left("part", table, goal.where(here != yes), finish, nodes, sure=sure)


def _sides(test: Expr, first: Expr, yes: bool, other: Expr) -> Expr:
    return chosen(test, first, other) if yes else chosen(test, other, first)


def along(reader: Reader, _: Bank, goal: Goal) -> Iterator[Left]:
    """A weighted sum along which the values lie apart, in place of its columns."""
    table, plain = reader.table, goal.whole and goal.modulus is None
    if not plain or len(table.variables) < 2 or not 2 <= len(goal.levels) <= 9:
        return
    for weights in directions(reader.problem, table, goal):
        terms = [(number(float(w)), v) for w, v in zip(weights, table.variables, strict=True) if w]
        expr = weighted_sum(terms)
        parts: dict[Var, Expr] = {Var(fresh(table)): expr}
        made = replaced(table, goal, parts, [])
        if made is not None:
            yield Left("along", *made, lambda e, parts=parts: e.substitute(parts), float(expr.size() - 1))
