"""Reductions: what is left of a goal when one step of the rule is undone.

The last step: bounds, a remainder, a function of one argument, or an operator with one argument taken from the
bank, by the inverse that stands beside the operator. The first step: a quantity put in for the columns that it
is made of, at every lag where they stand; a sum along which the values lie apart; a column that is not needed.
A reduction counts by how many cells it leaves, and how much there is to say of one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weights2code.language import Const, Expr, Var, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.one.bank import CELL, Bank
from weights2code.symbolic.one.linear import PRODUCT, directions
from weights2code.symbolic.one.readings import Reader, number
from weights2code.symbolic.one.searched import UNDONE, Searched
from weights2code.symbolic.one.table import INF, Goal, Left, Table, common, joined, merged
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import simplest

#: Cells of given arguments; steps kept of an operator, and of those that read the same columns.
GIVEN, EACH, ALIKE = 60_000, 4, 2
#: How much more often than the next a value must be there to be taken for a bound.
OFTEN = 1.3
#: A goal is smaller if it has at most this share of the cells and bits.
SMALLER = 0.8
#: Quantities that are put in: cells asked for, asked at all lags at once,
#: followed of those that are made of the same columns, and of all; bits that they must save.
ASKED, EVERYWHERE, SAME, PUT, LESS = 300_000, 150, 3, 8, 0.3
#: Bits that rows must tell which agree in some quantities, and could differ in what is wanted.
EVIDENCE = 14.0
#: What a node counts for beside a bit of what is left; how much worse than the best a step may be.
COST, WITHIN = 0.5, 2.5
#: Values that a column must have for its remainders to be asked for, and the largest divisor.
FEWEST_VALUES, MOST_PERIOD = 12, 1000
#: The share of remainders that must have been seen.
SEEN = 0.6
#: Columns with at most so many values may be gates of a direction.
GATES = 6


def size(goal: Goal) -> float:
    """Cells that are known times bits of one."""
    return len(goal.known) * goal.bits


def left(table: Table, goal: Goal) -> float:
    """Bits of a place in the table, of the share of it that is known, and of what there is to say of one."""
    return room(table) + float(np.log2(max(len(goal.known), 1) / len(table.X)) + np.log2(goal.bits))


def bounds(reader: Reader, goal: Goal) -> Iterator[Left]:
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
    if goal.modulus is not None or len(known) < 3:
        return
    if table.discrete and goal.whole:
        least = int(y[known].min())
        m = int(y[known].max()) + 1 - least
        if 3 <= m <= 100 and len(goal.levels) > SEEN * m and remainder and problem.allows("mod"):
            finish = lambda e: weighted_sum([(1, op("mod", e, m))], least)
            rest = Goal(goal.low - least, goal.high - least, m)
            yield Left("remainder", table, rest, finish, 2 + 2 * (least != 0))
        return
    if table.discrete or goal.whole or not np.all(goal.tight) or not functions:
        return
    for name, (valid, inverse) in UNDONE.items():
        if problem.allows(name) and np.all(valid(y)):
            ends = np.sort([inverse(np.where(valid(e), e, y)) for e in (goal.low, goal.high)], axis=0)
            yield Left("function", table, Goal(ends[0], ends[1]), lambda e, name=name: _applied(name, e), 1)


def _applied(name: str, inner: Expr) -> Expr:
    return op("div", 1, inner) if name == "div" else op(name, inner)


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
            finish = lambda e, entry=entry, given=given: _joined(entry, given, e)
            yield Left("inverse", reader.table, Goal(low, high, goal.modulus), finish, nodes)


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
    if entry.name == "sub":
        return op("sub", inner, given)
    if entry.name == "div":
        return op("div", inner, given)
    if entry.name == "add":
        return weighted_sum([(1, given), (1, inner)])
    return entry.write(given, inner)


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


def evidence(goal: Goal) -> float:
    """Bits that one pair of rows tells which agree in what is wanted, though it could differ."""
    shares = np.unique(goal.coded, return_counts=True)[1] / max(len(goal.known), 1)
    return -float(np.log2(np.sum(shares**2))) if len(shares) else 0.0


# ---------------------------------------------------------------------------------- fewer and other columns


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
    return left if smaller is None else Left(left.step, *smaller, left.finish, left.cost)


def _needless(problem: Problem, table: Table, goal: Goal, kept: Sequence[int]) -> bool:
    code = joined([table.codes[i] for i in kept])
    problem.effort.spend(CELL * 4 * len(code) * len(kept) + 5e-5)
    if common(goal, code) is None:
        return False
    pairs = len(goal.known) - len(np.unique(code[goal.known]))
    return pairs * evidence(goal) >= EVIDENCE


@dataclass(frozen=True, slots=True)
class _Put:
    """An entry of the bank that takes the place of columns: the room that is left, and the columns kept."""

    room: float
    entry: int
    kept: tuple[int, ...]


def put(reader: Reader, bank: Bank, goal: Goal, cost: int) -> Iterator[Left]:
    """Quantities in place of the columns that they are made of, those that leave the least room first."""
    table, problem = reader.table, reader.problem
    if not table.discrete or len(goal.known) < 6 or len(table.variables) < 2:
        return
    lefts = [*_everywhere(reader, bank, goal, cost)]
    ranked = sorted(_puts(reader, bank, cost), key=lambda p: p.room + COST * int(bank.rank[p.entry]))
    seen: set[bytes] = set()
    for found in ranked:
        expr = bank.expr(found.entry)
        code = joined([_numbered(table.values(expr)), *(table.codes[i] for i in found.kept)])
        mark = np.array(code, dtype=np.int32).tobytes()
        if mark in seen:
            continue
        seen.add(mark)
        left = _with_copies(problem, table, goal, expr, [table.variables[i] for i in found.kept])
        if left is not None:
            lefts.append(left)
            if len(seen) >= 2 * PUT:
                break
    worth = [room(left.table) + COST * left.cost for left in lefts]
    for place in np.argsort(worth, kind="stable")[:PUT]:
        if worth[place] <= min(worth) + WITHIN:
            yield lefts[place]


def room(table: Table) -> float:
    """Bits of a place in the table: all combinations of the values of its columns."""
    return float(np.sum(np.log2(table.codes.max(axis=1) + 1.0)))


def _numbered(values: np.ndarray) -> np.ndarray:
    return np.unique(np.round(values, 6), return_inverse=True)[1].reshape(-1)


def _puts(reader: Reader, bank: Bank, cost: int) -> Iterator[_Put]:
    """Entries that leave no two rows that agree and differ in what is wanted, and less room."""
    small, table = reader.goal, reader.table
    known = small.known
    codes = table.codes[:, table.few][:, known]
    y = small.middle[known]
    k, count = len(codes), len(known)
    rooms = np.log2(codes.max(axis=1) + 1.0)
    told = evidence(small)
    groups: dict[int, list[int]] = {}
    for i in bank.varying(cost, ASKED // count):
        groups.setdefault(int(bank.reads[i]), []).append(int(i))
    for mask, entries in groups.items():
        inside = [j for j in range(k) if mask >> j & 1]
        others = tuple(j for j in range(k) if not mask >> j & 1)
        ways = [others, *(tuple(sorted((*others, j))) for j in inside if len(inside) > 1)]
        waiting = np.array(entries)
        for kept in ways:
            if not len(waiting) or reader.problem.expired():
                break
            rest = joined([codes[j] for j in kept]) if kept else np.zeros(count, dtype=np.int64)
            reader.problem.effort.spend(CELL * 3 * len(waiting) * count + 3e-5)
            V = np.round(bank.values[np.ix_(waiting, known)], 6)
            key = rest * 1e8 + V
            order = np.argsort(key, axis=1)
            same = np.diff(np.take_along_axis(key, order, axis=1), axis=1) == 0
            conflict = np.any(same & (np.abs(np.diff(y[order], axis=1)) > 2 * small.slack), axis=1)
            levels = (np.diff(np.sort(V, axis=1), axis=1) > 0).sum(axis=1) + 1
            left = float(rooms[list(kept)].sum()) + np.log2(levels)
            good = ~conflict & (same.sum(axis=1) * told >= EVIDENCE) & (left <= rooms.sum() - LESS)
            good = np.flatnonzero(good)
            better = good[np.argsort(left[good] + COST * bank.rank[waiting[good]], kind="stable")][:SAME]
            yield from (_Put(float(left[i]), int(waiting[i]), kept) for i in better)
            waiting = waiting[conflict]


def periods(reader: Reader, goal: Goal) -> Iterator[Left]:
    """A remainder in place of its column, by the smallest divisor that the rows do not contradict."""
    table, problem = reader.table, reader.problem
    known, told = goal.known, evidence(goal)
    for j, (variable, domain) in enumerate(zip(table.variables, table.domains, strict=True)):
        x = table.X[known, j]
        spread = int(np.ptp(x)) if domain.discrete and len(x) else 0
        if spread < FEWEST_VALUES or not problem.allows("mod"):
            continue
        rest = joined([table.codes[i][known] for i in range(len(table.variables)) if i != j] or [0 * known])
        divisors = np.arange(2, min(spread, MOST_PERIOD) + 1)
        problem.effort.spend(CELL * 3 * len(divisors) * len(x))
        key = rest * 1e8 + x[None] % divisors[:, None]
        order = np.argsort(key, axis=1)
        same = np.diff(np.take_along_axis(key, order, axis=1), axis=1) == 0
        apart = np.abs(np.diff(goal.middle[known][order], axis=1)) > 2 * goal.slack
        fine = ~np.any(same & apart, axis=1) & (same.sum(axis=1) * told >= EVIDENCE)
        if fine.any():
            expr = op("mod", variable, int(divisors[int(np.argmax(fine))]))
            left = _with_copies(problem, table, goal, expr, [v for v in table.variables if v != variable])
            if left is not None:
                yield left


def _everywhere(reader: Reader, bank: Bank, goal: Goal, cost: int) -> Iterator[Left]:
    """A quantity in place of its columns at all lags at once: alone at one of them too few rows would agree."""
    table, problem = reader.table, reader.problem
    lags: dict[str, list[int]] = {}
    for v in table.variables:
        lags.setdefault(v.name, []).append(v.lag)
    several = {name for name, found in lags.items() if len(found) > 1}
    if not several:
        return
    asked = [0, 0, 0]
    for i in bank.varying(cost, ASKED // len(goal.known)):
        mask = int(bank.reads[i])
        reads = [v for j, v in enumerate(table.variables) if mask >> j & 1]
        if len(reads) > 2 or not any(v.name in several for v in reads):
            continue
        first = min(v.lag for v in reads)
        if first and {Var(v.name, v.lag - 1) for v in reads} <= {*table.variables}:
            continue  # the same a step later is asked already
        asked[len(reads)] += 1
        if asked[len(reads)] > EVERYWHERE // len(reads) ** 2:
            continue
        if problem.expired():
            return
        expr = bank.expr(int(i))
        shifts = [lag - first for lag in range(max(v.lag for v in table.variables) + 1)]
        moved = [{v: Var(v.name, v.lag + s) for v in reads} for s in shifts]
        moved = [m for m in moved if {*m.values()} <= {*table.variables}]
        name = _fresh(table)
        parts = {
            Var(name, min(v.lag for v in m.values())): expr.substitute(m) for m in moved
        }
        gone = {v for m in moved for v in m.values()}
        if len(parts) < 2:
            continue
        kept = [v for v in table.variables if v not in gone]
        result = _replaced(problem, table, goal, parts, kept)
        if result is not None and room(result[0]) <= room(table) - LESS:
            nodes = sum(max(e.size() - 1, 0) for e in parts.values())
            yield Left("put", *result, lambda e, parts=parts: e.substitute(parts), float(nodes))


def _fresh(table: Table) -> str:
    return next(f"part{i}" for i in range(99) if all(v.name != f"part{i}" for v in table.variables))


def _with_copies(problem: Problem, table: Table, goal: Goal, expr: Expr, kept: Sequence[Var]) -> Left | None:
    """The table with a quantity in place of columns, and the same at other lags where that is possible."""
    reads = expr.variables()
    lag = min(v.lag for v in reads)
    name = _fresh(table)
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
    problem: Problem, table: Table, goal: Goal, parts: dict[Var, Expr], kept: Sequence[Var]
) -> tuple[Table, Goal] | None:
    columns = [table.values(e) for e in parts.values()]
    if not all(np.all(np.isfinite(c)) for c in columns):
        return None
    places = [table.variables.index(v) for v in kept]
    code = joined([*(_numbered(c) for c in columns), *(table.codes[i] for i in places)])
    problem.effort.spend(2e-4 + CELL * 8 * len(code) * (len(parts) + len(kept)))
    if (len(goal.known) - len(np.unique(code[goal.known]))) * evidence(goal) < EVIDENCE:
        return None
    return merged(table, goal, [*columns, *(table.X[:, i] for i in places)], [*parts, *kept], code)


def repeated(reader: Reader, goal: Goal) -> Iterator[Left]:
    """y = g(x[t]) + g(x[t-1]) + ..., or the difference of two, beside a linear function: what g is.

    One design matrix, with a column for every value of x: how often it stands among the lags.
    """
    table, problem = reader.table, reader.problem
    if not table.discrete or goal.modulus is not None or len(goal.levels) < 3:
        return
    names: dict[str, list[int]] = {}
    for j, v in enumerate(table.variables):
        names.setdefault(v.name, []).append(j)
    known, y = goal.known, goal.middle[goal.known]
    for name, places in names.items():
        levels, code = np.unique(table.X[:, places], return_inverse=True)
        code = code.reshape(-1, len(places))[known]
        signs = [np.ones(len(places)), *([np.array([1.0, -1.0])] if len(places) == 2 else [])]
        if len(places) < 2 or not 3 <= len(levels) <= min(40, len(known) // 3):
            continue
        others = [j for j in range(len(table.variables)) if j not in places]
        for sign in signs:
            counts = np.zeros((len(known), len(levels)))
            for c, s in zip(code.T, sign, strict=True):
                counts[np.arange(len(known)), c] += s
            matrix = np.column_stack([counts, table.X[np.ix_(known, others)]])
            problem.effort.spend(1e-4 + PRODUCT * matrix.size * matrix.shape[1] * 10)
            weights = np.linalg.lstsq(matrix, y, rcond=None)[0]
            if np.abs(matrix @ weights - y).max() > goal.slack + 1e-7:
                continue
            g, rest = weights[: len(levels)], [number(round(float(w), 6)) for w in weights[len(levels) :]]
            g = g - g[int(np.argmin(np.abs(levels)))] if sign.sum() == 0 else g
            x = Var(name, 0)
            column = Table((x,), (table.domains[places[0]],), levels[:, None].astype(float))
            terms = [(w, table.variables[j]) for w, j in zip(rest, others, strict=True)]
            finish = lambda e, places=places, sign=sign, terms=terms, x=x: weighted_sum(
                [*((int(s), e.substitute({x: table.variables[j]})) for j, s in zip(places, sign, strict=True)), *terms]
            )
            slack = max(goal.slack / len(places), 1e-7)
            yield Left("repeated", column, Goal(g - slack, g + slack), finish, float(2 * len(others) + len(places)))


def along(reader: Reader, goal: Goal) -> Iterator[Left]:
    """A weighted sum along which the values lie apart, in place of its columns; gates stay beside it."""
    table, problem = reader.table, reader.problem
    k = len(table.variables)
    if k < 2 or not goal.whole or goal.modulus is not None or not 2 <= len(goal.levels) <= 9:
        return
    gates = [(j,) for j in range(k) if table.domains[j].discrete and len(np.unique(table.X[:, j])) <= GATES]
    ways = [(some, False) for some in ([(), *gates] if k > 2 else [()])]
    ways += [((), True)] if len(goal.levels) > 2 else []
    for some, turned in ways:
        for weights in directions(problem, table, goal, some, turned=turned):
            terms = [(number(float(w)), v) for w, v in zip(weights, table.variables, strict=True) if w]
            expr = weighted_sum(terms)
            kept = [table.variables[j] for j in some]
            new = Var(_fresh(table))
            values = table.values(expr)
            code = joined([_numbered(values), *(table.codes[j] for j in some)])
            made = merged(table, goal, [values, *(table.X[:, j] for j in some)], [new, *kept], code)
            if made is not None:
                finish = lambda e, new=new, expr=expr: e.substitute({new: expr})
                yield Left("along", *made, finish, float(expr.size() - 1))
        if problem.expired():
            return
