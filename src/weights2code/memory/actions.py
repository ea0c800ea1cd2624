"""Rules of the state by what symbols do to it: many symbols may do the same.

What all symbols of one kind do is an action. A machine of three states and hundreds of symbols may have two
actions, and the rule is one of the state and the action, the action a formula of what is read. Where an
action adds a number, up to ends or around a circle, that number is the formula's value; around a circle it
may multiply by one number first, as digits are carried.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import gcd

import numpy as np

from weights2code.language import Expr, Var, op
from weights2code.memory.formulas import formula_of
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.memory.orders import orders
from weights2code.memory.short_rules import ShortRule, short_rules

#: Actions whose every numbering is tried.
FEW_ACTIONS = 3
#: Effort for the formula of an action, in seconds of a usual machine.
EFFORT = 0.5
#: Factors of the places on a circle that are tried.
MOST_FACTORS = 6
#: Stands for an action.
ACTION = Var("action")


def rules_by_actions(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """Rules of the state and of an action that is a formula of what is read, shortest first."""
    if not (machine.moves != NOWHERE).all():
        return []
    found = [*_by_numbers_added(machine, state, reads)] or [*rules_by_multiples(machine, state, reads)]
    found = found or [*_by_few_actions(machine, state, reads)]
    return sorted(found, key=lambda rule: rule.cost)


def rules_by_multiples(machine: Machine, state: Var, reads: tuple[Var, ...]) -> Iterator[ShortRule]:
    """Digits: every symbol multiplies by one number and adds its own, around a circle.

    Two symbols then differ by a step around the circle, which says where each state lies on it, up to a
    factor and the start. The factors are tried for which the numbers added are small.
    """
    circle = _on_a_circle(machine.moves) if (machine.moves != NOWHERE).all() else None
    if circle is None:
        return
    numbers, factor, added = circle
    count = len(numbers)
    units = [unit for unit in range(1, count) if gcd(unit, count) == 1]
    tried = []
    for unit in units:
        shift = -unit * numbers[0]
        own = (unit * added + shift - factor * shift) % count
        tried.append((float(own.sum()), unit, own, (unit * numbers + shift) % count))
    for _, _, own, places in sorted(tried, key=lambda item: item[:2])[:MOST_FACTORS]:
        formula = formula_of(machine.symbols, own.astype(float), reads, EFFORT)
        if formula is not None:
            times = factor if 2 * factor <= count + 1 else factor - count
            yield ShortRule(places.astype(float), (times * state + formula) % count)


def _on_a_circle(moves: np.ndarray) -> tuple[np.ndarray, int, np.ndarray] | None:
    """The place of each state, the factor of all symbols, and what each adds; None if that is not so."""
    count = len(moves)
    columns = np.unique(moves.T, axis=0)
    whole = np.arange(count)
    if count < 3 or len(columns) < 2 or not (np.sort(columns, axis=1) == whole).all():
        return None
    back = np.argsort(columns[0])  # undoes the first action
    for other in columns[1:]:
        step, numbers, at = other[back], np.full(count, -1), 0
        for place in range(count):
            if numbers[at] >= 0:
                break  # the circle closed before all states were on it
            numbers[at], at = place, step[at]
        if (numbers < 0).any():
            continue
        after, zero, one = numbers[moves], int(np.argmin(numbers)), int(np.flatnonzero(numbers == 1)[0])
        added = after[zero]
        factor = int((after[one] - added)[0] % count)
        if ((factor * numbers[:, None] + added[None, :]) % count == after).all():
            return numbers, factor, added
    return None


def _by_numbers_added(machine: Machine, state: Var, reads: tuple[Var, ...]) -> Iterator[ShortRule]:
    """Counters: every action adds a number, between two ends or around a circle."""
    top = machine.states - 1
    known: dict[bytes, Expr | None] = {}
    for numbers in (*orders(machine), *_on_a_line(machine.moves)):
        after = numbers[machine.moves]
        for around, added in ((True, _around(numbers, after)), (False, _between(numbers, after))):
            if added is None:
                continue
            key = added.tobytes()
            if key not in known:
                known[key] = formula_of(machine.symbols, added, reads, EFFORT)
            formula = known[key]
            if formula is not None:
                total = state + formula
                yield ShortRule(numbers, total % (top + 1) if around else op("clip", total, 0, top))


def _on_a_line(moves: np.ndarray) -> Iterator[np.ndarray]:
    """The states in the order in which one symbol leads from one end to the other, where it stays."""
    whole = np.arange(len(moves))
    for step in np.unique(moves.T, axis=0):
        if (step == whole).sum() != 1 or len(np.unique(step)) != len(moves) - 1:
            continue  # two ends, or two ways that come together before the end
        numbers, at = np.full(len(moves), -1.0), int(np.setdiff1d(whole, step)[0])
        for place in whole:
            numbers[at], at = place, int(step[at])
        if (numbers >= 0).all():
            yield numbers
            return


def _around(numbers: np.ndarray, after: np.ndarray) -> np.ndarray | None:
    """What each symbol adds, modulo the number of states; None if it does not always add the same."""
    added = (after - numbers[:, None]) % len(numbers)
    return added[0] if (added == added[0]).all() else None


def _between(numbers: np.ndarray, after: np.ndarray) -> np.ndarray | None:
    """What each symbol adds, with the first and the last state as ends."""
    top = len(numbers) - 1
    tried = np.array(sorted(range(-top, top + 1), key=abs))
    results = np.clip(numbers[None, :] + tried[:, None], 0, top)
    fits = (results[:, :, None] == after[None]).all(1)  # number added, symbol
    return tried[fits.argmax(0)].astype(float) if fits.any(0).all() else None


def _by_few_actions(machine: Machine, state: Var, reads: tuple[Var, ...]) -> Iterator[ShortRule]:
    """Two or three actions, numbered in every way that a formula of what is read can have."""
    columns, which = np.unique(machine.moves.T, axis=0, return_inverse=True)
    count = len(columns)
    if not 2 <= count <= FEW_ACTIONS or count == len(machine.symbols):
        return
    for order in permutations(range(count)):
        numbers = np.array(order, float)
        formula = formula_of(machine.symbols, numbers[which.reshape(-1)], reads, EFFORT)
        if formula is None:
            continue
        moves = columns[np.argsort(numbers)].T
        shape = (machine.states, count)
        symbols = np.arange(count, dtype=float)[:, None]
        smaller = Machine(((0, 0),), symbols, moves, np.zeros((*shape, 1)), np.ones(shape, int))
        for found in short_rules(smaller, state, (ACTION,), choices=False)[:3]:
            yield ShortRule(found.numbers, found.rule.substitute({ACTION: formula}))
