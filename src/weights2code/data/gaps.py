"""Cells that hold nothing: refused with their number, cut out, or filled with the last value.

A sequence that was cut goes on as one of its own, whose first rows are given and not judged: what they depend
on may have been lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weights2code.data.columns import Column, Stored
from weights2code.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Sequences without gaps; which of them begin where they truly began; what a certificate should say."""

    stored: Stored
    true_starts: list[bool]
    remark: str


def without_gaps(stored: Stored, names: Sequence[str], missing: str) -> Filled:
    """The sequences with the gaps of these columns dealt with as was asked."""
    gaps: dict[str, int] = {}
    first = (-1, "")
    begins = np.repeat(stored.starts, stored.lengths)  # of each row, where its sequence begins
    whole = np.ones(stored.rows, bool)
    for name in names:
        column = stored.column(name)
        if column.gaps:
            gaps[name], lacks = column.gaps, column.missing()
            first = first if first[1] else (int(np.argmax(lacks)), name)
            whole &= last_known(lacks, begins) >= begins if missing == "last" else ~lacks
    listed = ", ".join(f"{name} {found}" for name, found in gaps.items())
    total = sum(gaps.values())
    count = f"{total} cell{'s' if total > 1 else ''}"
    if missing == "refuse":
        raise InputError(
            f"{stored.place(first[0])}, column {first[1]!r} holds a missing value; {count} hold none in all "
            f"({listed}): fill them, leave out columns that do not matter, or say --missing drop, which cuts "
            "sequences there, or --missing last, which carries the last value forward."
        )
    if not whole.any():
        raise InputError(f"no row is left without the {count} that hold nothing ({listed}); fill them.")
    begun, ended = stretches(whole, stored.lengths)
    rows = np.flatnonzero(whole)

    def kept(name: str) -> Column:
        column = stored.column(name)
        if not column.gaps:
            return column.kept(rows)
        return column.kept(last_known(column.missing(), begins)[rows] if missing == "last" else rows)

    if missing == "last":
        remark = f"{count} that held nothing ({listed}) were filled with the last value before them"
    else:
        remark = f"sequences were cut at {count} that held nothing ({listed}), which left {len(begun)}"
    return Filled(Stored(kept, ended - begun), (begun == begins[begun]).tolist(), remark)


def stretches(whole: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows of sequences that lack nothing begin, and where they end, sequence by sequence."""
    ends = np.cumsum(lengths)
    first, last = np.zeros(len(whole), bool), np.zeros(len(whole), bool)
    first[ends - lengths] = last[ends - 1] = True
    before, after = (np.concatenate(parts) for parts in (([False], whole[:-1]), (whole[1:], [False])))
    return np.flatnonzero(whole & (first | ~before)), np.flatnonzero(whole & (last | ~after)) + 1


def last_known(missing: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Of each row the last one up to it that holds something; one of another sequence, or -1, is none."""
    return np.maximum.accumulate(np.where(missing, -1, np.arange(len(begins))))


def carried(values: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Every gap filled with the last value of its sequence; what comes before the first one stays empty."""
    place = last_known(np.isnan(values), begins)
    return np.where(place >= begins, values[place], np.nan)
