"""Formulas that are followed along the transitions of a machine: which of them fit, and what they number.

A start value and a formula of the last state and of what is read say the number of every state, transition by
transition. Where two ways to a state disagree, or two states get the same number, it is not the formula.
Hundreds of thousands of formulas are followed at once; nearly all of them end within a few transitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weights2code.effort import charge
from weights2code.memory.machine import NOWHERE, Machine

#: A formula at a transition, in seconds of a usual machine.
FOLLOWED = 3e-8
#: Symbols that formulas are followed on before all are asked.
MOST_SYMBOLS = 48
#: Numbers beyond those of the states that a state may have.
ROOM = 3

#: The values of some formulas, each at a place: a number and a symbol.
At = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Transitions in an order in which the state that one leaves is known, and whether they come to a new
    one; how many states there are, and how many numbers they may have."""

    states: int
    symbols: np.ndarray
    steps: list[tuple[int, int, int, bool]]
    room: int

    @staticmethod
    def along(machine: Machine, room: int) -> Walk:
        chosen = some_symbols(machine)
        known, order, steps = {0}, [0], []
        for state in order:
            for place, symbol in enumerate(chosen):
                after = int(machine.moves[state, symbol])
                if after == NOWHERE:
                    continue
                steps.append((state, place, after, after not in known))
                if after not in known:
                    known.add(after)
                    order.append(after)
        return Walk(machine.states, machine.symbols[chosen], steps, room)


def some_symbols(machine: Machine) -> list[int]:
    """All symbols, or some, among them those that a walk needs to come to every state."""
    count = len(machine.symbols)
    if count <= MOST_SYMBOLS:
        return list(range(count))
    known, order, needed = {0}, [0], set[int]()
    for state in order:
        for symbol, after in enumerate(machine.moves[state]):
            if after != NOWHERE and int(after) not in known:
                known.add(int(after))
                order.append(int(after))
                needed.add(symbol)
    others = np.random.default_rng(0).permutation(count)[:MOST_SYMBOLS]
    return sorted(needed | {int(symbol) for symbol in others})


def followed(
    walk: Walk,
    at: At,
    formulas: np.ndarray,
    outer: Callable[[np.ndarray], np.ndarray] | None,
    start: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Those of the formulas that fit on every transition, and the number that each state gets by each, shape
    (formulas, states).

    `outer` is what is done to their values.
    """
    symbols = len(walk.symbols)
    values = np.full((len(formulas), walk.states), -1, np.int16)
    values[:, 0] = start
    for state, place, after, new in walk.steps:
        if not len(formulas):
            break
        charge(FOLLOWED * len(formulas))
        result = at(formulas, values[:, state].astype(int) * symbols + place)
        result = result if outer is None else outer(result)
        if new:
            fine = (result >= 0) & (result < walk.room)
            fine &= (values != result[:, None]).all(1)
            values, formulas = values[fine], formulas[fine]
            values[:, after] = result[fine]
        else:
            fine = result == values[:, after]
            values, formulas = values[fine], formulas[fine]
    return formulas, values
