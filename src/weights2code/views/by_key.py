"""Whether rows of one long sequence are several sequences in truth, told apart by a column.

The stock of an article, whether a customer was here before: what the next row of the same article or
customer says follows from their last row, wherever that stands. Rows show it: beside the present, the last
target under the same key determines the target, and the last target as such does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.data import Problem
from weights2code.views.evidence import Evidence

#: Values of a key, at least, and rows of each, on average.
FEWEST_KEYS, ROWS_A_KEY = 2, 3


def telling_apart(problem: Problem) -> list[str]:
    """The columns that may tell sequences apart in rows that were taken for one."""
    part = (problem.uncut or problem).training
    if len(part) != 1 or not problem.whole:
        return []
    x, y = part.x[0][part.valid[0]], part.y[0][part.valid[0]]
    found = []
    for column, name in enumerate(problem.inputs):
        keys = np.unique(x[:, column], return_inverse=True)[1].reshape(-1)
        if not FEWEST_KEYS <= keys.max() + 1 <= len(keys) // ROWS_A_KEY:
            continue
        others = np.delete(x, column, 1)
        if _follows(problem, others, y, _before(keys)) and not _follows(problem, x, y, np.arange(len(y)) - 1):
            found.append(name)
    return found


def _before(keys: np.ndarray) -> np.ndarray:
    """The last row with the same key before each row; -1 if there is none."""
    order = np.argsort(keys, kind="stable")
    before = np.full(len(keys), -1)
    same = keys[order][1:] == keys[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def _follows(problem: Problem, present: np.ndarray, y: np.ndarray, before: np.ndarray) -> bool:
    """Whether every target, or its change, follows from the targets of the row before and from the present,
    all of it, a column of it, or nothing."""
    last = np.where(before[:, None] >= 0, y[before], -1.0)
    begun = (before >= 0)[:, None].astype(float)
    for row, domain in enumerate(problem.output_domains):
        asked = [(y[:, row], np.hstack([last, begun]))]
        if not domain.categories:
            asked.append((y[:, row] - np.where(before >= 0, y[before, row], 0.0), begun))
        if not any(
            Evidence(target).enough(np.hstack([past, now]).T)
            for target, past in asked
            for now in _choices(present)
        ):
            return False
    return True


def _choices(present: np.ndarray) -> Iterator[np.ndarray]:
    yield present[:, :0]
    yield from (present[:, column : column + 1] for column in range(present.shape[1]))
    yield present
