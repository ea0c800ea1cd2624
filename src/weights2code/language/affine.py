"""How large an expression gets over many boxes of its leaves at once, as numbers that it does not pass.

It is written as weighted sums of leaves and of a few functions of such sums (`written`). Then every value is
an affine function of the place in its box and a number that it may be off by: a ramp that is undecided by its
chord, a product by its tangent plane. What float64 rounds on the way is part of that number.

Boxes are halved from the whole region down, so they cover it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from weights2code.language import Expr, Var
from weights2code.language.sums import Steps, Sum, Unwritten, Writing

#: Boxes that are bounded at once, and points tried at first.
CHUNK, _SAMPLES = 512, 1024
#: A bound is near enough to what was seen if it is larger by this share.
_GAP = 0.1
#: Float64 rounds by at most this share; more than is lost next to zero.
UNIT, LEAST = 2.0**-53, 1e-300
#: Whole numbers are told apart up to here.
_EXACT = 2.0**53


class Forms(NamedTuple):
    """`center` + `slope` * (place - middle of the box), off by at most `off`; all of it within `reach` of the
    center. (symbols, boxes), slopes (symbols, leaves, boxes)."""

    center: np.ndarray
    slope: np.ndarray
    off: np.ndarray
    reach: np.ndarray


class Layer(NamedTuple):
    """Functions of one kind, of rows of weighted sums of `reads`; a product takes two rows.

    `slack` says how far weights are from the fractions that are meant; `whole` rows are whole numbers.
    """

    kind: str
    places: np.ndarray
    reads: np.ndarray
    weight: np.ndarray
    slack: np.ndarray
    whole: np.ndarray
    divisor: np.ndarray = np.ones(1)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """Leaves are the symbols from 1 on; the last layer's rows are what was asked for."""

    leaves: int
    whole: np.ndarray
    symbols: int
    layers: tuple[Layer, ...]
    targets: Layer

    @np.errstate(all="ignore")
    def over(self, low: np.ndarray, high: np.ndarray) -> Forms:
        """The targets on boxes (leaves, boxes)."""
        count, number = low.shape[1], self.symbols
        slope = np.zeros((number, self.leaves, count))
        known = Forms(np.zeros((number, count)), slope, *np.zeros((2, number, count)))
        middle = low / 2 + high / 2
        radius = np.maximum(high - middle, middle - low) * (1 + 4 * UNIT)
        known.center[0], known.center[1 : self.leaves + 1] = 1.0, middle
        known.slope[np.arange(self.leaves) + 1, np.arange(self.leaves)] = 1.0
        known.reach[1 : self.leaves + 1] = radius
        lost = np.zeros(count, bool)
        for layer in self.layers:
            rows = _finite(_sums(layer, known, radius), lost)
            made = _finite(_through(layer, rows, radius), lost)
            for whole, part in zip(known, made, strict=True):
                whole[layer.places] = part
        found = _finite(_sums(self.targets, known, radius), lost)
        found.reach[:, lost] = inf
        return found

    def upper(self, forms: Forms) -> np.ndarray:
        """What the first target is at most, up to its sign, in each box where the others may be positive or
        zero; minus infinity elsewhere."""
        upper = (np.abs(forms.center[0]) + forms.reach[0]) * (1 + 4 * UNIT)
        empty = (forms.center[1:] + forms.reach[1:] < 0).any(axis=0)
        return np.where(empty, -inf, upper)


def write(steps: Steps, targets: Sequence[Expr], leaves: Sequence[Var], whole: Sequence[bool]) -> Written:
    """Targets that are made of the leaves by the steps; raises `Unwritten` if something cannot be bounded."""
    writing = Writing(leaves, whole)
    writing.steps(steps)
    sums = tuple(writing.of(target) for target in targets)
    depth, levels = dict.fromkeys(range(len(leaves) + 1), 0), {}
    for place, atom in writing.atoms.items():
        depth[place] = 1 + max((depth[read] for item in atom.sums for read in item), default=0)
        levels.setdefault((depth[place], atom.kind), []).append(place)
    layers = [_layer(kind, levels[level, kind], writing) for level, kind in sorted(levels)]
    last = Layer("sum", np.arange(0), *_rows(sums, writing))
    return Written(len(leaves), np.array(whole, bool), len(writing.whole), tuple(layers), last)


def _layer(kind: str, places: list[int], writing: Writing) -> Layer:
    atoms = [writing.atoms[place] for place in places]
    if any(atom.divisor > _EXACT for atom in atoms):
        raise Unwritten("a divisor beyond float64")
    rows = _rows([item for atom in atoms for item in atom.sums], writing)
    return Layer(kind, np.array(places), *rows, np.array([float(atom.divisor) for atom in atoms]))


def _rows(sums: Sequence[Sum], writing: Writing) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fractions become the nearest floats; how far these are off is the slack."""
    reads = sorted({place for item in sums for place in item} | {0})
    column = {place: i for i, place in enumerate(reads)}
    weight, slack = np.zeros((2, len(sums), len(reads)))
    for row, item in enumerate(sums):
        for place, value in item.items():
            if abs(value) > 1 << 1000:
                raise Unwritten("a weight beyond float64")
            near = float(value)
            weight[row, column[place]] = near
            slack[row, column[place]] = 0.0 if near == value else 2 * UNIT * abs(near) + LEAST
    whole = np.array([writing.is_whole(item) for item in sums], bool)
    return np.array(reads), weight, slack, whole


def largest(written: Written, low: np.ndarray, high: np.ndarray, most: int) -> tuple[float, bool]:
    """What the first target is at most, up to its sign, in a region (leaves,) where the others are not
    negative, and whether a value was seen that is nearly as large.

    Boxes whose bound is too large, by a tenth than a value that was seen, are halved along the leaf that
    moves most of what is not linear. No more than `most` boxes are looked at.
    """
    rng = np.random.default_rng(0)
    share = rng.uniform(size=(len(low), _SAMPLES))
    share[:, ::2] = np.rint(share[:, ::2])  # corners
    some = low[:, None] + share * (high - low)[:, None]
    some = np.clip(np.where(written.whole[:, None], np.rint(some), some), low[:, None], high[:, None])
    seen, settled, count = _bounds(written, some, some)[1], 0.0, 0
    lows, highs, bending = low[:, None], high[:, None], _bending(written) + 1e-300
    while True:
        count += lows.shape[1]
        upper, there, steep = _bounds(written, lows, highs)
        seen = max(seen, there)
        width = (highs - lows) * (bending[:, None] + steep)
        small = upper <= (1 + _GAP) * seen
        waiting = ~(small | (width.max(axis=0, initial=0.0) <= 0))
        if not waiting.any() or count + 2 * waiting.sum() > most:
            return max(settled, float(upper.max(initial=0.0))), not waiting.any()
        settled = max(settled, float(np.max(upper, where=~waiting, initial=0.0)))
        axis = np.argmax(width, axis=0)[waiting]
        lows, highs = _halved(written.whole, lows[:, waiting], highs[:, waiting], axis)


def _bounds(written: Written, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """The bound of each box; a value that is reached at the middle of one; and the slopes of boxes that lie
    inside in part: there the middle may tell more."""
    upper, seen, steep = [], 0.0, []
    for begin in range(0, low.shape[1], CHUNK):
        a, b = low[:, begin : begin + CHUNK], high[:, begin : begin + CHUNK]
        forms = written.over(a, b)
        upper.append(written.upper(forms))
        cut = (forms.center[1:] - forms.reach[1:] < 0).any(axis=0)
        steep.append(np.where(cut, np.abs(forms.slope[0]), 0.0))
        middle = (a + b) / 2
        inside = ~((middle != np.rint(middle)) & written.whole[:, None]).any(axis=0)
        inside &= (forms.center[1:] - forms.off[1:] >= 0).all(axis=0) & np.isfinite(forms.reach[0])
        there = np.abs(forms.center[0]) - forms.off[0]
        seen = max(seen, float(np.max(there, where=inside, initial=0.0)))
    return np.concatenate(upper), seen, np.concatenate(steep, axis=1)


def _bending(written: Written) -> np.ndarray:
    """How much each leaf moves what is not linear, times what that counts in the target."""
    moved, counts = np.zeros((written.symbols, written.leaves)), np.zeros(written.symbols)
    moved[np.arange(written.leaves) + 1, np.arange(written.leaves)] = 1.0
    rows = []
    for layer in written.layers:
        own = np.abs(layer.weight @ moved[layer.reads])
        rows.append(own[::2] + own[1::2] if layer.kind == "product" else own)
        moved[layer.places] = rows[-1]
    counts[written.targets.reads] = np.abs(written.targets.weight[0])
    most = np.zeros(written.leaves)
    for layer, own in zip(reversed(written.layers), reversed(rows), strict=True):
        here = counts[layer.places]
        most += here @ own
        through = np.repeat(here, 2) if layer.kind == "product" else here
        counts[layer.reads] += through @ np.abs(layer.weight)
    return most


def _halved(
    whole: np.ndarray, low: np.ndarray, high: np.ndarray, axis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Left halves of boxes, each along its axis, then right ones; a whole number is on one side, as far as
    float64 tells it from the next."""
    box = np.arange(len(axis))
    middle = low[axis, box] / 2 + high[axis, box] / 2
    apart = whole[axis] & (np.abs(middle) < _EXACT / 2)
    left_high, right_low = high.copy(), low.copy()
    left_high[axis, box] = np.where(apart, np.floor(middle), middle)
    right_low[axis, box] = np.where(apart, np.floor(middle) + 1, middle)
    return np.concatenate([low, right_low], axis=1), np.concatenate([left_high, high], axis=1)


# -- forms -------------------------------------------------------------------------------------------------


def _finite(forms: Forms, lost: np.ndarray) -> Forms:
    """Where something has no bound, the box counts as lost, and zeros stand there: nothing may be decided by
    what is not a number."""
    bad = ~(np.isfinite(forms.center) & np.isfinite(forms.reach))
    bad |= ~np.isfinite(forms.slope).all(axis=1)
    if bad.any():
        lost |= bad.any(axis=0)
        for part in forms:
            part[..., lost] = 0.0
    return forms


def _sums(layer: Layer, known: Forms, radius: np.ndarray) -> Forms:
    """Weighted sums; however they are ordered, k terms are off by less than k + 6 units of their size."""
    center, slope, off, reach = (part[layer.reads] for part in known)
    weight, terms = layer.weight, len(layer.reads) + 6
    size = np.abs(center) + reach
    total = np.tensordot(weight, slope, 1)
    lost = np.abs(weight) @ off + (layer.slack + terms * UNIT * np.abs(weight)) @ size
    lost += LEAST * np.any(weight != 0, axis=1)[:, None]
    return _form(weight @ center, total, lost * (1 + 4 * terms * UNIT), radius)


def _form(center: np.ndarray, slope: np.ndarray, off: np.ndarray, radius: np.ndarray) -> Forms:
    reach = np.einsum("sdb,db->sb", np.abs(slope), radius) + off
    return Forms(center, slope, off, reach * (1 + (len(radius) + 4) * UNIT))


def _through(layer: Layer, rows: Forms, radius: np.ndarray) -> Forms:
    """The functions of a layer; each is linear up to a remainder whose half is `off`."""
    center, slope, off, reach = rows
    kind, size = layer.kind, np.abs(center) + reach
    if kind == "product":
        a, b = slice(0, None, 2), slice(1, None, 2)
        turned = center[a][:, None] * slope[b] + center[b][:, None] * slope[a]
        lost = np.abs(center[a]) * off[b] + np.abs(center[b]) * off[a] + reach[a] * reach[b]
        return _form(center[a] * center[b], turned, lost + 16 * UNIT * size[a] * size[b] + LEAST, radius)
    if kind == "square":
        bend = reach**2 / 2
        lost = 2 * np.abs(center) * off + bend + 16 * UNIT * size**2 + LEAST
        return _form(center**2 + bend, 2 * center[:, None] * slope, lost, radius)
    whole, pad = layer.whole[:, None] & (size < _EXACT), 4 * UNIT * size
    low, high = center - reach - pad, center + reach + pad
    low, high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
    if kind == "ramp":
        split, width = (low < 0) & (high > 0), np.where(high > low, high - low, 1.0)
        share = np.where(split, np.clip(high / width, 0.0, 1.0), (low >= 0).astype(float))
        half = np.where(split, -low * high / width / 2, 0.0)  # of how far the chord is above it at zero
        lost = share * off + half + np.where(split, 16 * UNIT * size, 0.0)
        return _form(share * center + half, share[:, None] * slope, lost, radius)
    divisor = layer.divisor[:, None]
    if kind == "test":
        least, most = (low >= 0).astype(float), (high >= 0).astype(float)
        share = bend = np.zeros_like(low)
    else:
        least, most = np.floor_divide(low, divisor), np.floor_divide(high, divisor)
        share, bend = np.broadcast_to(1 / divisor, low.shape), np.full_like(low, 0.5)
    flat = (most - least) / 2  # off by that if it is taken for a number, by `bend` if for a line
    share = np.where(flat <= bend + np.abs(share) * off, 0.0, share)
    shift = -0.5 if kind == "floor" else (least + most) / 2 - share * (low / 2 + high / 2)
    rounded = 16 * UNIT * (np.abs(share) * size + np.abs(shift) + np.abs(most))
    lost = np.where(share == 0, flat, np.abs(share) * off + bend + rounded)
    made = np.where(share == 0, (least + most) / 2, share * center + shift)
    return _form(made, share[:, None] * slope, lost, radius)
