"""Reductions: what is left of a goal when one step of the rule is undone.

The last step: bounds, a remainder, a function of one argument, or an operator with one argument taken from the
bank, by the inverse that stands beside the operator. The first step: a quantity put in for the columns that it
is made of, at every lag where they stand; a sum along which the values lie apart; a column that is not needed.
A reduction counts by how many cells it leaves, and how much there is to say of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weights2code.language import Const, Expr, Var, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.one.bank import CELL, Bank
from weights2code.symbolic.one.linear import directions
from weights2code.symbolic.one.readings import Reader, number
from weights2code.symbolic.one.searched import UNDONE, Searched
from weights2code.symbolic.one.table import INF, Goal, Left, Table, common, joined, merged
from weights2code.symbolic.search.rows import Problem
from weights2code.symbolic.snapping import simplest

#: Cells of given arguments and their most cost; steps kept of an operator.
GIVEN, GIVEN_COST, EACH = 60_000, 5, 5
#: A goal is smaller if it has at most this share of the cells and bits.
SMALLER = 0.8
#: Quantities that are put in: asked for, kept; the share of rows that may be left.
ASKED, PUT, MERGED = 700, 8, 0.75
#: The share of known rows that must have another that agrees in all other columns, to drop a column.
SEEN = 0.3
#: Columns with at most so many values may be gates of a direction.
GATES = 6


def size(goal: Goal) -> float:
    """Cells that are known times bits of one."""
    return len(goal.known) * goal.bits


def bounds(reader: Reader, goal: Goal) -> Iterator[Left]:
    """Without the rows on the least or the largest value, of which only one side is known then."""
    known = goal.known
    if len(known) < 4 or goal.modulus is not None or len(goal.levels) < 3:
        return
    y, slack, table = goal.middle, goal.slack, reader.table
    ends = float(y[known].min()), float(y[known].max())
    at = [goal.tight & (np.abs(y - end) <= 2 * slack + 1e-9) for end in ends]
    least, most = (Const(_plain(y[group], slack)) for group in at)
    enough = [group.sum() >= 2 and len(known) - group.sum() > 2 for group in at]
    low, high = np.where(at[0], -INF, goal.low), np.where(at[1], INF, goal.high)
    if enough[0] and reader.problem.allows("max"):
        yield Left(table, Goal(low, goal.high), lambda e: op("max", e, least), 2)
    if enough[1] and reader.problem.allows("min"):
        yield Left(table, Goal(goal.low, high), lambda e: op("min", e, most), 2)
    both = len(known) - at[0].sum() - at[1].sum()
    if all(enough) and both >= table.X.shape[1] + 2 and reader.problem.allows("max", "min"):
        yield Left(table, Goal(low, high), lambda e: op("min", op("max", e, least), most), 3)


def _plain(values: np.ndarray, slack: float) -> float | int:
    low, high = float(values.min()), float(values.max())
    return simplest(0.5 * (low + high), max(slack - 0.5 * (high - low), 0.0) + 1e-9)  # pyright: ignore


def undone(reader: Reader, goal: Goal) -> Iterator[Left]:
    """What stands inside a function of one argument; a remainder leaves its argument up to multiples."""
    table, problem, y = reader.table, reader.problem, goal.middle
    known = goal.known
    if goal.modulus is not None or len(known) < 3:
        return
    if table.discrete and goal.whole:
        top = int(y[known].max()) + 1
        if y[known].min() == 0 and 2 <= top <= 100 and problem.allows("mod"):
            yield Left(table, Goal(goal.low, goal.high, top), lambda e: op("mod", e, top), 2)
        return
    if table.discrete or goal.whole or not np.all(goal.tight):
        return
    for name, (valid, inverse) in UNDONE.items():
        if problem.allows(name) and np.all(valid(y)):
            ends = np.sort([inverse(np.where(valid(e), e, y)) for e in (goal.low, goal.high)], axis=0)
            yield Left(table, Goal(ends[0], ends[1]), lambda e, name=name: _applied(name, e), 1)


def _applied(name: str, inner: Expr) -> Expr:
    return op("div", 1, inner) if name == "div" else op(name, inner)


def inverses(reader: Reader, bank: Bank, goal: Goal) -> Iterator[Left]:
    """What the other argument of an operator must be, given an entry of the bank, where that is less."""
    problem, small = reader.problem, reader.goal
    whole_size = size(small)
    bits = bool(np.all(np.isin(np.round(small.middle[small.known], 6), (0, 1)))) and small.modulus is None
    some = bank.first(np.flatnonzero(bank.cost <= GIVEN_COST), GIVEN // len(reader.X))
    for entry in bank.operators:
        if entry.inverse is None or (entry.name == "ne" and not bits):
            continue
        if small.modulus is not None and entry.name not in ("add", "sub"):
            continue
        ranked = _ranked(reader, bank, entry, some, whole_size)
        for _, i, shift in ranked[:EACH]:
            given = weighted_sum([(1, bank.expr(i))], shift)
            values = reader.table.values(given)
            with np.errstate(all="ignore"):
                low, high = entry.inverse(goal.low, goal.high, values)
            problem.effort.spend(1e-4)
            if np.any(np.isnan(low) | np.isnan(high)):
                continue
            cost = float(bank.cost[i] + 1 + 2 * (shift != 0))
            finish = lambda e, entry=entry, given=given: _joined(entry, given, e)
            yield Left(reader.table, Goal(low, high, goal.modulus), finish, cost)


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
    """Entries (and shifts) that leave a smaller goal, the best first, judged on the rows of the bank."""
    goal = reader.goal
    use = some if entry.right == "any" else some[~bank.number[some]]
    if entry.name == "ne":
        use = use[np.all((bank.values[use] == 0) | (bank.values[use] == 1), axis=1)]
    shift = np.zeros(len(use))
    if entry.name in ("max", "min") and len(use):  # also moved until it touches the goal
        apart = goal.middle[goal.known] - bank.values[np.ix_(use, goal.known)]
        moved = apart.min(axis=1) if entry.name == "max" else apart.max(axis=1)
        more = np.flatnonzero((np.abs(moved) > goal.slack) & ~bank.number[use])
        use, shift = np.concatenate([use, use[more]]), np.concatenate([shift, moved[more]])
    if not len(use):
        return []
    given = bank.values[use] + shift[:, None]
    reader.problem.effort.spend(CELL * given.size * 6)
    assert entry.inverse is not None
    with np.errstate(all="ignore"):
        low, high = entry.inverse(goal.low, goal.high, given)
    fine = ~np.any(np.isnan(low) | np.isnan(high), axis=1)
    use, low, high, shift = use[fine], low[fine], high[fine], shift[fine]
    if not len(use):
        return []
    known = np.isfinite(low) & np.isfinite(high)
    with np.errstate(all="ignore"):
        middle = 0.5 * (low + high)
        if goal.modulus is not None:
            middle = np.round(middle) % goal.modulus
        middle = np.sort(np.where(known, middle, INF), axis=1)
        steps = (np.diff(middle, axis=1) > max(2 * goal.slack, 1e-7)) & np.isfinite(middle[:, 1:])
    left = known.sum(axis=1) * np.log2(2 + steps.sum(axis=1))
    score = left / whole_size + 0.05 * (bank.cost[use] + 2 * (shift != 0))
    smaller = np.flatnonzero((left < SMALLER * whole_size) & (known.sum(axis=1) > 0))
    order = smaller[np.argsort(score[smaller], kind="stable")][:EACH]
    return [(float(score[i]), int(use[i]), float(number(float(shift[i])))) for i in order]


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
    return left if smaller is None else Left(*smaller, left.finish, left.cost)


def _needless(problem: Problem, table: Table, goal: Goal, kept: Sequence[int]) -> bool:
    code = joined([table.codes[i] for i in kept])
    problem.effort.spend(CELL * 4 * len(code) * len(kept) + 5e-5)
    if common(goal, code) is None:
        return False
    counts = np.bincount(code[goal.known], minlength=int(code.max()) + 1)
    return float(np.mean(counts[code[goal.known]] > 1)) >= SEEN


@dataclass(frozen=True, slots=True)
class _Put:
    """An entry of the bank that takes the place of columns: how many rows are left, and the columns kept."""

    rows: int
    entry: int
    kept: tuple[int, ...]


def put(reader: Reader, bank: Bank, goal: Goal) -> Iterator[Left]:
    """Quantities in place of the columns that they are made of, those that leave fewest rows first."""
    table, problem = reader.table, reader.problem
    if not table.discrete or len(goal.known) < 6:
        return
    ranked = sorted(_puts(reader, bank), key=lambda p: np.log2(p.rows) + 0.35 * int(bank.rank[p.entry]))
    seen: set[bytes] = set()
    followed = 0
    for found in ranked:
        expr = bank.expr(found.entry)
        code = joined([_numbered(table.values(expr)), *(table.codes[i] for i in found.kept)])
        mark = np.array(code, dtype=np.int32).tobytes()
        if mark in seen:
            continue
        seen.add(mark)
        kept = [table.variables[i] for i in found.kept]
        left = _with_copies(problem, table, goal, expr, kept)
        if left is not None:
            yield left
            followed += 1
            if followed >= PUT:
                return


def _numbered(values: np.ndarray) -> np.ndarray:
    return np.unique(np.round(values, 6), return_inverse=True)[1].reshape(-1)


def _puts(reader: Reader, bank: Bank) -> Iterator[_Put]:
    """Entries that leave no two rows that agree and differ in what is wanted, and clearly fewer rows."""
    small, table = reader.goal, reader.table
    known = small.known
    codes = table.codes[:, table.few][:, known]
    y = small.middle[known]
    k, count = len(codes), len(known)
    groups: dict[int, list[int]] = {}
    for i in bank.varying(GIVEN_COST, ASKED):
        groups.setdefault(bank.reads(int(i)), []).append(int(i))
    for mask, entries in groups.items():
        inside = [j for j in range(k) if mask >> j & 1]
        others = tuple(j for j in range(k) if not mask >> j & 1)
        ways = [others, *(tuple(sorted((*others, j))) for j in inside if len(inside) > 1)]
        waiting = np.array(entries)
        for kept in ways:
            if not len(waiting) or reader.problem.expired():
                break
            rest = joined([codes[j] for j in kept]) if kept else np.zeros(count, dtype=np.int64)
            reader.problem.effort.spend(CELL * 12 * len(waiting) * count + 3e-5)
            V = np.round(bank.values[np.ix_(waiting, known)], 6)
            key = rest * 1e8 + V
            order = np.argsort(key, axis=1)
            same = np.diff(np.take_along_axis(key, order, axis=1), axis=1) == 0
            conflict = np.any(same & (np.diff(y[order], axis=1) != 0), axis=1)
            rows = count - same.sum(axis=1)
            good = ~conflict & (rows <= MERGED * count)
            for i in np.flatnonzero(good):
                yield _Put(int(rows[i]), int(waiting[i]), kept)
            waiting = waiting[conflict]


def _with_copies(
    problem: Problem, table: Table, goal: Goal, expr: Expr, kept: Sequence[Var]
) -> Left | None:
    """The table with a quantity in place of columns, and the same at other lags where that is possible."""
    reads = expr.variables()
    lag = min(v.lag for v in reads)
    name = next(f"part{i}" for i in range(99) if all(v.name != f"part{i}" for v in table.variables))
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
    return Left(*result, lambda e: e.substitute(meaning), float(cost))


def _replaced(
    problem: Problem, table: Table, goal: Goal, parts: dict[Var, Expr], kept: Sequence[Var]
) -> tuple[Table, Goal] | None:
    columns = [table.values(e) for e in parts.values()]
    if not all(np.all(np.isfinite(c)) for c in columns):
        return None
    places = [table.variables.index(v) for v in kept]
    code = joined([*(_numbered(c) for c in columns), *(table.codes[i] for i in places)])
    problem.effort.spend(2e-4 + CELL * 8 * len(code) * (len(parts) + len(kept)))
    if int(code.max()) + 1 >= len(code):
        return None
    return merged(table, goal, [*columns, *(table.X[:, i] for i in places)], [*parts, *kept], code)


def along(reader: Reader, goal: Goal) -> Iterator[Left]:
    """A weighted sum along which the values lie apart, in place of its columns; gates stay beside it."""
    table, problem = reader.table, reader.problem
    k = len(table.variables)
    if k < 2 or not goal.whole or goal.modulus is not None or not 2 <= len(goal.levels) <= 9:
        return
    gates = [(j,) for j in range(k) if table.domains[j].discrete and len(np.unique(table.X[:, j])) <= GATES]
    for some in [(), *gates] if k > 2 else [()]:
        for weights in directions(problem, table, goal, some):
            terms = [(number(float(w)), v) for w, v in zip(weights, table.variables, strict=True) if w]
            expr = weighted_sum(terms)
            kept = [table.variables[j] for j in some]
            new = Var(next(f"part{i}" for i in range(99) if all(v.name != f"part{i}" for v in table.variables)))
            values = table.values(expr)
            code = joined([_numbered(values), *(table.codes[j] for j in some)])
            made = merged(table, goal, [values, *(table.X[:, j] for j in some)], [new, *kept], code)
            if made is not None:
                yield Left(*made, lambda e, new=new, expr=expr: e.substitute({new: expr}), float(expr.size() - 1))
        if problem.expired():
            return
