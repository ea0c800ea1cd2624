"""The quantity that a hidden state is added to, where it is made of several values of a window.

A carry, the remainder of a division or a counter is hidden, but what it is added to is a function of visible
values, and so is everything that the output may be for some values of those, whatever the state is. Digits
with a carry are a few neighbours around a circle: the first of them is the sum without the carry. Quotients
are as many as there are states, and their sum over all states grows by one with what is divided. Where only
the share of ones is seen, of a counter that runs over, that share is as many parts of the number of states.
Such a number is a target as any other, and its formula is what is read in place of the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from weights2code.effort import time_is_up
from weights2code.language import Const, Expr, Op, Var
from weights2code.memory.formulas import formula_of
from weights2code.memory.machine import Read
from weights2code.memory.window_reads import MOST_ROWS, Counts, Window, sets_of_reads

#: States that an output may show as its share of ones, or as so many different outputs.
MOST_STATES = 12
#: Rows of a combination of values, at least, for what it may come with to be known.
FEWEST_ROWS = 60
#: Rows of each that are asked for: to see all that it comes with, and how often.
EACH_ONCE, EACH_OFTEN = 300, 4000
#: How well shares must lie on whole parts, as the length of their mean on a circle, beside what chance gives.
ON_PARTS = 0.97
#: The same of many combinations: rows of one sequence need not be independent of each other.
NEAR_PARTS, MANY = 0.6, 60
#: What is left of that where chance blurs everything.
TOO_BLURRED = 0.3
#: A share is taken for the nearest part if it is no further from it.
NEAR = 0.3
#: Combinations of values for every value of the quantity, at least: few lie on some parts by chance.
EACH = 3
#: Unless they lie so near to them that chance would seldom have it.
BY_CHANCE = 0.1
#: Sets tell about as much as each other if what they tell is the same in so many parts of the most.
ALIKE = 30
#: The least share of the combinations that another value must have.
OFTEN = 0.01
#: Different values of the quantity, at most.
MOST_VALUES = 256
#: Effort for its formula, in seconds of a usual machine, and formulas that are looked for, at most.
EFFORT, MOST_TRIED = 3.0, 3


@dataclass(frozen=True, slots=True)
class Addend:
    """A formula of some values of the window, and whether outputs go around a circle."""

    reads: tuple[Read, ...]
    formula: Expr
    around: bool


#: Rows of values, a number for each, and whether it is known but for whole circles.
Target = tuple[np.ndarray, np.ndarray, bool]


def addends(window: Window) -> Iterator[Addend]:
    """Formulas that a hidden state may be added to, those that are found soonest first."""
    columns = (*window.problem.inputs, *window.problem.outputs)
    known: set[Expr] = set()
    for reads, (rows, target, around) in islice(_all_targets(window), MOST_TRIED):
        if time_is_up():
            return
        variables = tuple(Var(columns[column], lag) for column, lag in reads)
        formula = formula_of(rows, target, variables, EFFORT)
        if formula is None or formula in known:
            continue
        known.add(formula)
        formula = _without_remainder(formula) if around else formula
        used = [
            read for read, variable in zip(reads, variables, strict=True) if variable in formula.variables()
        ]
        yield Addend(tuple(used), formula, around)


def _all_targets(window: Window) -> Iterator[tuple[tuple[Read, ...], Target]]:
    """What an output may be is asked of all sets of values before how often it is, and that of those that
    tell the most: these need many rows. Nothing is hidden if some values determine the output."""
    few = {reads: window.counts(reads) for reads in sets_of_reads(window)}
    if any(counts.visible() for counts in few.values()):
        return
    several = {reads: counts.several() for reads, counts in few.items() if not _is_anything(counts)}
    enough: list[tuple[Read, ...]] = []
    for reads in sorted(several, key=lambda reads: (several[reads], len(reads))):
        if any(set(other) <= set(reads) and several[other] <= several[reads] for other in enough):
            continue
        many = window.counts(reads, EACH_ONCE).often(FEWEST_ROWS)
        found = None if many is None else next(_exact(many), None)
        if found is not None:
            enough.append(reads)
            yield reads, found
    share = {reads: counts.share() for reads, counts in few.items()}
    asked = 0
    for reads in _most_telling(share):
        if asked >= MOST_ROWS:
            return
        many = window.counts(reads, EACH_OFTEN)
        asked += int(many.counts.sum())
        often = many.often(FEWEST_ROWS)
        found = None if often is None else next(_parts(often), None)
        if found is not None:
            yield reads, found


def _is_anything(counts: Counts) -> bool:
    """Whether for some values the output may be too much to say anything."""
    all_of_them = len(counts.outputs)
    return counts.several() > max(all_of_them // 2, min(MOST_STATES, all_of_them - 1))


def _most_telling(share: dict[tuple[Read, ...], float]) -> list[tuple[Read, ...]]:
    """Sets of values, those that tell most first, and the smaller one of two that tell about as much."""
    most = max(share.values(), default=0.0)
    telling = [reads for reads in share if share[reads] > 0]
    return sorted(telling, key=lambda reads: (-round(ALIKE * share[reads] / most), len(reads)))


def _exact(counts: Counts) -> Iterator[Target]:
    """Numbers that the quantity may be, up to a shift, by what an output may be at all."""
    for find, around in ((_digits, True), (_sums, False)):
        found = find(counts.counts, counts.outputs)
        if found is not None and _varies(found):
            yield counts.rows, found, around


def _digits(table: np.ndarray, outputs: np.ndarray) -> np.ndarray | None:
    """The first of the neighbours around a circle that an output may be; None if they are no neighbours."""
    base = len(outputs)
    there = table > 0
    several = there.sum(1)
    if not np.array_equal(outputs, np.arange(base)) or not 2 <= several.max() <= base // 2 + 1:
        return None
    if several.min() != several.max() or several.max() == base:
        return None
    first = there & ~np.roll(there, 1, axis=1)
    return first.argmax(1).astype(float) if (first.sum(1) == 1).all() else None


def _sums(table: np.ndarray, outputs: np.ndarray) -> np.ndarray | None:
    """The sum of all that an output may be, if they are always as many."""
    there = table > 0
    several = there.sum(1)
    if several.min() != several.max() or not 2 <= several.max() <= min(MOST_STATES, len(outputs) - 1):
        return None
    found = there @ outputs
    return found - found.min()


def _parts(counts: Counts) -> Iterator[Target]:
    """The mean output in parts of so many states, where it is near one."""
    table, outputs = counts.counts, counts.outputs
    rows = table.sum(1)
    mean = table @ outputs / rows
    spread = np.sqrt(np.maximum(table @ outputs**2 / rows - mean**2, 0.0) / rows)
    numbers = np.arange(2, MOST_STATES + 1)
    blurred = np.array([np.exp(-2 * (np.pi * states * spread) ** 2).mean() for states in numbers])
    around = np.array([np.exp(2j * np.pi * states * mean).mean() for states in numbers])
    clear = (np.abs(around) >= ON_PARTS * blurred) & (blurred >= TOO_BLURRED)
    likely = (np.abs(around) >= NEAR_PARTS) & (len(mean) >= MANY) & ~clear
    for place in (*np.flatnonzero(clear), *np.flatnonzero(likely)):
        shifted = numbers[place] * mean - np.angle(around[place]) / (2 * np.pi)
        found = np.round(shifted)
        near = np.abs(shifted - found) <= NEAR
        values = len(np.unique(found[near]))
        chance = MOST_STATES * (2 * float(np.abs(shifted - found).max())) ** (values - 1)
        if _varies(found[near]) and (EACH * values <= len(found) or chance <= BY_CHANCE):
            yield counts.rows[near], found[near] - found.min(), False


def _varies(found: np.ndarray) -> bool:
    _, counts = np.unique(found, return_counts=True)
    return 2 <= len(counts) <= MOST_VALUES and bool(counts.max() <= (1 - OFTEN) * len(found))


def _without_remainder(formula: Expr) -> Expr:
    """What a remainder is taken of, without what is only added to it."""
    if isinstance(formula, Op) and formula.name == "mod" and isinstance(formula.args[1], Const):
        formula = formula.args[0]
        while isinstance(formula, Op) and formula.name in ("add", "sub"):
            constant = [isinstance(part, Const) for part in formula.args]
            if constant[1]:
                formula = formula.args[0]
            elif constant[0] and formula.name == "add":
                formula = formula.args[1]
            else:
                break
    return formula
