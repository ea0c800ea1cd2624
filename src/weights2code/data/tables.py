"""Tables: named columns out of a CSV, Parquet, NPZ or Excel file, whole or not at all, and into one.

Reading executes nothing. What cannot be used is refused in one sentence that names the file, the row or
column, and the fix; nothing is guessed, rounded to another whole number, or bent into a number.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data import csv_table, excel_table, npz_table, parquet_table
from weights2code.data.arrow_csv import read_with_arrow
from weights2code.data.columns import Column
from weights2code.data.exact_numbers import refuse_gap
from weights2code.data.limits import check_readable
from weights2code.data.loose_cells import Loosely, Words
from weights2code.data.parquet_table import spelled
from weights2code.errors import InputError
from weights2code.roles import Roles

#: A module a format, which says what its files end in; every other ending is CSV. `names` gives the columns,
#: `columns` reads some of them, `write` writes the table again with some columns new.
FORMATS: dict[str, Any] = {
    ending: read for read in (parquet_table, npz_table, excel_table) for ending in read.ENDINGS
}
#: Whole numbers, times and text tell sequences apart or order them; records and complex numbers do not.
_LABELS = "biufMmUS"


@dataclass(frozen=True, slots=True, eq=False)
class OpenTable:
    """A file whose columns are read when they are asked for, and not kept where the file is read by columns.

    `shape` is (rows,), or (n, T) where a file holds n sequences of T rows. A `label` is as it is; `ids` only
    tell rows apart.
    """

    shape: tuple[int, ...]
    column: Callable[[str], Column]
    label: Callable[[str], np.ndarray]
    ids: Callable[[str], np.ndarray]
    loosely: Loosely


def _format(path: Path) -> Any:
    return FORMATS.get(path.suffix.lower(), csv_table)


def format_of(path: Path) -> str:
    """CSV, Parquet, NPZ or Excel."""
    return _format(path).NAME


def open_table(path: Path, roles: Roles, *, advise: bool = True) -> OpenTable:
    """The columns of a file that have a role, to be asked for: values as numbers or texts, labels as such.

    What tells sequences apart is only told apart. What cannot be read is refused, with the advice to give it
    another role where that can be said.
    """
    check_readable(path)
    loosely, read = Loosely(roles, advise=advise), _format(path)
    if read is csv_table:
        return _open_csv(path, loosely)
    shape, load, loosely.above = read.columns(path, [*roles.columns, *roles.labels])
    if 0 in shape:
        raise InputError(f"{path} has no rows; add data.")

    def ids(name: str) -> np.ndarray:
        found = load(name)
        if not isinstance(found, Words):
            return _clean_labels(path, name, found, loosely)
        missing = np.array([not word.strip() for word in found.words])[found.places]
        if missing.any():
            refuse_gap(f"{path}, {loosely.entry(np.argwhere(missing)[0])}", name, "")
        return found.places

    return OpenTable(
        shape,
        lambda name: loosely.column(str(path), name, load(name)),
        lambda name: _clean_labels(path, name, spelled(load(name)), loosely),
        ids,
        loosely,
    )


def _open_csv(path: Path, loosely: Loosely) -> OpenTable:
    """A CSV file has no columns that could be read alone: what is named is read, and held."""
    held = read_with_arrow(path, loosely)
    if held is None:
        held = {**csv_table.read_csv(path, loosely)}

    def column(name: str) -> Column:
        found = held[name]
        if isinstance(found, Words):
            return loosely.words(str(path), name, found, lambda row: f"{path}, line {row + 2}")
        return loosely.read(name, found)

    def label(name: str) -> np.ndarray:
        found = held[name]
        return np.array(found.words)[found.places] if isinstance(found, Words) else found

    def ids(name: str) -> np.ndarray:
        found = held[name]
        return found.places if isinstance(found, Words) else found

    first = next(iter(held.values()))
    rows = len(first.places if isinstance(first, Words) else first)
    return OpenTable((rows,), column, label, ids, loosely)


def names_in(path: Path) -> list[str]:
    """The names of all columns of a file, in its order."""
    check_readable(path)
    return _format(path).names(path)


def check_target(path: Path, out: Path | None) -> None:
    """Refuse a place that the table cannot be written to, before anything is computed."""
    if out is None:
        if format_of(path) != "CSV" and sys.stdout.isatty():
            raise InputError(f"{format_of(path)} is nothing for a terminal; name a file with --out.")
        return
    if format_of(path) != format_of(out):
        raise InputError(
            f"--out {out} would be {format_of(out)}, but {path} is {format_of(path)}; "
            f"give it the ending {path.suffix or '.csv'}."
        )
    if out.is_dir():
        raise InputError(f"--out {out} is a folder; name a file.")
    if out.exists() and os.path.samefile(path, out):
        raise InputError(f"--out {out} is the table itself; name another file.")


def write_with(
    path: Path, columns: Mapping[str, np.ndarray], out: Path | None, only: np.ndarray | None = None
) -> None:
    """Write the table in `path` to `out` (None is standard output) with these columns, replaced or added.

    What was in it stays as it was, cell by cell. With `only`, the rows where that is true.
    """
    with _opened(out) as file:
        packed = out is not None and out.suffix == ".gz" and format_of(path) == "CSV"
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if packed else nullcontext(file) as target:
            _format(path).write(path, columns, target, only)


@contextmanager
def _opened(out: Path | None) -> Iterator[Any]:
    """The place to write to: standard output, or a file that takes its name when it is whole."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)


def _clean_labels(path: Path | str, name: str, column: np.ndarray, loosely: Loosely) -> np.ndarray:
    """Labels that can be told apart and, where they are numbers or times, be sorted."""
    if column.dtype.kind == "O" and all(value is None or isinstance(value, str) for value in column.flat):
        missing = np.array([value is None or not value.strip() for value in column.flat]).reshape(
            column.shape
        )
        column = np.where(missing, "", column).astype(str)
    elif column.dtype.kind not in _LABELS:
        raise InputError(
            f"{path}, column {name!r} holds no numbers, times or text; store it as one of these."
        )
    elif column.dtype.kind in "US":
        missing = np.char.strip(column) == column.dtype.type()
    elif column.dtype.kind in "fMm":
        missing = ~np.isfinite(column)
    else:
        missing = np.zeros(column.shape, bool)
    if missing.any():
        refuse_gap(f"{path}, {loosely.entry(np.argwhere(missing)[0])}", name, "")
    return column
