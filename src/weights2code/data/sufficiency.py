"""Do the leaves determine the output? On discrete data that is a question that the rows themselves answer.

If two rows agree in every leaf and differ in the target, no formula of these leaves can be exact, and the
search need not begin. If they never do, leaves that are not needed for that can go: the fewer, the shorter
and faster the formula. Only repeated rows are evidence, so a leaf is kept where repeats would be rare.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from weights2code.effort import time_is_up

#: Share of rows that must repeat another row for their agreement to mean anything.
LEAST_REPEATS = 0.5
#: Sets of leaves are tried up to this size, on this many rows first.
LARGEST_SET = 5
SAMPLE = 3000
#: Sets of one size that are tried at most.
MOST_SETS = 1000


def determines(columns: np.ndarray, target: np.ndarray) -> tuple[bool, float]:
    """Whether equal rows always have equal targets, and the share of rows that repeat."""
    if not columns.shape[1]:
        return bool(np.ptp(target) == 0), 1.0
    keys = _row_keys(columns)
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], target[order]
    same = keys[1:] == keys[:-1]
    consistent = bool(np.all(values[1:][same] == values[:-1][same]))
    return consistent, float(same.mean()) if len(same) else 0.0


def needed(columns: np.ndarray, target: np.ndarray, costs: list[float]) -> list[int]:
    """A cheap set of leaves that determines the target.

    If rows repeat often enough, leaves are dropped one by one, the dearest first. Otherwise sets are tried
    from small to large: few leaves repeat often, however many there are in all.
    """
    everything = list(range(columns.shape[1]))
    if determines(columns, target)[1] >= LEAST_REPEATS:
        return _eliminate(columns, target, everything, costs)
    sample = slice(None, None, max(1, len(target) // SAMPLE))
    for size in range(1, min(LARGEST_SET, len(everything)) + 1):
        sets = sorted(combinations(everything, size), key=lambda chosen: sum(costs[i] for i in chosen))
        if len(sets) > MOST_SETS:
            break
        for chosen in sets:
            if time_is_up():
                return everything
            kept = list(chosen)
            if determines(columns[sample][:, kept], target[sample])[0] and _evident(columns[:, kept], target):
                return kept
    return everything


def _eliminate(columns: np.ndarray, target: np.ndarray, kept: list[int], costs: list[float]) -> list[int]:
    for leaf in sorted(kept, key=lambda index: costs[index], reverse=True):
        fewer = [index for index in kept if index != leaf]
        if _evident(columns[:, fewer], target):
            kept = fewer
    return kept


def _evident(columns: np.ndarray, target: np.ndarray) -> bool:
    consistent, repeats = determines(columns, target)
    return consistent and repeats >= LEAST_REPEATS


def _row_keys(columns: np.ndarray) -> np.ndarray:
    """One integer a row, equal for equal rows only."""
    keys = np.zeros(len(columns), dtype=np.int64)
    size = 1
    for column in columns.T:
        codes, levels = _codes(column)
        if size * levels >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            size = int(keys.max()) + 1
        keys = keys * levels + codes
        size *= levels
    return keys


def _codes(column: np.ndarray) -> tuple[np.ndarray, int]:
    """A number from 0 for every value of a column, and how many; small whole numbers need no sorting."""
    if len(column):
        low, high = column.min(), column.max()
        if high - low < len(column) and (column == np.floor(column)).all():
            return (column - low).astype(np.int64), int(high - low) + 1
    values, codes = np.unique(column, return_inverse=True)
    return codes, len(values)
