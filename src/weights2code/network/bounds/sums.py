"""Weighted sums of symbols: fractions while they are written, then floats that know how exact they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from weights2code.network.bounds.leaves import UNIT, is_power_of_two

#: A weighted sum of symbols; the number that is added stands under `ONE`.
Sum = dict[int, Fraction]
ONE = -1


class Unwritten(Exception):
    """Something that cannot be written as steps of weighted sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Weighted sums: `weight` (rows, reads) of the symbols `reads`, plus `constant`.

    `slack` and `constant_slack` say how far these numbers may be from what is meant. `whole` rows are whole
    numbers; `exact` ones are computed without rounding, too, as long as they are below 2^53; `copied` ones
    always are: one symbol times a power of two.
    """

    reads: np.ndarray
    weight: np.ndarray
    slack: np.ndarray
    constant: np.ndarray
    constant_slack: np.ndarray
    whole: np.ndarray
    exact: np.ndarray
    copied: np.ndarray


def added(a: Sum, b: Mapping[int, Fraction], factor: Fraction = Fraction(1)) -> Sum:
    """a + factor * b; what cancels is left out."""
    total = dict(a)
    for place, weight in b.items():
        value = total.get(place, 0) + factor * weight
        if value:
            total[place] = value
        else:
            total.pop(place, None)
    return total


def combined(a: Sum, parts: list[Sum], weights: np.ndarray) -> Sum:
    """a plus weighted parts."""
    for part, weight in zip(parts, weights, strict=True):
        if weight:
            a = added(a, part, Fraction(float(weight)))
    return a


def constant(a: Sum) -> Fraction | None:
    """The value of a sum without symbols."""
    return a.get(ONE, Fraction(0)) if set(a) <= {ONE} else None


def scaled(a: Sum) -> tuple[Sum, Fraction]:
    """The sum in the smallest whole numbers, and what one unit of that is worth (positive)."""
    if not any(a.values()):
        return {}, Fraction(1)
    below = lcm(*(weight.denominator for weight in a.values()))
    common = gcd(*(int(weight * below) for weight in a.values()))
    unit = Fraction(common, below)
    return {place: weight / unit for place, weight in a.items()}, unit


def rows_of(sums: list[Sum], whole: list[bool]) -> Rows:
    """Fractions become the nearest floats; how far these are off is the slack."""
    reads = sorted({place for item in sums for place in item if place != ONE})
    column = {place: i for i, place in enumerate([*reads, ONE])}
    weight, slack = np.zeros((2, len(sums), len(column)))
    for row, item in enumerate(sums):
        for place, value in item.items():
            near = _nearest(value)
            weight[row, column[place]] = near
            if near != value:
                slack[row, column[place]] = 2 * UNIT * abs(near) + 1e-300
    is_whole = [
        all(value.denominator == 1 and (place == ONE or whole[place]) for place, value in item.items())
        for item in sums
    ]
    return Rows(
        np.array(reads, int),
        weight[:, :-1],
        slack[:, :-1],
        weight[:, -1],
        slack[:, -1],
        np.array(is_whole, bool),
        np.array(is_whole, bool) & ~slack.any(axis=1),
        np.array([_is_copy(item) for item in sums], bool),
    )


def _is_copy(a: Sum) -> bool:
    weights = list(a.values())
    return len(a) == 1 and ONE not in a and is_power_of_two(abs(float(weights[0])))


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Unwritten(value) from None
