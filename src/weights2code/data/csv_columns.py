"""Columns out of CSV files: what cells mean is decided in one place, however lines are split into them.

The standard library splits lines, and PyArrow those of large files, ten times as fast; where it stumbles,
or cells may not be what they seem to it, the standard library does it after all, and knows what to say.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

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
from weights2code.data.csv_table import check_widths, collector_at_rest, csv_rows, lines_of, unpacked
from weights2code.data.date_forms import iso_times
from weights2code.data.limits import LARGEST, check_cells, find_column
from weights2code.errors import InputError
from weights2code.language.domain import EXACT
from weights2code.roles import Roles

#: Bytes of a file from which on PyArrow is asked, and that it converts at a time.
LARGE, BLOCK = 1 << 20, 1 << 22
#: A quote that neither begins nor ends a cell.
_INNER_QUOTE = rb'[^\r\n"%b]"[^\r\n"%b]'
#: What a missing number may be written as.
_NOTHING = sorted({form for word in MISSING for form in (word, word.upper(), word.title())} | {"NaN"})


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
    import pyarrow.compute

    compute: Any = pyarrow.compute
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
            check_widths(path, block.numbered, rows, header, block.delimiter)
            cells = list(zip(*rows, strict=True))
            yield {name: list(cells[place]) for name, place in places.items()}
