"""Which variables act on y through few levels (Ashenhurst, Curtis).

Two rows of some variables A conflict if y differs in a context, the values of all other variables, in which
both were seen. If no row conflicts with many others, y = F(s(A), rest), where s tells conflicting rows apart
and merges all others. Some of A may be read directly as well: they are shared, and only rows that agree in
them are compared. Conflicts are certain even where few contexts were seen; merges are a guess until F is
found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

import numpy as np

from weights2code.symbolic.search.rows import Problem

#: Rows of A, and cells of the comparison of all pairs: for a first look, and for what passed it.
_MOST_ROWS, _LOOK, _CELLS = 600, 1_500_000, 30_000_000
#: Largest number of variables that are merged at once.
_MOST_INNER = 4
#: Least number of bits by which the table of y must shrink.
_GAIN = 0.25
#: Merged rows must have been seen together in so many contexts, on average.
_SEEN = 2.0


@dataclass(frozen=True, slots=True)
class Split:
    """Columns `inner` of the problem act through classes of their rows; `shared` are read directly too.

    Parameters
    ----------
    inner, shared
        Columns A of the problem, and those of A that stay.
    rows
        The distinct rows of A.
    conflicts
        Which pairs of rows, equal in what is shared, must be told apart.
    labels
        A class for each row, numbered in the order of the mean of y; alike in rows without conflict.
    mean
        The mean of y on each row.
    gain
        By how many bits the number of rows of A shrinks.
    """

    inner: tuple[int, ...]
    shared: tuple[int, ...]
    rows: np.ndarray
    conflicts: np.ndarray
    labels: np.ndarray
    mean: np.ndarray
    gain: float

    @property
    def groups(self) -> np.ndarray:
        """A number for each row that says what is shared."""
        return numbered(self.rows[:, [self.inner.index(j) for j in self.shared]])


def numbered(columns: np.ndarray) -> np.ndarray:
    """Equal rows get equal numbers, from 0 on without gaps."""
    code = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        values, place = np.unique(column, return_inverse=True)
        code = code * len(values) + place.reshape(-1)
        if code.size and code.max() > 2**40:
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
    return np.unique(code, return_inverse=True)[1].reshape(-1)


def examples(code: np.ndarray) -> np.ndarray:
    """For each number of a code the last row that has it."""
    found = np.zeros(int(code.max()) + 1, dtype=np.int64)
    found[code] = np.arange(len(code))
    return found


def splits(problem: Problem) -> list[Split]:
    """All splits that merge rows, those that merge most for the number of their variables first."""
    found: list[Split] = []
    k = len(problem.variables)
    levels = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in problem.X.T]
    widths = np.array([int(level.max()) + 1 for level in levels])
    y = np.unique(problem.y, return_inverse=True)[1].reshape(-1)
    for size in range(1, min(_MOST_INNER, k - 1) + 1):
        for inner in itertools.combinations(range(k), size):
            if problem.expired():
                return found
            if np.prod(widths[list(inner)].astype(float)) <= 4 * _MOST_ROWS:
                found.extend(_of(problem, inner, levels, widths, y))
    alone = {split.inner: split.gain for split in found if not split.shared}
    found = [split for split in found if split.gain >= _of_parts(split.inner, alone) + _GAIN]
    found.sort(
        key=lambda split: (2 * len(split.inner) + 0.5 * len(split.shared) - 0.5 * split.gain, split.inner)
    )
    return found


def outermost(problem: Problem) -> Split | None:
    """All variables at once: rows conflict if y differs."""
    rows = problem.rows
    if len(rows) > _MOST_ROWS:
        rows = rows[np.sort(np.random.default_rng(7).permutation(len(rows))[:_MOST_ROWS])]
    y = problem.y[rows]
    labels = np.unique(y, return_inverse=True)[1].reshape(-1)
    count = int(labels.max(initial=0)) + 1
    if count < 2 or log2(len(rows) / count) < 1.0:
        return None
    conflicts = labels[:, None] != labels[None]
    inner = tuple(range(len(problem.variables)))
    return Split(inner, (), problem.X[rows], conflicts, labels, y, log2(len(rows) / count))


def _of_parts(inner: tuple[int, ...], alone: dict[tuple[int, ...], float]) -> float:
    """The gain that two splits of parts of the variables have together, at most."""
    best = 0.0
    for size in range(1, len(inner)):
        for part in itertools.combinations(inner, size):
            rest = tuple(j for j in inner if j not in part)
            best = max(best, alone.get(part, 0.0) + alone.get(rest, 0.0))
    return best


def _of(
    problem: Problem, inner: tuple[int, ...], levels: list[np.ndarray], widths: np.ndarray, y: np.ndarray
) -> Iterator[Split]:
    """The splits of one set of variables: without shared ones if that is possible, else with one."""
    problem.spend("sorted cells", 2 * len(y))
    code = _code(levels, widths, inner)
    used = np.flatnonzero(np.bincount(code))
    if not 2 <= len(used) <= _MOST_ROWS:
        return
    place = np.zeros(int(code.max()) + 1, dtype=np.int64)
    place[used] = np.arange(len(used))
    row = place[code]
    context = _code(levels, widths, tuple(j for j in range(len(levels)) if j not in inner))
    rows = problem.X[examples(row)][:, list(inner)]
    ways: list[tuple[int, ...]] = [()]
    if len(inner) > 1:
        ways += [(j,) for j in inner]
    groups = {way: numbered(rows[:, [inner.index(j) for j in way]]) for way in ways}
    for cells in (_LOOK, _CELLS):
        conflicts, seen = _conflicts(problem, row, context, y, len(rows), cells)
        ways = [way for way in ways if _merges(conflicts, groups[way])]
        if not ways:
            return
    mean = np.bincount(row, problem.y) / np.bincount(row)
    for way in ways:
        same = groups[way][:, None] == groups[way][None]
        labels = _classes(conflicts, same, mean)
        count = len(np.unique(labels + len(rows) * groups[way]))
        gain = log2(len(rows) / count)
        merged = same & (labels[:, None] == labels[None]) & ~np.eye(len(rows), dtype=bool)
        if gain >= _GAIN and count > 1 and float(seen[merged].mean()) >= _SEEN:
            yield Split(inner, way, rows, conflicts & same, labels, mean, gain)


def _code(levels: list[np.ndarray], widths: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    if np.prod(widths[list(columns)].astype(float)) > 2**50:
        return numbered(np.stack([levels[j] for j in columns], 1))
    code = np.zeros(len(levels[0]), dtype=np.int64)
    for j in columns:
        code = code * int(widths[j]) + levels[j]
    return code


def _conflicts(
    problem: Problem, row: np.ndarray, context: np.ndarray, y: np.ndarray, count: int, cells: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs of rows differ in y in one of the contexts seen most, and in how many both were seen."""
    values, place, often = np.unique(context, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    most = max(4, cells // (count * count))
    chosen = np.argsort(-often, kind="stable")[:most]
    number = np.full(len(values), -1)
    number[chosen] = np.arange(len(chosen))
    keep = number[place] >= 0
    table = np.full((count, len(chosen)), -1, dtype=np.int32)
    table[row[keep], number[place[keep]]] = y[keep]
    problem.spend("sorted cells", len(context))
    problem.effort.spend(1.5e-9 * count * count * len(chosen))
    conflicts = np.zeros((count, count), dtype=bool)
    known = table >= 0
    for i in range(count):
        conflicts[i] = np.any((table != table[i]) & known & known[i], axis=1)
    seen = known.astype(np.float32) @ known.astype(np.float32).T
    return conflicts, seen


def _merges(conflicts: np.ndarray, groups: np.ndarray) -> bool:
    """Whether as many rows of a group go together as a gain needs."""
    free = ~conflicts & (groups[:, None] == groups[None])
    return int(np.count_nonzero(free.sum(axis=1) > 1)) >= 0.2 * len(groups)


def _classes(conflicts: np.ndarray, same: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Rows go to the first class of their group that they do not conflict with, in the order of the mean."""
    order = np.argsort(mean, kind="stable")
    barred = conflicts | ~same
    labels = np.full(len(mean), -1)
    members: list[np.ndarray] = []  # of each class: the rows that may not enter
    for i in order:
        label = next((n for n, closed in enumerate(members) if not closed[i]), len(members))
        if label == len(members):
            members.append(np.zeros(len(mean), dtype=bool))
        labels[i] = label
        members[label] |= barred[i]
    return labels
