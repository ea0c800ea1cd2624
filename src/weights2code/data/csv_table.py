"""Columns of a CSV file, read in blocks with the standard library; what is unclear is refused.

The header says what separates the cells. Rows are counted as an editor counts lines, the header being line 1.
"""

from __future__ import annotations

import csv
import gc
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from weights2code.data.exact_numbers import parse, refuse_gap
from weights2code.data.limits import LARGEST, check_cells, find_column
from weights2code.data.loose_cells import Loosely
from weights2code.errors import InputError

#: Rows of a CSV file that are converted at a time, and characters of them at most.
BLOCK = 50_000
BLOCK_CHARACTERS = 1 << 23
#: The longest line, in characters.
LONGEST_LINE = 1 << 22
#: The longest label: an array of text is as wide as its longest one.
LONGEST_LABEL = 128
#: What may separate the cells of a CSV file; the one that the header has most of is taken.
DELIMITERS = ",;\t|"
#: What packed files begin with.
GZIP = b"\x1f\x8b"

_QUOTED = re.compile('"[^"]*"')


def read_csv(
    path: Path, numbers: Sequence[str], labels: Sequence[str] = (), loosely: Loosely | None = None
) -> dict[str, np.ndarray]:
    """Columns of a CSV file with a header line; cells may be quoted, and end in spaces; gzip is unpacked."""
    with _opened(path) as file, collector_at_rest():
        return _read(path, file, numbers, labels, loosely)


def names_in_csv(path: Path) -> list[str]:
    """The names of all columns, in the order of the file."""
    with csv_rows(path) as (header, _, _, _):
        return [name.strip() for name in header]


@contextmanager
def csv_rows(path: Path) -> Iterator[tuple[list[str], str, str, Iterator[tuple[int, list[str]]]]]:
    """A CSV file as it is written: header, delimiter, the end of its lines, and rows with their lines."""
    with _opened(path) as file:
        lines = _lines(path, file)
        header_line = next(lines, "")
        ending = "\r\n" if header_line.endswith("\r\n") else "\n"
        header, delimiter = _header(path, header_line)
        blocks = _blocks(path, lines, delimiter)
        yield (
            header,
            delimiter,
            ending,
            (pair for numbered, rows in blocks for pair in zip(numbered, rows, strict=True)),
        )


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked."""
    with open(path, "rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        yield gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[misc]


@contextmanager
def _opened(path: Path) -> Iterator[io.TextIOWrapper]:
    """The text of a file, unpacked; what it cannot be is said in one sentence."""
    try:
        with unpacked(path) as plain, io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path} is a damaged gzip file; write it again.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8; save it as CSV (UTF-8).") from None


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Without garbage collection: millions of cells are no garbage, and looking costs a third of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _read(
    path: Path, file: io.TextIOBase, numbers: Sequence[str], labels: Sequence[str], loosely: Loosely | None
) -> dict[str, np.ndarray]:
    lines = _lines(path, file)
    names, delimiter = _header(path, next(lines, ""))
    header = [name.strip() for name in names]
    places = {name: find_column(path, header, name) for name in (*numbers, *labels)}
    parts: dict[str, list[np.ndarray]] = {name: [] for name in places}
    count = 0
    for numbered, rows in _blocks(path, lines, delimiter):
        _check_widths(path, numbered, rows, header, delimiter)
        count += len(rows)
        check_cells(path, count, len(places))
        columns = list(zip(*rows, strict=True))
        for name, place in places.items() if columns else ():
            if name in numbers:
                read = loosely.cells if loosely else parse
                parts[name].append(read(str(path), name, columns[place], numbered))
            else:
                parts[name].append(_labels(path, name, columns[place], numbered))
    if not count:
        raise InputError(f"{path} has a header but no rows; add data.")
    return {name: np.concatenate(part) for name, part in parts.items()}


def _header(path: Path, line: str) -> tuple[list[str], str]:
    """The cells of the first line, and what separates them."""
    delimiter = max(DELIMITERS, key=_QUOTED.sub("", line).count)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), []), delimiter
    except csv.Error as error:
        raise _unreadable(path, 1, error) from None


def _labels(path: Path, name: str, cells: Sequence[str], numbered: Sequence[int]) -> np.ndarray:
    labels = [cell.strip() for cell in cells]
    if "" in labels:
        refuse_gap(f"{path}, line {numbered[labels.index('')]}", name, "")
    longest = max(labels, key=len)
    if len(longest) > LONGEST_LABEL:
        raise InputError(
            f"{path}, line {numbered[labels.index(longest)]}, column {name!r} holds a label of "
            f"{len(longest)} characters; shorten labels to {LONGEST_LABEL}."
        )
    return np.array(labels)


def _lines(path: Path, file: io.TextIOBase) -> Iterator[str]:
    """The lines of a file, none longer than a table has, and not more than can be read."""
    size = number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        size += len(line)
        if len(line) == LONGEST_LINE:
            raise InputError(
                f"{path}, line {number} is longer than {LONGEST_LINE} characters; give each row a line."
            )
        if "\0" in line:
            raise InputError(f"{path} is not a text file; save it as CSV (UTF-8).")
        if size > LARGEST:
            raise InputError(f"{path} unpacks to more than {LARGEST >> 30} GiB; give fewer rows.")
        yield line


def _unreadable(path: Path, line: int, error: csv.Error) -> InputError:
    """What the standard library says about cells that are not those of a table."""
    what = "a quoted cell is not closed, or goes on after its closing quote; mend the quotes"
    if "limit" in str(error):
        what = "a cell is too long; shorten it"
    return InputError(f"{path}, line {line}: {what}.")


def _blocks(path: Path, lines: Iterator[str], delimiter: str) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Blocks of rows with the line on which each of them ends."""
    size = 0

    def counted() -> Iterator[str]:
        nonlocal size
        for line in lines:
            size += len(line)
            yield line

    reader = csv.reader(counted(), delimiter=delimiter, strict=True)
    numbered: list[int] = []
    rows: list[list[str]] = []
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise _unreadable(path, reader.line_num + 1, error) from None
        if row is None:
            break
        if row:  # not a blank line
            rows.append(row)
            numbered.append(reader.line_num + 1)
        if len(rows) == BLOCK or size > BLOCK_CHARACTERS:
            yield numbered, rows
            numbered, rows, size = [], [], 0
    if rows:
        yield numbered, rows


def _check_widths(
    path: Path, numbered: Sequence[int], rows: list[list[str]], header: list[str], delimiter: str
) -> None:
    """Refuse ragged rows."""
    width = len(header)
    for number, row in zip(numbered, rows, strict=True):
        if len(row) == width:
            continue
        fix = "give every row as many cells as the header"
        for other in DELIMITERS.replace(delimiter, ""):
            if delimiter.join(row).count(other) == width - 1 > 0:
                fix = f"separate rows and header alike, not by {other!r} and by {delimiter!r}"
        raise InputError(f"{path}, line {number} has {len(row)} cells but the header has {width}; {fix}.")
