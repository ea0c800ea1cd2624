"""Columns as they are stored: one at a time, each in its own type, with what is known about it.

A table of many columns and rows is never held as numbers of double precision, and mostly not as a whole: the
rows that are learned from and judged by are taken out of each column in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from weights2code.language.domain import EXACT, Domain, between

#: Values that are looked at before all are: most columns of reals show at once what they are.
FIRST_LOOK = 1000
#: Values that are looked at together.
BLOCK = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Cells as places in a list of words, of which "" is nothing."""

    places: np.ndarray
    words: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Numbers of any type, or texts as their places in a list, from 1 on.

    Parameters
    ----------
    values : the numbers; nothing is `nan`, or 0 where `texts` are meant.
    low, high : the smallest and the largest, without those that are nothing.
    gaps : how many are nothing.
    texts : what the numbers stand for, in the order of the alphabet.
    truths : whether they are written as True and False.
    """

    values: np.ndarray
    low: float
    high: float
    gaps: int = 0
    texts: tuple[str, ...] | None = None
    truths: bool = False

    def take(self, places: np.ndarray | slice) -> np.ndarray:
        """Some of the values as float64; nothing is `nan`."""
        found = self.values[places].astype(float)
        if self.texts is not None and self.gaps:
            found[found == 0] = np.nan
        return found

    def missing(self) -> np.ndarray:
        """Where there is nothing."""
        if not self.gaps:
            return np.zeros(len(self.values), bool)
        return self.values == 0 if self.texts is not None else np.isnan(self.values)

    def at(self, places: np.ndarray) -> Column:
        """The rows at these places."""
        return replace(self, values=self.values[places])

    def kept(self, places: np.ndarray) -> Column:
        """The rows at these places, none of which is nothing."""
        values = self.values[places]
        if self.texts is not None:
            return replace(self, values=values, gaps=0)
        return replace(of_numbers(values), truths=self.truths)

    def domain(self) -> Domain:
        """The narrowest domain of numbers that holds them."""
        whole = self.low >= -EXACT and self.high <= EXACT and self._whole()
        return replace(between(self.low, self.high, whole=whole), truths=self.truths)

    def _whole(self) -> bool:
        if self.values.dtype.kind != "f":
            return True
        parts = [slice(0, FIRST_LOOK)]
        parts += [slice(first, first + BLOCK) for first in range(0, len(self.values), BLOCK)]
        return all(bool((self.values[part] == np.round(self.values[part])).all()) for part in parts)


def of_numbers(values: np.ndarray, truths: bool = False) -> Column:
    """A column of numbers, of which those that are nothing are `nan`."""
    values = values.view(np.uint8) if values.dtype.kind == "b" else values
    known, gaps = values, 0
    if len(values) and values.min() != values.min():
        known = values[~np.isnan(values)]
        gaps = len(values) - len(known)
    low, high = (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)
    return Column(values, low, high, gaps, truths=truths)


def of_words(given: Words) -> Column:
    """A column of texts; a list may hold words that no row has, or one twice."""
    used = np.bincount(given.places, minlength=len(given.words)).astype(bool).tolist()
    found = sorted({word for word, there in zip(given.words, used, strict=True) if there and word})
    number = {text: i for i, text in enumerate(found, start=1)}
    values = np.array([number.get(word, 0) for word in given.words], np.int32)[given.places]
    return Column(values, 1.0, float(len(found)), int((values == 0).sum()), tuple(found))


def _as_they_are(rows: Collection[int]) -> dict[int, int]:
    return {row: row for row in rows}


class Loaded(NamedTuple):
    """What is stored somewhere: (rows,), or (n, T) where it holds n sequences of T rows; what gives a column
    by its name; what rows are counted by, and the numbers of some."""

    shape: tuple[int, ...]
    load: Callable[[str], Any]
    unit: str = "row"
    numbers: Callable[[Collection[int]], dict[int, int]] = _as_they_are


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Own sequences, one after the other: `column` gives all rows of a name, `lengths` where they end, and
    `place` says where a row stands."""

    column: Callable[[str], Column]
    lengths: np.ndarray
    place: Callable[[int], str] = "row {}".format

    @property
    def starts(self) -> np.ndarray:
        """The first row of each sequence."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def rows(self) -> int:
        return int(self.lengths.sum())
