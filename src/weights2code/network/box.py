"""The region of leaf values that a bound is about: a box, some of it whole numbers, cut by half spaces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Sequences
from weights2code.graph import DiscreteGraph
from weights2code.language import Var
from weights2code.network.leaves import rounding_at


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


def rounding_of(graph: DiscreteGraph, box: Box) -> float:
    """How far float64 evaluation of the network, sums in any order, may be from its exact outputs."""
    return float(rounding_at(graph, box.size).max())


def leaf_values(
    leaves: tuple[Var, ...], inputs: tuple[str, ...], outputs: tuple[str, ...], sequences: Sequences
) -> dict[Var, np.ndarray]:
    """What sequences hold for each leaf (N,), at all positions that are away from the start."""
    depth, length = max((leaf.lag for leaf in leaves), default=0), sequences.x.shape[1]
    there = sequences.valid[:, depth:]
    values = {}
    for leaf in leaves:
        known = leaf.name in inputs
        names, array = (inputs, sequences.x) if known else (outputs, sequences.y)
        values[leaf] = array[:, depth - leaf.lag : length - leaf.lag, names.index(leaf.name)][there]
    return values


def seen_box(values: dict[Var, np.ndarray], whole: np.ndarray) -> Box:
    """From the smallest to the largest value of each leaf, and of the difference of neighbouring lags."""
    leaves = tuple(values)
    low, high = (np.array([pick(values[leaf]) for leaf in leaves]) for pick in (np.min, np.max))
    matrix, limit = [], []
    for place, leaf in enumerate(leaves):
        before = Var(leaf.name, leaf.lag + 1)
        if before in values:
            step = values[leaf] - values[before]
            row = np.zeros(len(leaves))
            row[place], row[leaves.index(before)] = 1.0, -1.0
            matrix += [row, -row]
            limit += [step.max(), -step.min()]
    return Box(leaves, low, high, whole, np.array(matrix).reshape(-1, len(leaves)), np.array(limit))
