"""Where the nodes of a layered graph stand: columns left to right, few crossings, room for what passes by.

A value that is read several columns later passes the columns between on a lane of its own, as it does in the
residual stream; all its readers share that lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLUMN_GAP, ROW_GAP, LANE, MARGIN = 46.0, 14.0, 4.0, 8.0


@dataclass(frozen=True, slots=True)
class Box:
    """A node to be placed: its column, its size, what it reads; quiet ones go to the bottom."""

    key: str
    column: int
    width: float
    height: float
    reads: tuple[str, ...] = ()
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """Left, top, width and height of a box or lane."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each box stands in its own column, and its lane in later ones; left and width of the columns, and
    the size of the whole."""

    placed: Mapping[tuple[str, int], Placed]
    columns: tuple[tuple[float, float], ...]
    width: float
    height: float

    def of(self, box: Box) -> Placed:
        return self.placed[box.key, box.column]

    def height_at(self, source: Box, column: int) -> float:
        """How high the value of a source passes a column."""
        return self.placed.get((source.key, column), self.of(source)).middle

    def edge(self, source: Box, target: Box, arrival: float) -> str:
        """A path from the source, along its lanes, to the left side of the target at height `arrival`."""
        at = self.of(source)
        path = f"M{at.right:.1f} {at.middle:.1f}"
        for column in range(source.column + 1, target.column):
            lane = self.placed.get((source.key, column))
            if lane is not None:
                path += _curve(at, lane.left, lane.middle) + f"H{lane.right:.1f}"
                at = lane
        return path + _curve(at, self.of(target).left, arrival)


def _curve(start: Placed, to_x: float, to_y: float) -> str:
    bend = (start.right + to_x) / 2
    return f"C{bend:.1f} {start.middle:.1f} {bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def place(boxes: Sequence[Box], top: float) -> Layout:
    """Order each column by where its sources stand, then stack it around the middle."""
    number = {box.key: i for i, box in enumerate(boxes)}
    loud = [(source, box.column) for box in boxes if not box.quiet for source in box.reads]
    columns: list[list[Box]] = [[] for _ in range(max(box.column for box in boxes) + 1)]
    for box in boxes:
        last = max((column for source, column in loud if source == box.key), default=0)
        for column in columns[box.column : max(last, box.column + 1)]:
            column.append(box)
    rank: dict[tuple[str, int], float] = {}
    for index, column in enumerate(columns):

        def order(box: Box, index: int = index) -> tuple[bool, float]:
            if box.column < index:
                return False, rank[box.key, index - 1]
            before = [rank[source, index - 1] for source in box.reads if (source, index - 1) in rank]
            return box.quiet, sum(before) / len(before) if before else float(number[box.key])

        column.sort(key=order)
        rank.update({(box.key, index): i / max(len(column) - 1, 1) for i, box in enumerate(column)})
    heights = [
        [box.height if box.column == index else LANE for box in column]
        for index, column in enumerate(columns)
    ]
    totals = [sum(column) + ROW_GAP * (len(column) - 1) for column in heights]
    placed: dict[tuple[str, int], Placed] = {}
    spans, left = [], MARGIN
    for index, column in enumerate(columns):
        width = max((box.width for box in column if box.column == index), default=20.0)
        y = top + (max(totals) - totals[index]) / 2
        for box, height in zip(column, heights[index], strict=True):
            own = box.width if box.column == index else width
            placed[box.key, index] = Placed(left, y, own, height)
            y += height + ROW_GAP
        spans.append((left, width))
        left += width + COLUMN_GAP
    return Layout(placed, tuple(spans), left - COLUMN_GAP + MARGIN, top + max(totals) + MARGIN)
