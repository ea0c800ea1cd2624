"""A second reading of data files, written apart from the one under attack: slow, and without any leniency.

CSV is read character by character and its numbers are `Decimal`; arrays are NumPy's own, and of Parquet
files Python's own values are taken. Whatever has two meanings, or none, raises `Unclear`.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: Thousands apart, and a decimal comma that nobody can take for one of thousands.
_APART = re.compile(r"[+-]?[1-9]\d{0,2}([ '’\u00a0\u202f]\d{3})+([.,]\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+,(?!\d{3}$)\d+", re.ASCII)
_BLANKS = " \t"
#: One sequence: rows of inputs, and of targets.
Rows = tuple[list[list[float]], list[list[float]]]


class Unclear(Exception):
    """The file does not say one thing."""


def read(
    path: Path, inputs: Sequence[str], targets: Sequence[str], ids: str | None, order: str | None
) -> list[Rows]:
    """The sequences of a file, in the order in which their ids come up, each sorted by `order`."""
    named = [*inputs, *targets, *(name for name in (ids, order) if name)]
    suffix = path.suffix.lower()
    if suffix == ".npz":
        columns, numbers = _npz(path, named), array_number
    elif suffix in (".parquet", ".pq"):
        columns, numbers = _parquet(path, named), array_number
    else:
        columns, numbers = _csv(path, named), text_number
    shapes = {np.shape(column) for column in columns.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) not in (1, 2):
        raise Unclear(f"shapes {shapes}")
    if len(next(iter(shapes))) == 2:
        if ids or order:
            raise Unclear("ids of whole sequences")
        count = next(iter(shapes))[0]
        tables = [{name: list(column[i]) for name, column in columns.items()} for i in range(count)]
    else:
        tables = _split({name: list(column) for name, column in columns.items()}, ids, order)
    # a column of nothing is one that says nothing
    empty = {name for name, column in columns.items() if all(value is None for value in column)}
    number = lambda name, value: nan if name in empty else numbers(value)  # noqa: E731
    return [
        tuple(
            [[number(name, table[name][t]) for name in names] for t in range(len(table[names[0]]))]
            for names in (inputs, targets)
        )  # type: ignore[misc]
        for table in tables
    ]


def _split(columns: dict[str, list[Any]], ids: str | None, order: str | None) -> list[dict[str, list[Any]]]:
    count = len(next(iter(columns.values())))
    groups: dict[Any, list[int]] = {}
    for row in range(count):
        label = _label(columns[ids][row]) if ids else None
        groups.setdefault(label, []).append(row)
    if order:
        keys = _sortable(columns[order])
        for rows in groups.values():
            rows.sort(key=lambda row: keys[row])
            if any(keys[a] == keys[b] for a, b in pairwise(rows)):
                raise Unclear("a time stands twice")
    return [
        {name: [column[row] for row in rows] for name, column in columns.items()} for rows in groups.values()
    ]


def _label(value: Any) -> Any:
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "" or value != value:
        raise Unclear("no label")
    return value


def _sortable(values: list[Any]) -> list[Any]:
    if not all(isinstance(value, str) for value in values):
        if any(value is None or value != value for value in values):
            raise Unclear("no time")
        return values
    texts = [value.strip() for value in values]
    if all(_NUMBER.fullmatch(text) for text in texts):
        return [Decimal(text) for text in texts]
    try:
        return [datetime.fromisoformat(text) for text in texts]
    except ValueError as error:
        raise Unclear(str(error)) from None


# -- CSV ---------------------------------------------------------------------------------------------------


def text_number(cell: str) -> float:
    """A cell as the number that it says."""
    text = cell.strip(_BLANKS)
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    if _APART.fullmatch(text) or _COMMA.fullmatch(text):
        text = re.sub("[ '’\u00a0\u202f]", "", text).replace(",", ".")
    if not _NUMBER.fullmatch(text):
        raise Unclear(f"{text[:40]!r} is no number")
    exact = Decimal(text)
    value = float(exact)
    whole = "e" not in text.lower() and exact == exact.to_integral_value()
    if (
        value in (float("inf"), float("-inf"))
        or (exact != 0 and value == 0)
        or (whole and Decimal(value) != exact)
    ):
        raise Unclear(f"{text[:40]!r} is no double")
    return value


def _csv(path: Path, named: Sequence[str]) -> dict[str, list[str]]:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unclear(str(error)) from None
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise Unclear("NUL")
    readings = []
    for delimiter in ",;\t|":
        try:
            rows = _cells(text, delimiter)
        except Unclear:
            continue
        header = [name.strip() for name in rows[0]] if rows else []
        if all(header.count(name) == 1 for name in named):
            readings.append((header, rows[1:]))
    if len(readings) != 1:
        raise Unclear(f"{len(readings)} ways to separate the cells")
    header, rows = readings[0]
    rows = [row for row in rows if row != [""]] if len(header) > 1 else rows
    if not rows or any(len(row) != len(header) for row in rows):
        raise Unclear("ragged")
    return {name: [row[header.index(name)] for row in rows] for name in named}


def _cells(text: str, delimiter: str) -> list[list[str]]:
    """Rows of cells by RFC 4180, with any line ends; a blank line is one empty cell."""
    rows: list[list[str]] = []
    row: list[str] = []
    cell: list[str] = []
    place, end = 0, len(text)
    state = "begin"  # begin, plain, quoted, closed
    while place < end:
        character = text[place]
        place += 1
        if state == "quoted":
            if character != '"':
                cell.append(character)
            elif text[place : place + 1] == '"':
                cell.append('"')
                place += 1
            else:
                state = "closed"
            continue
        if character == delimiter:
            row.append("".join(cell))
            cell, state = [], "begin"
        elif character in "\r\n":
            if character == "\r" and text[place : place + 1] == "\n":
                place += 1
            rows.append([*row, "".join(cell)])
            row, cell, state = [], [], "begin"
        elif state == "begin" and character == '"':
            state = "quoted"
        elif state == "closed":
            raise Unclear("something after a closing quote")
        else:
            cell.append(character)
            state = "plain"
    if state == "quoted":
        raise Unclear("an open quote")
    if row or cell or state != "begin":
        rows.append([*row, "".join(cell)])
    return rows


# -- arrays ------------------------------------------------------------------------------------------------


def array_number(value: Any) -> float:
    """An entry of an array as the number that it is."""
    if isinstance(value, (bool, np.bool_)):
        return float(value)
    if isinstance(value, (int, np.integer)):
        if int(float(value)) != int(value):
            raise Unclear("beyond doubles")
        return float(value)
    if isinstance(value, Decimal):
        if value == value.to_integral_value() and Decimal(float(value)) != value:
            raise Unclear("beyond doubles")
        return float(value)
    if isinstance(value, (float, np.floating)) and np.isfinite(value) and np.isfinite(float(value)):
        if abs(float(value)) > 2**53 and float(value) != value:
            raise Unclear("beyond doubles")
        return float(value)
    raise Unclear(f"{value!r} is no number")


def _npz(path: Path, named: Sequence[str]) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        if any(archive.files.count(name) != 1 for name in named):
            raise Unclear("names")
        columns = {name: archive[name] for name in named}
    for column in columns.values():
        if column.dtype.kind not in "biufUSMm" or not column.size:
            raise Unclear(str(column.dtype))
    return columns


def _parquet(path: Path, named: Sequence[str]) -> dict[str, list[Any]]:
    """The columns as Python's own values."""
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path)
    if any(file.schema_arrow.names.count(name) != 1 for name in named):
        raise Unclear("names")
    table = file.read(columns=list(named), use_threads=False)  # others may be damaged
    return {name: table.column(name).to_pylist() for name in named}
