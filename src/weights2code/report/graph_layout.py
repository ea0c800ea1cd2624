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
    """Places of the boxes, the lanes of each source by column, and the size of the whole."""

    boxes: Mapping[str, Placed]
    lanes: Mapping[tuple[str, int], Placed]
    columns: tuple[tuple[float, float], ...]
    width: float
    height: float

    def height_at(self, source: str, first: int, column: int) -> float:
        """How high the value of a source passes a column."""
        lane = self.lanes.get((source, column)) if column > first else None
        return (lane or self.boxes[source]).middle

    def edge(self, source: str, first: int, target: str, last: int, arrival: float) -> str:
        """A path from the source, along its lanes, to the left side of the target at height `arrival`."""
        at = self.boxes[source]
        path = f"M{at.right:.1f} {at.middle:.1f}"
        for column in range(first + 1, last):
            lane = self.lanes.get((source, column))
            if lane is not None:
                path += _curve(at, lane.left, lane.middle) + f"H{lane.right:.1f}"
                at = lane
        return path + _curve(at, self.boxes[target].left, arrival)


def _curve(start: Placed, to_x: float, to_y: float) -> str:
    bend = (start.right + to_x) / 2
    return f"C{bend:.1f} {start.middle:.1f} {bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def place(boxes: Sequence[Box], top: float) -> Layout:
    """Order each column by where its sources stand, then stack it around the middle."""
    by_key = {box.key: box for box in boxes}
    count = max(box.column for box in boxes) + 1
    reach: dict[str, int] = {}
    for box in boxes:
        if not box.quiet:
            for source in box.reads:
                reach[source] = max(reach.get(source, 0), box.column)
    columns: list[list[tuple[str, bool]]] = [[] for _ in range(count)]
    for box in boxes:
        columns[box.column].append((box.key, False))
        for column in range(box.column + 1, reach.get(box.key, 0)):
            columns[column].append((box.key, True))
    rank: dict[tuple[str, int], float] = {}
    for index, column in enumerate(columns):

        def order(item: tuple[str, bool], index: int = index) -> tuple[bool, float]:
            key, lane = item
            box = by_key[key]
            if lane:
                return False, rank[key, index - 1]
            before = [rank[s, index - 1] for s in box.reads if (s, index - 1) in rank]
            return box.quiet, sum(before) / len(before) if before else float(list(by_key).index(key))

        column.sort(key=order)
        for position, (key, _) in enumerate(column):
            rank[key, index] = position / max(len(column) - 1, 1)
    heights = [
        sum((LANE if lane else by_key[key].height) + ROW_GAP for key, lane in column) - ROW_GAP
        for column in columns
    ]
    tallest = max(heights)
    placed: dict[str, Placed] = {}
    lanes: dict[tuple[str, int], Placed] = {}
    spans, left = [], MARGIN
    for index, column in enumerate(columns):
        own = [by_key[key].width for key, lane in column if not lane]
        width = max(own, default=20.0)
        y = top + (tallest - heights[index]) / 2
        for key, lane in column:
            height = LANE if lane else by_key[key].height
            if lane:
                lanes[key, index] = Placed(left, y, width, height)
            else:
                placed[key] = Placed(left, y, by_key[key].width, height)
            y += height + ROW_GAP
        spans.append((left, width))
        left += width + COLUMN_GAP
    return Layout(placed, lanes, tuple(spans), left - COLUMN_GAP + MARGIN, top + tallest + MARGIN)
