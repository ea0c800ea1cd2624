"""The rows that a problem needs, taken out of columns of any length one after the other.

However long a file is, what is learned from and judged by is bounded (`parts`), so that after a column has
been read, and its domain found over all of it, little of it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.data.columns import Stored
from weights2code.data.parts import Parts, as_sequences, places_of, sizes_of
from weights2code.data.seasons import MOST_ROWS
from weights2code.data.texts import numbered, shared_numbers
from weights2code.language import Domain
from weights2code.language.domain import Category


@dataclass(slots=True, eq=False)
class Taken:
    """Of each column some rows, and what is known about all of it.

    Parameters
    ----------
    values : by name, the rows of all pieces one after the other, then the first of the longest sequence, then
        those of `whole`.
    parts : the pieces, divided in one way or in several.
    whole : pieces that a program is judged by.
    ranges, domains : of all values of each column; texts have none.
    texts : what the numbers of some columns stand for.
    gaps : the first column of which a cell holds nothing, if there is one.
    """

    parts: tuple[Parts, ...]
    whole: np.ndarray
    values: dict[str, np.ndarray]
    ranges: dict[str, tuple[float, float]]
    domains: dict[str, Domain]
    texts: dict[str, tuple[str, ...]]
    gaps: str | None = None

    def number_texts(self, declared: frozenset[str]) -> dict[str, tuple[Category, ...]]:
        """Give the same texts the same numbers in columns that share them; what the numbers stand for."""
        places, categories = shared_numbers(self.texts, declared)
        for name, known in self.texts.items():
            self.values[name] = numbered(self.values[name], known, places[name])
        return categories

    def sequences(self, inputs: Sequence[str], outputs: Sequence[str], place: int = 0) -> dict[str, Any]:
        """One of the divisions, as fields of a problem."""
        first, found = sum(_count(parts) for parts in self.parts[:place]), []
        for pieces in self.parts[place].lists():
            rows = slice(first, first + int(sizes_of(pieces).sum()))
            x, y = ([self.values[name][rows] for name in names] for names in (inputs, outputs))
            found.append(as_sequences(pieces, x, y))
            first = rows.stop
        training, validation, held_out, *beginnings = found
        return {
            "training": training,
            "validation": validation,
            "held_out": held_out,
            "beginnings": beginnings[0] if beginnings else None,
            "length": training.x.shape[1],
        }

    def beginning(self, names: Sequence[str]) -> np.ndarray:
        """The first rows of the longest sequence."""
        first, last = sum(map(_count, self.parts)), int(sizes_of(self.whole).sum())
        return np.stack([np.asarray(self.values[name][first : -last or None], float) for name in names], -1)

    def last(self, names: Sequence[str]) -> np.ndarray:
        """The rows of `whole`."""
        count = int(sizes_of(self.whole).sum())
        return np.stack([np.asarray(self.values[name][-count:], float) for name in names], -1)


def _count(parts: Parts) -> int:
    """The rows of all parts together."""
    return sum(int(sizes_of(pieces).sum()) for pieces in parts.lists())


def take(stored: Stored, names: Sequence[str], *parts: Parts, whole: np.ndarray | None = None) -> Taken:
    """The rows of the parts, the first rows of the longest sequence, and `whole`, out of each of the columns.

    With the first column that has gaps it ends: they are for others to deal with.
    """
    starts, longest = stored.starts, int(np.argmax(stored.lengths))
    places = [places_of(pieces, starts) for division in parts for pieces in division.lists()]
    places.append(starts[longest] + np.arange(min(MOST_ROWS, int(stored.lengths[longest]))))
    whole = np.zeros((0, 4), int) if whole is None else whole
    rows = np.concatenate([*places, places_of(whole, starts)])
    taken = Taken(parts, whole, {}, {}, {}, {})
    for name in names:
        column = stored.column(name)
        if column.gaps:
            taken.gaps = name
            return taken
        taken.values[name] = column.values[rows]
        taken.ranges[name] = column.low, column.high
        if column.texts is None:
            taken.domains[name] = column.domain()
        else:
            taken.texts[name] = column.texts
    return taken
