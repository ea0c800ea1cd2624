"""Numbers as they are written: what float64 would have to guess, round away or bend into a number is refused.

A fraction may be rounded, as every decimal is. A whole number may not: ids and counters that come out as
other ones are wrong without a trace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from weights2code.errors import InputError
from weights2code.language.domain import EXACT

#: Cells that say that a value is missing, and words that are numbers.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
WORDS = {"true": 1.0, "false": 0.0}
#: What a number may look like; the digits of other scripts and 1_000 are for Python, not for files.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: ISO times without and with their place in the world; the two cannot be compared.
LOCAL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?)?)?")
WORLD_TIME = re.compile(LOCAL_TIME.pattern + r"(Z|[+-][0-9]{2}:?[0-9]{2})")
#: Characters that are in no number of that form, except in those that Python would read as well.
_ODD = re.compile(r"[^\t -^`-~]")
_DIGIT = re.compile("[1-9]")
#: Kinds of arrays that are no numbers, whatever NumPy makes of them.
NO_NUMBERS = {
    "c": "complex numbers; give their parts as columns",
    "M": "dates; give the time that has passed as numbers",
    "m": "spans of time; give them as numbers in one unit",
    "U": "text; encode it as numbers",
    "S": "text; encode it as numbers",
    "V": "records; give each of their fields as a column",
}


class HoldsText(InputError):
    """A cell is no number, and nothing is missing there."""


def parse(where: str, name: str, cells: Sequence[str], lines: Sequence[int]) -> np.ndarray:
    """The cells of a column of text as finite numbers; missing ones are `nan`."""
    try:
        if _ODD.search("".join(cells)):
            raise ValueError("some cells need a closer look")
        values = np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        values = np.array(
            [_number(f"{where}, line {line}", name, c) for c, line in zip(cells, lines, strict=True)]
        )
    for index in np.flatnonzero(np.isinf(values)).tolist():
        refuse_gap(f"{where}, line {lines[index]}", name, cells[index].strip())
    for index in np.flatnonzero(np.abs(values) >= EXACT).tolist():
        text = cells[index].strip()
        if "e" not in text.lower() and _is_other_whole_number(Decimal(text), values[index]):
            refuse_rounding(f"{where}, line {lines[index]}", name, text)
    vanished = {cells[index] for index in np.flatnonzero(values == 0).tolist()}
    for text in vanished - {"0", "0.0"}:
        if _DIGIT.search(text.lower().partition("e")[0]):
            line = lines[list(cells).index(text)]
            raise InputError(
                f"{where}, line {line}, column {name!r} holds {shown(text.strip())}, which is too small to "
                "compute with; give it in other units."
            )
    return values


def _number(where: str, name: str, cell: str) -> float:
    text = cell.strip(" \t")
    if NUMBER.fullmatch(text):
        return float(text)
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if text.lower() in MISSING or text.lower().lstrip("+-") == "nan":
        return np.nan
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        refuse_gap(where, name, text)
    hint = "encode it as numbers"
    if any(form.fullmatch(text) for form in _FORMS.values()):
        hint = "write all numbers with a decimal point, or all with a comma"
    elif text.isdecimal() or NUMBER.fullmatch(text.replace("_", "")):
        hint = "write numbers with the digits 0 to 9 alone"
    raise HoldsText(f"{where}, column {name!r} holds the text {shown(text)}; {hint}.")


#: Numbers with a decimal comma or point, and separators of thousands, by what the decimals begin with.
_GROUPS = r"[1-9][0-9]{0,2}(?:%s[0-9]{3})+"
_BLANKS = "['’\u00a0\u202f ]"
_FORMS = {
    mark: re.compile(rf"[+-]?(?:{_GROUPS % other}|{_GROUPS % _BLANKS}|[0-9]+)(?:{decimal}[0-9]+)?")
    for mark, decimal, other in (("point", r"\.", ","), ("comma", ",", r"\."))
}


def decimal_form(where: str, name: str, cells: Sequence[str], form: str, lines: Sequence[int]) -> str:
    """Whether the decimals of a column follow a "point" or a "comma"; empty if these are no such numbers.

    A `form` that is known already is kept to; where both would do, nobody can say.
    """
    told = [(i, cell.strip(" \t")) for i, cell in enumerate(cells) if cell.strip().lower() not in MISSING]
    fit = [mark for mark, one in _FORMS.items() if all(one.fullmatch(text) for _, text in told)]
    if form and fit and form not in fit:
        other = next(i for i, text in told if not _FORMS[form].fullmatch(text))
        raise InputError(
            f"{where}, line {lines[other]}, column {name!r} holds {shown(cells[other].strip())}, and others "
            f"have a decimal {form}; write all of them alike."
        )
    if len(fit) == 2 and not form:
        odd = next((i for i, text in told if "," in text or "." in text), None)
        if odd is not None:
            raise InputError(
                f"{where}, line {lines[odd]}, column {name!r} holds {shown(cells[odd].strip())}, which may "
                "have decimals or thousands after its comma; say --decimal comma or --decimal point."
            )
    return form if form in fit else next(iter(fit), "")


def with_points(cells: Sequence[str], form: str) -> list[str]:
    """The cells without separators of thousands, and with decimal points."""
    gone = str.maketrans({"," if form == "point" else ".": "", **dict.fromkeys(_BLANKS.strip("[]"), "")})
    return [
        cell if cell.strip().lower() in MISSING else cell.strip(" \t").translate(gone).replace(",", ".")
        for cell in cells
    ]


def is_like_a_number(text: str) -> bool:
    """Whether somebody may have meant a number, or a truth value."""
    if NUMBER.fullmatch(text) or text.lower() in WORDS or text.isdecimal():
        return True
    known = any(form.fullmatch(text) for form in _FORMS.values())
    return known or NUMBER.fullmatch(text.replace("_", "")) is not None


def convert(where: str, name: str, column: np.ndarray) -> np.ndarray:
    """An array as finite float64; missing values are `nan`."""
    kind = column.dtype.kind
    if kind in NO_NUMBERS:
        raise InputError(f"{where}, column {name!r} holds {NO_NUMBERS[kind]}.")
    if kind == "O":
        _refuse_objects(where, name, column)
    with np.errstate(all="ignore"):
        values = column.astype(float)
    bad = np.argwhere(np.isinf(values))
    if len(bad):
        refuse_gap(f"{where}, {entry(bad[0])}", name, str(column[tuple(bad[0])]))
    for place in changed(column, values)[:1]:
        refuse_rounding(f"{where}, {entry(place)}", name, str(column[tuple(place)]))
    return values


def _refuse_objects(where: str, name: str, column: np.ndarray) -> None:
    """Of objects only decimals are numbers."""
    for index, value in np.ndenumerate(column):
        if not isinstance(value, Decimal):
            raise InputError(
                f"{where}, {entry(index)}, column {name!r} holds {shown(str(value))}; encode it as numbers."
            )


def changed(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The places of whole numbers that are others as float64."""
    if column.dtype.kind in "iu":
        if column.dtype.itemsize < 8:
            return np.empty((0, column.ndim), int)
        beyond = values >= float(np.iinfo(column.dtype).max)  # as float64 that is one more than the largest
        return np.argwhere(beyond | (np.where(beyond, 0, values).astype(column.dtype) != column))
    if column.dtype.kind == "f" and column.dtype.itemsize > 8:
        return np.argwhere((np.abs(values) >= EXACT) & (values != column))
    if column.dtype.kind == "O":
        large = np.argwhere(np.abs(values) >= EXACT)
        wrong = [at for at in large if _is_other_whole_number(column[tuple(at)], float(values[tuple(at)]))]
        return np.array(wrong, int).reshape(-1, column.ndim)
    return np.empty((0, column.ndim), int)


def _is_other_whole_number(written: Any, value: float) -> bool:
    if isinstance(written, Decimal):
        return written == written.to_integral_value() and written != Decimal(value)
    return isinstance(written, int) and written != int(value)


def entry(index: Sequence[int] | np.ndarray) -> str:
    """Where a value stands in an array."""
    return f"row {index[0]}" if len(index) == 1 else f"entry {tuple(int(i) for i in index)}"


def shown(text: str) -> str:
    """A cell in quotes, cut short if it is long."""
    return repr(text if len(text) <= 20 else text[:20] + "...")


def refuse_gap(where: str, name: str, cell: str) -> None:
    what = "a missing value" if cell.lower().lstrip("+-") in MISSING else "an infinite value"
    raise InputError(f"{where}, column {name!r} holds {what}; remove the row or fill it.")


def refuse_rounding(where: str, name: str, text: str) -> None:
    raise InputError(
        f"{where}, column {name!r} holds {shown(text)}, a whole number beyond 2^53 that double precision "
        "cannot hold; number what it stands for anew, or give it in larger units."
    )
