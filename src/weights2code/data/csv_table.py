"""CSV files as text, read and written in blocks with the standard library; what is unclear is refused.

The header says what separates the cells. Rows are counted as an editor counts lines, the header being line 1.
"""

from __future__ import annotations

import csv
import gc
import gzip
import io
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, compress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from weights2code.data.limits import LARGEST
from weights2code.errors import InputError

NAME, ENDINGS = "CSV", ()
#: Characters of a CSV file that are converted at a time.
BLOCK_CHARACTERS = 1 << 23
#: The longest line, and the longest cell that the standard library reads, in characters.
LONGEST_LINE = 1 << 22
LONGEST_CELL = 131_072
#: What may separate the cells of a CSV file; the one that the header has most of is taken.
DELIMITERS = ",;\t|"
#: What packed files begin with.
GZIP = b"\x1f\x8b"

_QUOTED = re.compile('"[^"]*"')
_FIRST_LINE = re.compile("[^\r\n]*(\r\n|\r|\n|$)")


@dataclass(slots=True)
class Block:
    """Some rows with the line on which each of them ends; `lines` are those of rows without any quotes."""

    numbered: Sequence[int]
    delimiter: str
    lines: list[str] | None
    cells: list[list[str]] = field(default_factory=list)

    @property
    def rows(self) -> list[list[str]]:
        if self.lines is None:
            return self.cells
        return [line.split(self.delimiter) for line in self.lines]


def names(path: Path) -> list[str]:
    """The names of all columns, in the order of the file."""
    with csv_rows(path) as (header, _, _, _):
        return [name.strip() for name in header]


@contextmanager
def csv_rows(path: Path) -> Iterator[tuple[list[str], str, str, Iterator[Block]]]:
    """A CSV file as it is written: header, delimiter, the end of its lines, and its rows."""
    with _opened(path) as file:
        texts = _texts(path, file)
        first = next(texts, "")
        found = _FIRST_LINE.match(first)
        assert found is not None
        header, delimiter = _header(path, found[0])
        ending = "\r\n" if found[1] == "\r\n" else "\n"
        yield header, delimiter, ending, _blocks(path, chain([first[found.end() :]], texts), delimiter)


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


def lines_of(path: Path, rows: Collection[int]) -> dict[int, int]:
    """The lines on which some rows end."""
    told: dict[int, int] = {}
    if not rows:
        return told
    with csv_rows(path) as (_, _, _, blocks):
        first = 0
        for block in blocks:
            last = first + len(block.numbered)
            told |= {row: block.numbered[row - first] for row in rows if first <= row < last}
            first = last
            if len(told) == len(set(rows)):
                break
    return told


def _header(path: Path, line: str) -> tuple[list[str], str]:
    """The cells of the first line, and what separates them."""
    delimiter = max(DELIMITERS, key=_QUOTED.sub("", line).count)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), []), delimiter
    except csv.Error as error:
        raise _unreadable(path, 1, error) from None


def _texts(path: Path, file: io.TextIOBase) -> Iterator[str]:
    """Whole lines, some megabytes at a time, and not more than can be read."""
    size = 0
    while text := file.read(BLOCK_CHARACTERS):
        text += file.readline(LONGEST_LINE)
        size += len(text)
        if "\0" in text:
            raise InputError(f"{path} is not a text file; save it as CSV (UTF-8).")
        if size > LARGEST:
            raise InputError(f"{path} unpacks to more than {LARGEST >> 30} GiB; give fewer rows.")
        yield text


def _unreadable(path: Path, line: int, error: csv.Error) -> InputError:
    """What the standard library says about cells that are not those of a table."""
    what = "a quoted cell is not closed, or goes on after its closing quote; mend the quotes"
    if "limit" in str(error):
        what = "a cell is too long; shorten it"
    return InputError(f"{path}, line {line}: {what}.")


def _blocks(path: Path, texts: Iterator[str], delimiter: str) -> Iterator[Block]:
    """Blocks of rows; blank lines are none. What is plain is split at once, up to the first quote."""
    line = 1
    for text in texts:
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        if '"' in text or "\r" in text.replace("\r\n", "") or len(max(lines, key=len)) > LONGEST_CELL:
            yield from _quoted_blocks(path, chain([text], texts), delimiter, line)
            return
        numbered: Sequence[int] = range(line + 1, line + 1 + len(lines))
        line += len(lines)
        if "" in lines:
            numbered = [number for number, row in zip(numbered, lines, strict=True) if row]
            lines = [row for row in lines if row]
        if lines:
            yield Block(numbered, delimiter, lines)


def _quoted_blocks(path: Path, texts: Iterator[str], delimiter: str, before: int) -> Iterator[Block]:
    """Blocks of rows that may have quotes, and lines within their cells, after so many lines."""
    size, block = 0, Block([], delimiter, None)
    numbered: list[int] = []

    def counted() -> Iterator[str]:
        nonlocal size
        for text in texts:
            for row in io.StringIO(text, newline=""):
                size += len(row)
                if len(row) >= LONGEST_LINE:
                    number = before + reader.line_num + 1
                    raise InputError(
                        f"{path}, line {number} is longer than {LONGEST_LINE} characters; give each row a "
                        "line."
                    )
                yield row

    reader = csv.reader(counted(), delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise _unreadable(path, before + reader.line_num, error) from None
        if row:  # not a blank line
            block.cells.append(row)
            numbered.append(before + reader.line_num)
        if block.cells and (row is None or size > BLOCK_CHARACTERS):
            block.numbered = numbered
            yield block
            size, block, numbered = 0, Block([], delimiter, None), []
        if row is None:
            return


def check_widths(
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


def write(path: Path, made: Mapping[str, np.ndarray], file: Any, only: np.ndarray | None) -> None:
    """The table again, row by row, with these made replaced or added, and the rows where `only` is true."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    with csv_rows(path) as (header, delimiter, ending, blocks), collector_at_rest():
        writer = csv.writer(text, delimiter=delimiter, lineterminator=ending)
        names = [name.strip() for name in header]
        places = {name: names.index(name) for name in made if name in names}
        added = [name for name in made if name not in names]
        writer.writerow([*header, *added])
        first = 0
        for block in blocks:
            part = slice(first, first + len(block.numbered))
            first, kept = part.stop, None if only is None else only[part].tolist()
            texts = {name: _spelled(values[part]) for name, values in made.items()}
            plain = block.lines is not None and not any(map(_quoted(delimiter), texts.values()))
            rows: Any = block.lines if plain and not places else block.rows
            for name, place in places.items():
                for row, cell in zip(rows, texts[name], strict=True):
                    row[place] = cell
            if plain:
                lines = rows if not places else map(delimiter.join, rows)
                rows = map(delimiter.join, zip(lines, *(texts[name] for name in added), strict=True))
                text.writelines(
                    f"{line}{ending}" for line in (rows if kept is None else compress(rows, kept))
                )
                continue
            cells = zip(rows, *(texts[name] for name in added), strict=True)
            rows = ([*row, *more] for row, *more in cells)
            writer.writerows(rows if kept is None else compress(rows, kept))
    text.flush()
    text.detach()


def _quoted(delimiter: str) -> Callable[[Sequence[str]], bool]:
    """Whether cells cannot be written as they are."""
    odd = re.compile(f'["\r\n{re.escape(delimiter)}]')
    return lambda cells: odd.search(" ".join(cells)) is not None


def _spelled(values: np.ndarray) -> Sequence[str]:
    """Cells of a column; a value that is none is an empty one."""
    if values.dtype.kind == "f":
        return ["" if value != value else repr(value) for value in values.tolist()]
    return ["" if value is None else str(value) for value in values.tolist()]
