"""The largest difference of reals over a box of few dimensions: many small boxes at once.

A smooth rule against a network of many units has no large pieces; what helps is to cut the box small, and to
bound all parts in one go. Every value on the way is kept as an affine function of the place in its box, with
what it may be off: a ramp that is undecided by its chord, a product by its tangent plane. Where the bound is
too large, boxes are halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.effort import Effort
from weights2code.network.bounds.box import Box
from weights2code.network.bounds.difference import Difference, Layer
from weights2code.network.bounds.leaves import UNIT
from weights2code.network.bounds.sums import Rows

#: Boxes that are bounded at once, and in all.
_CHUNK, _MOST = 2048, 400_000
#: Seconds of a usual machine for a box and symbol.
_COST = 1e-8


class Unbounded(Exception):
    """A step that such bounds are not made for."""


@dataclass(slots=True)
class Forms:
    """Affine functions of the place, `center` (boxes, symbols), each off by at most `off` (boxes, symbols).

    The slope of each is `share` (boxes, symbols) of `base` (symbols, dimensions), which is the same in all
    boxes; or, without a base, `share` has the dimensions as one more axis.
    """

    center: np.ndarray
    off: np.ndarray
    share: np.ndarray
    base: np.ndarray | None = None

    def reach(self, radius: np.ndarray) -> np.ndarray:
        """How far each goes from its center in its box."""
        if self.base is None:
            return np.einsum("bsd,bd->bs", np.abs(self.share), radius)
        return np.abs(self.share) * (radius @ np.abs(self.base).T)

    def slopes(self) -> np.ndarray:
        """(boxes, symbols, dimensions)."""
        return self.share if self.base is None else self.share[..., None] * self.base

    def weighted(self, weight: np.ndarray) -> np.ndarray:
        """Slopes (boxes, rows, dimensions) of weighted sums, `weight` being (rows, symbols)."""
        if self.base is None:
            return np.einsum("bsd,rs->brd", self.share, weight)
        return np.stack([(self.share * row) @ self.base for row in weight], axis=1)


def upper_bound(
    difference: Difference, box: Box, output: int, effort: Effort, gap: float
) -> tuple[float, float, bool]:
    """What the absolute difference is at most, a value that it has, and whether both are `gap` near."""
    turn, low, high = _coordinates(box)
    matrix, limit = box.half_spaces
    inverse = np.linalg.inv(turn)
    cut, bending = matrix @ inverse, _bending(difference, inverse) + 1e-300
    center, radius = ((low + high) / 2)[None], ((high - low) / 2)[None]
    floor, settled, count, last = 0.0, 0.0, 0, np.inf
    while len(center) and (last == np.inf or (count < _MOST and not effort.spent())):
        kept_center, kept_radius, kept_upper = [], [], []
        for start in range(0, len(center), _CHUNK):
            c, r = center[start : start + _CHUNK], radius[start : start + _CHUNK]
            inside = (c @ cut.T - r @ np.abs(cut).T <= limit + 1e-9 * (1 + np.abs(limit))).all(axis=1)
            inside &= _within(c, r, inverse, box)
            c, r = c[inside], r[inside]
            if not len(c):
                continue
            count += len(c)
            effort.spend(_COST * len(c) * (3 * difference.symbols + 60))
            forms = _forms(difference, c, r, inverse)
            end = _row_forms(difference.outputs, forms, r)
            spread = end.reach(r) + end.off
            upper = np.nan_to_num((np.abs(end.center) + spread)[:, output], nan=np.inf, posinf=np.inf)
            own = (c @ cut.T <= limit).all(axis=1) & _contains(c, inverse, box)
            there = np.abs(end.center[:, output]) - end.off[:, output]
            floor = max(floor, float(np.max(there, where=own, initial=0.0)))
            kept_center.append(c)
            kept_radius.append(r)
            kept_upper.append(upper)
        if not kept_center:
            return max(settled, floor), floor, True
        center, radius = np.concatenate(kept_center), np.concatenate(kept_radius)
        upper = np.concatenate(kept_upper)
        done = upper <= (1 + gap) * floor
        settled = max(settled, float(np.max(upper, where=done, initial=0.0)))
        waiting = float(np.max(upper, where=~done, initial=0.0))
        center, radius = center[~done], radius[~done]
        if not len(center):
            return max(settled, floor), floor, True
        axis = np.argmax(radius * bending, axis=1)
        rows = np.arange(len(center))
        radius = radius.copy()
        radius[rows, axis] /= 2
        step = np.zeros_like(center)
        step[rows, axis] = radius[rows, axis]
        if 2 * len(center) > _MOST:
            return max(settled, waiting), floor, False
        last = max(settled, waiting)
        center, radius = np.concatenate([center - step, center + step]), np.concatenate([radius, radius])
    return (last if len(center) else settled), floor, not len(center)


def _coordinates(box: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates in which the half spaces are sides of a box as far as that goes: steps between neighbouring
    values in place of the later ones."""
    turn = np.eye(len(box.leaves))
    low, high = np.asarray(box.low, float).copy(), np.asarray(box.high, float).copy()
    matrix, limit = box.half_spaces
    for row, most in zip(matrix, limit, strict=True):
        read = np.flatnonzero(row)
        if len(read) == 2 and set(row[read]) == {1.0, -1.0}:
            first, second = sorted(read, key=lambda place: box.leaves[place].lag)
            sign = row[first]
            if turn[second, second] == 1.0 and not turn[second, first]:
                turn[second, second], turn[second, first] = -1.0, 1.0  # the nearer less the farther
                low[second], high[second] = low[first] - high[second], high[first] - low[second]
            if sign > 0:
                high[second] = min(high[second], most)
            else:
                low[second] = max(low[second], -most)
    return turn, low, high


def _within(center: np.ndarray, radius: np.ndarray, inverse: np.ndarray, box: Box) -> np.ndarray:
    """Whether a part of each small box may lie in the box of the leaves."""
    leaves, reach = center @ inverse.T, radius @ np.abs(inverse).T
    room = 1e-9 * (1 + np.maximum(np.abs(box.low), np.abs(box.high)))
    return np.all((leaves - reach <= box.high + room) & (leaves + reach >= box.low - room), axis=1)


def _contains(center: np.ndarray, inverse: np.ndarray, box: Box) -> np.ndarray:
    leaves = center @ inverse.T
    return np.all((leaves >= box.low) & (leaves <= box.high), axis=1)


def _bending(difference: Difference, inverse: np.ndarray) -> np.ndarray:
    """How much each coordinate moves what is not a sum: cutting it shows the more."""
    reads = np.zeros((difference.symbols, inverse.shape[1]))
    reads[: len(inverse)] = inverse  # what cancels in a sum of leaves does not count
    moved = np.zeros(inverse.shape[1])
    for layer in difference.layers:
        own = layer.rows.weight @ reads[layer.rows.reads]
        if (layer.rows.reads >= len(inverse)).any():
            own = np.abs(layer.rows.weight) @ np.abs(reads[layer.rows.reads])
        if layer.kind != "sum":
            moved = np.maximum(moved, np.abs(own).max(axis=0, initial=0.0))
        made = own if layer.kind != "product" else np.abs(own[::2]) + np.abs(own[1::2])
        reads[layer.first : layer.first + layer.results] = made
    return moved


def _forms(
    difference: Difference, center: np.ndarray, radius: np.ndarray, inverse: np.ndarray
) -> list[_Block]:
    """The forms of all symbols, the leaves first, layer by layer."""
    count, leaves = len(center), len(inverse)
    # at every halving the middle is rounded, so that neighbours may leave a gap
    off = 128 * UNIT * ((np.abs(center) + radius) @ np.abs(inverse).T)
    known = [_Block(0, leaves, Forms(center @ inverse.T, off, np.ones((count, leaves)), inverse))]
    for layer in difference.layers:
        made = _through(layer, _row_forms(layer.rows, known, radius), radius)
        known.append(_Block(layer.first, layer.first + layer.results, made))
    return known


@dataclass(slots=True)
class _Block:
    """The forms of the symbols from `first` to before `last`."""

    first: int
    last: int
    forms: Forms


def _row_forms(rows: Rows, known: list[_Block], radius: np.ndarray) -> Forms:
    """Weighted sums of forms; where all that is read has the same slope in every box, so has the sum."""
    terms = (len(rows.reads) + 6) * UNIT
    center = np.broadcast_to(rows.constant, (len(radius), len(rows.constant))).copy()
    off = np.broadcast_to(rows.constant_slack + terms * np.abs(rows.constant), center.shape).copy()
    slope: np.ndarray | None = None
    fixed: np.ndarray | None = None
    for block in known:
        places = np.flatnonzero((rows.reads >= block.first) & (rows.reads < block.last))
        if not len(places):
            continue
        read, weight, forms = rows.reads[places] - block.first, rows.weight[:, places], block.forms
        base = None if forms.base is None else forms.base[read]
        part = Forms(forms.center[:, read], forms.off[:, read], forms.share[:, read], base)
        size = np.abs(part.center) + part.reach(radius) + part.off
        center += part.center @ weight.T
        off += part.off @ np.abs(weight).T + size @ (rows.slack[:, places] + terms * np.abs(weight)).T
        if not block.first and base is not None:
            fixed = weight @ base  # leaves
        else:
            more = part.weighted(weight)
            slope = more if slope is None else slope + more
    off *= 1 + 4 * terms
    if slope is None:
        fixed = np.zeros((center.shape[1], radius.shape[1])) if fixed is None else fixed
        return Forms(center, off, np.ones(center.shape), fixed)
    return Forms(center, off, slope if fixed is None else slope + fixed)


def _through(layer: Layer, rows: Forms, radius: np.ndarray) -> Forms:
    if layer.kind == "sum":
        return rows
    reach = rows.reach(radius) + rows.off
    if layer.kind == "ramp":
        low, high = rows.center - reach, rows.center + reach
        width = np.where(high > low, high - low, 1.0)
        share = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, np.clip(high, 0, None) / width))
        above = np.where((low < 0) & (high > 0), -low * high / width, 0.0)  # the chord at zero
        moved = np.where((low >= 0) | (high <= 0), 0.0, -low * share) - above / 2
        off = share * rows.off + above / 2 + 8 * UNIT * (np.abs(rows.center) + reach)
        wider = share if rows.base is not None else share[..., None]
        return Forms(share * rows.center + moved, off, wider * rows.share, rows.base)
    if layer.kind == "square":
        center, bend = rows.center, reach**2 / 2
        off = 2 * np.abs(center) * rows.off + bend + 8 * UNIT * (np.abs(center) + reach) ** 2
        return Forms(center**2 + bend, off, 2 * center[..., None] * rows.slopes())
    if layer.kind == "product":
        a, b = (slice(side, None, 2) for side in (0, 1))
        one, other, slopes = rows.center[:, a], rows.center[:, b], rows.slopes()
        slope = one[..., None] * slopes[:, b] + other[..., None] * slopes[:, a]
        off = np.abs(one) * rows.off[:, b] + np.abs(other) * rows.off[:, a] + reach[:, a] * reach[:, b]
        off += 8 * UNIT * (np.abs(one) + reach[:, a]) * (np.abs(other) + reach[:, b])
        return Forms(one * other, off, slope)
    raise Unbounded(layer.kind)
