"""The few values that the data show to be enough.

Where rows of whole numbers repeat, they say which values matter: a few columns, a few steps back, that
determine the output in every repeated row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

from weights2code.data import Problem
from weights2code.data.sufficiency import LEAST_REPEATS, determines, enough
from weights2code.training.ladder import window_of
from weights2code.training.ruled_out import Leaves, leaf_rows, present_values

#: Rows that are asked, at most.
MOST_ROWS = 200_000
#: Sets of values that are tried, of at most so many values, on so many rows first.
MOST_SETS = 6000
LARGEST_SET = 4
SAMPLE = 2000


def sufficient(problem: Problem) -> Leaves | None:
    """A few values that determine the output in every repeated row; None if the rows do not show any.

    All columns are asked, one step further back each time; then small sets of values from further back. What
    is not needed for that is dropped, the farthest first.
    """
    if not problem.whole:
        return None
    window = window_of(problem)
    now = present_values(problem, past=True)
    everything = [(column, lag + offset) for offset in range(window) for column, lag in now]
    for offset in range(window):
        near = everything[: len(now) * (offset + 1)]
        rows, targets = _rows(near, problem)
        repeats = determines(rows, targets[:, 0])[1] if len(targets) else 0.0
        if repeats < LEAST_REPEATS:
            break
        if _evident(rows, targets):
            return _needed(near, rows, targets)
    within = cache(lambda offset: _rows(everything[: len(now) * (offset + 1)], problem))
    for chosen in _sets(len(everything)):
        rows, targets = within(max(chosen) // len(now))  # no row is left out for want of older values
        if not len(targets):
            continue
        sample = slice(None, None, max(1, len(targets) // SAMPLE))
        if _consistent(rows[sample][:, chosen], targets[sample]) and _evident(rows[:, chosen], targets):
            return [everything[index] for index in chosen]
    return None


def with_last_outputs(problem: Problem, leaves: Leaves | None) -> Leaves | None:
    """Values that are enough without outputs from further back, if there are as many of them or fewer; else
    those that are known.

    A rule seldom reads older outputs: these only show inputs that it reads.
    """
    inputs = len(problem.inputs)
    if leaves is None or all(column < inputs or lag == 1 for column, lag in leaves):
        return leaves
    now = present_values(problem, past=True)
    for offset in range(1, window_of(problem)):
        near = now + [(column, back) for back in range(1, offset + 1) for column in range(inputs)]
        rows, targets = _rows(near, problem)
        if _evident(rows, targets):
            found = _needed(near, rows, targets)
            return found if len(found) <= len(leaves) else leaves
        if len(targets) and determines(rows, targets[:, 0])[1] < LEAST_REPEATS:
            break
    return leaves


def _rows(leaves: Leaves, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    rows, targets = leaf_rows(leaves, problem.training)
    return rows[:MOST_ROWS], targets[:MOST_ROWS]


def _sets(count: int) -> Iterator[list[int]]:
    """Small sets of values, the nearest first; none of a size of which there are too many."""
    for size in range(1, LARGEST_SET + 1):
        if comb(count, size) > MOST_SETS:
            return
        yield from (list(chosen) for chosen in sorted(combinations(range(count), size), key=max))


def _needed(leaves: Leaves, rows: np.ndarray, targets: np.ndarray) -> Leaves:
    """What is left when every value that is not needed is dropped, the farthest first."""
    kept = list(range(len(leaves)))
    for index in sorted(kept, key=lambda index: leaves[index][1], reverse=True):
        fewer = [other for other in kept if other != index]
        if fewer and _evident(rows[:, fewer], targets):
            kept = fewer
    return [leaves[index] for index in kept]


def _consistent(rows: np.ndarray, targets: np.ndarray) -> bool:
    return all(determines(rows, target)[0] for target in targets.T)


def _evident(rows: np.ndarray, targets: np.ndarray) -> bool:
    """Whether many rows repeat, and none contradicts another."""
    found = [determines(rows, target) for target in targets.T]
    return all(same and enough(repeats, len(rows)) for same, repeats in found)
