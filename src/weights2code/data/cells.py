"""Cells as they are written: what float64 would have to guess, round away or bend into a number is refused.

A fraction may be rounded, as every decimal is. A whole number may not: ids and counters that come out as
other ones are wrong without a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np

from weights2code.errors import InputError
from weights2code.language.domain import EXACT

#: Cells that say that a value is missing, and words that are numbers; "none" and "-" may be texts.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
MISSING_TEXTS = frozenset({"", "na", "n/a", "nan", "null"})
WORDS = {"true": 1.0, "false": 0.0}
#: What a number may look like; the digits of other scripts and 1_000 are for Python, not for files.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: ISO times without and with their place in the world; the two cannot be compared.
LOCAL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?)?)?")
WORLD_TIME = re.compile(LOCAL_TIME.pattern + r"(Z|[+-][0-9]{2}:?[0-9]{2})")
#: Characters that are in no number of that form, except in those that Python would read as well.
_ODD = re.compile(r"[^\t -^`-~]")
_DIGIT = re.compile("[1-9]")
#: Numbers with a decimal comma or point, and separators of thousands, by what the decimals begin with.
_GROUPS = r"[1-9][0-9]{0,2}(?:%s[0-9]{3})+"
_BLANKS = "['’\u00a0\u202f ]"
_FORMS = {
    mark: re.compile(rf"[+-]?(?:{_GROUPS % other}|{_GROUPS % _BLANKS}|[0-9]+)(?:{decimal}[0-9]+)?")
    for mark, decimal, other in (("point", r"\.", ","), ("comma", ",", r"\."))
}
#: Kinds of arrays that are no numbers, whatever NumPy makes of them.
NO_NUMBERS = {
    "c": "complex numbers; give their parts as columns",
    "M": "dates; give the time that has passed as numbers",
    "m": "spans of time; give them as numbers in one unit",
    "U": "text; encode it as numbers",
    "S": "text; encode it as numbers",
    "V": "records; give each of their fields as a column",
}
#: What pandas calls nothing.
_NOTHING = ("NAType", "NaTType")


class BadCell(InputError):
    """What a cell holds, which cannot be used, and its place among the others; None where all are alike."""

    def __init__(self, index: int | None, what: str) -> None:
        super().__init__(f"holds {what}.")
        self.index = index


class HoldsText(BadCell):
    """A cell is no number, and nothing is missing there."""


class Gap(BadCell):
    """There is nothing in a cell, or something without end."""

    def __init__(self, index: int, cell: str = "") -> None:
        missing = cell.lower().lstrip("+-") in MISSING
        super().__init__(
            index, f"{'a missing' if missing else 'an infinite'} value; remove the row or fill it"
        )


@contextmanager
def placed(where: str, name: str, place: Any) -> Iterator[None]:
    """What is wrong with a cell is said with its column, and with the `place` of its index."""
    try:
        yield
    except BadCell as bad:
        at = where if bad.index is None else place(bad.index)
        raise InputError(f"{at}, column {name!r} {bad}") from None


def shown(text: str) -> str:
    """A cell in quotes, cut short if it is long."""
    return repr(text if len(text) <= 20 else text[:20] + "...")


def _rounded(index: int, text: str) -> BadCell:
    return BadCell(
        index,
        f"{shown(text)}, a whole number beyond 2^53 that double precision cannot hold; number what it stands "
        "for anew, or give it in larger units",
    )


def numbers_in(words: Sequence[str], form: str = "") -> tuple[np.ndarray, str]:
    """Cells as finite numbers, missing ones as `nan`, and whether these have a decimal "point" or "comma".

    They have points, or commas and separators where all agree to that; a `form` that is known is kept.
    """
    try:
        if form == "comma":
            raise HoldsText(None, "")
        return _parsed(words), form
    except HoldsText:
        found = _decimal_form(words, form)
        return _parsed(_with_points(words, found) if found else words), found or form


def _parsed(words: Sequence[str]) -> np.ndarray:
    try:
        if _ODD.search("".join(words)):
            raise ValueError("some cells need a closer look")
        values = np.fromiter(map(float, words), float, len(words))
    except ValueError:
        values = np.array([_number(i, word) for i, word in enumerate(words)])
    for index in np.flatnonzero(np.isinf(values)).tolist():
        raise Gap(index, words[index].strip())
    for index in np.flatnonzero(np.abs(values) >= EXACT).tolist():
        text = words[index].strip()
        if "e" not in text.lower() and _is_other_whole_number(Decimal(text), values[index]):
            raise _rounded(index, text)
    for index in np.flatnonzero(values == 0).tolist():
        if vanished(words[index]):
            what = (
                f"{shown(words[index].strip())}, which is too small to compute with; give it in other units"
            )
            raise BadCell(index, what)
    return values


def vanished(word: str) -> bool:
    """Whether a number that came out as 0 is none."""
    return _DIGIT.search(word.lower().partition("e")[0]) is not None


def _number(index: int, cell: str) -> float:
    text = cell.strip(" \t")
    if NUMBER.fullmatch(text):
        return float(text)
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if text.lower() in MISSING or text.lower().lstrip("+-") == "nan":
        return np.nan
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        raise Gap(index, text)
    hint = "encode it as numbers"
    if any(form.fullmatch(text) for form in _FORMS.values()):
        hint = "write all numbers with a decimal point, or all with a comma"
    elif text.isdecimal() or NUMBER.fullmatch(text.replace("_", "")):
        hint = "write numbers with the digits 0 to 9 alone"
    raise HoldsText(index, f"the text {shown(text)}; {hint}")


def _decimal_form(words: Sequence[str], form: str) -> str:
    """Whether the decimals of a column follow a "point" or a "comma"; empty if these are no such numbers.

    Where both would do, nobody can say.
    """
    told = [(i, word.strip(" \t")) for i, word in enumerate(words) if word.strip().lower() not in MISSING]
    fit = [mark for mark, one in _FORMS.items() if all(one.fullmatch(text) for _, text in told)]
    if form and fit and form not in fit:
        other, text = next((i, text) for i, text in told if not _FORMS[form].fullmatch(text))
        raise BadCell(other, f"{shown(text)}, and others have a decimal {form}; write all of them alike")
    if len(fit) == 2 and not form:
        for i, text in told:
            if "," in text or "." in text:
                raise BadCell(
                    i,
                    f"{shown(text)}, which may have decimals or thousands after its comma; say --decimal "
                    "comma or --decimal point",
                )
    return form if form in fit else next(iter(fit), "")


def _with_points(words: Sequence[str], form: str) -> list[str]:
    """The cells without separators of thousands, and with decimal points."""
    gone = str.maketrans({"," if form == "point" else ".": "", **dict.fromkeys(_BLANKS.strip("[]"), "")})
    return [
        word if word.strip().lower() in MISSING else word.strip(" \t").translate(gone).replace(",", ".")
        for word in words
    ]


def is_like_a_number(text: str) -> bool:
    """Whether somebody may have meant a number, or a truth value."""
    if NUMBER.fullmatch(text) or text.lower() in WORDS or text.isdecimal():
        return True
    known = any(form.fullmatch(text) for form in _FORMS.values())
    return known or NUMBER.fullmatch(text.replace("_", "")) is not None


def as_numbers(column: np.ndarray) -> np.ndarray:
    """An array as finite float64; missing values are `nan`."""
    if column.dtype.kind in NO_NUMBERS:
        raise BadCell(None, NO_NUMBERS[column.dtype.kind])
    if column.dtype.kind == "O":
        for index, value in enumerate(column):  # truth values, numbers that float64 holds, decimals
            if not (is_nothing(value) or isinstance(value, (Decimal, float, np.floating)) or _exact(value)):
                raise BadCell(index, f"{shown(str(value))}; encode it as numbers")
        column = np.array([np.nan if is_nothing(value) else value for value in column], object)
    with np.errstate(all="ignore"):
        values = column.astype(float)
    for index in np.flatnonzero(np.isinf(values)).tolist():
        raise Gap(index, str(column[index]))
    for index in changed(column, values).tolist():
        raise _rounded(index, str(column[index]))
    return values


def changed(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The places of whole numbers that are others as float64."""
    if column.dtype.kind in "iu" and column.dtype.itemsize == 8:
        beyond = values >= float(np.iinfo(column.dtype).max)  # as float64 that is one more than the largest
        return np.flatnonzero(beyond | (np.where(beyond, 0, values).astype(column.dtype) != column))
    if column.dtype.kind == "f" and column.dtype.itemsize > 8:
        return np.flatnonzero((np.abs(values) >= EXACT) & (values != column))
    if column.dtype.kind == "O":
        large = np.flatnonzero(np.abs(values) >= EXACT).tolist()
        return np.array([i for i in large if _is_other_whole_number(column.flat[i], values.flat[i])], int)
    return np.zeros(0, int)


def _is_other_whole_number(written: Any, value: float) -> bool:
    if isinstance(written, Decimal):
        return written == written.to_integral_value() and written != Decimal(float(value))
    return isinstance(written, int) and written != int(value)


def _exact(value: Any) -> bool:
    whole = isinstance(value, (bool, np.bool_, int, np.integer))
    return whole and abs(int(value)) < EXACT


def holds_truths(column: np.ndarray) -> bool:
    """Whether a column holds truth values and nothing else, but what is nothing."""
    if column.dtype.kind != "O":
        return column.dtype.kind == "b"
    known = [value for value in column.flat if not is_nothing(value)]
    return bool(known) and all(isinstance(value, (bool, np.bool_)) for value in known)


def is_nothing(value: Any) -> bool:
    """Whether a cell says that it holds nothing: None, `nan`, or what pandas writes."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _NOTHING


def as_text(value: Any) -> str:
    """A cell as a text: whole numbers without a point, nothing as an empty one."""
    if is_nothing(value):
        return ""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole or isinstance(value, bool) else str(value)
