"""A hidden bit that is set above one border of a quantity, cleared below another and held between them.

The quantity is a real number, so no two rows are the same and none contradicts another. But what outputs are
on average jumps where the quantity passes a border, now or one step later, and both borders are read off
there. Whether a bit is held between them is asked of rows that were between for some steps: if outputs still
tell on which side the quantity came in, they remember it. A formula of the outputs that is right on every row
is what decides in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from weights2code.data import Problem
from weights2code.effort import Effort, time_is_up
from weights2code.graph import shifted
from weights2code.language import Const, Expr, Var, maximum, minimum, op, where
from weights2code.memory.hidden import Memory
from weights2code.memory.quantities import values_of
from weights2code.memory.real_answers import may_hide, with_answers
from weights2code.memory.updates import plain
from weights2code.symbolic.notation import simplest_between

#: Rows that jumps are looked for in first, and those that a bit is asked of and that a formula is right on.
ROWS, ASKED = 24_000, 150_000
#: The share of rows on each side of a jump that are compared with the other.
SIDE = 1 / 48
#: How many times its usual error a jump is at least, and the difference that a bit makes.
SURE = 7.0
#: The same for a difference after which no other quantity is looked at.
NO_DOUBT = 60.0
#: The same for a jump that may be one.
SEEN = 4.5
#: Places at which averages are compared, for each side, and the fewest rows of a side.
GRID, FEWEST = 16, 48
#: Borders of a quantity, at most.
MOST_BORDERS = 5
#: How far a border may be from where it shows, in rows, for noise as large as the jump.
BLURRED = 20.0
#: Different values of an output that are looked at one by one.
FEW_VALUES = 7
#: Pairs of outputs that are looked at one by one; of more, sums with changing signs.
MOST_PAIRS = 9
#: Steps between the borders after which a bit is asked for.
STEPS = 2
#: Latches that a formula is looked for, and effort for them, in seconds of a usual machine.
MOST_LATCHES, EFFORT = 4, 4.0
#: Effort for all quantities, and for a number that is averaged, in the same.
SCANNED, A_NUMBER = 3.0, 1.2e-7


@dataclass(frozen=True, slots=True)
class Latch:
    """A bit: 1 above the one border, 0 below the other, what it was between them."""

    quantity: Expr
    low: float
    high: float
    sure: float

    def rule(self, state: Var, below: int = 0) -> Expr:
        """Its formula, of its last value."""
        above = op("gt", self.quantity, Const(plain(self.high)))
        return where(above, 1, where(op("lt", self.quantity, Const(plain(self.low))), below, state))


def latched(problem: Problem) -> Memory | None:
    """A hidden bit of real inputs that determines the outputs together with a few visible values; None if
    there is none."""
    if not problem.training.scored.any() or not may_hide(problem):
        return None
    effort = Effort(EFFORT)
    for latch in _latches(problem)[:MOST_LATCHES]:
        found = _memory(problem, latch, effort)
        if found is not None or effort.spent() or time_is_up():
            return found
    return None


def _latches(problem: Problem) -> list[Latch]:
    """Those that outputs tell of, the surest first."""
    length = problem.training.x.shape[1]
    few = problem.training.take(slice(0, max(1, ROWS // length)))
    more = problem.training.take(slice(0, max(1, ASKED // length)))
    shown = _shown(few.y, few.scored)
    shown_more = _shown(more.y, more.scored)
    found: list[Latch] = []
    scanned = Effort(SCANNED)
    for formula in _quantities(problem):
        if scanned.spent() or time_is_up() or any(latch.sure >= NO_DOUBT for latch in found):
            break
        scanned.spend(A_NUMBER * shown.size)
        values = values_of(formula, problem.inputs, few.x)
        borders = _both_borders(values, shown, few.scored)
        if not borders:
            continue
        values = values_of(formula, problem.inputs, more.x)
        if len(borders) == 1:
            scanned.spend(A_NUMBER * shown_more.size)
            borders = _both_borders(values, shown_more, more.scored)
        for low, high in combinations(borders, 2):
            sure = _remembered(_sides(values, low, high), shown_more, more.scored)
            if sure >= SURE:
                found.append(Latch(formula, low, high, sure))
    return sorted(found, key=lambda latch: -latch.sure)


def _shown(y: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """What outputs show, alone and beside the last ones, as numbers of which there are averages: shape
    (sequences, positions, numbers)."""
    found: list[np.ndarray] = []
    for values in np.moveaxis(y, 2, 0):
        last = shifted(values, 1, 0.0)
        kinds = np.unique(values[scored])
        if len(kinds) <= FEW_VALUES:
            pairs = [(values == one) & (last == other) for one in kinds for other in kinds]
            if len(pairs) > MOST_PAIRS:
                signs = np.random.default_rng(0).choice((-1.0, 1.0), (MOST_PAIRS, len(pairs)))
                pairs = list(np.tensordot(signs, np.array(pairs, float), 1))
            found += pairs
        else:
            middle = np.median(values[scored])
            found += [values, np.abs(values - middle), values - last]
    return np.stack([np.asarray(one, float) for one in found], -1)


def _borders(values: np.ndarray, shown: np.ndarray) -> list[tuple[float, float]]:
    """Where averages jump, by more than they rise on both sides, and how sure that is; the surest first."""
    side = int(len(values) * SIDE) // GRID * GRID
    if side < FEWEST:
        return []
    order = np.argsort(values)
    values, shown = values[order], shown[order]
    if (values[side:] == values[:-side]).any():
        return []  # it repeats, so it is no real number
    sums = np.concatenate([np.zeros((1, shown.shape[1])), np.cumsum(shown, 0)])
    squares = np.concatenate([np.zeros((1, shown.shape[1])), np.cumsum(shown**2, 0)])[:: side // GRID]
    block = (sums[:: side // GRID][GRID:] - sums[:: side // GRID][:-GRID]) / side
    noise = (squares[GRID:] - squares[:-GRID]) / side - block**2
    count = len(block) - 3 * GRID
    one, two, three, four = (block[k * GRID : k * GRID + count] for k in range(4))
    jumps = 1.5 * (three - two) + 0.5 * (one - four)
    spread = np.mean([noise[k * GRID : k * GRID + count] for k in range(4)], 0)
    spread = np.maximum(spread, np.maximum(shown.var(0), 1e-12) / side)
    sure = np.abs(jumps) / np.sqrt(5 * spread / side)
    sure[np.abs(three - two) < np.abs(jumps) / 2] = 0.0  # that is the jump of a place beside
    best, which = sure.max(1), sure.argmax(1)
    found: list[tuple[float, float]] = []
    while len(found) < MOST_BORDERS and best.max(initial=0.0) >= SEEN:
        place = int(best.argmax())
        kind, jump = which[place], (three - two)[place, which[place]]
        near = np.arange((place + 2 * GRID - 2) * side // GRID, (place + 2 * GRID + 2) * side // GRID + 1)
        near = near[(near >= side) & (near <= len(values) - side)]
        apart = 2 * sums[near, kind] - sums[near - side, kind] - sums[near + side, kind]
        middle = int(near[np.abs(apart).argmax()])
        blurred = int(BLURRED * spread[place, kind] / jump**2) + 2
        below, above = values[max(middle - blurred, 0)], values[min(middle + blurred, len(values) - 1)]
        border = simplest_between(below, above) if above > below else float(below)
        found.append((border, float(best[place])))
        best[max(0, place - 2 * GRID) : place + 2 * GRID] = 0.0
    return found


def _both_borders(values: np.ndarray, shown: np.ndarray, scored: np.ndarray) -> list[float]:
    """Those of a quantity now and one step before; and one step before, on either side of the surest now."""
    last, chosen = shifted(values, 1, 0.0), scored & (np.arange(values.shape[1]) >= 1)
    now = _borders(values[chosen], shown[chosen])
    found = now + _borders(last[chosen], shown[chosen])
    if now and now[0][1] >= SURE:
        for part in (values > now[0][0], values < now[0][0]):
            found += _borders(last[chosen & part], shown[chosen & part])
    borders: list[float] = []
    for border, _ in sorted(found, key=lambda one: -one[1]):
        if border not in borders:
            borders.append(border)
    return sorted(borders[:MOST_BORDERS])


def _sides(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """0 below, 2 above, 1 between."""
    return np.where(values > high, 2, np.where(values < low, 0, 1))


def _held(sides: np.ndarray, start: float) -> np.ndarray:
    """The side that was left last, as a bit, from a start on."""
    where_ = np.maximum.accumulate(np.where(sides != 1, np.arange(sides.shape[1]), -1), axis=1)
    bits = np.take_along_axis(sides, np.maximum(where_, 0), 1) / 2
    return np.where(where_ >= 0, bits, start)


def _remembered(sides: np.ndarray, shown: np.ndarray, scored: np.ndarray) -> float:
    """How sure it is that outputs after some steps between the borders tell on which side they began."""
    bits = shifted(_held(sides, -1.0), 1, -1.0)
    asked = scored & (bits >= 0) & (np.arange(sides.shape[1]) > STEPS)
    for lag in range(1, STEPS + 1):
        asked &= shifted(sides, lag, 0.0) == 1
    surest = 0.0
    for side in range(3):
        rows = asked & (sides == side)
        one, two = shown[rows & (bits == 1)], shown[rows & (bits == 0)]
        if min(len(one), len(two)) < 30:
            continue
        error = (one.var(0) + 1 / len(one)) / len(one) + (two.var(0) + 1 / len(two)) / len(two)
        surest = max(surest, float((np.abs(one.mean(0) - two.mean(0)) / np.sqrt(error)).max()))
    return surest


def _start(sides: np.ndarray, shown: np.ndarray, scored: np.ndarray) -> float:
    """The bit before the first: outputs of rows that were always between tell, which are like those of one
    bit or of the other."""
    bits = shifted(_held(sides, -1.0), 1, -1.0)
    between = shifted(sides, 1, 1.0) == 1
    nearer = 0.0
    for side in range(3):
        rows = scored & between & (sides == side)
        never, *known = (shown[rows & (bits == bit)] for bit in (-1, 0, 1))
        if min(len(never), *map(len, known)) < 30:
            continue
        zero, one = (np.abs(never.mean(0) - part.mean(0)).sum() for part in known)
        nearer += zero - one
    return float(nearer > 0)


def _memory(problem: Problem, latch: Latch, effort: Effort) -> Memory | None:
    """The bit with formulas of all outputs."""
    sequences = problem.training.take(slice(0, max(1, ASKED // problem.training.x.shape[1])))
    sides = _sides(values_of(latch.quantity, problem.inputs, sequences.x), latch.low, latch.high)
    start = _start(sides, _shown(sequences.y, sequences.scored), sequences.scored)
    found = with_answers(problem, latch.rule, start, ASKED, effort)
    if found is not None or effort.spent() or time_is_up():
        return found
    # it may be 0 before the first, then 1 or -1
    return with_answers(problem, lambda state: latch.rule(state, -1), 0.0, ASKED, effort)


def _quantities(problem: Problem) -> Iterator[Expr]:
    """Sums, differences and extrema of inputs, now and before, one of which is real."""
    seen: set[Expr] = set()
    real = {name for name, domain in zip(problem.inputs, problem.domains, strict=True) if not domain.discrete}
    for formula in _all(problem):
        if formula not in seen and any(variable.name in real for variable in formula.variables()):
            seen.add(formula)
            yield formula


def _all(problem: Problem) -> Iterator[Expr]:
    columns = [Var(name) for name in problem.inputs]
    windows = [window for a in columns for window in _windows(a)]
    yield from columns
    yield from windows
    for a, b in combinations(columns, 2):
        yield from (a + b, a - b, a * b, abs(a - b), maximum(a, b), minimum(a, b))
    for a, b in permutations(columns, 2):
        yield from (factor * a - b for factor in (2, 3, 4))
        yield from (a + factor * b for factor in (2, 3, 4))
        yield from (a + Var(b.name, lag) for lag in (1, 2, 3))
        yield from (a - Var(b.name, lag) for lag in (1, 2, 3))
    for window in windows:
        yield from (window - b for b in columns if b.name not in {v.name for v in window.variables()})
    for a, b, c in combinations(columns, 3):
        yield from (a + b + c, maximum(maximum(a, b), c))
    for a, b, c in permutations(columns, 3):
        yield from (a * b + c, a - b * c, a + b - c)


def _windows(a: Var) -> Iterator[Expr]:
    """The last few values of a column."""
    one, two, three = (Var(a.name, lag) for lag in (1, 2, 3))
    yield from (a + one, a - one, a - two, a - three, a * a)
    yield from (a + one + two, a + one + two + three, a - 2 * one + two)
    yield from (
        maximum(maximum(a, one), two),
        minimum(minimum(a, one), two),
        maximum(a, one),
        minimum(a, one),
    )
    yield from (factor * a - last for factor in (2, 3) for last in (one, two, three))
