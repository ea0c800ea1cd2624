"""Pieces: terms that hold on many rows, and tests that part them.

A term is a level, an entry of the bank up to a shift, or a plane through neighbouring rows. Two terms that
are right on all rows together leave the question which holds where: a maximum, a minimum, or a goal of
bits that is open where both are right. A test beyond which one term is always right settles rows; what is
left is the goal with these rows open, and so on: a decision list.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from weights2code.language import Const, Expr, Number, Op, op
from weights2code.symbolic.notation import branch, opposite, weighted_sum
from weights2code.symbolic.search.bank import CELL, Bank
from weights2code.symbolic.search.lists import Lists, Part, Quantities, shortened, written
from weights2code.symbolic.search.readings import FIT, Reader, number
from weights2code.symbolic.search.table import NODE, Goal, Left, believable, bit_goal
from weights2code.symbolic.snapping import simplest, snap_linear

#: Entries that are asked for terms, shares of the rows that one must hold on, terms that are kept.
ENTRIES, SHARES, TERMS = 600, (0.7, 0.5, 0.35, 0.25, 0.15, 0.08), 200
#: Levels that are terms; rows that planes are laid through, and if none is found.
LEVELS, PLANES, NO_PLANES = 12, 30, 10
#: How often planes are laid through rows that are left, at most this share of those before.
ROUNDS, FEWER = 3, 0.9
#: How near rows of different discrete values count, beside reals.
ACROSS = 0.15
#: Terms of which the larger and the smaller are taken, formulas that are written of them.
FOLDED, WHOLE = 10, 3
#: Pairs of terms that are asked for a test.
PAIRS = 10
#: Lists that are continued at a time; rules of a list; entries that are compared; parts that are followed.
BEAM, LONGEST, TESTED, PARTS = 2, 12, 2000, 6
#: By what rules of lists are chosen: rows for a node, or rows less a share of them for a node.
GREEDS = (None, 0.02)
#: The share of rows that a part must settle.
SETTLED = 0.04


@dataclass(frozen=True, slots=True)
class Terms:
    """How each is written, where it is right (terms, rows of the bank), its cost."""

    writes: list[Callable[[], Expr]]
    values: np.ndarray
    right: np.ndarray
    cost: np.ndarray


def pieces(reader: Reader, bank: Bank, goal: Goal) -> Iterator[Expr | Left]:
    """Formulas of pieces, and what pieces leave of the whole goal."""
    terms = _terms(reader, bank)
    if len(terms.writes) < 2:
        return
    yield from _folded(reader, terms)
    yield from _chosen(reader, terms if reader.table.discrete else _extrema(reader, terms), goal)
    lists = _lists(reader, bank, terms, beam=BEAM, longest=LONGEST + 1)
    yield from _listed(reader, lists)
    yield from _parts(reader, lists, goal)


def choices(reader: Reader, bank: Bank, goal: Goal) -> Iterator[Expr | Left]:
    """Of columns and levels alone, told apart by columns, their sums and ranks."""
    terms = _terms(reader, bank, short=True)
    if len(terms.writes) > 1 and np.all(np.any(terms.right, axis=0)):
        yield from _chosen(reader, terms, goal)
        if not reader.inner and len(goal.levels) <= LEVELS:
            yield from _listed(reader, _lists(reader, bank, terms, 1, beam=BEAM, longest=LONGEST + 1))


def listed(reader: Reader, bank: Bank) -> Iterator[Expr]:
    """A list however long, of terms and tests that are cheap to ask for."""
    lists = _lists(reader, bank, _terms(reader, bank), longest=4 * LONGEST + 1)
    for rules in lists.found():
        yield written(shortened(rules), chosen)


def _terms(reader: Reader, bank: Bank, *, short: bool = False) -> Terms:
    goal, problem = reader.goal, reader.problem
    known, slack, y = goal.known, goal.slack, goal.middle
    writes: list[Callable[[], Expr]] = []
    values: list[np.ndarray] = []
    costs: list[int] = []

    def add(write: Callable[[], Expr], value: np.ndarray, cost: int) -> None:
        writes.append(write)
        values.append(value)
        costs.append(cost)

    levels, counts = np.unique(goal.coded, return_counts=True)
    most = 64 if len(y) <= 64 else LEVELS
    for k in np.argsort(-counts, kind="stable")[:most]:
        some = y[known][goal.coded == levels[k]]
        level = simplest(
            0.5 * float(some.min() + some.max()), max(slack - 0.5 * float(np.ptp(some)), 0.0) + 1e-9
        )
        add(lambda level=level: Const(level), np.full(len(y), float(level)), 1)
    live = np.arange(len(reader.table.variables)) if short else bank.varying(5, ENTRIES)
    for sign in (1,) if short else (1, -1):
        apart = y[known] - sign * bank.values[np.ix_(live, known)]
        problem.effort.spend(CELL * apart.size)
        apart = np.sort(apart if goal.modulus is None else apart % goal.modulus, axis=1)
        left = np.arange(len(live))
        for length in sorted({max(int(len(known) * f), 3) for f in SHARES}, reverse=True):
            if length >= len(known):
                continue
            runs = apart[left, length:] - apart[left, :-length] <= 2 * slack + 1e-9
            hit = np.flatnonzero(runs.any(axis=1))
            for h in hit:
                i, at = int(live[left[h]]), int(np.argmax(runs[h]))
                middle = apart[left[h], [at + length // 2, at + (length + 1) // 2]].mean()
                shift = number(float(middle))
                add(lambda i=i, sign=sign, shift=shift: weighted_sum([(sign, bank.expr(i))], shift),
                    sign * bank.values[i] + float(shift), int(bank.cost[i]) + 2 * (shift != 0))  # fmt: skip
            left = np.delete(left, hit)
    rows = known if goal.modulus is None and not short else known[:0]
    for _ in range(ROUNDS):
        for weights, value in planes(reader, rows):
            named = list(zip(weights[1:], reader.table.variables, strict=True))
            add(lambda named=named, weights=weights: weighted_sum(named, weights[0]), value,
                sum(2 + 2 * (abs(w) != 1) for w in weights[1:] if w) + 1)  # fmt: skip
        # then through rows that nothing holds on so far: what is seldom stands out there
        rows, before = (
            rows[~np.any(goal.agrees(np.array(values).reshape(-1, len(y))), axis=0)[rows]],
            len(rows),
        )
        if len(rows) > FEWER * before:
            break
    for row in rows[:LEVELS]:
        level = simplest(float(y[row]), slack)
        add(lambda level=level: Const(level), np.full(len(y), float(level)), 1)
    V, cost = np.array(values).reshape(-1, len(y)), np.array(costs)
    right = goal.agrees(V)
    order = np.lexsort((cost, -right.sum(axis=1)))
    _, first = np.unique(np.packbits(right[order], axis=1), axis=0, return_index=True)
    chosen = order[np.sort(first)][: 2 * TERMS]
    # what is right only where something shorter is right too says nothing
    here = right[chosen].astype(np.float32)
    within = (here @ (1 - here).T == 0) & (cost[chosen][None] <= cost[chosen][:, None])
    np.fill_diagonal(within, False)
    within &= ~(within.T & (np.arange(len(chosen))[None] > np.arange(len(chosen))[:, None]))
    problem.effort.spend(CELL * here.size)
    chosen = chosen[~within.any(axis=1)][:TERMS]
    return Terms([writes[i] for i in chosen], V[chosen], right[chosen], cost[chosen])


def planes(reader: Reader, known: np.ndarray) -> Iterator[tuple[list[Number], np.ndarray]]:
    """Linear functions through a row and its neighbours that hold on more rows than it takes to fit them."""
    goal, k, problem = reader.goal, reader.X.shape[1], reader.problem
    if len(known) < k + 3:
        return
    columns, slack = reader.columns, goal.slack
    Z = columns[known, 1:] / np.maximum(np.ptp(columns[known, 1:], axis=0), 1e-9)
    if not reader.table.discrete:  # rows that share all discrete values show no slope along them
        Z = Z * np.where([domain.discrete for domain in reader.table.domains], ACROSS, 1.0)
    seen: set[bytes] = set()
    for count, seed in enumerate(np.random.default_rng(5).permutation(len(known))[:PLANES]):
        if count == NO_PLANES and not seen:
            return
        near = np.argsort(np.sum((Z - Z[seed]) ** 2, axis=1), kind="stable")
        problem.effort.spend(CELL * Z.size * 2 + 1e-4)
        for many in (k + 3, 2 * k + 5):
            rows = known[near[:many]]
            inside = rows
            for _ in range(3):
                weights = np.linalg.lstsq(columns[rows], goal.middle[rows], rcond=None)[0]
                off = np.abs(columns @ weights - goal.middle)[known]
                inside = np.flatnonzero(off <= 1.5 * slack + 1e-9)
                if len(inside) < k + 3 or len(inside) == len(rows):
                    break
                rows = known[inside]
            mark = np.packbits(np.isin(np.arange(len(known)), inside)).tobytes()
            if len(inside) < k + 3 or mark in seen or problem.expired():
                continue
            seen.add(mark)
            rows = known[inside]
            problem.effort.spend(FIT * k * k / 4)
            plain = snap_linear(columns[rows], goal.middle[rows], slack, noise=problem.noise)
            yield list(plain), columns @ np.array([float(c) for c in plain])


def _best(reader: Reader, terms: Terms) -> list[int]:
    """Terms that say most of all rows together."""
    best: list[int] = []
    covered = np.zeros(len(reader.X), dtype=bool)
    while len(best) < min(FOLDED, len(terms.writes)):
        new = np.sum(terms.right & ~covered, axis=1) - NODE / reader.goal.bits * terms.cost
        new[best] = -np.inf
        best.append(int(np.argmax(new)))
        covered = np.zeros_like(covered) if covered.all() else covered | terms.right[best[-1]]
    return best


def _extrema(reader: Reader, terms: Terms) -> Terms:
    """With the larger and the smaller of two terms that is right where one of them is wrong."""
    goal, problem = reader.goal, reader.problem
    writes, values, cost = terms.writes[:], [*terms.values], [*terms.cost]
    for (i, j), name in itertools.product(itertools.combinations(_best(reader, terms), 2), ("max", "min")):
        value = (np.maximum if name == "max" else np.minimum)(terms.values[i], terms.values[j])
        new = min(np.sum(goal.agrees(value) & ~terms.right[k]) for k in (i, j))
        problem.effort.spend(5e-5)
        if problem.allows(name) and goal.modulus is None and new > NODE / goal.bits * (terms.cost[j] + 1):
            writes.append(lambda i=i, j=j, name=name: op(name, terms.writes[i](), terms.writes[j]()))
            values.append(value)
            cost.append(terms.cost[i] + terms.cost[j] + 1)
    return Terms(writes, np.array(values), goal.agrees(np.array(values)), np.array(cost))


def _folded(reader: Reader, terms: Terms) -> Iterator[Expr]:
    """The larger and the smaller of up to four terms that are right on all rows together."""
    goal, problem = reader.goal, reader.problem
    if goal.modulus is not None or not problem.allows("max", "min"):
        return
    best = _best(reader, terms)
    V = terms.values[best]
    made = [(int(i),) for i in range(len(best))]
    values = V
    for _ in range(3):
        problem.effort.spend(CELL * len(values) * len(V) * V.shape[1])
        both = np.concatenate(
            [f(values[:, None], V[None]).reshape(-1, V.shape[1]) for f in (np.maximum, np.minimum)]
        )
        agreed = goal.agrees(both).mean(axis=1)
        count = len(values) * len(V)
        order = np.argsort(-agreed, kind="stable")[: 4 * FOLDED]
        recipes = [(*made[(o % count) // len(V)], o // count, o % len(V)) for o in order.tolist()]
        whole = [r for r, o in zip(recipes, order, strict=True) if agreed[o] == 1]
        for recipe in whole[:WHOLE]:
            expr = terms.writes[best[recipe[0]]]()
            for kind, j in zip(recipe[1::2], recipe[2::2], strict=True):
                expr = op(("max", "min")[kind], expr, terms.writes[best[j]]())
            yield expr
        if whole:
            return
        made, values = recipes, both[order]


def _chosen(reader: Reader, terms: Terms, goal: Goal) -> Iterator[Expr | Left]:
    """Two terms that are right on all rows together."""
    wrong = (~terms.right).astype(np.float32)
    rows, columns = np.nonzero(np.triu(wrong @ wrong.T == 0, 1))
    order = np.argsort(terms.cost[rows] + terms.cost[columns], kind="stable")
    for o in order[:PAIRS]:
        i, j = int(rows[o]), int(columns[o])
        one, other = terms.writes[i](), terms.writes[j]()
        for name, values in (("max", np.maximum), ("min", np.minimum)):
            if reader.problem.allows(name) and reader.goal.met(values(terms.values[i], terms.values[j])):
                yield op(name, one, other)
        if reader.two and Const in (type(one), type(other)):
            continue  # inverses of bits say the same
        first, second = goal.agrees(reader.table.values(one)), goal.agrees(reader.table.values(other))
        if np.all(first | second) and np.any(first & ~second) and np.any(second & ~first):
            bits = bit_goal(first & ~second, second & ~first)
            cost = float(terms.cost[i] + terms.cost[j] + 1)
            yield Left("choice", reader.table, bits, partial(_chosen_by, one, other), cost)


def chosen(test: Expr, yes: Expr, no: Expr) -> Expr:
    """`branch`, with what is short first, and `>` rather than `<`."""
    turned = opposite(test)
    nested = [isinstance(side, Op) and side.name == "where" for side in (yes, no)]
    awkward = isinstance(test, Op) and test.name in ("lt", "le", "ne") and not nested[1]
    if turned is not None and (awkward or (nested[0] and not nested[1])):
        return branch(turned, no, yes)
    return branch(test, yes, no)


def _chosen_by(one: Expr, other: Expr, test: Expr) -> Expr:
    return chosen(test, one, other)


def _lists(reader: Reader, bank: Bank, terms: Terms, tests: int = 5, *, longest: int, beam: int = 1) -> Lists:
    """Lists of terms, told apart by thresholds of entries."""
    values = [Part(*part) for part in zip(terms.writes, terms.right, terms.cost.tolist(), strict=True)]
    use = bank.varying(tests, TESTED)
    whole = np.full(len(use), reader.table.discrete)
    entries = Quantities(bank.values[use], bank.cost[use], whole, lambda i: bank.expr(int(use[i])))
    problem = reader.problem
    return Lists(
        values, entries, beam=beam, longest=longest, expired=problem.expired, spend=problem.effort.spend
    )


def _listed(reader: Reader, lists: Lists) -> Iterator[Expr]:
    """Lists of terms, unless they say no less than the rows."""
    for greed in GREEDS:
        for rules in replace(lists, greed=greed, beam=lists.beam if greed is None else 1).found():
            expr = written(shortened(rules), chosen)
            if believable(reader.table, reader.goal, expr):
                yield expr


def _parts(reader: Reader, lists: Lists, goal: Goal) -> Iterator[Left]:
    """What is left when one test and its term have settled their rows."""
    every = np.ones(len(reader.X), dtype=bool)
    for rule in lists.next(every, every, PARTS):
        test, term = rule.test(), rule.value.write()
        holds = reader.table.values(test) != 0
        settled = holds & goal.agrees(reader.table.values(term))
        if np.any(holds & ~settled) or np.mean(settled) < SETTLED:
            continue
        cost = float(test.size() + term.size() + 1)
        yield Left("part", reader.table, goal.where(~settled), partial(chosen, test, term), cost)
