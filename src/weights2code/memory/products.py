"""A machine whose states are pairs: two small variables with short rules in place of one with a long rule.

Some states may be made one without any contradiction: what is left is a smaller machine of the same inputs, a
congruence of the first. It is the first variable. The second need tell apart only states that the first does
not, and its rule may read the first one's last value. If it does not read it, the two go side by side, as a
parity of one thing and a count of another.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Var
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.memory.short_rules import ShortRule, short_rules

#: Machines with more states, or more different symbols, are not looked at.
MOST_STATES, MOST_ACTIONS = 64, 16
#: Congruences that are kept, and those whose rules are looked for.
MOST_FOUND, TRIED = 40, 6

#: A partition: the number of the class that each state is in.
Classes = tuple[int, ...]


def products(
    machine: Machine, names: tuple[str, str], reads: tuple[Var, ...], *, choices: bool
) -> list[tuple[ShortRule, ShortRule]]:
    """Rules of two variables that are the states of a machine together, shortest first.

    Two congruences side by side are soon found; only if there are none the second variable reads the first.
    """
    one, two = (Var(name, 1) for name in names)
    small: list[tuple[np.ndarray, ShortRule]] = []
    for classes in congruences(machine)[:TRIED]:
        which = np.array(classes)
        rules = [] if time_is_up() else short_rules(quotient(machine, which), one, reads, choices=choices)
        small += [(which, rule) for rule in rules[:1]]
    found: list[tuple[ShortRule, ShortRule]] = []
    for (which, first), (other, second) in combinations(small, 2):
        if len(set(zip(which.tolist(), other.tolist(), strict=True))) == machine.states:
            renamed = ShortRule(second.numbers[other], second.rule.substitute({one: two}))
            found.append((ShortRule(first.numbers[which], first.rule), renamed))
    if not found:
        for which, first in small:
            beside = _beside(machine, which, first.numbers)
            apart = (which[:, None] == which[None]) & ~np.eye(machine.states, dtype=bool)
            largest = int(np.bincount(which).max())
            others = short_rules(beside, two, (*reads, one), apart, largest, choices=choices)
            found += [(ShortRule(first.numbers[which], first.rule), second) for second in others[:1]]
    return sorted(found, key=lambda pair: pair[0].cost + pair[1].cost)


def congruences(machine: Machine) -> list[Classes]:
    """Partitions of the states that every symbol respects, with at least two classes and at most half as many
    as there are states; fewest first. Not all of them, if they are many."""
    actions = np.unique(machine.moves, axis=1)
    if not machine.complete or machine.states > MOST_STATES or actions.shape[1] > MOST_ACTIONS:
        return []
    finest = {_closed(actions, [pair]) for pair in combinations(range(machine.states), 2)}
    finest = sorted(finest, key=lambda classes: -max(classes))[:MOST_FOUND]
    found = set(finest)
    for one, two in combinations(finest, 2):
        joined = [(one.index(number), state) for state, number in enumerate(one)]
        joined += [(two.index(number), state) for state, number in enumerate(two)]
        found.add(_closed(actions, joined))
    useful = [classes for classes in found if 1 <= max(classes) < machine.states // 2]
    return sorted(useful, key=lambda classes: (max(classes), classes))


def _closed(moves: np.ndarray, pairs: list[tuple[int, int]]) -> Classes:
    """The finest partition that every symbol respects and in which these pairs are in one class."""
    leader = list(range(len(moves)))

    def of(state: int) -> int:
        while leader[state] != state:
            leader[state] = leader[leader[state]]
            state = leader[state]
        return state

    waiting = list(pairs)
    while waiting:
        one, two = waiting.pop()
        a, b = sorted((of(one), of(two)))
        if a != b:
            leader[b] = a
            waiting += list(zip(moves[one].tolist(), moves[two].tolist(), strict=True))
    number: dict[int, int] = {}
    return tuple(number.setdefault(of(state), len(number)) for state in range(len(moves)))


def quotient(machine: Machine, which: np.ndarray) -> Machine:
    """The machine whose states are the classes, the start in the first one; what it answers is not said."""
    members = [int(np.flatnonzero(which == number)[0]) for number in range(int(which.max()) + 1)]
    moves = which[machine.moves[members]]
    shape = (len(members), machine.moves.shape[1])
    return Machine(machine.reads, machine.symbols, moves, np.zeros((*shape, 1)), np.ones(shape, dtype=int))


def _beside(machine: Machine, which: np.ndarray, numbers: np.ndarray) -> Machine:
    """The machine that also reads the number of the class that it is in."""
    states, symbols = machine.moves.shape
    moves = np.full((states, len(numbers), symbols), NOWHERE)
    moves[np.arange(states), which] = machine.moves
    moves = moves.reshape(states, -1)
    rows = np.hstack([np.tile(machine.symbols, (len(numbers), 1)), np.repeat(numbers, symbols)[:, None]])
    nothing = np.zeros((*moves.shape, 1))
    return Machine((*machine.reads, (0, 1)), rows, moves, nothing, (moves != NOWHERE).astype(int))
