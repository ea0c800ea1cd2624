"""Whether some quantities carry all that the target depends on, asked of rows that lie near each other.

Rows of reals do not repeat, so nothing can contradict itself. But of a function rows with nearly equal
arguments have nearly equal values, and the fewer the arguments, the nearer the nearest row is. Quantities
that carry everything thus bring neighbours closer in the target too, and those that lose something do not.
How far neighbours are apart falls with the number of rows n as n^(-1/m) in m quantities. Asking n and n/4
rows tells what would be left of it among ever more rows: nothing, if nothing was lost.
"""

from __future__ import annotations

import numpy as np

#: Rows asked for their nearest neighbours, rows among which these are looked for, and how many.
ASKED, AMONG, NEAREST = 400, 3000, 3
#: What the differences that are left among the rows at hand count for.
UNSEEN = 0.3
#: When quantities are called lossy: at most so many of them, on so many rows, with at most so many
#: combinations of discrete values, and more lost than any function loses that was ever met, twice over.
MOST_JUDGED, FEWEST_JUDGED, MOST_COMBINATIONS, SURELY = 5, 1000, 100, 0.45


class Neighbours:
    """How much the target differs between a row and the rows nearest to it, in any quantities."""

    def __init__(self, y: np.ndarray, whole: bool, asked: int = ASKED, among: int = AMONG) -> None:
        order = np.random.default_rng(21).permutation(len(y))[:among]
        self.among, self.asked = order, min(asked, len(order))
        self.y, self.whole = y[order], whole
        self.spread = float(np.mean(np.abs(y - np.median(y)))) or 1.0

    def lost(self, columns: np.ndarray, nearest: int = NEAREST) -> float:
        """What the quantities lose of the target, 0 to about 1, and a little for what is not seen yet.

        `columns` are the quantities on the rows `among`.
        """
        spread = columns.std(axis=0)
        Z = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        asked = np.arange(self.asked)
        distance = (Z * Z).sum(1)[None, :] - 2 * Z[asked] @ Z.T
        distance[asked, asked] = np.inf
        few = max(len(Z) // 4, nearest + 1)
        far, near = self._apart(distance[:, :few].copy(), nearest), self._apart(distance, nearest)
        falls = 4.0 ** (-1 / columns.shape[1])
        return max((near - falls * far) / (1 - falls), 0.0) + UNSEEN * near

    def _apart(self, distance: np.ndarray, nearest: int) -> float:
        """The mean difference between neighbours as a share of what strangers differ by."""
        asked, total = np.arange(self.asked), 0.0
        for _ in range(nearest):
            found = np.argmin(distance, axis=1)
            distance[asked, found] = np.inf
            differences = np.abs(self.y[asked] - self.y[found])
            total += float(np.mean(differences > 0) if self.whole else np.mean(differences) / self.spread)
        return total / nearest


def surely_lossy(columns: np.ndarray, y: np.ndarray, discrete: tuple[bool, ...]) -> bool:
    """Whether far too much of the target is lost for it to be a function of a few reals at all.

    Only what varies smoothly is told by neighbours: of discrete values there must be so few combinations that
    neighbours share them.
    """
    if not 0 < columns.shape[1] <= MOST_JUDGED or len(y) < FEWEST_JUDGED or all(discrete):
        return False
    levels = [len(np.unique(column)) for column, one in zip(columns.T, discrete, strict=True) if one]
    if np.prod(levels, initial=1.0) > MOST_COMBINATIONS or np.ptp(y) == 0:
        return False
    neighbours = Neighbours(y, bool(np.all(y == np.round(y))))
    return neighbours.lost(columns[neighbours.among]) > SURELY
