"""Rules of machines with a dead end, by kinds of symbols: what opens, what closes, and what must not be.

Most machines of languages have a state that nothing leaves: the word is spoilt. All that leads there is an
exception, and what is left is often simple: some symbols put a digit to a number, the others take it away. So
the formula of one kind of symbols numbers the states, wherever it leads to all of them, if there is one for
the other kind too; with those numbers, and one for the dead end, the engine says what each kind does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Expr, Var, op
from weights2code.memory.formula_parts import PAIRS, parts_of
from weights2code.memory.formulas import formula_of, transitions
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.memory.short_rules import ShortRule, pairs
from weights2code.memory.walk import MOST_SYMBOLS, Walk, followed
from weights2code.simplify.cost import cost

#: Ways to divide the symbols into kinds that are tried.
MOST_KINDS = 16
#: Numbers that states may have, as many times as there are states.
ROOM = 4
#: Formulas of one kind that fit, for which one of the other kind is looked up.
MOST_FITTING = 4000
#: Rows of a table at once.
AT_ONCE = 500

Parts = tuple[list[Expr], np.ndarray]


def rules_by_kinds(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """Formulas of a machine with a dead end, shortest first."""
    if not machine.complete or len(machine.symbols) > MOST_SYMBOLS:
        return []
    ends = np.flatnonzero((machine.moves == np.arange(machine.states)[:, None]).all(1))
    if len(ends) != 1 or ends[0] == 0:
        return []
    alive = machine.moves != ends[0]
    walk = Walk.along(machine, ROOM * machine.states)
    parts = parts_of(walk, state, reads)
    found: list[ShortRule] = []
    for condition, truth in _kinds(parts, len(machine.symbols)):
        for chosen in (truth, ~truth) if condition is not None else (truth,):
            if time_is_up():
                break
            numbers = _numbers(machine, walk, parts, alive & chosen, alive & ~chosen)
            if numbers is not None:
                # beyond all from which these symbols may still come
                beyond = numbers[(alive & chosen).any(1)].max(initial=0) + 1
                numbers[ends[0]] = next(n for n in range(beyond, 2 * walk.room) if n not in numbers)
                found += _with_numbers(machine, numbers.astype(float), condition, truth, (state, *reads))
    return sorted(found, key=lambda rule: rule.cost)


def _kinds(parts: Parts, symbols: int) -> Iterator[tuple[Expr | None, np.ndarray]]:
    """Conditions of what is read, and which symbols they hold for; first of all none, which all are of."""
    formulas, tables = parts
    yield None, np.ones(symbols, bool)
    by_number = tables.reshape(len(tables), -1, symbols)
    truths = ((tables == 0) | (tables == 1)).all(1) & (np.ptp(by_number, axis=1) == 0).all(1)
    divided = set[bytes]()
    for place in np.flatnonzero(truths):
        truth = by_number[place, 0].astype(bool)
        if truth.all() or not truth.any() or truth.tobytes() in divided:
            continue
        divided |= {truth.tobytes(), (~truth).tobytes()}
        yield formulas[place], truth
        if len(divided) >= 2 * MOST_KINDS:
            return


def _numbers(
    machine: Machine, walk: Walk, parts: Parts, leading: np.ndarray, other: np.ndarray
) -> np.ndarray | None:
    """Numbers that the shortest part, or two, gives the states along the leading transitions, if these lead
    to all but the dead end, and a part is right on the other ones."""
    led = replace(machine, moves=np.where(leading, machine.moves, NOWHERE))
    walk = Walk.along(led, walk.room)
    if sum(new for *_, new in walk.steps) < machine.states - 2:
        return None
    formulas, tables = parts
    costs, (first, second) = np.array([cost(formula) for formula in formulas]), pairs(walk, tables)
    rows = [(before, symbol, machine.moves[before, symbol]) for before, symbol in np.argwhere(other)]
    least, found = np.inf, None
    for name in (None, "add", "sub"):

        def values(at: np.ndarray, cell: np.ndarray, name: str | None = name) -> np.ndarray:
            if name is None:
                return tables[at, cell]
            return PAIRS[name](tables[first[at], cell], tables[second[at], cell])

        made = costs if name is None else costs[first] + costs[second]
        which, numbers = followed(walk, values, np.arange(len(made)), None, 0)
        which, numbers = which[:MOST_FITTING], numbers[:MOST_FITTING].astype(int)
        for place, rest in _looked_up(tables, numbers, rows, len(machine.symbols)):
            total = made[which[place]] + costs[rest]
            if total < least:
                least, found = total, numbers[place]
    return found


def _looked_up(
    tables: np.ndarray, numbers: np.ndarray, rows: list[tuple[int, int, int]], symbols: int
) -> Iterator[tuple[int, int]]:
    """For each numbering the shortest part that is right on the transitions, with its place."""
    for begin in range(0, len(numbers), AT_ONCE):
        some = numbers[begin : begin + AT_ONCE]
        fits = np.ones((len(tables), len(some)), bool)
        for before, symbol, after in rows:
            fits &= tables[:, some[:, before] * symbols + symbol] == some[:, after]
        for place in np.flatnonzero(fits.any(0)):
            yield begin + int(place), int(fits[:, place].argmax())


def _with_numbers(
    machine: Machine,
    numbers: np.ndarray,
    condition: Expr | None,
    truth: np.ndarray,
    variables: tuple[Var, ...],
) -> Iterator[ShortRule]:
    """The rule of what each kind does, if the engine finds both."""
    before, read, after, _ = transitions(machine, numbers[:, None])
    kind, said = np.tile(truth, machine.states), list[Expr]()
    for rows in (kind, ~kind) if condition is not None else (kind,):
        formula = formula_of(np.hstack([before, read])[rows], after[rows, 0], variables)
        if formula is None:
            return
        said.append(formula)
    yield ShortRule(numbers, said[0] if condition is None else op("where", condition, *said))
