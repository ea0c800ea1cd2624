"""Dates and times as people write them, in the one form that can be compared: 2024-01-31T12:00.

A year has four digits. Where a day and a month look alike, another row of the column tells which comes
first; where none does, nobody can say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from weights2code.errors import InputError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(?:[T ,]+(\d{1,2}):(\d{2})(:\d{2}(?:\.\d+)?)? ?([AaPp][Mm])?)?"
_DIGITS = re.compile(rf"(\d{{1,4}})([./-])(\d{{1,2}})\2(\d{{1,4}}){_CLOCK}", re.ASCII)
_NAMED = re.compile(
    rf"(?:(\d{{1,2}})\.? )?([A-Za-z]{{3,9}})\.?(?: (\d{{1,2}}),)? (\d{{4}}){_CLOCK}", re.ASCII
)


def iso_times(texts: Sequence[str], dates: str | None, where: str) -> list[str] | None:
    """The texts in ISO's form; None if they are no dates.

    `dates` says which comes first, "day-first" or "month-first", where the texts do not.
    """
    parts = [_parts(text.strip()) for text in texts]
    if not parts or any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    open_ones = [part for part in known if part[1] == "/-"]
    first = dates
    if any(int(day) > 12 for (_, day, _), *_ in open_ones):
        first = "day-first"
    elif any(int(month) > 12 for (_, _, month), *_ in open_ones):
        first = "month-first"
    if open_ones and first is None:
        text = next(text for text, part in zip(texts, known, strict=True) if part[1] == "/-")
        raise InputError(
            f"{where} holds {text.strip()!r}, whose day and month nobody can tell apart; say --dates "
            "day-first or --dates month-first."
        )
    told = []
    for (year, day, month), kind, clock in known:
        if kind == "/-" and first == "month-first":
            day, month = month, day
        told.append(f"{year}-{int(month):02d}-{int(day):02d}{clock}")
    return told


def _parts(text: str) -> tuple[tuple[str, str, str], str, str] | None:
    """Year, day and month, whether day and month may stand in the other order, and the time of day."""
    if found := _DIGITS.fullmatch(text):
        one, mark, two, three, *clock = found.groups()
        if len(one) == 4 and len(three) <= 2:
            return (one, three, two), "", _clock(*clock)
        if len(one) <= 2 and len(three) == 4:
            return (three, one, two), "" if mark == "." else "/-", _clock(*clock)
    if found := _NAMED.fullmatch(text):
        before, name, after, year, *clock = found.groups()
        if name[:3].lower() in _MONTHS and (before is None) != (after is None):
            return (year, before or after, str(_MONTHS.index(name[:3].lower()) + 1)), "", _clock(*clock)
    return None


def _clock(hours: str | None, minutes: str | None, seconds: str | None, half: str | None) -> str:
    """The time of day, in 24 hours."""
    if hours is None:
        return ""
    count = int(hours)
    if half is not None:
        count = count % 12 + 12 * (half.lower() == "pm")
    return f"T{count:02d}:{minutes}{seconds or ''}"
