"""v as a function of one quantity u: the shape of its curve says what it means.

Two values along u are a threshold or an interval; whole numbers on which v repeats are a remainder, runs of
equal ones a quotient; flat parts beside a slope are a clip, its rest, an extremum or a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from weights2code.language import Expr, Number, op
from weights2code.symbolic.gauge.judge import Judge
from weights2code.symbolic.notation import opposite, simplest_between, simplest_test
from weights2code.symbolic.search.costs import COSTS

#: Points of a curve that are looked at, and bounds that are tried in it.
_POINTS, _BOUNDS = 300, 26
#: Moduli and divisors, at most.
_LARGEST = 24
#: Values of a quantity whose flat ends are looked at.
_MOST_FLAT = 200
#: Steps of a staircase, one less at most.
_MOST_STAIRS = 5
#: What may be added to the deviation for a shorter number, in tolerances.
_ROOM = (0.25, 0.08)


@dataclass(frozen=True, slots=True)
class Profile:
    """The distinct values of u in order, v on each, its share of the weight."""

    u: np.ndarray
    v: np.ndarray
    share: np.ndarray
    whole: bool


def profile_of(judge: Judge, values: np.ndarray) -> Profile:
    u, parts = np.unique(np.round(values, 9), return_inverse=True)
    parts = parts.reshape(-1)
    share = np.bincount(parts, judge.share)
    v = np.bincount(parts, judge.share * judge.v) / share
    whole = bool(np.all(u == np.round(u)))
    if len(u) > _POINTS:
        some = np.unique(np.linspace(0, len(u) - 1, _POINTS).astype(int))
        u, v, share = u[some], v[some], share[some]
    return Profile(u, v, share / share.sum(), whole)


def readings(judge: Judge, expr: Expr, values: np.ndarray) -> Iterator[Expr]:
    """Formulas of u that v may be a plain function of."""
    judge.effort.spend(COSTS["sorted cells"] * 3 * len(values))
    yield expr
    profile = profile_of(judge, values)
    if len(profile.u) < 3:
        return
    if judge.labels is not None:
        yield from tests(judge, expr, values, profile.whole)
    if profile.whole:
        yield from remainders(expr, profile)
    if judge.labels is None:
        yield from flat_ends(judge, expr, profile)
        yield from stairs(judge, expr, values, profile.whole)
        yield from bounded(judge, expr, profile)
        yield from chosen(judge, expr, profile)


def tests(judge: Judge, expr: Expr, values: np.ndarray, whole: bool) -> Iterator[Expr]:
    """Thresholds and intervals, with the shortest number that the rows allow and with the nearest one."""
    assert judge.labels is not None
    near = judge.labels
    exact = (judge.v > 0.5 * (judge.v.min() + judge.v.max())).astype(int)
    for labels in (near,) if judge.discrete else (near, exact):
        known = labels >= 0
        order = np.argsort(values[known], kind="stable")
        u, sign = values[known][order], (2.0 * labels[known][order] - 1) * judge.share[known][order]
        last = np.concatenate([np.diff(u) > 1e-9, [True]])
        total = np.concatenate([[0.0], np.cumsum(sign)[last]])
        ends = u[last]
        for direction in (1, -1):
            # what lies inside counts for, what lies outside against
            lowest = np.minimum.accumulate(direction * total)
            to = int(np.argmax(direction * total - lowest))
            start = int(np.argmin(direction * total[: to + 1]))
            yield from _interval(expr, ends, start, to, whole)
        splits = {int(np.argmin(total)), int(np.argmax(total))}
        for split in splits:
            if 0 < split < len(ends):
                yield simplest_test(expr, float(ends[split - 1]), float(ends[split]), whole=whole)


def _interval(expr: Expr, ends: np.ndarray, start: int, to: int, whole: bool) -> Iterator[Expr]:
    """u among the values from number `start` up to `to`, not included."""
    if to <= start or (start == 0 and to >= len(ends)):
        return
    left = simplest_test(expr, float(ends[start - 1]), float(ends[start]), whole=whole) if start else None
    right = None
    if to < len(ends):
        right = opposite(simplest_test(expr, float(ends[to - 1]), float(ends[to]), whole=whole))
    if whole and to == start + 1:
        yield op("eq", expr, int(ends[start]))
    if left is None or right is None:
        one = left or right
        if one is not None:
            yield one
        return
    yield op("and", left, right)


def remainders(expr: Expr, profile: Profile) -> Iterator[Expr]:
    """`u % m` and `u // m`."""
    reach = int(min(_LARGEST, profile.u[-1] - profile.u[0]))
    for m in range(2, reach + 1):
        yield op("mod", expr, m)
        yield expr // m
        if reach // m > 2 and m <= 4:
            yield (expr + 1) // m


def flat_ends(judge: Judge, expr: Expr, profile: Profile) -> Iterator[Expr]:
    """Where v begins and ends to vary, where it is flat or turns back, whatever it does in between."""
    u, v = profile.u, profile.v
    if len(u) > _MOST_FLAT or not profile.whole or np.ptp(v) <= 2 * judge.tolerance:
        return
    first = int(np.argmax(np.abs(v - v[0]) > judge.tolerance)) - 1
    last = len(v) - int(np.argmax(np.abs(v[::-1] - v[-1]) > judge.tolerance))
    low, high = int(u[first]), int(u[last])
    if first > 0:
        yield op("max", expr, low)
    if last < len(u) - 1:
        yield op("min", expr, high)
    if first > 0 and last < len(u) - 1 and low < high:
        yield op("clip", expr, low, high)
    for centre in u[1:-1]:
        mirrored = np.searchsorted(u, 2 * centre - u)
        inside = mirrored < len(u)
        inside[inside] = u[mirrored[inside]] == 2 * centre - u[inside]
        if inside.sum() > len(u) // 2 and np.all(
            np.abs(v[inside] - v[mirrored[inside]]) <= 2 * judge.tolerance
        ):
            yield abs(_less(expr, int(centre)))
    # the longest flat part in the middle
    ends = np.flatnonzero(np.abs(np.diff(v)) > judge.tolerance)
    if len(ends) >= 2:
        longest = int(np.argmax(np.diff(ends)))
        begin, end = ends[longest] + 1, ends[longest + 1]
        if end > begin:
            yield expr - op("clip", expr, int(u[begin]), int(u[end]))


def stairs(judge: Judge, expr: Expr, values: np.ndarray, whole: bool) -> Iterator[Expr]:
    """`[u > c] + [u > d]`: three levels or more along u, one after the other."""
    known = judge.known
    order = np.argsort(values[known], kind="stable")
    u, v = values[known][order], judge.v[known][order]
    # a step is where what comes before and what comes after lie apart
    width = max(2, len(u) // 60)
    if len(u) < 6 * width:
        return
    runs = np.lib.stride_tricks.sliding_window_view(v, width)
    middle = np.median(runs, axis=1)
    change = np.abs(middle[width:] - middle[:-width])
    tests: list[Expr] = []
    while len(tests) < _MOST_STAIRS:
        at = int(np.argmax(change))
        if change[at] <= judge.tolerance:
            break
        split = _split(u, v, at, at + 2 * width)
        if 0 < split < len(u) and u[split] > u[split - 1]:
            tests.append(simplest_test(expr, float(u[split - 1]), float(u[split]), whole=whole))
        change[max(0, at - 2 * width) : at + 2 * width] = 0
    if 2 <= len(tests) < _MOST_STAIRS:
        total = tests[0]
        for test in tests[1:]:
            total = total + test
        yield total


def _split(u: np.ndarray, v: np.ndarray, start: int, end: int) -> int:
    """Where v changes most clearly between two places, as a number of a row."""
    part = v[start:end]
    places = np.arange(1, len(part))
    sums = np.cumsum(part)
    gain = sums[:-1] ** 2 / places + (sums[-1] - sums[:-1]) ** 2 / (len(part) - places)
    gain[u[start + 1 : end] <= u[start : end - 1]] = -np.inf
    return start + 1 + int(np.argmax(gain))


def bounded(judge: Judge, expr: Expr, profile: Profile) -> Iterator[Expr]:
    """`max(u, c)`, `min(u, c)`, `clip(u, c, d)`, its rest, `|u - c|`."""
    shapes: list[tuple[Callable[..., np.ndarray], Callable[..., Expr], int]] = [
        (np.maximum, lambda c: op("max", expr, c), 1),
        (np.minimum, lambda c: op("min", expr, c), 1),
        (lambda u, c: np.abs(u - c), lambda c: op("abs", _less(expr, c)), 1),
        (np.clip, lambda c, d: op("clip", expr, c, d), 2),
        (lambda u, c, d: u - np.clip(u, c, d), lambda c, d: expr - op("clip", expr, c, d), 2),
    ]
    u = profile.u
    inner = u[1:-1]
    if len(inner) > _BOUNDS:
        inner = np.unique(np.quantile(inner, np.linspace(0, 1, _BOUNDS)))
        inner = np.unique(np.round(inner)) if profile.whole else inner
    for function, write, count in shapes:
        bounds = _grid(inner, count)
        if not len(bounds):
            continue
        for found in _refined(profile, function, bounds, judge):
            yield write(*(_number(c) for c in found))


def _less(expr: Expr, c: Number) -> Expr:
    if c == 0:
        return expr
    return expr - c if c > 0 else expr + (-c)


def _grid(inner: np.ndarray, count: int) -> np.ndarray:
    if count == 1:
        return inner[:, None]
    low, high = np.triu_indices(len(inner), 1)
    return np.stack([inner[low], inner[high]], 1)


def _left(profile: Profile, function: Callable[..., np.ndarray], bounds: np.ndarray) -> np.ndarray:
    """Mean square deviation of v from the best affine function of each shape."""
    z = function(profile.u[None], *(bounds[:, [i]] for i in range(bounds.shape[1])))
    p = profile.share
    x = z - (z @ p)[:, None]
    y = profile.v - profile.v @ p
    square = (x * x) @ p
    with np.errstate(all="ignore"):
        left = (y * y) @ p - ((x * y) @ p) ** 2 / square
    return np.where(square > 1e-12, np.maximum(left, 0.0), np.inf)


def _refined(
    profile: Profile, function: Callable[..., np.ndarray], bounds: np.ndarray, judge: Judge
) -> Iterator[np.ndarray]:
    """The bounds that fit best; on reals the shortest numbers that fit about as well, and as well."""
    judge.effort.spend(COSTS["trees"] * bounds.size * len(profile.u))
    left = _left(profile, function, bounds)
    best = int(np.argmin(left))
    if left[best] > (2 * judge.tolerance) ** 2:
        return
    at = bounds[best].astype(float)
    if profile.whole:
        if left[best] <= judge.tolerance**2:
            yield at
        return
    step = 2 * float(np.ptp(profile.u)) / _BOUNDS
    while step > 1e-3 * np.ptp(profile.u):
        near = at[None] + step * _OFFSETS[len(at)]
        near = near[near[:, 0] < near[:, 1]] if len(at) == 2 else near
        errors = _left(profile, function, near)
        at = near[int(np.argmin(errors))]
        step *= 0.6
    least = float(_left(profile, function, at[None])[0])
    if least > judge.tolerance**2:
        return
    for room in _ROOM:
        short = _shortened(profile, function, at.copy(), least + (room * judge.tolerance) ** 2)
        if len(short) == 1 or short[0] < short[1]:
            yield short


def _shortened(
    profile: Profile, function: Callable[..., np.ndarray], at: np.ndarray, room: float
) -> np.ndarray:
    """Each bound as the shortest number with which the deviation stays within the room."""
    for i in range(len(at)):
        ends = []
        for sign in (-1, 1):
            shift = 0.0
            for size in np.ptp(profile.u) * 2.0 ** -np.arange(11, 2, -1):
                moved = at.copy()
                moved[i] += sign * size
                if _left(profile, function, moved[None])[0] > room:
                    break
                shift = sign * size
            ends.append(at[i] + shift)
        at[i] = simplest_between(ends[0], ends[1])
    return at


_OFFSETS = {
    1: np.linspace(-1, 1, 9)[:, None],
    2: np.stack([a.ravel() for a in np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9))], 1),
}


def chosen(judge: Judge, expr: Expr, profile: Profile) -> Iterator[Expr]:
    """`u if u > c else d`, and the other way round."""
    u, v, p = profile.u, profile.v, profile.share
    judge.effort.spend(COSTS["trees"] * 12 * len(u))
    for side in (1, -1):
        w, x, y = (a if side == 1 else a[::-1] for a in (p, u, v))
        # sums from the end: the slope; from the start: the constant
        after = [np.cumsum((w * f)[::-1])[::-1] for f in (np.ones(len(u)), x, y, x * x, x * y, y * y)]
        before = [np.concatenate([[0.0], np.cumsum(w * f)[:-1]]) for f in (np.ones(len(u)), y, y * y)]
        with np.errstate(all="ignore"):
            n, sx, sy, sxx, sxy, syy = after
            slope = (sxy - sx * sy / n) / (sxx - sx * sx / n)
            start = (sy - slope * sx) / n
            left = syy - sy * sy / n - slope * (sxy - sx * sy / n)
            flat = before[1] / before[0]
            total = left + before[2] - before[1] * flat
        total[0], total[-3:] = np.inf, np.inf
        total[~np.isfinite(total)] = np.inf
        if not len(total) or not np.isfinite(total).any():
            continue
        best = int(np.argmin(total))
        if total[best] > judge.tolerance**2 or abs(slope[best]) * np.ptp(u) <= judge.tolerance:
            continue
        room = 0.6 * judge.tolerance / abs(slope[best])
        other = (flat[best] - start[best]) / slope[best]
        d = simplest_between(other - room, other + room)
        low, high = sorted((float(x[best - 1]), float(x[best])))
        test = simplest_test(expr, low, high, whole=profile.whole)
        yield op("where", test, *((expr, _number(d)) if side == 1 else (_number(d), expr)))


def _number(value: float) -> Number:
    return int(value) if float(value).is_integer() else float(value)
