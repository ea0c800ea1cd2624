"""Cells that hold nothing: refused with their number, cut out, or filled with the last value.

A sequence that was cut goes on as one of its own, whose first rows are given and not judged: what they depend
on may have been lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from weights2code.data.loose_cells import Gaps
from weights2code.errors import InputError

Missing = Literal["refuse", "drop", "last"]
WAYS: tuple[str, ...] = get_args(Missing)


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Sequences without gaps; which of them begin where they truly began; what a certificate should say."""

    x: list[np.ndarray]
    y: list[np.ndarray]
    true_starts: list[bool]
    remark: str = ""


def without_gaps(
    x: Sequence[np.ndarray], y: Sequence[np.ndarray], gaps: Mapping[str, Gaps], missing: str
) -> Filled:
    """The sequences (T_i, columns) and (T_i, outputs) with their gaps dealt with as was asked."""
    if not gaps:
        return Filled(list(x), list(y), [True] * len(x))
    listed = ", ".join(f"{name} {found.count}" for name, found in gaps.items())
    total = sum(found.count for found in gaps.values())
    count = f"{total} cell{'s' if total > 1 else ''}"
    if missing == "refuse":
        name, first = next(iter(gaps.items()))
        raise InputError(
            f"{first.first}, column {name!r} holds a missing value; {count} hold none in all ({listed}): "
            "fill them, or say --missing drop, which cuts sequences there, or --missing last, which carries "
            "the last value forward."
        )
    found_x, found_y, starts = [], [], []
    for inputs, targets in zip(x, y, strict=True):
        rows = np.hstack([inputs, targets])
        if missing == "last":
            rows = carried(rows)
        whole = ~np.isnan(rows).any(1)
        borders = np.flatnonzero(np.diff(np.concatenate([[False], whole, [False]]).astype(int)))
        for first, last in borders.reshape(-1, 2):
            found_x.append(rows[first:last, : inputs.shape[1]])
            found_y.append(rows[first:last, inputs.shape[1] :])
            starts.append(bool(first == 0))
    if not found_x:
        raise InputError(f"no row is left without the {count} that hold nothing ({listed}); fill them.")
    if missing == "last":
        remark = f"{count} that held nothing ({listed}) were filled with the last value before them"
    else:
        remark = f"sequences were cut at {count} that held nothing ({listed}), which left {len(found_x)}"
    return Filled(found_x, found_y, starts, remark)


def carried(rows: np.ndarray) -> np.ndarray:
    """Every gap filled with the last value of its column; what comes before the first value stays empty."""
    place = np.where(np.isnan(rows), -1, np.arange(len(rows))[:, None])
    last = np.maximum.accumulate(place, axis=0)
    filled = np.take_along_axis(rows, np.maximum(last, 0), axis=0)
    return np.where(last < 0, np.nan, filled)
