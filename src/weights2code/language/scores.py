"""How well a position fits what a head seeks: by what it holds, and by how far back it lies.

Two kinds of content scores: minus the squared distance of query and key, and newer positions a little higher;
or the product of two encodings, each the mix of the two rows of a table between which a value lies.
Everything is added up in a fixed order, so that every machine selects the same positions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from weights2code.heads import RECENCY
from weights2code.json_fields import from_fields

Table = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of positions.

    Parameters
    ----------
    bias : by offset; the last one holds for all that lie further back.
    null : a position must score as much as this to be taken at all.
    sharpness : what the squared distance of query and key is multiplied by, where there are no tables.
    query_table, key_table : rows for values evenly over `value_range`.
    """

    bias: tuple[float, ...]
    null: float
    sharpness: float = 0.0
    query_table: Table = ()
    key_table: Table = ()
    value_range: tuple[float, float] = (-1.0, 1.0)

    def of(self, query: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The scores (n, t + 1) of the positions 0..t, whose keys these are, for queries (n,) at t."""
        back = np.arange(keys.shape[1] - 1, -1, -1)
        bias = np.array(self.bias)[np.minimum(back, len(self.bias) - 1)]
        if not self.query_table:
            return -self.sharpness * (query[:, None] - keys) ** 2 - RECENCY * back + bias
        one = encode(query, np.array(self.query_table), self.value_range)
        many = encode(keys, np.array(self.key_table), self.value_range)
        total = one[:, None, 0] * many[..., 0]
        for column in range(1, one.shape[1]):
            total = total + one[:, None, column] * many[..., column]
        return total / np.sqrt(one.shape[1]) + bias

    def best(self, query: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The position (n,) that scores highest, the oldest of several; -1 where none scores enough."""
        scores = self.of(query, keys)
        place = scores.argmax(1)
        return np.where(np.take_along_axis(scores, place[:, None], 1)[:, 0] >= self.null, place, -1)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Any) -> Scores:
        """Inverse of `to_dict`; what are no scores is a ValueError."""
        found = from_fields(Scores, data, "scores")
        tables = found.query_table, found.key_table
        widths = {len(row) for table in tables for row in table}
        if not found.bias or len(found.value_range) != 2 or found.value_range[0] >= found.value_range[1]:
            raise ValueError("scores need a bias and a range of values")
        if any(tables) and (len(widths) != 1 or 0 in widths or min(map(len, tables)) < 2):
            raise ValueError("the tables of scores do not fit together")
        return found


def encode(x: np.ndarray, table: np.ndarray, value_range: tuple[float, float]) -> np.ndarray:
    """Each value (...) as the mix (..., width) of the two rows of a table between which it lies."""
    bins = len(table) - 1
    low, high = value_range
    place = np.clip((x - low) / (high - low), 0.0, 1.0) * bins
    left = np.minimum(np.nan_to_num(place).astype(int), bins - 1)  # what is no number stays none
    share = (place - left)[..., None]
    return (1 - share) * table[left] + share * table[left + 1]
