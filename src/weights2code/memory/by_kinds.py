"""Rules of machines with a dead end, by kinds of symbols: what opens, what closes, and what must not be.

Most machines of languages have a state that nothing leaves: the word is spoilt. All that leads there is an
exception, and what is left is often simple: some symbols put a digit to a number, the others take it away. So
the formula of one kind of symbols numbers the states, wherever it leads to all of them; with those numbers
the formula of the other kind is looked up, and last the conditions under which the end is not dead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Const, Expr, Op, Var, op
from weights2code.memory.formula_parts import PAIRS, parts_of
from weights2code.memory.machine import Machine
from weights2code.memory.short_rules import ShortRule, holds, pairs
from weights2code.memory.walk import MOST_SYMBOLS, At, Walk, followed
from weights2code.simplify.cost import cost

#: Ways to divide the symbols into kinds that are tried.
MOST_KINDS = 16
#: Numbers that the start may have: 0 is also what a network sees before the start.
STARTS = (0, 1)
#: Numbers that states may have, as many times as there are states; and those that are tried for the dead end,
#: among the smallest that are free and among those beyond what is still allowed.
ROOM, DEAD = 4, 3
#: Formulas of one kind that fit, for which one of the other kind is looked up.
MOST_FITTING = 4000
#: Pairs of formulas whose exceptions are looked at.
KEPT = 6
#: Parts that are compared with each other in a condition.
MOST_COMPARED = 300
#: What a condition gains that has a part of the formula that it is about.
SHARED = 3.0
#: Rows of a table at once.
AT_ONCE = 500


@dataclass(frozen=True, slots=True, eq=False)
class _Machine:
    """A machine with a dead end, and formulas on its numbers and symbols, shortest first."""

    machine: Machine
    dead: int
    walk: Walk
    formulas: list[Expr]
    tables: np.ndarray

    def transitions(self, chosen: np.ndarray, *, alive: bool) -> np.ndarray:
        """Those by symbols of a kind, a row each: before, symbol, after; all, or those that do not end."""
        rows = [
            (state, symbol, int(self.machine.moves[state, symbol]))
            for state in range(self.machine.states)
            for symbol in np.flatnonzero(chosen)
            if not alive or self.dead not in (state, self.machine.moves[state, symbol])
        ]
        return np.array(rows, int).reshape(-1, 3)


def rules_by_kinds(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """Formulas of a machine with a dead end, shortest first."""
    if not machine.complete or len(machine.symbols) > MOST_SYMBOLS:
        return []
    ends = np.flatnonzero((machine.moves == np.arange(machine.states)[:, None]).all(1))
    if len(ends) != 1 or ends[0] == 0:
        return []
    walk = Walk.along(machine, ~np.eye(machine.states, dtype=bool), machine.states)
    walk = replace(walk, room=ROOM * machine.states)
    known = _Machine(machine, int(ends[0]), walk, *parts_of(walk, state, reads))
    found: list[ShortRule] = []
    for start in STARTS:
        for condition, truth in _kinds(known):
            for kind in (True, False):
                if time_is_up():
                    break
                for rule in _numbered_by(known, condition, truth, kind, start, state):
                    if holds(machine, rule, state, reads):
                        found.append(rule)
        if found:
            break
    return sorted(found, key=lambda rule: rule.cost)


def _kinds(known: _Machine) -> Iterator[tuple[Expr | None, np.ndarray]]:
    """Conditions of what is read, and which symbols they hold for; first of all none, which all are of."""
    symbols = len(known.machine.symbols)
    yield None, np.ones(symbols, bool)
    by_number = known.tables.reshape(len(known.tables), -1, symbols)
    truths = ((known.tables == 0) | (known.tables == 1)).all(1) & (np.ptp(by_number, axis=1) == 0).all(1)
    divided = set[bytes]()
    for place in np.flatnonzero(truths):
        truth = by_number[place, 0].astype(bool)
        if truth.all() or not truth.any() or truth.tobytes() in divided:
            continue
        divided |= {truth.tobytes(), (~truth).tobytes()}
        yield known.formulas[place], truth
        if len(divided) >= 2 * MOST_KINDS:
            return


def _numbered_by(
    known: _Machine, condition: Expr | None, truth: np.ndarray, kind: bool, start: int, state: Var
) -> Iterator[ShortRule]:
    """Rules whose numbers come from the formula of the symbols for which the condition is as `kind` says."""
    if condition is None and not kind:
        return
    leading = _leading(known, truth == kind)
    if leading is None:
        return
    other = known.transitions(truth != kind, alive=True)
    tables, symbols = known.tables, len(known.machine.symbols)
    first, second = pairs(known.walk, tables)

    def alone(at: np.ndarray, cell: np.ndarray) -> np.ndarray:
        return tables[at, cell]

    ways: list[tuple[str | None, At, np.ndarray]] = [(None, alone, np.arange(len(tables)))]
    for name in ("add", "sub"):

        def combined(at: np.ndarray, cell: np.ndarray, function=PAIRS[name]) -> np.ndarray:
            return function(tables[first[at], cell], tables[second[at], cell])

        ways.append((name, combined, np.arange(len(first))))
    found: list[tuple[float, Expr, Expr | None, np.ndarray]] = []
    for name, at, which in ways:
        which, numbers = followed(leading, at, which, None, start)
        which, numbers = which[:MOST_FITTING], numbers[:MOST_FITTING].astype(int)
        for place, index in _looked_up(tables, numbers, other, symbols):
            one = which[place]
            made = (
                known.formulas[one]
                if name is None
                else Op(name, (known.formulas[first[one]], known.formulas[second[one]]))
            )
            rest = None if index is None else known.formulas[index]
            total = cost(made) + (0.0 if rest is None else cost(rest))
            found.append((total, made, rest, numbers[place]))
    shortest: dict[bytes, tuple[Expr, Expr | None, np.ndarray]] = {}
    for _, made, rest, numbers in sorted(found, key=lambda item: item[0]):
        shortest.setdefault(numbers.tobytes(), (made, rest, numbers))
    for made, rest, numbers in list(shortest.values())[:KEPT]:
        yield from _with_exceptions(known, condition, truth, kind, made, rest, numbers, state)


def _leading(known: _Machine, chosen: np.ndarray) -> Walk | None:
    """The walk by symbols of one kind, if it comes to every state but the dead one."""
    reached, order, steps = {0}, [0], []
    moves = known.machine.moves
    for state in order:
        for symbol in np.flatnonzero(chosen):
            after = int(moves[state, symbol])
            if after != known.dead:
                steps.append((state, int(symbol), after, after not in reached))
                if after not in reached:
                    reached.add(after)
                    order.append(after)
    if len(reached) < known.machine.states - 1:
        return None
    return replace(known.walk, steps=steps)


def _looked_up(
    tables: np.ndarray, numbers: np.ndarray, rows: np.ndarray, symbols: int
) -> Iterator[tuple[int, int | None]]:
    """For each numbering the shortest part that is right on the transitions, with its place."""
    if not len(rows):
        yield from ((place, None) for place in range(len(numbers)))
        return
    for begin in range(0, len(numbers), AT_ONCE):
        some = numbers[begin : begin + AT_ONCE]
        fits = np.ones((len(tables), len(some)), bool)
        for before, symbol, after in rows:
            fits &= tables[:, some[:, before] * symbols + symbol] == some[:, after]
        for place in np.flatnonzero(fits.any(0)):
            yield begin + int(place), int(fits[:, place].argmax())


def _with_exceptions(
    known: _Machine,
    condition: Expr | None,
    truth: np.ndarray,
    kind: bool,
    made: Expr,
    rest: Expr | None,
    numbers: np.ndarray,
    state: Var,
) -> Iterator[ShortRule]:
    """The rule with the conditions under which the end is not dead, which gets a number that is free."""
    leading = known.transitions(truth == kind, alive=True)
    farthest = max(numbers[leading[:, 0]], default=0)  # where symbols of the kind are still allowed
    free = sorted(set(range(known.walk.room)) - set(numbers.tolist()))
    free = sorted({*free[:DEAD], *[number for number in free if number > farthest][:DEAD]})
    for first in (False, True):  # whether the dead end is asked for before all others
        found: list[ShortRule] = []
        for number in free:
            named = numbers.copy()
            named[known.dead] = number
            rule = _written(known, condition, truth, {kind: made, not kind: rest}, named, first)
            if rule is not None:
                rule = op("where", state.equals(number), number, rule) if first else rule
                found.append(ShortRule(named.astype(float), rule))
        if found:
            yield min(found, key=lambda rule: rule.cost)
            return


def _written(
    known: _Machine,
    condition: Expr | None,
    truth: np.ndarray,
    branches: dict[bool, Expr | None],
    numbers: np.ndarray,
    first: bool,
) -> Expr | None:
    """The formulas of both kinds, each with its exceptions; `first` leaves the dead end itself aside. None
    if there is no condition for the exceptions."""
    dead = Const(int(numbers[known.dead]))
    parts = {part for formula in branches.values() for part in getattr(formula, "args", ())}
    digits = {part for part in parts if isinstance(part, Op)}
    written: dict[bool, Expr] = {}
    for side, formula in branches.items():
        rows = known.transitions(truth == side, alive=False)
        rows = rows[rows[:, 0] != known.dead] if first else rows
        guarded = _guarded(known, rows, numbers, dead if formula is None else formula, dead, digits)
        if guarded is None:
            return None
        written[side] = guarded
    return written[True] if condition is None else op("where", condition, written[True], written[False])


def _guarded(
    known: _Machine, rows: np.ndarray, numbers: np.ndarray, formula: Expr, dead: Const, digits: set[Op]
) -> Expr | None:
    """The formula, or the dead end where a condition does not hold; None if there is no such condition."""
    if not len(rows):
        return formula
    cells = numbers[rows[:, 0]] * len(known.machine.symbols) + rows[:, 1]
    target = numbers[rows[:, 2]]
    values = _values(known, formula, cells)
    wrong = values != target
    alive = target != numbers[known.dead]
    if (wrong & alive).any():
        return None
    if not wrong.any():
        return formula
    condition = _condition(known, cells, alive, wrong, digits)
    return None if condition is None else op("where", condition, formula, dead)


def _values(known: _Machine, formula: Expr, cells: np.ndarray) -> np.ndarray:
    """A part, or two parts combined, at some places."""
    place = {id(part): index for index, part in enumerate(known.formulas)}
    if id(formula) in place:
        return known.tables[place[id(formula)], cells]
    if isinstance(formula, Op):
        one, two = (known.tables[place[id(part)], cells] for part in formula.args)
        return PAIRS[formula.name](one, two)
    assert isinstance(formula, Const)
    return np.full(len(cells), int(formula.value))


def _condition(
    known: _Machine, cells: np.ndarray, alive: np.ndarray, wrong: np.ndarray, digits: set[Op]
) -> Expr | None:
    """The shortest condition that holds where something is alive and not where a formula is wrong; rather one
    that has a part of what numbers the states."""
    tables, formulas = known.tables[:, cells], known.formulas
    asked = alive | wrong
    truths = np.flatnonzero(((tables == 0) | (tables == 1)).all(1))
    for place in truths:
        if (tables[place, asked] == alive[asked]).all():
            return formulas[place]
    few = tables[:MOST_COMPARED][:, asked]
    found: list[Expr] = []
    for name in ("eq", "ne", "gt", "ge"):
        fits = (PAIRS[name](few[:, None], few[None]) == alive[asked]).all(2)
        found += [Op(name, (formulas[one], formulas[two])) for one, two in np.argwhere(fits)]
    bits = tables[truths[:MOST_COMPARED]][:, asked].astype(bool)
    fits = ((bits[:, None] & bits[None]) == alive[asked]).all(2)
    found += [
        op("and", formulas[truths[one]], formulas[truths[two]]) for one, two in np.argwhere(fits) if one < two
    ]

    def length(condition: Expr) -> float:
        told = isinstance(condition, Op) and digits.intersection(condition.args)
        return cost(condition) - (SHARED if told else 0.0)

    return min(found, key=length, default=None)
