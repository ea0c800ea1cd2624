"""In which order the rows of a table stand: sequence by sequence, each by its numbers or times."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace

import numpy as np

from weights2code.data.cells import LOCAL_TIME, NUMBER, WORLD_TIME, shown
from weights2code.data.date_forms import iso_times
from weights2code.data.tables import Table
from weights2code.data.times import Times, as_written, remark_on_steps
from weights2code.errors import InputError

#: The place in the world, which no time is without that matches `WORLD_TIME`.
ZONE = re.compile(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """In which order the rows of a table are read: as they stand (None), else their places.

    `ends` says where in that order each sequence but the first begins; `remark` what is odd about the steps
    from row to row. `times` are those of the rows as they stand, if there is a column of times.
    """

    rows: np.ndarray | None
    ends: np.ndarray
    count: int
    times: Times = (np.zeros(0), np.zeros(0))
    remark: str = ""

    @property
    def back(self) -> np.ndarray | slice:
        """From the order in which rows are read to that of the table."""
        return slice(None) if self.rows is None else np.argsort(self.rows)

    @property
    def listed(self) -> np.ndarray:
        """The places of all rows."""
        return np.arange(self.count) if self.rows is None else self.rows

    @property
    def begins(self) -> np.ndarray:
        """Of each row, where its sequence begins."""
        return np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(np.concatenate([[0], self.ends, [self.count]])).astype(int)


def arranged(table: Table) -> Arranged:
    """The sequences of a table, by the roles of its columns."""
    roles, count = table.roles, int(np.prod(table.shape))
    if len(table.shape) == 2:
        if roles.labels:
            raise InputError(f"{table.where} holds arrays (n, T): leave out --sequence, --order and --time.")
        return Arranged(None, np.arange(1, table.shape[0]) * table.shape[1], count)
    keys = None if roles.order is None else sortable(table, roles.order)
    rows, ends = _in_order(table, keys)
    found = Arranged(rows, ends, count)
    if roles.time is not None:
        found = replace(found, times=_times_of(table, roles.time))
    if keys is not None:
        moments = keys if rows is None else keys[rows]
        found = replace(found, remark=remark_on_steps(moments, ends, roles.order or ""))
    return found


def _times_of(table: Table, name: str) -> Times:
    """A column of times as moments, and as they are written, without their zone."""
    moments, column = sortable(table, name), table.label(name)
    written = moments
    if moments.dtype.kind == "M" and column.dtype.kind in "US" and WORLD_TIME.fullmatch(str(column[0])):
        written = np.array([ZONE.sub("", str(text)) for text in column]).astype(moments.dtype)
    return moments, written


def _in_order(table: Table, keys: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray]:
    """The rows of a table, sequence by sequence, and where in that list each but the first begins.

    Sequences come in the order in which their ids first appear, their rows sorted by `keys`. The rows are
    None where they stand in that order already.
    """
    sequence = table.roles.sequence
    ids = None if sequence is None else table.ids(sequence)
    codes, borders = _numbered(ids) if ids is not None else (None, np.zeros(0, int))
    rows = np.argsort(codes, kind="stable") if codes is not None and keys is None else None
    if keys is not None:
        inside = keys[1:] > keys[:-1]
        inside[borders - 1] = True
        if codes is not None or not inside.all():
            if codes is None:
                codes = np.zeros(len(keys), np.int32)
                codes[borders] = 1
                codes = np.cumsum(codes, dtype=np.int32)
            rows = np.lexsort((keys, codes))
            same = (np.diff(codes[rows]) == 0) & (keys[rows][1:] == keys[rows][:-1])
            if same.any():
                twice = keys[rows[int(np.flatnonzero(same)[0])]]
                twice = f"{twice:.17g}" if keys.dtype.kind == "f" else as_written(twice)
                hint = "" if sequence else " or name the column that tells sequences apart with --sequence"
                raise InputError(
                    f"{table.where}, column {table.roles.order!r}: {twice} stands twice in a sequence; "
                    f"make it unique{hint}."
                )
    return rows, borders if codes is None or rows is None else np.flatnonzero(np.diff(codes[rows])) + 1


def _numbered(ids: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """The sequence of each row, numbered as they first appear, and where ids change.

    Where each sequence stands in one piece, that alone is enough.
    """
    borders = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    runs = ids[np.concatenate([[0], borders])]
    _, first, inverse = np.unique(runs, return_index=True, return_inverse=True)
    if len(first) == len(runs):
        return None, borders
    codes = np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int32)
    return np.repeat(codes, np.diff(np.concatenate([[0], borders, [len(ids)]]))), borders


def sortable(table: Table, name: str) -> np.ndarray:
    """A label: numbers as numbers, times as times, anything else as it is."""
    column, where = table.label(name), f"{table.where}, column {name!r}"
    if column.dtype.kind not in "US":
        if column.dtype.kind == "O":
            raise InputError(f"{where} cannot be sorted by; give numbers or times.")
        return column
    texts = [str(text) for text in column]
    kinds = {NUMBER: "float64", LOCAL_TIME: "datetime64[us]", WORLD_TIME: "datetime64[us]"}
    form = next((form for form in kinds if all(map(form.fullmatch, texts))), None)
    if form is None and (found := iso_times(texts, table.roles.dates, where)):
        form, column, texts = LOCAL_TIME, np.array(found), found
    if form is None:
        other = next((text for text in texts if not any(form.fullmatch(text) for form in kinds)), None)
        if other is None:
            raise InputError(f"{where} mixes numbers, times and times of a zone; write all of them alike.")
        raise InputError(
            f"{where} holds {shown(other)}, which is no number and no time to sort by; "
            "write times like 2024-01-31 12:00."
        )
    try:
        with warnings.catch_warnings():  # that zones are not kept: order is all that is asked for
            warnings.simplefilter("ignore", UserWarning)
            keys = column.astype(kinds[form])
    except ValueError as error:
        raise InputError(f"{where} cannot be sorted by ({error}); mend the time.") from None
    if not np.isfinite(keys).all():
        other = texts[int(np.flatnonzero(~np.isfinite(keys))[0])]
        raise InputError(f"{where} cannot be sorted by: {shown(other)} is too large.")
    return keys
