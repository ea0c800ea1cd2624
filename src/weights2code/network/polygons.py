"""The largest difference where two coordinates matter: the plane is cut along the kinks of the network.

A network of many small pieces against a smooth rule: small boxes only come near at a kink as fast as they
shrink, while a polygon that ends at it is exact there. Many polygons are bounded at once, each with affine
bounds of all values on it, and those whose bound is too large are cut along the kink that costs most, or
through the middle if what costs most is bent.

Corners that a cut makes are rounded, so that neighbours may leave a gap as wide as a few roundings. That is
why every leaf is taken to be off by more than all cuts together can leave out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from weights2code.effort import Effort
from weights2code.network.box import Box
from weights2code.network.difference import Difference, Layer
from weights2code.network.leaves import UNIT
from weights2code.network.many_boxes import Unbounded, _coordinates
from weights2code.network.sums import Rows

#: Polygons that are bounded at once, and in all; rounds of cuts.
_CHUNK, _MOST, _ROUNDS = 1024, 200_000, 400
#: Seconds of a usual machine for a polygon and symbol.
_COST = 2e-7
#: More than the corners of neighbours can be apart after all rounds, as a share of the coordinates.
_APART = 16 * _ROUNDS * UNIT
#: What a coordinate moves is nothing below this share of what others do.
_NOTHING = 1e-6
#: A corner counts as inside up to this share.
_ROOM = 1e-9


@dataclass(slots=True)
class Forms:
    """Affine functions of the place: `center` (polygons, symbols) is the value in the middle, `slope` has the
    coordinates as one more axis; each is off by at most `off` (polygons, symbols)."""

    center: np.ndarray
    slope: np.ndarray
    off: np.ndarray


@dataclass(slots=True)
class Polygons:
    """`corners` (polygons, most, 2) in order, of which the first `count` (polygons,) of each are its own."""

    corners: np.ndarray
    count: np.ndarray

    def take(self, which: np.ndarray | slice) -> Polygons:
        count = self.count[which]
        return Polygons(self.corners[which, : int(count.max(initial=1))], count)

    def filled(self) -> np.ndarray:
        """Corners (polygons, most, 2), where places that are not its own repeat the first one."""
        own = np.arange(self.corners.shape[1]) < self.count[:, None]
        return np.where(own[..., None], self.corners, self.corners[:, :1])

    def cut(self, normal: np.ndarray, number: np.ndarray) -> Polygons:
        """Both sides of a line each: where normal @ corner + number is not positive, and not negative."""
        most = self.corners.shape[1]
        place = np.arange(most)
        own = place < self.count[:, None]
        after = np.where(place + 1 < self.count[:, None], place + 1, 0)
        height = np.einsum("pvk,pk->pv", self.corners, normal) + number[:, None]
        next_height = np.take_along_axis(height, after, 1)
        ends = np.take_along_axis(self.corners, after[..., None], 1)
        crossing = own & (np.sign(height) * np.sign(next_height) < 0)
        share = np.where(crossing, height / np.where(crossing, height - next_height, 1.0), 0.0)[..., None]
        between = self.corners + share * (ends - self.corners)
        sides = [
            _gathered(self.corners, own & keep, between, crossing) for keep in (height <= 0, height >= 0)
        ]
        width = max(side.corners.shape[1] for side in sides)
        wide = [np.pad(side.corners, ((0, 0), (0, width - side.corners.shape[1]), (0, 0))) for side in sides]
        return Polygons(np.concatenate(wide), np.concatenate([side.count for side in sides]))


def _gathered(corners: np.ndarray, kept: np.ndarray, between: np.ndarray, crossing: np.ndarray) -> Polygons:
    """The kept corners and the new ones after them, in order, moved to the front."""
    count, most = kept.shape
    everything = np.stack([corners, between], 2).reshape(count, 2 * most, 2)
    own = np.stack([kept, crossing], 2).reshape(count, 2 * most)
    order = np.argsort(~own, axis=1, kind="stable")[:, : max(1, int(own.sum(axis=1).max(initial=1)))]
    return Polygons(np.take_along_axis(everything, order[..., None], 1), own.sum(axis=1))


def bound_in_plane(
    difference: Difference, box: Box, output: int, effort: Effort, gap: float
) -> tuple[float, float, bool]:
    """What the absolute difference is at most, a value that it has, and whether both are `gap` near.

    Raises `Unbounded` where not two coordinates matter, or a step is of another kind.
    """
    turn, low, high = _coordinates(box)
    inverse = np.linalg.inv(turn)
    axes = np.flatnonzero(_bent(difference, inverse, (high - low) / 2))
    if len(axes) != 2:
        raise Unbounded("not two coordinates")
    plane = _Plane(difference, box, output, inverse, axes, low, high)
    wide = _APART * (np.abs(low) + np.abs(high))[axes]
    (left, bottom), (right, top) = low[axes] - wide, high[axes] + wide
    waiting = Polygons(
        np.array([[[left, bottom], [right, bottom], [right, top], [left, top]]]), np.array([4])
    )
    lower, settled, last, count = 0.0, 0.0, np.inf, 0
    for _ in range(_ROUNDS):
        kept: list[Polygons] = []
        uppers: list[np.ndarray] = []
        for start in range(0, len(waiting.count), _CHUNK):
            some = waiting.take(slice(start, start + _CHUNK))
            effort.spend(_COST * len(some.count) * (difference.symbols + 20))
            bounded = plane.bounded(some)
            lower = max(lower, bounded.lower)
            kept.append(some.take(bounded.inside).cut(bounded.normal, bounded.number))
            uppers.append(np.tile(bounded.upper, 2))
            count += len(some.count)
        upper = np.concatenate(uppers)
        open_ones = upper > (1 + gap) * lower
        settled = max(settled, float(np.max(upper, where=~open_ones, initial=0.0)))
        last = max(settled, float(np.max(upper, where=open_ones, initial=0.0)))
        if not open_ones.any():
            return max(last, lower), lower, True
        if count > _MOST or effort.spent():
            break
        waiting = _joined(kept, open_ones)
    return max(last, lower), lower, False


def _joined(parts: list[Polygons], chosen: np.ndarray) -> Polygons:
    width = max(part.corners.shape[1] for part in parts)
    corners = [np.pad(part.corners, ((0, 0), (0, width - part.corners.shape[1]), (0, 0))) for part in parts]
    whole = Polygons(np.concatenate(corners), np.concatenate([part.count for part in parts]))
    return whole.take(chosen & (whole.count >= 3))


@dataclass(slots=True)
class Bounded:
    """Of polygons, which may lie `inside` the region; of these the bound, and the line to cut them by."""

    inside: np.ndarray
    upper: np.ndarray
    lower: float
    normal: np.ndarray
    number: np.ndarray


@dataclass(slots=True)
class _Plane:
    """The difference as a function of two coordinates `axes`; in all others it is affine."""

    difference: Difference
    box: Box
    output: int
    inverse: np.ndarray
    axes: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def bounded(self, polygons: Polygons) -> Bounded:
        corners = polygons.filled()
        middle = corners.mean(axis=1)
        apart = corners - middle[:, None]
        center = np.tile((self.low + self.high) / 2, (len(corners), 1))
        wide = (self.high - self.low) / 2 + 8 * UNIT * (np.abs(self.low) + np.abs(self.high))
        radius = np.tile(wide, (len(corners), 1))
        center[:, self.axes], radius[:, self.axes] = middle, np.abs(apart).max(axis=1) * (1 + 4 * UNIT)
        inside = self._inside(center, radius)
        corners, apart, center, radius = corners[inside], apart[inside], center[inside], radius[inside]
        forms, normal, number = self._forms(center, radius, apart)
        end = _sums(self.difference.outputs, forms, radius)
        level, rise = end.center[:, self.output], self._rise(end.slope[:, [self.output]], apart)[:, 0]
        values, flat = level[:, None] + rise, self._flat(end.slope[:, self.output], radius)
        size = np.abs(level) + np.abs(rise).max(axis=1, initial=0.0) + flat
        off = end.off[:, self.output] + 16 * UNIT * size
        upper = np.abs(values).max(axis=1, initial=0.0) + flat + off
        reached = 0.0
        for sign, share in product(
            (1.0, -1.0), (0.0, 1.0)
        ):  # the other coordinates in the middle, or at ends
            place = center + share * sign * np.sign(end.slope[:, self.output]) * radius
            value = sign * values + (share * flat - off)[:, None]
            reached = max(reached, float(value.max(where=self._own(corners, place), initial=0.0)))
        upper = np.nan_to_num(upper, nan=np.inf, posinf=np.inf)
        return Bounded(inside, upper, reached, normal, number)

    def _inside(self, center: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Whether a part of each polygon may lie in the region."""
        matrix, limit = self.box.half_spaces
        leaves, reach = center @ self.inverse.T, radius @ np.abs(self.inverse).T
        room = _ROOM * (1 + np.maximum(np.abs(self.box.low), np.abs(self.box.high)))
        inside = (leaves - reach <= self.box.high + room) & (leaves + reach >= self.box.low - room)
        cut = matrix @ self.inverse
        within = center @ cut.T - radius @ np.abs(cut).T <= limit + _ROOM * (1 + np.abs(limit))
        return np.concatenate([inside, within], axis=1).all(axis=1)  # type: ignore[return-value]

    def _own(self, corners: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Which corners are points of the region, where all other coordinates have their `place`."""
        matrix, limit = self.box.half_spaces
        points = np.repeat(place[:, None], corners.shape[1], axis=1)
        points[..., self.axes] = corners
        leaves = points @ self.inverse.T
        room = _ROOM * (1 + np.maximum(np.abs(self.box.low), np.abs(self.box.high)))
        own = (leaves <= self.box.high + room) & (leaves >= self.box.low - room)
        within = leaves @ matrix.T <= limit + _ROOM * (1 + np.abs(limit))
        return np.concatenate([own, within], axis=-1).all(axis=-1)  # type: ignore[return-value]

    def _rise(self, slope: np.ndarray, apart: np.ndarray) -> np.ndarray:
        """How far affine functions (polygons, k) rise from the middle to each corner."""
        return np.einsum("pkd,pvd->pkv", slope[..., self.axes], apart)

    def _flat(self, slope: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """How far they rise along the other coordinates."""
        others = np.setdiff1d(np.arange(slope.shape[-1]), self.axes)
        wide = radius[:, others] if slope.ndim == 2 else radius[:, None, others]
        return (np.abs(slope[..., others]) * wide).sum(axis=-1)

    def _forms(
        self, center: np.ndarray, radius: np.ndarray, apart: np.ndarray
    ) -> tuple[Forms, np.ndarray, np.ndarray]:
        """All symbols on polygons, and the line to cut each polygon by."""
        count, leaves, symbols = len(center), len(self.inverse), self.difference.symbols
        forms = Forms(
            np.zeros((count, symbols)),
            np.zeros((count, symbols, center.shape[1])),
            np.zeros((count, symbols)),
        )
        forms.center[:, :leaves] = center @ self.inverse.T
        forms.slope[:, :leaves] = self.inverse
        forms.off[:, :leaves] = _APART * ((np.abs(center) + radius) @ np.abs(self.inverse).T)
        middle, at = self._halved(center, radius)
        cost, normal, number = np.zeros(count), middle, at
        weight = _weights(self.difference, self.output)
        for layer in self.difference.layers:
            rows = _sums(layer.rows, forms, radius)
            rise = self._rise(rows.slope, apart)
            more = self._flat(rows.slope, radius) + rows.off
            pad = 8 * UNIT * (np.abs(rows.center) + np.abs(rise).max(axis=-1, initial=0.0) + more)
            low = rows.center + rise.min(axis=-1, initial=np.inf) - more - pad
            high = rows.center + rise.max(axis=-1, initial=-np.inf) + more + pad
            made, width = _through(layer, rows, low, high)
            where = slice(layer.first, layer.first + layer.results)
            forms.center[:, where], forms.slope[:, where], forms.off[:, where] = (
                made.center,
                made.slope,
                made.off,
            )
            costs = weight[where] * width
            if layer.kind == "ramp":  # only a line that meets the polygon can cut it
                meets = (rows.center + rise.min(axis=-1) < 0) & (rows.center + rise.max(axis=-1) > 0)
                costs = np.where(meets, costs, 0.0)
            if layer.kind == "ramp" and costs.size:
                worst = costs.argmax(axis=1)
                each = np.arange(count)
                better = costs[each, worst] > cost
                line = rows.slope[each, worst][:, self.axes]
                zero = rows.center[each, worst] - np.einsum("pk,pk->p", line, center[:, self.axes])
                normal, number = np.where(better[:, None], line, normal), np.where(better, zero, number)
                cost = np.where(better, costs[each, worst], cost)
            elif costs.size:  # what is bent is better after a cut through the middle
                bent = costs.max(axis=1)
                better = bent > cost
                normal, number = np.where(better[:, None], middle, normal), np.where(better, at, number)
                cost = np.where(better, bent, cost)
        return forms, normal, number

    def _halved(self, center: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lines through the middle, across the wider coordinate."""
        widths = np.maximum((self.high - self.low)[self.axes], 1e-300)
        across = (radius[:, self.axes] / widths).argmax(axis=1)
        normal = np.eye(2)[across]
        number = -np.einsum("pk,pk->p", normal, center[:, self.axes])
        return normal, number


def _sums(rows: Rows, forms: Forms, radius: np.ndarray) -> Forms:
    """Weighted sums of forms."""
    read, weight = rows.reads, rows.weight
    center = forms.center[:, read] @ weight.T + rows.constant
    slope = np.einsum("psd,rs->prd", forms.slope[:, read], weight)
    reach = np.einsum("psd,pd->ps", np.abs(forms.slope[:, read]), radius)
    size = np.abs(forms.center[:, read]) + reach + forms.off[:, read]
    terms = (len(read) + 6) * UNIT
    off = forms.off[:, read] @ np.abs(weight).T + size @ (rows.slack + terms * np.abs(weight)).T
    off += rows.constant_slack + terms * np.abs(rows.constant)
    return Forms(center, slope, off * (1 + 4 * terms))


def _bent(difference: Difference, inverse: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Along which coordinates something that is not a sum moves; next to nothing counts as nothing."""
    moves = np.zeros((difference.symbols, len(radius)), bool)
    bent = np.zeros(len(radius), bool)
    moves[: len(inverse)] = np.abs(inverse) > 0
    for layer in difference.layers:
        rows = layer.rows
        if (rows.reads < len(inverse)).all():
            reach = np.abs(rows.weight @ inverse[rows.reads]) * radius
            own = reach > _NOTHING * reach.max(axis=1, keepdims=True)
        else:
            own = (np.abs(rows.weight) @ moves[rows.reads]) > 0
        own = own.any(axis=0, keepdims=True) if layer.kind == "product" else own
        moves[layer.first : layer.first + layer.results] = own
        if layer.kind != "sum":
            bent |= own.any(axis=0)
    return bent


def _weights(difference: Difference, output: int) -> np.ndarray:
    """About how much each symbol counts for the output: weights on the way, of sums and ramps."""
    weight = np.zeros(difference.symbols)
    weight[difference.outputs.reads] = np.abs(difference.outputs.weight[output])
    for layer in reversed(difference.layers):
        own = weight[layer.first : layer.first + layer.results]
        through = np.repeat(own, 2) if layer.kind == "product" else own
        np.add.at(weight, layer.rows.reads, np.abs(layer.rows.weight).T @ through)
    return weight


def _through(layer: Layer, rows: Forms, low: np.ndarray, high: np.ndarray) -> tuple[Forms, np.ndarray]:
    """A layer's symbols, and by how much each is wider than its rows make it."""
    if layer.kind == "sum":
        return rows, np.zeros_like(low)
    size = np.maximum(np.abs(low), np.abs(high))
    if layer.kind == "ramp":
        on, off = low >= 0, high <= 0
        split = ~(on | off)
        share = np.where(
            split, np.clip(high / np.where(split, high - low, 1.0), 0.0, 1.0), np.where(on, 1.0, 0.0)
        )
        half = np.where(split, -low * share / 2, 0.0)
        pad = np.where(split, 16 * UNIT * size, 0.0)
        center = share * rows.center + half
        return Forms(center, share[..., None] * rows.slope, share * rows.off + half + pad), half
    middle = (low + high) / 2
    reach = np.maximum(high - middle, middle - low) * (1 + 4 * UNIT)
    if layer.kind == "square":
        bend = reach**2 / 2
        center = 2 * middle * rows.center - middle**2 + bend
        off = 2 * np.abs(middle) * rows.off + bend + 32 * UNIT * (size**2 + np.abs(middle * rows.center))
        return Forms(center, 2 * middle[..., None] * rows.slope, off), bend
    if layer.kind == "product":
        (a, b), (one, other) = (slice(0, 1), slice(1, 2)), (middle[:, :1], middle[:, 1:])
        center = one * rows.center[:, b] + other * rows.center[:, a] - one * other
        slope = one[..., None] * rows.slope[:, b] + other[..., None] * rows.slope[:, a]
        bend = reach[:, :1] * reach[:, 1:]
        off = np.abs(one) * rows.off[:, b] + np.abs(other) * rows.off[:, a] + bend
        sizes = (size[:, a] + np.abs(rows.center[:, a])) * (size[:, b] + np.abs(rows.center[:, b]))
        return Forms(center, slope, off + 32 * UNIT * sizes), bend
    raise Unbounded(layer.kind)
