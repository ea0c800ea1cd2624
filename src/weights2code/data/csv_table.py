"""CSV files, read and written in blocks; what is unclear is refused.

The header says what separates the cells. Rows are counted as an editor counts lines, the header being line 1.
Lines are split into cells by the standard library, those of large files by PyArrow, which is ten times as
fast; where it stumbles, or cells may not be what they seem to it, the standard library does it after all, and
knows what to say. What cells mean is decided in one place for both.
"""

from __future__ import annotations

import csv
import gc
import gzip
import io
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, compress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from weights2code.data.cells import (
    LOCAL_TIME,
    MISSING,
    MISSING_TEXTS,
    WORLD_TIME,
    BadCell,
    HoldsText,
    is_like_a_number,
    numbers_in,
    vanished,
)
from weights2code.data.cells import WORDS as TRUTHS
from weights2code.data.columns import Column, Loaded, Words, of_numbers
from weights2code.data.date_forms import iso_times
from weights2code.data.limits import LARGEST, check_cells, find_column
from weights2code.errors import InputError
from weights2code.language.domain import EXACT
from weights2code.roles import Roles

NAME, ENDINGS = "CSV", ()
#: Characters of a CSV file that are converted at a time.
BLOCK_CHARACTERS = 1 << 23
#: The longest line, and the longest cell that the standard library reads, in characters.
LONGEST_LINE = 1 << 22
LONGEST_CELL = 131_072
#: Bytes of a file from which on PyArrow is asked, and that it converts at a time.
LARGE, BLOCK = 1 << 20, 1 << 22
#: What may separate the cells of a CSV file; the one that the header has most of is taken.
DELIMITERS = ",;\t|"
#: What packed files begin with.
GZIP = b"\x1f\x8b"

#: A quote that neither begins nor ends a cell.
_INNER_QUOTE = rb'[^\r\n"%b]"[^\r\n"%b]'
#: What a missing number may be written as.
_NOTHING = sorted({form for word in MISSING for form in (word, word.upper(), word.title())} | {"NaN"})
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


def columns(path: Path, roles: Roles, advice: str = "") -> Loaded:
    """The columns that have a role: values in narrow types or as texts, labels as they can be sorted."""
    with csv_rows(path) as (names, delimiter, _, _), collector_at_rest():
        header = [name.strip() for name in names]
        places = {name: find_column(path, header, name) for name in (*roles.columns, *roles.labels)}
        found: dict[str, _Growing] | None = None
        if path.stat().st_size >= LARGE:
            with suppress(ImportError):
                found = _grown(path, roles, advice, _arrow_blocks(path, len(header), delimiter, places))
        if found is None:
            found = _grown(path, roles, advice, _plain_blocks(path, header, places), certain=True)
    assert found is not None
    whole = {name: column.whole() for name, column in found.items()}
    rows = next(iter(found.values())).rows
    if not rows:
        raise InputError(f"{path} has a header but no rows; add data.")
    return Loaded((rows,), whole.__getitem__, "line", lambda asked: lines_of(path, asked))


def _grown(
    path: Path, roles: Roles, advice: str, blocks: Iterator[dict[str, Any]], *, certain: bool = False
) -> dict[str, _Growing] | None:
    """The columns out of blocks of their cells; None where another reader should look at them."""
    growing: dict[str, _Growing] = {}
    try:
        for block in blocks:
            for name, cells in block.items():
                if name not in growing:
                    growing[name] = _Growing(path, name, roles, advice, certain)
                growing[name].add(cells)
            check_cells(path, next(iter(growing.values())).rows, len(growing))
    except Odd:
        return None
    return growing or {name: _Growing(path, name, roles, advice, certain) for name in roles.columns}


@dataclass(slots=True)
class _Growing:
    """A column while it is read: numbers as long as all of its cells are, else texts.

    A label is texts, or in large files what it can be sorted by. Only with `certain` cells are they refused.
    """

    path: Path
    name: str
    roles: Roles
    advice: str
    certain: bool
    rows: int = 0
    kind: str = ""
    form: str = ""
    truths: bool = True
    parts: list[np.ndarray] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)

    def add(self, cells: Any) -> None:
        """Some more cells: a list, or an array of PyArrow's."""
        if self.name in self.roles.labels:
            values = self._sortable(cells) if self.name != self.roles.sequence else None
        else:
            values = None if self.name in self.roles.categories else self._numbers(cells)
        if values is None:
            values = self._texts(*encoded(cells))
        self.parts.append(values)
        self.rows += len(cells)

    def _numbers(self, cells: Any) -> np.ndarray | None:
        """Cells as numbers; None if they are texts."""
        if self.kind == "text":
            return None
        form = self.roles.decimal or self.form
        values = None if form == "comma" else quick_numbers(cells)
        if values is not None:
            self.truths &= bool(np.isnan(values).all())
        else:
            places, words = encoded(cells)
            if not form and any((part[: 1 << 16] % 1 > 0).any() for part in self.parts):
                form = "point"
            try:
                found, self.form = numbers_in(words, form)
            except BadCell as bad:
                text = isinstance(bad, HoldsText) and self.kind != "number"
                if text and mostly_texts(words, places) and not are_times(words):
                    return None
                self._refuse(bad, words, places)
            told = [word for word in (word.strip().lower() for word in words) if word not in MISSING]
            self.truths &= all(word in TRUTHS for word in told)
            values = found[places]
        self.kind = self.kind if np.isnan(values).all() else "number"
        return narrow(values)

    def _refuse(self, bad: BadCell, words: list[str], places: np.ndarray) -> NoReturn:
        """Say what is wrong, where texts do not have the right to be there."""
        if not self.certain:
            raise Odd
        sentence = str(bad)
        if isinstance(bad, HoldsText):
            sentence = f"{sentence[:-1]}{self.advice}."
            if are_times(words):
                sentence = (
                    "holds dates; leave it out of --inputs and sort by it with --order, or take hours and "
                    "weekdays from it with --time, or give the time that has passed as numbers."
                )
        line = lines_of(self.path, {row := self.rows + int(np.argmax(places == bad.index))})[row]
        raise InputError(f"{self.path}, line {line}, column {self.name!r} {sentence}") from None

    def _sortable(self, cells: Any) -> np.ndarray | None:
        """Numbers or times that PyArrow can read, all of one kind; None for any other label."""
        for kind, read in (("number", quick_numbers), ("time", quick_times)):
            if self.kind in ("", kind):
                values = read(cells)
                if values is not None and np.isfinite(values).all():
                    self.kind = kind
                    return values
        if self.kind in ("number", "time"):
            raise Odd
        return None

    def _texts(self, places: np.ndarray, words: list[str]) -> np.ndarray:
        """Cells as places in the list of all words."""
        if self.kind != "text":
            self.kind, nothing = "text", self.words.setdefault("", 0)
            self.parts = [np.full(len(part), nothing) for part in self.parts]
        own = [self.words.setdefault(word.strip(), len(self.words)) for word in words]
        return np.array(own, np.int32)[places]

    def whole(self) -> np.ndarray | Words | Column:
        """All of it in one type; the parts are gone then."""
        values = np.concatenate(self.parts) if self.parts else np.zeros(0)
        self.parts.clear()
        if self.kind == "text":
            return Words(values, list(self.words))
        if self.name in self.roles.labels:
            return values
        return of_numbers(values, self.truths and self.kind == "number")


def are_times(words: Sequence[str]) -> bool:
    told = [word.strip() for word in words if word.strip()]
    iso = all(LOCAL_TIME.fullmatch(word) or WORLD_TIME.fullmatch(word) for word in told)
    return iso or bool(iso_times(told, "day-first", ""))


def mostly_texts(words: Sequence[str], places: np.ndarray) -> bool:
    """Whether few of the cells that hold something may be meant as numbers."""
    counts = np.bincount(places, minlength=len(words))
    told = [(word.strip(), count) for word, count in zip(words, counts.tolist(), strict=True)]
    told = [(word, count) for word, count in told if word.lower() not in MISSING_TEXTS]
    return 2 * sum(count for word, count in told if is_like_a_number(word)) < sum(count for _, count in told)


def encoded(cells: Any) -> tuple[np.ndarray, list[str]]:
    """Cells as places in a list of words."""
    if not isinstance(cells, list):
        coded = cells.dictionary_encode()
        return coded.indices.to_numpy(), coded.dictionary.to_pylist()
    words: dict[str, int] = {}
    places = np.fromiter((words.setdefault(cell, len(words)) for cell in cells), np.int32, len(cells))
    return places, list(words)


def narrow(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the narrowest type that holds them."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (np.nan, np.nan)
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            whole = values.astype(kind)
            return whole if (whole == values).all() else values
    return values


def quick_numbers(cells: Any) -> np.ndarray | None:
    """An array of PyArrow's as numbers; None where that is less exact than `numbers_in`."""
    if isinstance(cells, list):
        return None
    import pyarrow
    from pyarrow import compute

    try:
        told = compute.if_else(compute.is_in(cells, value_set=pyarrow.array(_NOTHING)), None, cells)
        values = told.cast("float64").to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:
        return None
    if not max(-np.nanmin(values, initial=0), np.nanmax(values, initial=0)) < EXACT:
        return None
    none = compute.unique(cells.filter(pyarrow.array(values == 0))).to_pylist()
    return None if any(map(vanished, none)) else values


def quick_times(cells: Any) -> np.ndarray | None:
    """An array of PyArrow's as times without a zone."""
    if isinstance(cells, list):
        return None
    import pyarrow

    try:
        return cells.cast(pyarrow.timestamp("us")).to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:
        return None


class Odd(Exception):
    """Something that the standard library should look at."""


class _Watched(io.RawIOBase):
    """A file that is looked over while it is read, for what PyArrow would not mind."""

    def __init__(self, file: Any, delimiter: str) -> None:
        self.file, self.size, self.tail = file, 0, b""
        self.quote = re.compile(_INNER_QUOTE % ((re.escape(delimiter.encode()),) * 2))

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.size += len(data)
        if b"\0" in data or self.size > LARGEST or (b'"' in data and self.quote.search(self.tail + data)):
            raise Odd
        self.tail = data[-2:]
        return data


def _arrow_blocks(
    path: Path, width: int, delimiter: str, places: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """The cells of some columns by PyArrow, a block of rows at a time."""
    import pyarrow
    from pyarrow import csv as arrow

    wanted = sorted({str(place) for place in places.values()})
    try:
        with unpacked(path) as raw:
            batches = arrow.open_csv(
                _Watched(raw, delimiter),
                arrow.ReadOptions(skip_rows=1, column_names=list(map(str, range(width))), block_size=BLOCK),
                arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                arrow.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pyarrow.string()),
                    include_columns=wanted,
                    strings_can_be_null=False,
                ),
            )
            for batch in batches:
                yield {name: batch.column(str(place)) for name, place in places.items()}
    except (pyarrow.ArrowException, EOFError, OSError, zlib.error, UnicodeDecodeError):
        raise Odd from None


def _plain_blocks(path: Path, header: list[str], places: Mapping[str, int]) -> Iterator[dict[str, list[str]]]:
    """The same by the standard library."""
    with csv_rows(path) as (_, _, _, blocks):
        for block in blocks:
            rows = block.rows
            _check_widths(path, block.numbered, rows, header, block.delimiter)
            cells = list(zip(*rows, strict=True))
            yield {name: list(cells[place]) for name, place in places.items()}


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
