"""Columns as they are stored: one at a time, each in its own type, with what is known about it.

A table of many columns and rows is never held as numbers of double precision, and mostly not as a whole: the
rows that are learned from and judged by are taken out of each column in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weights2code.language.domain import EXACT, Domain, between

#: Values that are looked at before all are: most columns of reals show at once what they are.
FIRST_LOOK = 1000
#: Values that are looked at together.
BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Gaps:
    """How many cells of a column hold nothing, and where the first of them is."""

    count: int
    first: str


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Numbers of any type, or texts as their places in a list, from 1 on.

    Parameters
    ----------
    values : the numbers; nothing is `nan`, or 0 where `texts` are meant.
    low, high : the smallest and the largest, without those that are nothing.
    gaps : which are nothing, if any are.
    texts : what the numbers stand for, in the order of the alphabet.
    truths : whether they are written as True and False.
    """

    values: np.ndarray
    low: float
    high: float
    gaps: Gaps | None = None
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
            return replace(self, values=values, gaps=None)
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


def of_numbers(values: np.ndarray, gaps: Gaps | None = None) -> Column:
    """A column of numbers, of which only those in `gaps` may be nothing."""
    if not len(values):
        return Column(values, np.nan, np.nan, gaps)
    if not gaps:
        return Column(values, float(values.min()), float(values.max()))
    if np.isnan(values).all():
        return Column(values, np.nan, np.nan, gaps)
    return Column(values, float(np.nanmin(values)), float(np.nanmax(values)), gaps)


def of_texts(places: np.ndarray, words: list[str], gaps: Gaps | None = None) -> Column:
    """A column of texts from the place of each in a list of words, in which "" is nothing."""
    found = sorted(set(words) - {""})
    number = {text: i for i, text in enumerate(found, start=1)} | {"": 0}
    values = np.array([number[word] for word in words], np.int32)[places]
    used = np.zeros(len(found) + 1, bool)
    used[values] = True
    if not used[1:].all():  # a dictionary may hold words that no row has
        kept = [text for text, there in zip(found, used[1:], strict=True) if there]
        return of_texts(np.concatenate([[0], np.cumsum(used[1:])])[values] * used[values], ["", *kept], gaps)
    return Column(values, 1.0, float(len(found)), gaps, tuple(found))


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Own sequences, one after the other: `column` gives all rows of a name, `lengths` where they end."""

    column: Callable[[str], Column]
    lengths: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """The first row of each sequence."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def rows(self) -> int:
        return int(self.lengths.sum())
