"""Lookups of reals: the output itself says where it was looked up, since no two reals are equal by chance.

Where the output, less a multiple of a present value, equals what stood in a column at some earlier position,
that position was looked up. So its key equals the present key, and every key between the two differs. If keys
are conditions, that says of most positions which are alike, and a condition on a few recent values that is
alike at the same positions is the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import Effort
from weights2code.graph import shifted
from weights2code.training.memories import Bound, Memory, Place, Quantity

#: Sequences that are asked, and those of them that a condition is fitted on.
ASKED, FITTED = 200, 60
#: Multiples of a present value that may be off, and of what is looked up.
OFF, TIMES = (1.0, -1.0, 2.0, -2.0), (1.0, -1.0, 2.0, -2.0, 3.0)
#: The share of positions whose lookup is seen, at least, and at how many distances, each this often.
SEEN, DISTANCES, OFTEN = 0.15, 4, 0.01
#: How near equal reals are, as a share of their size.
EQUAL = 1e-9
#: How far back conditions look.
DEEPEST = 2
#: Decimals of a border, at most.
DECIMALS = 6
#: What a cell of a comparison costs, in seconds of a usual machine.
A_CELL = 2e-9

Weights = dict[Place, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Pairs of positions (sequence, one, other) whose keys are equal, and those whose keys differ."""

    same: np.ndarray
    apart: np.ndarray


def pointed_at(problem: Problem, effort: Effort) -> Iterator[tuple[Memory, ...]]:
    """Lookups of reals by a condition: alone, and with what stood beside."""
    if problem.output_domains[0].discrete or problem.training.given.any():
        return
    sequences = problem.training.take(slice(0, ASKED))
    for value, where in _looked_up(problem, sequences, effort):
        edges = _edges(where)
        for key in _conditions(problem, sequences, edges, effort):
            lookups = [
                Memory("equality", Quantity(((column, 0),)), key, key, 1)
                for column in range(len(problem.inputs))
            ]
            yield (lookups[value],)
            if len(lookups) > 1:
                yield tuple(lookups)
            return


def _looked_up(problem: Problem, sequences: Sequences, effort: Effort) -> Iterator[tuple[int, np.ndarray]]:
    """Columns that are looked up, and at which position each output was (n, T); -1 where that is not seen."""
    inputs = range(len(problem.inputs))
    y, x = sequences.y[..., 0], sequences.x
    length = y.shape[1]
    near = EQUAL * max(1.0, float(np.abs(y).max()))
    earlier = np.tri(length, k=-1, dtype=bool) & sequences.scored[:, :, None]
    real = [column for column in inputs if not problem.domains[column].discrete]
    for (column, factor), value, times in product([(0, 0.0), *product(inputs, OFF)], real, TIMES):
        if effort.spent():
            return
        effort.spend(A_CELL * y.size * length)
        left = y - factor * x[..., column]
        equal = (np.abs(left[:, :, None] - times * x[:, None, :, value]) <= near) & earlier
        seen = np.any(equal, axis=2)
        if float(np.mean(seen[:, 1:])) < SEEN:
            continue
        newest = np.where(seen, length - 1 - equal[:, :, ::-1].argmax(2), -1)
        back = (np.arange(length) - newest)[seen]
        if (np.bincount(back) > OFTEN * len(back)).sum() >= DISTANCES:
            yield value, newest


def _edges(where: np.ndarray) -> _Edges:
    rows, now = np.nonzero(where >= 0)
    then = where[rows, now]
    apart = [
        np.stack([np.full(len(between), row), np.full(len(between), t), between], axis=1)
        for row, t, s in zip(rows, now, then, strict=True)
        if len(between := np.arange(s + 1, t))
    ]
    return _Edges(np.stack([rows, now, then], axis=1), np.concatenate(apart or [np.zeros((0, 3), int)]))


def _conditions(problem: Problem, sequences: Sequences, edges: _Edges, effort: Effort) -> Iterator[Quantity]:
    """Conditions that are alike where keys are: one border, or two that must both be passed."""
    if not len(edges.apart):
        return
    features = [(weights, _values(weights, sequences)) for weights in _features(problem)]
    ends = [edges.apart[:, 0], edges.apart[:, 1]], [edges.apart[:, 0], edges.apart[:, 2]]
    for weights, values in features:
        effort.spend(A_CELL * len(edges.apart) * 4)
        one, other = (values[tuple(end)] for end in ends)
        low, high = float(np.minimum(one, other).max()), float(np.maximum(one, other).min())
        if low < high:
            bound = _simplest(low, high)
            if _fits(values > bound, edges):
                yield _quantity([(weights, bound)])
                return
    labels = _labels(edges, sequences.x.shape[:2])
    if labels is None:
        return
    signed = [
        ({place: sign * weight for place, weight in weights.items()}, sign * values)
        for weights, values in features
        for sign in (1.0, -1.0)
    ]
    for (one, first), (other, second) in combinations(signed, 2):
        if effort.spent():
            return
        effort.spend(A_CELL * first.size * 4)
        bounds = _both(first, second, labels)
        if bounds is not None and _fits((first > bounds[0]) & (second > bounds[1]), edges):
            yield _quantity([(one, bounds[0]), (other, bounds[1])])
            return


def _features(problem: Problem) -> Iterator[Weights]:
    """What borders are drawn on: recent values, their differences, and sums of present ones."""
    columns = range(len(problem.inputs))
    places = [(column, lag) for lag in range(DEEPEST + 1) for column in columns]
    yield from ({place: 1.0} for place in places)
    for one, other in combinations(places, 2):
        if (one[0] == other[0]) != (one[1] == other[1]):  # of one column, or of one moment
            yield {one: 1.0, other: -1.0}
    for one, other in combinations([place for place in places if not place[1]], 2):
        yield {one: 1.0, other: 1.0}
    if len(columns) > 2:
        for chosen in columns:
            yield {(column, 0): -1.0 if column == chosen else 1.0 for column in columns}


def _values(weights: Weights, sequences: Sequences) -> np.ndarray:
    return sum(
        (weight * shifted(sequences.x[..., column], lag, 0.0) for (column, lag), weight in weights.items()),
        start=np.zeros(sequences.x.shape[:2]),
    )


def _fits(holds: np.ndarray, edges: _Edges) -> bool:
    def alike(pairs: np.ndarray) -> np.ndarray:
        return holds[pairs[:, 0], pairs[:, 1]] == holds[pairs[:, 0], pairs[:, 2]]

    return not alike(edges.apart).any() and bool(alike(edges.same).all())


def _labels(edges: _Edges, shape: tuple[int, ...]) -> np.ndarray | None:
    """1 and -1 for positions that differ, up to the sign of a sequence, 0 where nothing is known; None if
    there are no two kinds of positions."""
    labels = np.zeros(shape, int)
    of_row: list[list[tuple[int, int, int]]] = [[] for _ in range(shape[0])]
    for sign, pairs in ((1, edges.same), (-1, edges.apart)):
        for row, one, other in pairs.tolist():
            of_row[row].append((one, other, sign))
    for own, pairs in zip(labels, of_row, strict=True):
        if not pairs:
            continue
        own[max(pairs)[0]] = 1
        for _ in range(len(own)):
            before = int(np.abs(own).sum())
            for one, other, sign in pairs:
                if own[one] and not own[other]:
                    own[other] = sign * own[one]
                elif own[other] and not own[one]:
                    own[one] = sign * own[other]
            if int(np.abs(own).sum()) == before:
                break
        if any(own[one] * own[other] == -sign for one, other, sign in pairs):
            return None
    return labels


def _both(first: np.ndarray, second: np.ndarray, labels: np.ndarray) -> tuple[float, float] | None:
    """Borders that both values pass at all positions of one kind, and never at the others; sequences tell
    most surely which kind that is where the kinds lie farthest apart."""
    scaled = sum((values - values.mean()) / max(float(values.std()), 1e-300) for values in (first, second))
    off = (labels * scaled).sum(1)
    clearest = np.argsort(-np.abs(off))[:FITTED]
    kinds = labels[clearest] * np.sign(off[clearest]).astype(int)[:, None]
    one, other = first[clearest], second[clearest]
    passed, failed = kinds == 1, kinds == -1
    if not passed.any() or not failed.any():
        return None
    least, lowest = float(one[passed].min()), float(other[passed].min())
    high, further = one >= least, other >= lowest
    if np.any(high & further & failed):
        return None
    below = [one[failed & further], other[failed & high]]
    if not all(len(values) for values in below):
        return None  # one border is enough, and was tried
    return _simplest(float(below[0].max()), least), _simplest(float(below[1].max()), lowest)


def _simplest(low: float, high: float) -> float:
    """The number with the fewest decimals that `high` passes and `low` does not."""
    for decimals in range(DECIMALS + 1):
        middle = round((low + high) / 2, decimals)
        if low <= middle < high:
            return middle + 0.0
    return (low + high) / 2


def _quantity(borders: Sequence[tuple[Weights, float]]) -> Quantity:
    places = tuple(sorted({place for weights, _ in borders for place in weights}))
    bounds: tuple[Bound, ...] = tuple(
        (tuple(weights.get(place, 0.0) for place in places), bound) for weights, bound in borders
    )
    return Quantity(places, bounds=bounds)
