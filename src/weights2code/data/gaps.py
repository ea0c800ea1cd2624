"""Cells that hold nothing: refused with their number, cut out, or filled with the last value.

A sequence that was cut goes on as one of its own, whose first rows are given and not judged: what they depend
on may have been lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from weights2code.data.columns import Column, Gaps, Stored
from weights2code.errors import InputError

Missing = Literal["refuse", "drop", "last"]
WAYS: tuple[str, ...] = get_args(Missing)


def checked_way(missing: str) -> str:
    """A way to deal with missing cells, if it is one."""
    if missing not in WAYS:
        raise InputError(f"--missing {missing} is not known; choose one of {', '.join(WAYS)}.")
    return missing


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Sequences without gaps; which of them begin where they truly began; what a certificate should say."""

    stored: Stored
    true_starts: list[bool]
    remark: str


def without_gaps(stored: Stored, names: Sequence[str], missing: str) -> Filled:
    """The sequences with the gaps of these columns dealt with as was asked."""
    begins = np.repeat(stored.starts, stored.lengths)  # of each row, where its sequence begins
    whole = np.ones(stored.rows, bool)
    gaps: dict[str, Gaps] = {}
    for name in names:
        column = stored.column(name)
        if column.gaps:
            gaps[name] = column.gaps
            whole &= last_known(column, begins) >= begins if missing == "last" else ~column.missing()
    listed = ", ".join(f"{name} {found.count}" for name, found in gaps.items())
    total = sum(found.count for found in gaps.values())
    count = f"{total} cell{'s' if total > 1 else ''}"
    if missing == "refuse":
        _refuse(gaps, count, listed)
    if not whole.any():
        raise InputError(f"no row is left without the {count} that hold nothing ({listed}); fill them.")
    before, after = (np.concatenate(ends) for ends in (([False], whole[:-1]), (whole[1:], [False])))
    first, last = np.zeros(stored.rows, bool), np.zeros(stored.rows, bool)
    first[stored.starts] = last[stored.starts + stored.lengths - 1] = True
    begun, ended = np.flatnonzero(whole & (first | ~before)), np.flatnonzero(whole & (last | ~after))
    rows = np.flatnonzero(whole)

    def kept(name: str) -> Column:
        column = stored.column(name)
        if not column.gaps:
            return column.kept(rows)
        return column.kept(last_known(column, begins)[rows] if missing == "last" else rows)

    if missing == "last":
        remark = f"{count} that held nothing ({listed}) were filled with the last value before them"
    else:
        remark = f"sequences were cut at {count} that held nothing ({listed}), which left {len(begun)}"
    return Filled(Stored(kept, ended - begun + 1), first[begun].tolist(), remark)


def last_known(column: Column, begins: np.ndarray) -> np.ndarray:
    """Of each row the last one up to it that holds something; one of another sequence, or -1, is none."""
    places = np.where(column.missing(), -1, np.arange(len(begins)))
    return np.maximum.accumulate(places)


def _refuse(gaps: Mapping[str, Gaps], count: str, listed: str) -> None:
    name, first = next(iter(gaps.items()))
    raise InputError(
        f"{first.first}, column {name!r} holds a missing value; {count} hold none in all ({listed}): "
        "fill them, or say --missing drop, which cuts sequences there, or --missing last, which carries "
        "the last value forward."
    )


def carried(rows: np.ndarray) -> np.ndarray:
    """Every gap filled with the last value of its column; what comes before the first value stays empty."""
    place = np.where(np.isnan(rows), -1, np.arange(len(rows))[:, None])
    last = np.maximum.accumulate(place, axis=0)
    filled = np.take_along_axis(rows, np.maximum(last, 0), axis=0)
    return np.where(last < 0, np.nan, filled)
