"""Values out of a JSON file as what they must be, within limits; anything else is a ValueError in words.

A run folder may come from somebody else, or from a disk that lost half of it. Whatever turns JSON into
objects (`from_dict`) reads it through these functions, so that the limits hold wherever a folder is read.
They lie far above what programs, graphs and settings have, and low enough that nothing within them hangs.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

#: Characters of a name or a sentence, entries of a list.
MOST_TEXT = 20_000
MOST_ITEMS = 100_000
#: Whole numbers that count something.
MOST_COUNT = 10**9
#: How deep an expression may be nested; nodes and steps of a recurrence, and how far a step looks back.
MOST_DEPTH = 200
MOST_NODES = 5_000
MOST_STEPS = 200
MOST_LAG = 1_000
#: Digits of constants: what float64 can hold.
MOST_BITS = 1_000


def shown(value: Any) -> str:
    """The value as an error message may show it."""
    return reprlib.repr(value)


def mapping(data: Any, what: str) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(data, dict):
        raise ValueError(f"{what} must be an object, not {shown(data)}")
    return data


def items(data: Any, what: str, most: int = MOST_ITEMS) -> Sequence[Any]:
    """A JSON list of at most so many entries."""
    if not isinstance(data, (list, tuple)):
        raise ValueError(f"{what} must be a list, not {shown(data)}")
    if len(data) > most:
        raise ValueError(f"{what}: {len(data)} entries are more than {most}")
    return data


def text(data: Any, what: str) -> str:
    """A text of sensible length."""
    if not isinstance(data, str):
        raise ValueError(f"{what} must be a text, not {shown(data)}")
    if len(data) > MOST_TEXT:
        raise ValueError(f"{what}: {len(data)} characters are more than {MOST_TEXT}")
    try:
        data.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds half of a character: {shown(data)}") from None
    return data


def name(data: Any, what: str) -> str:
    """A text that is not empty."""
    if not text(data, what).strip():
        raise ValueError(f"{what} is empty")
    return data


def names(data: Any, what: str) -> tuple[str, ...]:
    """A list of names, each another."""
    found = tuple(name(item, what) for item in items(data, what, MOST_STEPS))
    if len(set(found)) < len(found):
        raise ValueError(f"{what} has a name twice")
    return found


def truth(data: Any, what: str) -> bool:
    """True or false."""
    if not isinstance(data, bool):
        raise ValueError(f"{what} must be true or false, not {shown(data)}")
    return data


def whole(data: Any, what: str, least: int = 0, most: int = MOST_COUNT) -> int:
    """A whole number within bounds."""
    if not isinstance(data, int) or isinstance(data, bool):
        raise ValueError(f"{what} must be a whole number, not {shown(data)}")
    if not least <= data <= most:
        raise ValueError(f"{what} must lie between {least} and {most}, not be {shown(data)}")
    return data


def number(data: Any, what: str) -> int | float:
    """A finite number that float64 can hold; a whole one stays what it is."""
    if isinstance(data, bool) or not isinstance(data, (int, float)):
        raise ValueError(f"{what} must be a number, not {shown(data)}")
    if isinstance(data, int) and data.bit_length() > MOST_BITS:
        raise ValueError(f"{what} has more digits than float64 can hold")
    if not math.isfinite(data):
        raise ValueError(f"{what} must be a finite number, not {data}")
    return data


def any_number(data: Any, what: str) -> float:
    """A number that may be infinite or undefined; JSON has those as text ("inf", "nan") if at all."""
    if isinstance(data, float):
        return data
    if isinstance(data, str):
        try:
            return float(text(data, what)[:400])
        except ValueError:
            raise ValueError(f"{what} must be a number, not {shown(data)}") from None
    return float(number(data, what))
