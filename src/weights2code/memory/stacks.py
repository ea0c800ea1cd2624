"""Rules of stacks: what opens, what closes, and what must not be.

Most machines of languages have a state that nothing leaves: the word is spoilt. What is left is often a
stack: the symbols that a word may begin with put a digit to a number, the others take it away. So the former
number the states, where they lead to all of them, each on one way; and the engine says what each kind does.
"""

from __future__ import annotations

import numpy as np

from weights2code.language import Expr, Var, op
from weights2code.memory.formulas import ShortRule, formula_of, transitions
from weights2code.memory.machine import Machine


def rules_of_stacks(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """The rule of a machine with a dead end, if it is a stack."""
    ends = np.flatnonzero((machine.moves == np.arange(machine.states)[:, None]).all(1))
    if len(ends) != 1 or ends[0] == 0 or not machine.complete:
        return []
    opens = machine.moves[0] != ends[0]
    if not 1 < opens.sum() < len(opens):
        return []  # of one kind of brackets it is enough to count
    numbers = _stacked(machine, np.flatnonzero(opens), int(ends[0]))
    if numbers is None:
        return []
    before, read, after, _ = transitions(machine, numbers[:, None])
    kind, said = np.tile(opens, machine.states), list[Expr]()
    condition = formula_of(machine.symbols, opens.astype(float), reads)
    for rows in (kind, ~kind):
        formula = formula_of(np.hstack([before, read])[rows], after[rows, 0], (state, *reads))
        if condition is None or formula is None:
            return []
        said.append(formula)
    return [ShortRule(numbers, op("where", condition, *said))]


def _stacked(machine: Machine, opening: np.ndarray, dead: int) -> np.ndarray | None:
    """Numbers whose digits are the opening symbols that lead to a state; None if several ways lead to one, or
    none."""
    numbers, order = {0: 0}, [0]
    for state in order:
        for symbol in opening:
            after = int(machine.moves[state, symbol])
            if after in numbers:
                return None
            if after != dead:
                numbers[after] = len(machine.symbols) * numbers[state] + int(symbol) + 1
                order.append(after)
    if len(numbers) < machine.states - 1:
        return None
    last = max(number for state, number in numbers.items() if (machine.moves[state, opening] != dead).any())
    free = set(range(last + 1, last + len(numbers) + 2)) - set(numbers.values())
    numbers[dead] = min(free)
    return np.array([numbers[state] for state in range(machine.states)], float)
