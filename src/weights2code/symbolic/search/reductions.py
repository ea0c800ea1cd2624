"""Reductions: what is left of a goal when the last step of the rule is undone.

Bounds, a remainder, a function of one argument, or an operator with one argument taken from the bank, by
the inverse that stands beside the operator. A reduction counts by how many cells it leaves, how much there
is to say of one, and how many columns it needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np

from weights2code.language import Const, Expr, op
from weights2code.symbolic.notation import affine_form, weighted_sum
from weights2code.symbolic.search.bank import CELL, Bank
from weights2code.symbolic.search.readings import Reader, number
from weights2code.symbolic.search.searched import UNDONE, Searched
from weights2code.symbolic.search.table import COST, EVIDENCE, INF, WITHIN, Goal, Left, evidence, joined, size
from weights2code.symbolic.snapping import simplest

#: Cells of given arguments; steps kept of an operator, and of those that read the same columns.
GIVEN, EACH, ALIKE = 60_000, 4, 2
#: How much more often than the next a value must be there to be taken for a bound.
OFTEN = 1.3
#: A goal is smaller if it has at most this share of the cells and bits.
SMALLER = 0.8
#: The share of remainders that must have been seen.
SEEN = 0.6


def bounds(reader: Reader, _: Bank, goal: Goal) -> Iterator[Left]:
    """Without the rows on the least or the largest value, of which only one side is known then."""
    known = goal.known
    if len(known) < 4 or goal.modulus is not None or len(goal.levels) < 3:
        return
    y, slack, table = goal.middle, goal.slack, reader.table
    ends = float(y[known].min()), float(y[known].max())
    at = [goal.tight & (np.abs(y - end) <= 2 * slack + 1e-9) for end in ends]
    least, most = (Const(_plain(y[group], slack)) for group in at)
    counts = np.unique(goal.coded, return_counts=True)[1]
    often = [OFTEN * counts[1], OFTEN * counts[-2]] if table.discrete else [2, 2]
    enough = [
        group.sum() >= max(2, least_often) and len(known) - group.sum() > 2
        for group, least_often in zip(at, often, strict=True)
    ]
    low, high = np.where(at[0], -INF, goal.low), np.where(at[1], INF, goal.high)
    if enough[0] and reader.problem.allows("max"):
        yield Left("bounds", table, Goal(low, goal.high), lambda e: op("max", e, least), 2)
    if enough[1] and reader.problem.allows("min"):
        yield Left("bounds", table, Goal(goal.low, high), lambda e: op("min", e, most), 2)
    both = len(known) - at[0].sum() - at[1].sum()
    if all(enough) and both >= table.X.shape[1] + 2 and reader.problem.allows("max", "min"):
        yield Left("bounds", table, Goal(low, high), lambda e: op("min", op("max", e, least), most), 3)


def _plain(values: np.ndarray, slack: float) -> float | int:
    low, high = float(values.min()), float(values.max())
    return simplest(0.5 * (low + high), max(slack - 0.5 * (high - low), 0.0) + 1e-9)  # pyright: ignore


def undone(reader: Reader, goal: Goal, *, functions: bool, remainder: bool) -> Iterator[Left]:
    """What stands inside a function of one argument; a remainder leaves its argument up to multiples."""
    table, problem, y = reader.table, reader.problem, goal.middle
    known = goal.known
    if len(known) < 3 or goal.modulus is not None:
        return
    if table.discrete and goal.whole:
        least = int(y[known].min())
        m = int(y[known].max()) + 1 - least
        if 3 <= m <= 100 and len(goal.levels) > SEEN * m and remainder and problem.allows("mod"):
            rest = Goal(goal.low - least, goal.high - least, m)
            yield Left("remainder", table, rest, partial(_remainder, m, least), 2 + 2 * (least != 0))
        return
    if table.discrete or goal.whole or not np.all(goal.tight) or not functions:
        return
    for name, (valid, inverse) in UNDONE.items():
        if problem.allows(name) and np.all(valid(y)):
            ends = np.sort([inverse(np.where(valid(e), e, y)) for e in (goal.low, goal.high)], axis=0)
            yield Left("function", table, Goal(ends[0], ends[1]), lambda e, name=name: _applied(name, e), 1)


def _remainder(m: int, least: int, inner: Expr) -> Expr:
    return weighted_sum([(1, op("mod", inner, m))], least)


def _applied(name: str, inner: Expr) -> Expr:
    if name != "div":
        return op(name, inner)
    form = affine_form(inner)
    weights = set(form[0].values()) if form is not None else set()
    if form is None or len(weights) != 1 or not form[1]:
        return op("div", 1, inner)
    (weight,) = weights  # 2/(x + 1.3) for 1/(0.5*x + 0.65)
    top, shift = (simplest(float(v), 1e-9 * abs(float(v))) for v in (1 / weight, form[1] / weight))
    return op("div", top, weighted_sum([(1, v) for v in form[0]], shift))


def inverses(reader: Reader, bank: Bank, goal: Goal, cost: int) -> Iterator[Left]:
    """What the other argument of an operator must be, given an entry of the bank, where that is less."""
    problem, small = reader.problem, reader.goal
    whole_size = size(small)
    bits = bool(np.all(np.isin(np.round(small.middle[small.known], 6), (0, 1)))) and small.modulus is None
    some = bank.first(np.flatnonzero(bank.cost <= cost), GIVEN // len(reader.X))
    for entry in bank.operators:
        if entry.inverse is None or (entry.name == "ne" and not bits) or (entry.name == "min" and bits):
            continue
        if small.modulus is not None and entry.name not in ("add", "sub"):
            continue
        ranked = _ranked(reader, bank, entry, some, whole_size)
        for _, i, shift in ranked[:EACH]:
            given = weighted_sum([(1, bank.expr(i))], shift)
            values = reader.table.values(given)
            low, high = _undone(entry, goal, values, bits)
            problem.effort.spend(1e-4)
            if np.any(np.isnan(low) | np.isnan(high)):
                continue
            nodes = float(bank.cost[i] + 1 + 2 * (shift != 0))
            rest = Goal(low, high, goal.modulus)
            yield Left("inverse", reader.table, rest, partial(_joined, entry, given), nodes)


def _undone(entry: Searched, goal: Goal, given: np.ndarray, bits: bool) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the other argument; of bits no end lies outside of 0 and 1."""
    assert entry.inverse is not None
    with np.errstate(all="ignore"):
        low, high = entry.inverse(goal.low, goal.high, given)
    if bits and entry.name in ("max", "min"):
        low, high = np.where(high < 0.5, -1e-6, low), np.where(low > 0.5, 1 + 1e-6, high)
        free = (low < 0.5) & (high > 0.5)
        low, high = np.where(free, -INF, low), np.where(free, INF, high)
    return low, high


def _joined(entry: Searched, given: Expr, inner: Expr) -> Expr:
    """What the operator gives with the given argument and what was found for the other."""
    if entry.name == "add":
        return weighted_sum([(1, given), (1, inner)])
    return entry.write(*((inner, given) if entry.name in ("sub", "div") else (given, inner)))


def _ranked(
    reader: Reader, bank: Bank, entry: Searched, some: np.ndarray, whole_size: float
) -> list[tuple[float, int, float]]:
    """Entries (and shifts) that leave a smaller goal, the best first, judged on the rows of the bank.

    A goal is smaller that has fewer known cells or fewer levels, or that needs fewer columns.
    """
    goal = reader.goal
    use, bits = some[~bank.number[some]], bool(np.all(np.isin(np.round(goal.middle[goal.known], 6), (0, 1))))
    extremum = entry.name in ("max", "min")
    if entry.name == "ne" or (extremum and bits):
        use = use[np.all((bank.values[use] == 0) | (bank.values[use] == 1), axis=1)]
    shift = np.zeros(len(use))
    if extremum and not bits and len(use):  # also moved until it touches the goal
        apart = goal.middle[goal.known] - bank.values[np.ix_(use, goal.known)]
        moved = apart.min(axis=1) if entry.name == "max" else apart.max(axis=1)
        more = np.flatnonzero((np.abs(moved) > goal.slack) & ~bank.number[use])
        use, shift = np.concatenate([use, use[more]]), np.concatenate([shift, moved[more]])
    if not len(use):
        return []
    given = bank.values[use] + shift[:, None]
    reader.problem.effort.spend(CELL * given.size * 2)
    low, high = _undone(entry, goal, given, bits)
    fine = ~np.any(np.isnan(low) | np.isnan(high), axis=1)
    if extremum and not bits:  # it must explain more than one value, or it is a bound
        at = goal.tight & ~(np.isfinite(low) & np.isfinite(high))
        y = np.where(at, goal.middle, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            fine &= np.nanmax(y, axis=1) - np.nanmin(y, axis=1) > 2 * goal.slack
    use, low, high, shift = use[fine], low[fine], high[fine], shift[fine]
    if not len(use):
        return []
    known = np.isfinite(low) & np.isfinite(high)
    with np.errstate(all="ignore"):
        middle = 0.5 * (low + high)
        if goal.modulus is not None:
            middle = np.round(middle) % goal.modulus
            low, high = np.where(known, middle - 1e-6, -INF), np.where(known, middle + 1e-6, INF)
        middle = np.sort(np.where(known, middle, INF), axis=1)
        steps = (np.diff(middle, axis=1) > max(2 * goal.slack, 1e-7)) & np.isfinite(middle[:, 1:])
    cells, bits = known.sum(axis=1), np.log2(2 + steps.sum(axis=1))
    cells = np.where(cells > 0, np.minimum(cells, _fewest(reader, bank, use, low, high)), 0)
    left = cells * bits
    cost = bank.rank[use] + 2 * (shift != 0)
    smaller = np.flatnonzero((left < SMALLER * whole_size) & (cells > 0))
    found: list[int] = []
    worth = np.log2(np.maximum(left, 1e-9)) + COST * cost
    for i in smaller[np.argsort(worth[smaller], kind="stable")]:
        reads = int(bank.reads[use[i]])
        inside = sum(int(bank.reads[use[j]]) & ~reads == 0 for j in found)  # what reads less was better
        if worth[i] > worth[smaller].min() + WITHIN or len(found) == EACH:
            break
        if inside < ALIKE:
            found.append(int(i))
    return [(float(left[i]), int(use[i]), float(number(float(shift[i])))) for i in found]


def _fewest(reader: Reader, bank: Bank, use: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """For goals (a row each) the fewest cells that are known when the columns of their entry are dropped.

    All columns that the entry reads, or all but one; where rows that agree in the others have nothing in
    common, or where too few agree to tell, all cells are left.
    """
    table, count = reader.table, len(reader.X)
    fewest = np.full(len(use), count)
    if not table.discrete:
        return fewest
    codes, k = table.codes[:, table.few], table.X.shape[1]
    masks = bank.reads[use]
    told = evidence(reader.goal)
    for mask in np.unique(masks):
        inside = [j for j in range(k) if mask >> j & 1]
        others = [j for j in range(k) if not mask >> j & 1]
        places = np.flatnonzero(masks == mask)
        for kept in [others, *([*others, j] for j in inside if len(inside) > 1)]:
            if not kept:
                continue
            rest = joined([codes[j] for j in kept])
            order = np.argsort(rest, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(rest[order]) > 0])
            reader.problem.effort.spend(3e-5 + 0.7 * CELL * len(places) * count)
            if len(starts) == count:
                continue
            least = np.maximum.reduceat(low[np.ix_(places, order)], starts, axis=1)
            most = np.minimum.reduceat(high[np.ix_(places, order)], starts, axis=1)
            fine = np.all(least <= most + 1e-9 * (1 + np.abs(most)), axis=1)
            cells = np.sum(np.isfinite(least) & np.isfinite(most), axis=1)
            enough = (count - len(starts)) * told >= EVIDENCE
            fewest[places] = np.where(fine & enough, np.minimum(fewest[places], cells), fewest[places])
    return fewest
