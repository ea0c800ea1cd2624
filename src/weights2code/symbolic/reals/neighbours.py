"""Whether some quantities carry all that the target depends on, asked of rows that lie near each other.

Rows of reals do not repeat, so nothing can contradict itself. But of a function rows with nearly equal
arguments have nearly equal values, and the fewer the arguments, the nearer the nearest row is. Quantities
that carry everything thus bring neighbours closer in the target too, and those that lose something do not.
"""

from __future__ import annotations

import numpy as np

#: Rows asked for their nearest neighbour, and rows among which it is looked for.
ASKED, AMONG = 300, 3000


class Neighbours:
    """How much the target differs between a row and the row nearest to it, in any quantities."""

    def __init__(self, y: np.ndarray, whole: bool, asked: int = ASKED, among: int = AMONG) -> None:
        order = np.random.default_rng(21).permutation(len(y))
        self.asked, self.among = order[:asked], order[:among]
        self.y, self.whole = y, whole
        self.spread = float(np.mean(np.abs(y - np.median(y)))) or 1.0

    def apart(self, columns: np.ndarray) -> float:
        """The mean difference between neighbours as a share of what strangers differ by; 0 is a function.

        `columns` are the quantities on the rows `among`.
        """
        y = self.y[self.among]
        differences = np.abs(y[: len(self.asked)] - y[self.nearest(columns)])
        if self.whole:
            return float(np.mean(differences > 0))
        return float(np.mean(differences)) / self.spread

    def nearest(self, columns: np.ndarray) -> np.ndarray:
        """The row nearest to each that is asked."""
        spread = columns.std(axis=0)
        Z = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        Q = Z[: len(self.asked)]
        distance = (Z * Z).sum(1)[None, :] - 2 * Q @ Z.T
        distance[np.arange(len(Q)), np.arange(len(Q))] = np.inf
        return np.argmin(distance, axis=1)
