"""A short formula for the next state, with the numbering that makes it one.

Which number a state gets is free, so a rule is fitted to the machine up to renaming, and no numbering need be
guessed: a start value and a formula of the last state and of what is read say the number of every state, by
following the machine's transitions from the start. Where two ways to a state disagree, or two states get the
same number, it is not the formula. Hundreds of thousands of formulas are followed at once; nearly all of them
end within a few transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Expr, Op, Var, compile_numpy, op
from weights2code.memory.formula_parts import PAIRS, parts_of
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.memory.walk import ROOM, At, Walk, followed
from weights2code.simplify.cost import cost

#: Parts of formulas that are combined with each other, and parts of what is read with those of the state.
MOST_PARTS, MOST_READ = 160, 1200
#: Start values that are tried.
MOST_STARTS = 10
#: What a value costs that is read again.
AGAIN = 1.0
#: Formulas that are looked at further, the shortest ones.
KEPT = 40


@dataclass(frozen=True, slots=True, eq=False)
class ShortRule:
    """The numbers of the states, and the formula that leads from one to the next."""

    numbers: np.ndarray
    rule: Expr

    @property
    def cost(self) -> float:
        """Of reading it; a value that is read again, a start that is not 0 and gaps cost something."""
        gaps = self.numbers.max() - self.numbers.min() >= len(np.unique(self.numbers))
        again = _leaves(self.rule) - len(self.rule.variables())
        return cost(self.rule) + AGAIN * again + float(self.numbers[0] != 0) + float(gaps)


def _leaves(formula: Expr) -> int:
    """How often a formula reads a value."""
    if isinstance(formula, Op):
        return sum(map(_leaves, formula.args))
    return int(isinstance(formula, Var))


def short_rules(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """Formulas that are the machine up to the names of its states, shortest first."""
    walk = Walk.along(machine, machine.states + ROOM)
    parts = parts_of(walk, state, reads)
    found: dict[bytes, ShortRule] = {}
    for start in range(min(machine.states, MOST_STARTS)):
        for values, formula in _fitting(walk, parts, start):
            candidate = ShortRule(values.astype(float), formula)
            key = values.tobytes()
            if key in found and found[key].cost <= candidate.cost:
                continue
            if holds(machine, candidate, state, reads):
                found[key] = candidate
        if found or time_is_up():
            break
    return sorted(found.values(), key=lambda rule: rule.cost)[:KEPT]


#: What may be done to a formula as a whole.
_Outer = tuple[Callable[[np.ndarray], np.ndarray], Callable[[Expr], Expr]]


def _outers(states: int) -> list[_Outer]:
    top = states - 1
    found: list[_Outer] = [
        (lambda a: a, lambda e: e),
        (lambda a: a % states, lambda e: e % states),
        (lambda a: np.clip(a, 0, top), lambda e: op("clip", e, 0, top)),
        (lambda a: np.minimum(a, top), lambda e: op("min", e, top)),
        (lambda a: np.maximum(a, 0), lambda e: op("max", e, 0)),
    ]
    for c in range(2, 11):
        found.append((lambda a, c=c: a // c, lambda e, c=c: e // c))
    if states == 2:
        for c in range(-6, 13):
            found.append((lambda a, c=c: (a > c).astype(int), lambda e, c=c: e > c))
    return found


def _fitting(
    walk: Walk, parts: tuple[list[Expr], np.ndarray], start: int
) -> Iterator[tuple[np.ndarray, Expr]]:
    """Formulas that fit on the walk, with the numbers that they give: parts, and two parts combined.

    Where the start is not 0 only what cannot begin there is tried: counters with ends.
    """
    formulas, tables = parts
    outers = _outers(walk.states) if start == 0 else _outers(walk.states)[:3:2]

    def alone(at: np.ndarray, cell: np.ndarray) -> np.ndarray:
        return tables[at, cell]

    for outer, written in outers:
        for index, values in _kept(walk, alone, np.arange(len(formulas)), outer, start):
            yield values, written(formulas[index])
    first, second = pairs(walk, tables)
    for name in ("add", "sub", "mul", "min", "max", "ne", "gt") if start == 0 else ("add", "sub"):
        function = PAIRS[name]

        def combined(at: np.ndarray, cell: np.ndarray, function=function) -> np.ndarray:
            return function(tables[first[at], cell], tables[second[at], cell])

        for outer, written in outers[:1] if name in ("min", "max", "ne", "gt") else outers:
            if time_is_up():
                return
            for index, values in _kept(walk, combined, np.arange(len(first)), outer, start):
                yield values, written(Op(name, (formulas[first[index]], formulas[second[index]])))


def pairs(walk: Walk, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parts that are combined: a few with each other, and more of what is read with those of the state."""
    alike = (np.ptp(tables.reshape(len(tables), walk.room, -1), axis=1) == 0).all(1)
    few = np.arange(min(MOST_PARTS, len(tables)))
    some = np.flatnonzero(~alike)[:MOST_PARTS], np.flatnonzero(alike)[:MOST_READ]
    grids = [*np.meshgrid(few, few), *np.meshgrid(*some), *np.meshgrid(*reversed(some))]
    first, second = (np.concatenate([grid.reshape(-1) for grid in grids[side::2]]) for side in (0, 1))
    return first, second


def _kept(
    walk: Walk,
    at: At,
    formulas: np.ndarray,
    outer: Callable[[np.ndarray], np.ndarray],
    start: int,
) -> Iterator[tuple[int, np.ndarray]]:
    """The first formulas that fit on every transition, with the number that each state gets."""
    fitting, values = followed(walk, at, formulas, outer, start)
    for index, row in zip(fitting[:KEPT], values[:KEPT], strict=True):
        yield int(index), row.copy()


def holds(machine: Machine, found: ShortRule, state: Var, reads: tuple[Var, ...]) -> bool:
    """Whether a formula is right on every transition that is known."""
    known = machine.moves != NOWHERE
    before, symbol = np.nonzero(known)
    columns = {state: found.numbers[before]}
    columns |= {read: machine.symbols[symbol, place] for place, read in enumerate(reads)}
    variables = found.rule.variables()
    result = compile_numpy(found.rule, variables)(*(columns[v] for v in variables))
    return bool(np.all(result == found.numbers[machine.moves[known]]))
