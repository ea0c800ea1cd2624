"""Where to split a cell: along the border of the step that makes its bound coarsest.

What a step adds to the width of the bound is its own width times the weights on the way to the output.
"""

from __future__ import annotations

from math import inf

import numpy as np

from weights2code.network.bounds.difference import Difference, Layer
from weights2code.network.bounds.enclosure import Cell, Enclosure, results

#: A width that is nothing beside what is looked for.
_NEGLIGIBLE = 1e-6
#: A row, the largest value of it on the left and the smallest on the right.
Cut = tuple[int, float, float]


def where_to_split(
    difference: Difference, cell: Cell, enclosure: Enclosure, output: int, wanted: float
) -> Cut | None:
    """None if nothing is left to split.

    If all steps on the way to the output add less than `wanted`, those on the way to rows that are known to
    lie between two numbers in this cell may tell more: whether it is as large as it seems.
    """
    weight = np.zeros(difference.symbols)
    weight[difference.outputs.reads] = np.abs(difference.outputs.weight[output])
    total, found = _widest(difference, enclosure, weight, np.zeros(difference.rows))
    if found is None or total < wanted / 2:
        known = np.isfinite(cell.row_low) | np.isfinite(cell.row_high)
        size = np.maximum(np.abs(enclosure.row_low), np.abs(enclosure.row_high))
        loose, other = _widest(difference, enclosure, 0 * weight, known / np.maximum(size, 1e-100))
        if other is not None and loose > _NEGLIGIBLE:
            return other
    return found if total > _NEGLIGIBLE * wanted else None


def _widest(
    difference: Difference, enclosure: Enclosure, weight: np.ndarray, row_weight: np.ndarray
) -> tuple[float, Cut | None]:
    """Where to split so that symbols and rows of these weights get closer bounds; how far apart they are."""
    total, best, found = 0.0, 0.0, None
    for layer in reversed(difference.layers):
        own = weight[layer.first : layer.first + layer.results]
        rows = slice(layer.row, layer.row + layer.arguments)
        low, high = enclosure.row_low[rows], enclosure.row_high[rows]
        widths, slopes = _widths(layer, low, high)
        scores = own * widths
        place = int(scores.argmax())
        if scores[place] > best:
            cut = _cut(layer, place, low, high)
            if cut is not None:
                best, found = float(scores[place]), cut
        total += float(scores.sum())
        through = np.repeat(own, 2) if layer.kind == "product" else own
        through = through * slopes + row_weight[rows]
        np.add.at(weight, layer.rows.reads, np.abs(layer.rows.weight).T @ through)
    return total, found


def _widths(layer: Layer, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far apart the bounds of each symbol are, and how steep it may be in each row."""
    kind, width = layer.kind, high - low
    if kind == "sum":
        return np.zeros_like(low), np.ones_like(low)
    if kind == "ramp":
        split = (low < 0) & (high > 0)
        return np.where(split, -low * high / np.where(split, width, 1.0), 0.0), (high > 0).astype(float)
    if kind == "product":
        return np.array([width[0] * width[1] / 2]), np.maximum(np.abs(low), np.abs(high))[::-1]
    if kind == "square":
        return width * width / 4, 2 * np.maximum(np.abs(low), np.abs(high))
    below, above = results(layer, low, high)
    spread = np.nan_to_num(above - below, nan=inf, posinf=1e300)
    return spread, np.where(width > 0, spread / np.where(width > 0, width, 1.0), 0.0)


def _cut(layer: Layer, place: int, low: np.ndarray, high: np.ndarray) -> Cut | None:
    if layer.kind == "product":
        place = int((high - low).argmax())
    whole = bool(layer.rows.whole[place])
    least, most = float(low[place]), float(high[place])
    if layer.kind == "ramp":
        left, right = (-1.0 if whole else 0.0), 0.0
    elif layer.kind in ("test", "floor"):
        levels = [np.floor_divide(end, layer.divisor) for end in (least, most)]
        right = 0.0 if layer.kind == "test" else float(np.ceil(sum(levels) / 2) * layer.divisor)
        left = right - 1 if whole else float(np.nextafter(right, -inf))
    else:
        left = right = least + (most - least) / 2
        if whole:
            left = np.floor(left)
            right = left + 1
        if not least < right or not left < most:
            return None
    return layer.row + place, float(left), float(right)
