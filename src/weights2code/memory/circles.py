"""Rules of states around a circle: all symbols multiply by one number, as digits are carried.

Two symbols then differ by a step around the circle, which says where each state lies on it, up to a factor
and the start. What a symbol adds is a formula of what is read.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from weights2code.language import Var
from weights2code.memory.formulas import ShortRule, formula_of
from weights2code.memory.machine import NOWHERE, Machine

#: Effort for the formula of what is added, in seconds of a usual machine.
EFFORT = 0.5
#: Factors of the places on a circle that are tried.
MOST_FACTORS = 6


def rules_by_multiples(machine: Machine, state: Var, reads: tuple[Var, ...]) -> list[ShortRule]:
    """Rules of the factors for which the numbers added are small, shortest first."""
    circle = _on_a_circle(machine.moves) if (machine.moves != NOWHERE).all() else None
    if circle is None:
        return []
    numbers, factor, added = circle
    count, times = len(numbers), factor
    if 2 * factor > count + 1:
        times = factor - count
    tried = []
    for unit in (unit for unit in range(1, count) if gcd(unit, count) == 1):
        shift = -unit * numbers[0]
        own = (unit * added + shift - factor * shift) % count
        tried.append((float(own.sum()), unit, own, (unit * numbers + shift) % count))
    found = []
    for _, _, own, places in sorted(tried, key=lambda item: item[:2])[:MOST_FACTORS]:
        formula = formula_of(machine.symbols, own.astype(float), reads, EFFORT)
        if formula is not None:
            before = state if times == 1 else times * state
            found.append(ShortRule(places.astype(float), (before + formula) % count))
    return sorted(found, key=lambda rule: rule.cost)


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
