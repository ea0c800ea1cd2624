"""The region of leaf values that a bound is about: a box, some of it whole numbers, cut by half spaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weights2code.language import Domain, Var


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Leaves between `low` and `high`, some of them whole numbers, where `matrix @ leaves <= limit`."""

    leaves: tuple[Var, ...]
    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray
    matrix: np.ndarray | None = None
    limit: np.ndarray | None = None

    @property
    def half_spaces(self) -> tuple[np.ndarray, np.ndarray]:
        if self.matrix is None or self.limit is None:
            return np.zeros((0, len(self.leaves))), np.zeros(0)
        return np.asarray(self.matrix, float), np.asarray(self.limit, float)

    @property
    def size(self) -> dict[Var, float]:
        """The largest absolute value of each leaf."""
        return dict(zip(self.leaves, np.maximum(np.abs(self.low), np.abs(self.high)).tolist(), strict=True))


def box_around(values: dict[Var, np.ndarray], known: Mapping[str, Domain], whole: np.ndarray) -> Box:
    """Inputs in their domains; of all others what lies between the smallest and the largest value, and so do
    the steps from one lag to the next."""
    leaves = tuple(values)
    low, high = (np.array([pick(values[leaf]) for leaf in leaves]) for pick in (np.min, np.max))
    matrix, limit = [], []
    for place, leaf in enumerate(leaves):
        before = Var(leaf.name, leaf.lag + 1)
        if leaf.name in known:
            low[place], high[place] = known[leaf.name].low, known[leaf.name].high
        elif before in values:
            step = values[leaf] - values[before]
            row = np.zeros(len(leaves))
            row[place], row[leaves.index(before)] = 1.0, -1.0
            matrix += [row, -row]
            limit += [step.max(), -step.min()]
    return Box(leaves, low, high, whole, np.array(matrix).reshape(len(matrix), len(leaves)), np.array(limit))
