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
from weights2code.network.box import Box
from weights2code.network.difference import Difference, Layer
from weights2code.network.leaves import UNIT
from weights2code.network.sums import Rows

#: Boxes that are bounded at once, and in all.
_CHUNK, _MOST = 2048, 400_000
#: Seconds of a usual machine for a box and symbol.
_COST = 1.5e-8


class Unbounded(Exception):
    """A step that such bounds are not made for."""


@dataclass(slots=True)
class Forms:
    """Affine functions of the place: `center` (boxes, symbols) and `slope` (boxes, symbols, dimensions), each
    off by at most `off` (boxes, symbols)."""

    center: np.ndarray
    slope: np.ndarray
    off: np.ndarray


def upper_bound(
    difference: Difference, box: Box, output: int, effort: Effort, gap: float
) -> tuple[float, float, bool]:
    """What the absolute difference is at most, a value that it has, and whether both are `gap` near."""
    turn, low, high = _coordinates(box)
    matrix, limit = box.half_spaces
    inverse = np.linalg.inv(turn)
    cut, curved = matrix @ inverse, _curved(difference, inverse)
    if not curved.any():
        curved[:] = True
    center, radius = ((low + high) / 2)[None], ((high - low) / 2)[None]
    floor, settled, count, last = 0.0, 0.0, 0, np.inf
    widths = np.maximum(high - low, 1e-300)
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
            effort.spend(_COST * len(c) * (difference.symbols + 20) * (1 + len(low)))
            forms = _forms(difference, c, r, inverse)
            end = _row_forms(difference.outputs, forms, r)
            spread = np.einsum("bsd,bd->bs", np.abs(end.slope), r) + end.off
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
        axis = np.argmax(np.where(curved, radius / widths, -1.0), axis=1)
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
    return ((leaves - reach <= box.high + room) & (leaves + reach >= box.low - room)).all(axis=1)


def _contains(center: np.ndarray, inverse: np.ndarray, box: Box) -> np.ndarray:
    leaves = center @ inverse.T
    return ((leaves >= box.low) & (leaves <= box.high)).all(axis=1)


def _curved(difference: Difference, inverse: np.ndarray) -> np.ndarray:
    """Which coordinates something depends on that is not a sum."""
    reads = np.zeros((difference.symbols, inverse.shape[1]), bool)
    reads[: len(inverse)] = np.abs(inverse) > 1e-12
    bent = np.zeros(inverse.shape[1], bool)
    for layer in difference.layers:
        rows = layer.rows
        for row in range(layer.arguments):
            # what cancels in a sum does not count: steps between values are what most rules read
            exact = rows.weight[row] @ inverse[rows.reads] if (rows.reads < len(inverse)).all() else None
            own = (
                np.abs(exact) > 1e-12
                if exact is not None
                else reads[rows.reads[rows.weight[row] != 0]].any(0)
            )
            place = layer.first + (row // 2 if layer.kind == "product" else row)
            reads[place] |= own
            if layer.kind != "sum":
                bent |= own
    return bent


def _forms(difference: Difference, center: np.ndarray, radius: np.ndarray, inverse: np.ndarray) -> Forms:
    count, leaves, dims = len(center), len(inverse), inverse.shape[1]
    forms = Forms(
        np.zeros((count, difference.symbols)),
        np.zeros((count, difference.symbols, dims)),
        np.zeros((count, difference.symbols)),
    )
    forms.center[:, :leaves] = center @ inverse.T
    forms.slope[:, :leaves] = inverse
    # at every halving the middle is rounded, so that neighbours may leave a gap
    forms.off[:, :leaves] = 128 * UNIT * ((np.abs(center) + radius) @ np.abs(inverse).T)
    for layer in difference.layers:
        made = _through(layer, _row_forms(layer.rows, forms, radius), radius)
        where = slice(layer.first, layer.first + layer.results)
        forms.center[:, where], forms.slope[:, where], forms.off[:, where] = made.center, made.slope, made.off
    return forms


def _row_forms(rows: Rows, forms: Forms, radius: np.ndarray) -> Forms:
    """Weighted sums of forms."""
    read, weight = rows.reads, rows.weight
    center = forms.center[:, read] @ weight.T + rows.constant
    slope = np.einsum("bsd,rs->brd", forms.slope[:, read], weight)
    reach = np.einsum("bsd,bd->bs", np.abs(forms.slope[:, read]), radius)
    size = np.abs(forms.center[:, read]) + reach + forms.off[:, read]
    terms = (len(read) + 6) * UNIT
    off = forms.off[:, read] @ np.abs(weight).T
    off += (
        size @ (rows.slack + terms * np.abs(weight)).T + rows.constant_slack + terms * np.abs(rows.constant)
    )
    return Forms(center, slope, off * (1 + 4 * terms))


def _through(layer: Layer, rows: Forms, radius: np.ndarray) -> Forms:
    reach = np.einsum("bsd,bd->bs", np.abs(rows.slope), radius) + rows.off
    if layer.kind == "sum":
        return rows
    if layer.kind == "ramp":
        low, high = rows.center - reach, rows.center + reach
        width = np.where(high > low, high - low, 1.0)
        share = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, np.clip(high, 0, None) / width))
        above = np.where((low < 0) & (high > 0), -low * high / width, 0.0)  # the chord at zero
        moved = np.where(low >= 0, 0.0, np.where(high <= 0, 0.0, -low * share)) - above / 2
        center = share * rows.center + moved
        off = share * rows.off + above / 2 + 8 * UNIT * (np.abs(rows.center) + reach)
        return Forms(center, share[..., None] * rows.slope, off)
    if layer.kind == "square":
        center, bend = rows.center, reach**2 / 2
        off = 2 * np.abs(center) * rows.off + bend + 8 * UNIT * (np.abs(center) + reach) ** 2
        return Forms(center**2 + bend, 2 * center[..., None] * rows.slope, off)
    if layer.kind == "product":
        a, b = (slice(side, None, 2) for side in (0, 1))
        one, other = rows.center[:, a], rows.center[:, b]
        slope = one[..., None] * rows.slope[:, b] + other[..., None] * rows.slope[:, a]
        off = np.abs(one) * rows.off[:, b] + np.abs(other) * rows.off[:, a] + reach[:, a] * reach[:, b]
        off += 8 * UNIT * (np.abs(one) + reach[:, a]) * (np.abs(other) + reach[:, b])
        return Forms(one * other, slope, off)
    raise Unbounded(layer.kind)
