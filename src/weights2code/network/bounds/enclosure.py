"""Between which values the symbols of a difference lie: at points, and on a cell as affine bounds.

A cell is a box of leaf values in which, besides, arguments of steps are known to lie between given numbers.
On it every symbol gets one affine function of the leaves below it and one above it. Where a step is decided
(a ramp that is never negative, a test that always holds) both are exact; else the usual chords and tangents
with a remainder. Every number is rounded outwards by more than float64 may be off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.network.bounds.difference import Difference, Layer
from weights2code.network.bounds.leaves import UNIT
from weights2code.network.bounds.sums import Rows

#: Whole numbers below are computed without rounding.
_EXACT = 2.0**53
#: More than a number next to zero may lose.
_LEAST = 1e-300
#: Functions of NumPy are right to this share.
_LIBRARY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A box of leaves, and between which numbers the rows of arguments lie in this part of it."""

    low: np.ndarray
    high: np.ndarray
    row_low: np.ndarray
    row_high: np.ndarray


class Empty(Exception):
    """No point lies in the cell."""


# -- points -------------------------------------------------------------------------------------------------


def at_points(difference: Difference, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between which numbers the outputs (points, outputs) lie at points (points, leaves)."""
    low = np.zeros((len(points), difference.symbols))
    low[:, : points.shape[1]] = points
    high, lost = low.copy(), np.zeros(len(points), bool)
    for layer in difference.layers:
        below, above = results(layer, *sums(layer.rows, low, high))
        place = slice(layer.first, layer.first + layer.results)
        low[:, place], high[:, place], unbounded = _finite(below, above)
        lost |= unbounded.any(axis=1)
    below, above = sums(difference.outputs, low, high)
    return np.where(lost[:, None], -np.inf, below), np.where(lost[:, None], np.inf, above)


def _finite(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where there are no bounds, zeros, so that one may go on; and where that is."""
    unbounded = ~(np.isfinite(low) & np.isfinite(high))
    return np.where(unbounded, 0.0, low), np.where(unbounded, 0.0, high), unbounded


def sums(rows: Rows, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of weighted sums (..., rows), from those of all symbols (..., symbols)."""
    low, high = low[..., rows.reads], high[..., rows.reads]
    plus, minus = np.maximum(rows.weight, 0.0).T, np.minimum(rows.weight, 0.0).T
    size = np.maximum(np.abs(low), np.abs(high))
    largest = size @ np.abs(rows.weight).T + np.abs(rows.constant)
    terms = len(rows.reads) + 4
    error = 1.01 * terms * UNIT * largest + size @ rows.slack.T + rows.constant_slack + _LEAST
    error = np.where(rows.copied | (rows.exact & (largest < _EXACT)), 0.0, error)
    below = low @ plus + high @ minus + rows.constant - error
    above = high @ plus + low @ minus + rows.constant + error
    return np.where(rows.whole, np.ceil(below), below), np.where(rows.whole, np.floor(above), above)


def results(layer: Layer, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of a layer's symbols from those of its rows."""
    kind = layer.kind
    if kind == "sum":
        return low, high
    if kind == "ramp":
        return np.maximum(low, 0.0), np.maximum(high, 0.0)
    if kind == "test":
        return (low >= 0).astype(float), (high >= 0).astype(float)
    if kind == "floor":
        return np.floor_divide(low, layer.divisor), np.floor_divide(high, layer.divisor)
    if kind == "product":
        pairs = [a * b for a in (low[..., :1], high[..., :1]) for b in (low[..., 1:], high[..., 1:])]
        return _rounded(layer, np.minimum.reduce(pairs), np.maximum.reduce(pairs))
    if kind == "square":
        inside = (low <= 0) & (high >= 0)
        ends = np.minimum(low * low, high * high), np.maximum(low * low, high * high)
        return _rounded(layer, np.where(inside, 0.0, ends[0]), ends[1])
    return _function(kind, low, high)


def _rounded(layer: Layer, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    exact = layer.rows.whole.all() & (np.maximum(np.abs(low), np.abs(high)) < _EXACT)
    return (
        np.where(exact, low, low - 2 * UNIT * np.abs(low) - _LEAST),
        np.where(exact, high, high + 2 * UNIT * np.abs(high) + _LEAST),
    )


def _function(kind: str, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(all="ignore"):
        if kind in ("sin", "cos"):
            value = getattr(np, kind)((low + high) / 2)
            reach = (high - low) / 2 + UNIT * (np.abs(low) + np.abs(high)) + _LIBRARY  # no slope beyond 1
            return np.maximum(value - reach, -1.0), np.minimum(value + reach, 1.0)
        if kind == "reciprocal":
            ends, defined = (1 / high, 1 / low), (low > 0) | (high < 0)
        else:
            if kind != "exp":  # elsewhere the program has no value
                low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
            ends, defined = (getattr(np, kind)(low), getattr(np, kind)(high)), True
        pads = [_LIBRARY * np.abs(end) + _LEAST for end in ends]
        if kind == "sqrt":  # correctly rounded, so that roots of squares are what they are
            pads = [
                np.where((end * end == number) & (number < _EXACT) & (end == np.floor(end)), 0.0, pad)
                for end, number, pad in zip(ends, (low, high), pads, strict=True)
            ]
    return np.where(defined, ends[0] - pads[0], -np.inf), np.where(defined, ends[1] + pads[1], np.inf)


# -- cells --------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Affine:
    """`slope` (k, leaves) and `number` (k,) of k affine functions of the leaves."""

    slope: np.ndarray
    number: np.ndarray


class Enclosure:
    """All symbols and rows on a cell; raises `Empty` where no point is left."""

    def __init__(self, difference: Difference, cell: Cell, matrix: np.ndarray, limit: np.ndarray) -> None:
        """`matrix @ leaves <= limit` holds besides."""
        self.difference, self.cell = difference, cell
        self.matrix, self.limit = matrix, limit
        leaves = len(cell.low)
        self.size = np.maximum(np.abs(cell.low), np.abs(cell.high))
        self.low = np.zeros(difference.symbols)
        self.high = np.zeros(difference.symbols)
        self.low[:leaves], self.high[:leaves] = cell.low, cell.high
        self.below = Affine(np.zeros((difference.symbols, leaves)), np.zeros(difference.symbols))
        self.below.slope[:leaves] = np.eye(leaves)
        self.above = Affine(self.below.slope.copy(), self.below.number.copy())
        self.row_low, self.row_high = cell.row_low.copy(), cell.row_high.copy()
        self.unbounded = False
        for layer in difference.layers:
            self._layer(layer)
        self.outputs = self._sums(difference.outputs)

    def _layer(self, layer: Layer) -> None:
        under, over = self._sums(layer.rows)
        numbers = slice(layer.row, layer.row + layer.arguments)
        self._known(layer, numbers, under, over)
        low, high = self._range(layer, numbers, under, over)
        self.row_low[numbers], self.row_high[numbers] = low, high
        place = slice(layer.first, layer.first + layer.results)
        self.low[place], self.high[place], unbounded = _finite(*results(layer, low, high))
        self.unbounded |= bool(unbounded.any())
        for side, chosen in zip(
            (self.below, self.above), self._affine(layer, low, high, under, over), strict=True
        ):
            side.slope[place], side.number[place] = chosen.slope, chosen.number

    def _sums(self, rows: Rows) -> tuple[Affine, Affine]:
        """Affine functions below and above weighted sums of symbols."""
        plus, minus = np.maximum(rows.weight, 0.0), np.minimum(rows.weight, 0.0)
        below, above = (
            Affine(side.slope[rows.reads], side.number[rows.reads]) for side in (self.below, self.above)
        )
        size = np.maximum(self.reach(below), self.reach(above))
        terms = len(rows.reads) + len(self.size) + 6
        error = 1.01 * terms * UNIT * (np.abs(rows.weight) @ size + np.abs(rows.constant))
        error = np.where(rows.copied, 0.0, error + rows.slack @ size + rows.constant_slack + _LEAST)
        under = Affine(
            plus @ below.slope + minus @ above.slope,
            plus @ below.number + minus @ above.number + rows.constant - error,
        )
        over = Affine(
            plus @ above.slope + minus @ below.slope,
            plus @ above.number + minus @ below.number + rows.constant + error,
        )
        return under, over

    def reach(self, affine: Affine) -> np.ndarray:
        """How large its terms get."""
        return np.abs(affine.slope) @ self.size + np.abs(affine.number)

    def _known(self, layer: Layer, numbers: slice, under: Affine, over: Affine) -> None:
        """What is known of the rows becomes half spaces that the cell lies in."""
        least, most = self.cell.row_low[numbers], self.cell.row_high[numbers]
        above = np.isfinite(least) & (self._least(over) < least)
        below = np.isfinite(most) & (-self._least(Affine(-under.slope, -under.number)) > most)
        if above.any() or below.any():
            matrix = np.concatenate([-over.slope[above], under.slope[below]])
            limit = np.concatenate([(over.number - least)[above], (most - under.number)[below]])
            pad = (
                4
                * UNIT
                * np.concatenate(
                    [
                        (np.abs(over.number) + np.abs(least))[above],
                        (np.abs(under.number) + np.abs(most))[below],
                    ]
                )
            )
            self.matrix = np.concatenate([self.matrix, matrix])
            self.limit = np.concatenate([self.limit, limit + pad])

    def _range(
        self, layer: Layer, numbers: slice, under: Affine, over: Affine
    ) -> tuple[np.ndarray, np.ndarray]:
        """The interval of each row: by the symbols' intervals, by the affine bounds, by what is known."""
        low, high = sums(layer.rows, self.low, self.high)
        low = np.maximum(low, self._least(under))
        high = np.minimum(high, -self._least(Affine(-over.slope, -over.number)))
        if len(self.limit):
            open_rows = low < high
            low[open_rows] = np.maximum(low, self._least_within(under, open_rows))[open_rows]
            negative = Affine(-over.slope, -over.number)
            high[open_rows] = np.minimum(high, -self._least_within(negative, open_rows))[open_rows]
        whole = layer.rows.whole
        low, high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
        low = np.maximum(low, self.cell.row_low[numbers])
        high = np.minimum(high, self.cell.row_high[numbers])
        if (low > high).any():
            raise Empty
        return low, high

    def _least(self, affine: Affine) -> np.ndarray:
        """A number below an affine function on the box."""
        slope = affine.slope
        value = np.minimum(slope * self.cell.low, slope * self.cell.high).sum(axis=-1) + affine.number
        return value - 1.01 * (len(self.size) + 2) * UNIT * self.reach(affine) - _LEAST

    def most(self, slope: np.ndarray, number: float) -> float:
        """A number above one affine function on the cell, by one half space at most."""
        return -float(self._least_within(Affine(-slope[None], np.array([-number])), np.ones(1, bool))[0])

    def _least_within(self, affine: Affine, wanted: np.ndarray) -> np.ndarray:
        """The same on the box and one half space, whichever helps most: a multiple of it is taken off.

        The best multiple makes one slope vanish, so only these are tried; every multiple is right.
        """
        result = np.full(len(affine.number), -np.inf)
        slope, number = affine.slope[wanted], affine.number[wanted]
        matrix, limit = self.matrix[None, :, None, :], self.limit[None, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            multiple = -slope[:, None, :] / self.matrix[None]
        multiple = np.where(np.isfinite(multiple) & (multiple > 0), multiple, 0.0)[..., None]
        rest = slope[:, None, None, :] + multiple * matrix
        value = np.minimum(rest * self.cell.low, rest * self.cell.high).sum(axis=-1)
        taken = multiple[..., 0] * limit
        size = (np.abs(slope)[:, None, None, :] + multiple * np.abs(matrix)) @ self.size + np.abs(taken)
        error = 1.01 * (len(self.size) + 6) * UNIT * (size + np.abs(number)[:, None, None]) + _LEAST
        bounds = value - taken + number[:, None, None] - error
        result[wanted] = np.nan_to_num(bounds, nan=-np.inf).max(axis=(1, 2))
        return result

    def _affine(
        self, layer: Layer, low: np.ndarray, high: np.ndarray, under: Affine, over: Affine
    ) -> tuple[Affine, Affine]:
        """Affine functions below and above a layer's symbols."""
        kind = layer.kind
        if kind == "sum":
            return under, over
        if kind == "ramp":
            return self._ramp(low, high, under, over)
        if kind == "product":
            return self._product(low, high, under, over)
        if kind == "square":
            return self._square(low, high, under, over)
        if kind == "floor" and np.floor_divide(low, layer.divisor) != np.floor_divide(high, layer.divisor):
            lost = (layer.divisor - 1) / layer.divisor if layer.rows.whole.all() else 1.0
            share = 1 / layer.divisor
            below, above = self._scaled(under, share, -lost), self._scaled(over, share, 0.0)
            return self._outwards(below, -1.0, lost), self._outwards(above, 1.0)
        below, above, _ = _finite(*results(layer, low, high))
        flat = np.zeros_like(under.slope)
        return Affine(flat, below), Affine(flat, above)

    def _scaled(self, affine: Affine, factor: np.ndarray | float, number: np.ndarray | float) -> Affine:
        """factor * affine + number, not yet rounded outwards; `_outwards` does that."""
        factor = np.broadcast_to(factor, affine.number.shape)
        return Affine(affine.slope * factor[:, None], affine.number * factor + number)

    def _outwards(self, affine: Affine, sign: float, more: np.ndarray | float = 0.0) -> Affine:
        """Moved by more than a few roundings of its terms."""
        pad = 16 * UNIT * (self.reach(affine) + more) + _LEAST
        return Affine(affine.slope, affine.number + sign * pad)

    def _ramp(self, low: np.ndarray, high: np.ndarray, under: Affine, over: Affine) -> tuple[Affine, Affine]:
        on, off = low >= 0, high <= 0
        split = ~(on | off)
        width = np.where(split, high - low, 1.0)
        slope = np.where(on, 1.0, np.where(off, 0.0, np.clip(high / width, 0.0, 1.0)))
        chord = self._scaled(over, slope, np.where(split, -slope * low, 0.0))
        padded = self._outwards(chord, 1.0, np.abs(low) + np.abs(high))
        number = np.where(split, padded.number, chord.number)
        tangent = np.where(on | (split & (high > -low)), 1.0, 0.0)
        return self._scaled(under, tangent, 0.0), Affine(chord.slope, number)

    def _product(
        self, low: np.ndarray, high: np.ndarray, under: Affine, over: Affine
    ) -> tuple[Affine, Affine]:
        """a*b is a*b0 + a0*b - a0*b0 and a remainder of at most (a - a0)*(b - b0), around any a0 and b0."""
        middle = (low + high) / 2
        reach = np.maximum(high - middle, middle - low) * (1 + 4 * UNIT)
        factors = middle[::-1]
        remainder = reach[0] * reach[1] * (1 + 4 * UNIT)
        sides = []
        for sign, one, other in ((-1.0, under, over), (1.0, over, under)):
            taken = [one if factor >= 0 else other for factor in factors]
            slope = sum(
                factor * side.slope[i] for i, (factor, side) in enumerate(zip(factors, taken, strict=True))
            )
            number = sum(
                factor * side.number[i] for i, (factor, side) in enumerate(zip(factors, taken, strict=True))
            )
            number = number - middle[0] * middle[1] + sign * remainder
            more = sum(
                abs(factor) * self.reach(side)[i]
                for i, (factor, side) in enumerate(zip(factors, taken, strict=True))
            )
            more += abs(middle[0] * middle[1])
            sides.append(self._outwards(Affine(np.array([slope]), np.array([number])), sign, more))
        return sides[0], sides[1]

    def _square(
        self, low: np.ndarray, high: np.ndarray, under: Affine, over: Affine
    ) -> tuple[Affine, Affine]:
        """a*a is at least its tangent around the middle, and at most so much more."""
        middle = (low + high) / 2
        reach = np.maximum(high - middle, middle - low) * (1 + 4 * UNIT)
        sides = []
        for sign, one, other, more in ((-1.0, under, over, 0.0 * reach), (1.0, over, under, reach * reach)):
            side = Affine(
                np.where(middle[:, None] >= 0, one.slope, other.slope),
                np.where(middle >= 0, one.number, other.number),
            )
            tangent = self._scaled(side, 2 * middle, more - middle * middle)
            size = 2 * np.abs(middle) * self.reach(side) + middle * middle + more
            sides.append(self._outwards(tangent, sign, size))
        return sides[0], sides[1]
