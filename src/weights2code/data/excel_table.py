"""Columns of the first sheet of an Excel file, by openpyxl: its first row that holds anything names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data.columns import Loaded
from weights2code.data.limits import check_cells, find_column, readable
from weights2code.errors import InputError

NAME, ENDINGS = "Excel", (".xlsx", ".xlsm")


def names(path: Path) -> list[str]:
    """The names of all columns, in the order of the sheet."""
    return _rows(path)[0]


def columns(path: Path, wanted: Sequence[str]) -> Loaded:
    """The named columns, their cells as Python has them."""
    header, rows, first = _rows(path)
    places = {name: find_column(path, header, name) for name in wanted}
    check_cells(path, len(rows), len(places))
    found = {name: _column([row[place] for row in rows]) for name, place in places.items()}
    return Loaded(
        (len(rows),), found.__getitem__, numbers=lambda asked: {row: row + first + 1 for row in asked}
    )


def write(path: Path, made: Mapping[str, np.ndarray], file: Any, only: np.ndarray | None) -> None:
    """The workbook again, with these columns replaced or added, and the rows where `only` is true."""
    book = _book(path, whole=True)
    sheet = book.worksheets[0]
    header, rows, first = _rows(path)
    for name, values in made.items():
        place = header.index(name) + 1 if name in header else sheet.max_column + 1
        sheet.cell(first, place, name)
        for row, value in enumerate(values.tolist(), start=first + 1):
            sheet.cell(row, place).value = None if value != value else value
    for row in reversed(range(len(rows))):
        if only is not None and not only[row]:
            sheet.delete_rows(first + 1 + row)
    book.save(file)


def _rows(path: Path) -> tuple[list[str], list[tuple[Any, ...]], int]:
    """The names, the rows below them up to the last that holds something, and the row of the names."""
    book = _book(path)
    rows = list(book.worksheets[0].iter_rows(values_only=True)) if book.worksheets else []
    first = next((i for i, row in enumerate(rows) if any(cell is not None for cell in row)), None)
    if first is None:
        raise InputError(f"{path}: the first sheet is empty; it needs a header row and rows.")
    while all(cell is None for cell in rows[-1]):
        rows.pop()
    header = ["" if cell is None else str(cell).strip() for cell in rows[first]]
    return header, rows[first + 1 :], first + 1


def _book(path: Path, *, whole: bool = False) -> Any:
    """A workbook: what its formulas gave, or with `whole` the formulas themselves, to be written again."""
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"reading {path} needs openpyxl; install it with `pip install weights2code[excel]`, or save it "
            "as CSV."
        ) from None
    with readable(path, "an Excel file", "save it again, or as CSV (UTF-8)"):
        return openpyxl.load_workbook(path, data_only=not whole)


def _column(cells: list[Any]) -> np.ndarray:
    """Cells of one type as an array of it; others as objects."""
    told = [cell for cell in cells if cell is not None]
    if told and len(told) == len(cells):
        if all(isinstance(cell, date) for cell in told):  # a datetime is one too
            return np.array(cells, "datetime64[us]")
        for kind, name in ((bool, "?"), ((int, float), "f8")):
            if all(isinstance(cell, kind) and (name == "?" or not isinstance(cell, bool)) for cell in told):
                return np.array(cells, name)
    found = np.empty(len(cells), object)
    found[:] = [str(cell) if isinstance(cell, (datetime, date, time, timedelta)) else cell for cell in cells]
    return found
