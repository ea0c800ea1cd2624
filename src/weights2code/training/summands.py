"""What a sum, or a mean, of everything so far is taken of: read off the output, whatever function it is.

A sum of some function of a few recent values is linear in how often each of those values came up. So is a
mean times the number of positions. Where the output is such a sum, at all positions or at those where a
column has one of its values, the levels of the function solve a linear system, and nothing is left over.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import Effort
from weights2code.graph import shifted
from weights2code.heads import HeadKind
from weights2code.training.memories import FUNCTIONS, Memory, Place, Quantity

#: Different recent values at most, and values of a column that say where the sum is seen.
MOST_POINTS, MOST_SEEN = 130, 4
#: Rows that a level is solved from, and sequences that are asked.
ROWS_EACH, ASKED = 40, 1_000
#: How far back values lie at most.
DEEPEST = 3
#: What may be left over, as a share of the output, and the decimals of a level.
EXACT, DECIMALS = 1e-9, 6
#: What a cell of a linear system costs, in seconds of a usual machine, and each of its columns.
A_CELL = 2e-9


def learned_sums(problem: Problem, effort: Effort) -> Iterator[Memory]:
    """Sums and means of a function of a few recent whole numbers, the fewest first."""
    sequences = problem.training.take(slice(0, ASKED))
    length = sequences.x.shape[1]
    position = np.broadcast_to(np.arange(1.0, length + 1), sequences.x.shape[:2])
    for places in _places(problem):
        counted = _counts(sequences, places)
        if counted is None:
            continue
        points, codes, counts = counted
        for where in _where(problem, sequences):
            needed = ROWS_EACH * len(points)
            chosen = np.flatnonzero(where & sequences.scored)[:needed]
            if len(chosen) < needed // 2 or effort.spent():
                continue
            rows = counts.reshape(-1, len(points))[chosen].astype(float)
            present = codes.ravel()[chosen]
            for row in range(len(problem.outputs)):
                wanted = sequences.y[..., row].ravel()[chosen]
                if _constant(present, wanted):
                    continue  # a sum of differences in time is the last value
                kinds: dict[HeadKind, np.ndarray] = {
                    "sum": np.ones(len(chosen)),
                    "mean": position.ravel()[chosen],
                }
                for kind, factor in kinds.items():
                    levels = _solved(rows, wanted * factor, effort)
                    if levels is not None and len(np.unique(levels)) > 1:
                        yield Memory(kind, _named(places, points, levels))
                        return


def _constant(groups: np.ndarray, values: np.ndarray) -> bool:
    """Whether the values of each group are the same."""
    order = np.lexsort((values, groups))
    same = np.diff(groups[order]) == 0
    return not np.any(same & (np.diff(values[order]) != 0))


def _named(places: tuple[Place, ...], points: np.ndarray, levels: np.ndarray) -> Quantity:
    """The quantity that has those levels: a column, a function of two, or the levels as they are."""
    if len(places) == 1 and np.array_equal(points[:, 0], levels):
        return Quantity(places)
    for function, of_two in FUNCTIONS.items() if len(places) == 2 else ():
        if np.array_equal(of_two(*points.T), levels):
            return Quantity(places, function)
    return Quantity(
        places, levels=tuple((tuple(p), x) for p, x in zip(points.tolist(), levels.tolist(), strict=True))
    )


def _places(problem: Problem) -> Iterator[tuple[Place, ...]]:
    """Sets of recent values, few first; no more than can be counted."""
    columns = [place for place, domain in enumerate(problem.domains) if domain.discrete]
    near = [(column, lag) for lag in range(DEEPEST + 1) for column in columns]
    now = [(column, 0) for column in columns]
    sets: list[tuple[Place, ...]] = [(place,) for place in now]
    sets += list(combinations(now, 2)) + [((column, 0), (column, 1)) for column in columns]
    sets += [tuple(near[: len(columns) * (back + 1)]) for back in range(DEEPEST + 1)]
    sets += [
        (*now, *((column, lag) for lag in range(1, back + 1)))
        for column, back in product(columns, range(1, DEEPEST + 1))
    ]
    sets += [(one, (column, lag)) for one, column in product(now, columns) for lag in range(1, DEEPEST + 1)]
    seen: set[tuple[Place, ...]] = set()
    for places in sets:
        size = np.prod([problem.domains[column].size for column, _ in places], dtype=float)
        if places not in seen and 1 < size <= MOST_POINTS:
            seen.add(places)
            yield places


def _counts(
    sequences: Sequences, places: tuple[Place, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The values that some places have together, zeros before the start, in order; which of them it is at
    every position (n, T), and how often each came up so far (n, T, value)."""
    columns = [shifted(sequences.x[..., column], lag, 0.0) for column, lag in places]
    rows = np.stack(columns, axis=-1).reshape(-1, len(places))
    points, found = np.unique(rows, axis=0, return_inverse=True)
    if len(points) > MOST_POINTS:
        return None
    codes = found.reshape(sequences.x.shape[:2])
    return points, codes, (codes[..., None] == np.arange(len(points))).cumsum(1)


def _where(problem: Problem, sequences: Sequences) -> Iterator[np.ndarray]:
    """Positions at which the sum may be seen: all, or those where a column has one of its values."""
    everywhere = np.ones(sequences.x.shape[:2], bool)
    yield everywhere
    for column, domain in enumerate(problem.domains):
        if domain.discrete and domain.size <= MOST_SEEN:
            for value in domain.values():
                yield sequences.x[..., column] == value


def _solved(rows: np.ndarray, wanted: np.ndarray, effort: Effort) -> np.ndarray | None:
    """The level of each column of counts, if they make the output what it is."""
    if not np.ptp(wanted):
        return None
    few = min(len(wanted), 2 * rows.shape[1] + 10)  # enough to see that it is no sum
    effort.spend(A_CELL * few * rows.shape[1] ** 2)
    levels = np.linalg.lstsq(rows[:few], wanted[:few], rcond=None)[0]
    tolerance = EXACT * max(1.0, float(np.abs(wanted).max()))
    if np.abs(rows[:few] @ levels - wanted[:few]).max() > 1e3 * tolerance:
        return None
    effort.spend(A_CELL * rows.size * rows.shape[1])
    levels, _, rank, _ = np.linalg.lstsq(rows, wanted, rcond=None)
    levels = np.round(levels, DECIMALS) + 0.0
    if rank < rows.shape[1] or np.abs(rows @ levels - wanted).max() > tolerance:
        return None
    return levels
