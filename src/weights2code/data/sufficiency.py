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
#: So many repeats mean something too, if they are this share of the rows.
MANY_REPEATS, FEW_REPEATS = 4000, 0.05
#: Sets of leaves are tried up to this size, on this many rows first.
LARGEST_SET = 5
SAMPLE = 3000
#: Sets of one size that are tried at most.
MOST_SETS = 1000
#: A leaf tells something if chance would hardly give as much: standard deviations above the mean.
BEYOND_CHANCE = 8.0
#: Rows and values of a leaf that are looked at for that.
TOLD_ROWS, TOLD_VALUES = 40_000, 24


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
    from small to large: few leaves repeat often, however many there are in all. Where no small set is enough,
    those are left that tell something about the target.
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
    # what came out before follows what went in: without it first
    cheapest = [i for i in everything if costs[i] < min(costs) + 1]
    some = [cheapest[i] for i in telling(columns[:, cheapest], target)]
    if some and _evident(columns[:, some], target):
        return some
    some = telling(columns, target)
    return some if some and determines(columns[:, some], target)[0] else everything


def telling(columns: np.ndarray, target: np.ndarray) -> list[int]:
    """The leaves that tell something about the target, alone or beside one other.

    What a leaf tells is the excess of chi-square over chance. One that tells something alone must do so
    beside every other leaf: else it only follows a leaf that matters.
    """
    step = 1 + len(target) // TOLD_ROWS
    codes = [_few_codes(column[::step]) for column in columns.T]
    answer, answers = _few_codes(target[::step])
    if answers < 2:
        return []
    alone = [chi_square(code, levels, answer, answers) for code, levels in codes]
    least = np.full(len(codes), np.inf)
    most = np.array([_beyond(*figures) for figures in alone])
    for i, j in combinations(range(len(codes)), 2):
        if time_is_up():
            return []
        (one, levels), (other, width) = codes[i], codes[j]
        both = chi_square(one * width + other, levels * width, answer, answers)
        for leaf, beside in ((i, j), (j, i)):
            more = _beyond(both[0] - alone[beside][0], both[1] - alone[beside][1])
            least[leaf], most[leaf] = min(least[leaf], more), max(most[leaf], more)
    told = np.array([_beyond(*figures) for figures in alone]) > BEYOND_CHANCE
    return [int(i) for i in np.flatnonzero(np.where(told, least, most) > BEYOND_CHANCE)]


def _few_codes(column: np.ndarray) -> tuple[np.ndarray, int]:
    """A number for every value, neighbouring values together where there are many."""
    values, codes = np.unique(column, return_inverse=True)
    if len(values) > TOLD_VALUES:
        borders = np.quantile(column, np.linspace(0, 1, TOLD_VALUES + 1)[1:-1])
        codes = np.searchsorted(borders, column)
    return codes.reshape(-1).astype(np.int64), int(codes.max()) + 1


def chi_square(code: np.ndarray, levels: int, answer: np.ndarray, answers: int) -> tuple[float, float]:
    """Pearson's statistic of a column and the target, and its degrees of freedom; levels that never occur are
    none."""
    table = np.bincount(code * answers + answer, minlength=levels * answers).reshape(levels, answers)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / max(len(code), 1)
    statistic = float(((table - expected) ** 2 / expected).sum())
    return statistic, float((table.shape[0] - 1) * (table.shape[1] - 1))


def _beyond(statistic: float, freedom: float) -> float:
    return (statistic - freedom) / np.sqrt(2 * max(freedom, 1.0))


def _eliminate(columns: np.ndarray, target: np.ndarray, kept: list[int], costs: list[float]) -> list[int]:
    for leaf in sorted(kept, key=lambda index: costs[index], reverse=True):
        fewer = [index for index in kept if index != leaf]
        if _evident(columns[:, fewer], target):
            kept = fewer
    return kept


def _evident(columns: np.ndarray, target: np.ndarray) -> bool:
    consistent, repeats = determines(columns, target)
    return consistent and enough(repeats, len(target))


def enough(repeats: float, rows: int) -> bool:
    """Whether so many rows repeat that their agreement means something."""
    return repeats >= LEAST_REPEATS or (repeats >= FEW_REPEATS and repeats * rows >= MANY_REPEATS)


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
