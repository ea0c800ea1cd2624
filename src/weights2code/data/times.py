"""What people mean by time: the hour, the weekday, and how long ago the last row was.

A column of times (`--time`) gives these as inputs, each where it varies: a column of dates has no hour, and
rows at equal distances have no time since the last. Units are in the names, so a program says what it reads,
and new rows are read the same way. Hours and weekdays are those that are written, wherever in the world that
is; the time between rows knows about zones.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

#: Units of the time between rows, the largest in which all of it is whole first.
UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
HOUR, WEEKDAY, SINCE = "hour", "weekday", "since_last"
#: A step from row to row is the usual one if so many are like it.
USUAL = 0.9

#: Moments that can be subtracted (numbers or times), and the same as they are written.
Times = tuple[np.ndarray, np.ndarray]


def time_leaves(
    times: Times, rows: np.ndarray, ends: np.ndarray, column: str, taken: Collection[str]
) -> dict[str, np.ndarray]:
    """What a column of times gives, in the order of the file: each leaf that varies, by its name."""
    elapsed, names = since_last(times[0], rows, ends), [HOUR, WEEKDAY]
    inside = np.ones(len(rows), bool)
    inside[rows[[0, *ends.tolist()]]] = False
    if np.ptp(elapsed[inside]) if inside.any() else 0.0:
        names.append(f"{_unit(elapsed)}_{SINCE}" if times[0].dtype.kind == "M" else SINCE)
    found = {name: time_leaf(times, rows, ends, column, name) for name in names}
    return {
        f"{column}_{name}" if name in taken else name: values
        for name, values in found.items()
        if values is not None and np.ptp(values)
    }


def time_leaf(times: Times, rows: np.ndarray, ends: np.ndarray, column: str, name: str) -> np.ndarray | None:
    """The leaf of that name, whether it varies or not; None if there is none."""
    moments, written = times
    plain = name.removeprefix(f"{column}_")
    if plain in (HOUR, WEEKDAY):
        return None if written.dtype.kind != "M" else (hours if plain == HOUR else weekdays)(written)
    unit = plain.removesuffix(SINCE).removesuffix("_")
    if not plain.endswith(SINCE) or (unit not in UNITS if moments.dtype.kind == "M" else unit):
        return None
    return since_last(moments, rows, ends) / UNITS.get(unit, 1)


def hours(written: np.ndarray) -> np.ndarray:
    """0 to 23."""
    return ((written - written.astype("datetime64[D]")) // np.timedelta64(1, "h")).astype(float)


def weekdays(written: np.ndarray) -> np.ndarray:
    """0, Monday, to 6, Sunday: the first day of NumPy's calendar was a Thursday."""
    return ((written.astype("datetime64[D]").astype(np.int64) + 3) % 7).astype(float)


def since_last(moments: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Seconds (of numbers: their difference) since the row before; 0 at the beginning of a sequence."""
    steps = _steps(moments[rows])
    gone = np.zeros(len(rows))
    gone[1:] = steps
    gone[ends] = 0.0
    found = np.zeros(len(rows))
    found[rows] = gone
    return found


def remark_on_steps(moments: np.ndarray, ends: np.ndarray, column: str) -> str:
    """A sentence about steps that are missing, or about rows that come at unequal times; empty if neither.

    The moments stand in the order of the sequences, each but the first of which begins at one of the `ends`.
    """
    steps = _steps(moments)
    if not len(ends) and len(steps) and (steps == steps[0]).all():
        return ""
    within = np.ones(len(steps), bool)
    within[ends - 1] = False
    inside = np.flatnonzero(within)
    if len(inside) < 2 or (steps[inside] == steps[inside[0]]).all():
        return ""
    values, counts = np.unique(steps[inside], return_counts=True)
    usual = values[np.argmax(counts)]
    shown = _words(usual, moments)
    if counts.max() < USUAL * len(inside):
        least, most = _words(values[0], moments), _words(values[-1], moments)
        return f"rows come at unequal distances of {column}: from {least} to {most}, most often {shown}"
    odd = inside[steps[inside] != usual]
    first = moments[odd[0]]
    place = as_written(first) if moments.dtype.kind == "M" else f"{float(first):g}"
    longer = int((steps[odd] > usual).sum())
    missing = f"{longer} steps are missing" if longer == len(odd) else f"{len(odd)} steps are others"
    missing = missing.replace("1 steps are", "1 step is") if len(odd) == 1 else missing
    return f"{column} goes on by {shown}, but {missing}, the first after {place}"


def as_written(moment: object) -> str:
    """A time as people write it."""
    return str(moment).replace("T", " ").removesuffix(".000000")


def _steps(moments: np.ndarray) -> np.ndarray:
    steps = np.diff(moments if moments.dtype.kind in "Mm" else moments.astype(float))
    return steps / np.timedelta64(1, "s") if steps.dtype.kind == "m" else steps.astype(float)


def _unit(seconds: np.ndarray) -> str:
    return next((name for name, size in UNITS.items() if not np.any(seconds % size)), "seconds")


def _words(step: float, moments: np.ndarray) -> str:
    if moments.dtype.kind != "M":
        return f"{step:g}"
    unit = next((name for name, size in UNITS.items() if step >= size), "seconds")
    count = step / UNITS[unit]
    return f"{count:g} {unit.removesuffix('s') if count == 1 else unit}"
