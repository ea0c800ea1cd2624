"""The rows that a problem needs, taken out of columns of any length one after the other.

However long a file is, what is learned from and judged by is bounded (`parts`), so that after a column has
been read, and its domain found over all of it, little of it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np

from weights2code.data.columns import Column, Stored
from weights2code.data.parts import as_sequences, places_of, sizes_of
from weights2code.data.sequences import Sequences
from weights2code.data.texts import numbered, shared_numbers
from weights2code.language import Domain, texts


@dataclass(slots=True, eq=False)
class Taken:
    """Of each column the rows of some groups of pieces, and what is known about all of it.

    Parameters
    ----------
    pieces : the groups by their names.
    columns : of each column the rows of all groups, one after the other.
    domains : of all values of each column.
    gaps : the first column of which a cell holds nothing, if there is one.
    """

    pieces: Mapping[str, np.ndarray]
    columns: dict[str, Column] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    gaps: str | None = None

    def number_texts(self, declared: frozenset[str]) -> None:
        """Give the same texts the same numbers in columns that share them."""
        known = {name: column.texts for name, column in self.columns.items() if column.texts is not None}
        places, categories = shared_numbers(known, declared)
        for name, words in known.items():
            column = self.columns[name]
            self.columns[name] = replace(column, values=numbered(column.values, words, places[name]))
            self.domains[name] = texts(categories[name])

    def rows(self, group: str, names: Sequence[str]) -> list[np.ndarray]:
        """The rows of a group, of each of these columns."""
        sizes = [int(sizes_of(pieces).sum()) for pieces in self.pieces.values()]
        ends = dict(zip(self.pieces, accumulate(sizes), strict=True))
        part = slice(ends[group] - sizes[list(self.pieces).index(group)], ends[group])
        return [self.columns[name].values[part].astype(float) for name in names]

    def sequences(
        self, inputs: Sequence[str], outputs: Sequence[str], prefix: str = ""
    ) -> dict[str, Sequences | None]:
        """The parts whose names begin so, as fields of a problem."""
        found: dict[str, Sequences | None] = dict.fromkeys(
            ("training", "validation", "held_out", "beginnings")
        )
        for part in found:
            pieces = self.pieces.get(f"{prefix}{part}")
            if pieces is not None:
                x, y = (self.rows(f"{prefix}{part}", names) for names in (inputs, outputs))
                found[part] = as_sequences(pieces, x, y)
        return found


def take(stored: Stored, names: Sequence[str], pieces: Mapping[str, np.ndarray]) -> Taken:
    """The rows of groups of pieces out of each of the columns.

    With the first column that has gaps it ends: they are for others to deal with.
    """
    rows = np.concatenate([places_of(group, stored.starts) for group in pieces.values()])
    taken = Taken(pieces)
    for name in names:
        column = stored.column(name)
        if column.gaps:
            taken.gaps = name
            return taken
        taken.columns[name] = replace(column, values=column.values[rows])
        if column.texts is None:
            taken.domains[name] = column.domain()
    return taken
