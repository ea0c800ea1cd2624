"""The largest difference between a network and a program, one step ahead, over a polytope of leaf values.

Both are piecewise linear in the leaves, or nearly so. On a cell where every ramp, test and floor is decided
the difference is affine and its largest value is a linear program; on others there are affine bounds.
Branch and bound: of all cells the one with the largest bound is split next, along the border of the step
that makes its bound coarsest, until the bound is about as small as the largest difference that was seen.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf, prod

import numpy as np

from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph
from weights2code.language import Expr, Var
from weights2code.network.bounds.box import Box
from weights2code.network.bounds.difference import Difference, difference_of
from weights2code.network.bounds.enclosure import Cell, Empty, Enclosure, at_points
from weights2code.network.bounds.polytope import largest_value, on_box, tightened
from weights2code.network.bounds.splits import where_to_split

#: Boxes of so many whole points are gone through point by point, at once and after splits.
MOST_POINTS, FEW_POINTS = 2**20, 2**10
#: What a layer on a cell, a linear program and a value at a point cost, in seconds of a usual machine.
LAYER, PROGRAM, VALUE = 3e-4, 2e-3, 1e-8
#: How often the box of a cell is made smaller by its half spaces, while that helps.
_ROUNDS, _HELPS = 3, 0.8
_SAMPLES, _CHUNK = 256, 4096
#: Of the values that are subtracted from each other, the share that is rounding.
_ROUNDING = 1e-13
#: Points may be outside by this share; next to a border of a test another value counts.
_ROOM, _INWARDS = 1e-9, 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Largest:
    """The largest absolute difference lies between `lower`, which is reached `at` a point, and `upper`.

    Both are those of exact arithmetic on the numbers that weights and program stand for. `finished`: they
    are as near to each other as was asked, or as rounding lets them; else the effort ended, or whether they
    are below what was asked for was decided before.
    """

    upper: float
    lower: float
    at: dict[Var, float]
    cells: int
    finished: bool


def largest_difference(
    graph: DiscreteGraph,
    program_outputs: tuple[Expr, ...],
    box: Box,
    effort: Effort,
    *,
    below: float | None = None,
    gap: float = 1e-3,
) -> list[Largest] | None:
    """For each output; None if graph or program is no function of the box's leaves that can be bounded.

    Parameters
    ----------
    below
        Whether the difference stays below this is all that is asked: the search ends where that is known.
    gap
        The search ends where `upper` is larger than `lower` by at most this share.
    """
    difference = difference_of(graph, program_outputs, box.leaves, box.whole)
    return None if difference is None else largest_of(difference, box, effort, below=below, gap=gap)


def largest_of(
    difference: Difference, box: Box, effort: Effort, *, below: float | None = None, gap: float = 1e-3
) -> list[Largest]:
    """`largest_difference` of a difference that is written already."""
    outputs = range(len(difference.outputs.constant))
    return [_Search(difference, box, output, effort, below, gap).run() for output in outputs]


@dataclass(slots=True)
class _Search:
    """One output's cells: `waiting` for a split, worst first, and the largest bound of all others."""

    difference: Difference
    box: Box
    output: int
    effort: Effort
    below: float | None
    gap: float
    lower: float = 0.0
    at: np.ndarray | None = None
    settled: float = 0.0
    rounding: float = 0.0
    cells: int = 0
    waiting: list[tuple[float, int, Cell, Enclosure]] = field(default_factory=list)
    number: count[int] = field(default_factory=count)

    def run(self) -> Largest:
        low, high = (np.asarray(end, float) for end in (self.box.low, self.box.high))
        low, high = (
            np.where(self.box.whole, np.ceil(low), low),
            np.where(self.box.whole, np.floor(high), high),
        )
        rows = self.difference.rows
        root = Cell(low, high, np.full(rows, -inf), np.full(rows, inf))
        affine = not self.difference.layers
        if not affine:
            self.sample(root)
        self.visit(root, most=MOST_POINTS)
        while self.waiting and not self.decided() and not self.effort.spent():
            self.split(*heapq.heappop(self.waiting))
        upper = max(self.upper, self.lower)
        point = self.at if self.at is not None else (low + high) / 2
        at = dict(zip(self.box.leaves, point.tolist(), strict=True))
        return Largest(upper, self.lower, at, self.cells, upper <= self.enough() + self.rounding)

    @property
    def upper(self) -> float:
        return max(self.settled, -self.waiting[0][0] if self.waiting else 0.0)

    def enough(self) -> float:
        """A bound that needs no splitting."""
        return self.lower * (1 + self.gap) + 1e-300

    def decided(self) -> bool:
        if self.below is not None and (self.upper < self.below or self.lower >= self.below):
            return True
        return self.upper <= self.enough()

    def unneeded(self, upper: float) -> bool:
        return upper <= self.enough() or (self.below is not None and upper < self.below)

    # -- cells ----------------------------------------------------------------------------------------------

    def visit(self, cell: Cell, known: float = inf, most: int | None = None) -> None:
        """Bound a cell, by what is `known` if need be; it waits for a split if its bound is too large."""
        self.cells += 1
        matrix, limit = self.box.half_spaces
        for turn in range(_ROUNDS):
            self.effort.spend(LAYER * (1 + len(self.difference.layers)))
            try:
                enclosure = Enclosure(self.difference, cell, matrix, limit)
            except Empty:
                return
            smaller = tightened(cell.low, cell.high, enclosure.matrix, enclosure.limit, self.box.whole)
            if smaller is None:
                return
            before, after = cell.high - cell.low, smaller[1] - smaller[0]
            cell = replace(cell, low=smaller[0], high=smaller[1])
            if turn + 1 == _ROUNDS or not (after < _HELPS * before).any():
                break
        if self.cells == 1:
            reach = max(float(enclosure.reach(side)[self.output]) for side in enclosure.outputs)
            self.rounding = _ROUNDING * reach
        points = self.points(cell, FEW_POINTS if most is None else most)
        if points is not None:
            self.settled = max(self.settled, self.tried(points, everywhere=True))
            return
        upper = min(known, self.bound(cell, enclosure))
        if self.unneeded(upper):
            self.settled = max(self.settled, upper)
        else:
            heapq.heappush(self.waiting, (-upper, next(self.number), cell, enclosure))

    def bound(self, cell: Cell, enclosure: Enclosure) -> float:
        """The largest absolute difference on a cell is at most this; minus infinity if the cell is empty."""
        under, over = enclosure.outputs
        row, upper, points = self.output, -inf, []
        for slope, number in ((over.slope[row], over.number[row]), (-under.slope[row], -under.number[row])):
            value, point = on_box(slope, float(number), cell.low, cell.high)
            if len(enclosure.limit):
                value = min(value, enclosure.most(slope, float(number)))
            if len(enclosure.limit) and not self.unneeded(value):
                self.effort.spend(PROGRAM)
                found, place = largest_value(
                    slope, float(number), cell.low, cell.high, enclosure.matrix, enclosure.limit
                )
                if found == -inf:
                    return -inf
                value = min(value, found)
                point = point if place is None else place
            points.append(point)
            upper = inf if np.isnan(value) else max(upper, value)
        inside = (points[0] + points[1] + (cell.low + cell.high) / 2) / 3
        self.tried(np.array(points + [point + _INWARDS * (inside - point) for point in points]))
        return inf if enclosure.unbounded else upper

    def split(self, negative: float, _: int, cell: Cell, enclosure: Enclosure) -> None:
        """Two cells in the place of one; a cell that cannot be split keeps its bound."""
        upper = -negative
        cut = where_to_split(self.difference, cell, enclosure, self.output, upper - self.enough())
        if cut is None:
            self.halve(upper, cell, enclosure)
            return
        row, left, right = cut
        row_low, row_high = cell.row_low.copy(), cell.row_high.copy()
        row_high[row], row_low[row] = left, right
        self.visit(replace(cell, row_high=row_high), upper)
        self.visit(replace(cell, row_low=row_low), upper)

    def halve(self, upper: float, cell: Cell, enclosure: Enclosure) -> None:
        """Where all is decided, only whole numbers leave room: the largest value need not be at one."""
        under, over = enclosure.outputs
        slope = np.maximum(np.abs(under.slope[self.output]), np.abs(over.slope[self.output]))
        widths = np.where(self.box.whole, slope * (cell.high - cell.low), 0.0)
        leaf = int(widths.argmax()) if len(widths) else 0
        if not len(widths) or not widths[leaf]:
            self.settled = max(self.settled, upper)
            return
        low, high = cell.low.copy(), cell.high.copy()
        high[leaf] = np.floor((cell.low[leaf] + cell.high[leaf]) / 2)
        low[leaf] = high[leaf] + 1
        self.visit(replace(cell, high=high), upper)
        self.visit(replace(cell, low=low), upper)

    # -- points ---------------------------------------------------------------------------------------------

    def points(self, cell: Cell, most: int) -> np.ndarray | None:
        """Every point of a box of few whole numbers."""
        if not len(cell.low):
            return np.zeros((1, 0))
        free = cell.high > cell.low
        many = prod((cell.high - cell.low + 1).tolist())
        if (free & ~self.box.whole).any() or many > most or self.cost(many) > self.effort.left:
            return None
        axes = [
            np.arange(low, high + 1) if low < high else np.array([low])
            for low, high in zip(cell.low, cell.high, strict=True)
        ]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)

    def cost(self, points: float) -> float:
        return VALUE * points * (self.difference.symbols + 10)

    def sample(self, cell: Cell) -> None:
        rng = np.random.default_rng(0)
        points = rng.uniform(cell.low, cell.high, (_SAMPLES, len(cell.low)))
        self.tried(points)

    def tried(self, points: np.ndarray, *, everywhere: bool = False) -> float:
        """Note the largest difference at points; the largest bound of it, of all points if they are all."""
        points = np.where(self.box.whole, np.rint(points), points)
        matrix, limit = self.box.half_spaces
        room = _ROOM * (
            np.abs(matrix) @ np.maximum(np.abs(self.box.low), np.abs(self.box.high)) + np.abs(limit)
        )
        points = points[(points @ matrix.T <= limit + room).all(axis=1)]
        upper = 0.0
        for start in range(0, len(points), _CHUNK):
            some = points[start : start + _CHUNK]
            self.effort.spend(self.cost(len(some)))
            low, high = (side[:, self.output] for side in at_points(self.difference, some))
            least = np.maximum(np.maximum(low, -high), 0.0)
            upper = max(upper, float(np.maximum(high, -low).max()))
            best = int(least.argmax())
            if least[best] > self.lower or self.at is None:
                self.lower, self.at = float(least[best]), some[best]
        return upper
