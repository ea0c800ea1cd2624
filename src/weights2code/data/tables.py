"""Tables: named columns out of a CSV, Parquet, NPZ or Excel file, whole or not at all, and into one.

Reading executes nothing. What cannot be used is refused in one sentence that names the file, the row or
column, and the fix; nothing is guessed, rounded to another whole number, or bent into a number.

A column of which most cells are no numbers is a column of texts. One text among numbers is more likely a
mistake, and is refused, unless the column was declared to hold categories. Cells that hold nothing become
`nan`, or no text, and are counted: what to do about them is for the caller to say.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data import csv_columns, csv_table, excel_table, npz_table, parquet_table
from weights2code.data.cells import (
    MISSING_TEXTS,
    BadCell,
    Gap,
    as_numbers,
    as_text,
    holds_truths,
    is_like_a_number,
    is_nothing,
    placed,
)
from weights2code.data.columns import Column, Loaded, Words, of_numbers, of_words
from weights2code.data.limits import check_readable, replacing
from weights2code.errors import InputError
from weights2code.language.domain import EXACT
from weights2code.roles import Roles

#: A module a format, which says what its files end in; every other ending is CSV. `names` gives the columns,
#: `columns` reads some of them, `write` writes the table again with some columns new.
FORMATS: dict[str, Any] = {
    ending: read for read in (parquet_table, npz_table, excel_table) for ending in read.ENDINGS
}
#: Whole numbers, times and text tell sequences apart or order them; records and complex numbers do not.
_LABELS = "biufMmUS"
#: The longest text, and the longest label: an array of text is as wide as its longest one.
LONGEST_TEXT = 128


@dataclass(slots=True, eq=False)
class Table:
    """Columns by their names, read when they are asked for, and not kept where the file is read by columns.

    Parameters
    ----------
    where : the file, or what else the columns stand in.
    loaded : what gives the columns as they are stored.
    roles : which columns hold texts, whatever they look like, and in which of them case does not matter.
    advise : whether the meaning of columns can be said anew.
    variants : of columns of texts two that differ in case alone.
    """

    where: str
    loaded: Loaded
    roles: Roles
    advise: bool = True
    variants: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows,), or (n, T) where a file holds n sequences of T rows."""
        return self.loaded.shape

    def remarks(self) -> tuple[str, ...]:
        """What whoever reads a certificate should know about the cells."""
        return tuple(
            f"{name} holds {one!r} and {other!r}, which differ in case alone; "
            f"--ignore-case {name} makes them one"
            for name, (one, other) in self.variants.items()
        )

    def place(self, row: int) -> str:
        """Where a row stands."""
        if len(self.shape) == 2:
            return f"{self.where}, entry {tuple(int(i) for i in np.unravel_index(row, self.shape))}"
        return f"{self.where}, {self.loaded.unit} {self.loaded.numbers({row})[row]}"

    def column(self, name: str) -> Column:
        """Values: numbers, or texts."""
        found = self.loaded.load(name)
        if isinstance(found, Column):
            return found
        declared, advice = name in self.roles.categories, advice_of(self.advise)
        with placed(self.where, name, self.place):
            words = found if isinstance(found, Words) else _words(found.reshape(-1), declared)
            if words is not None:
                return self._of_texts(name, words, declared)
            assert not isinstance(found, Words)
            array = found.reshape(-1)
            truths = holds_truths(array)
            if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
                column = of_numbers(array, truths)
                if max(-column.low, column.high) < EXACT and not column.gaps:
                    return column
            if array.dtype.kind == "O" and any(isinstance(value, str) for value in array):
                raise BadCell(None, f"texts and numbers; mend it{advice}")
            return of_numbers(as_numbers(array), truths)

    def label(self, name: str) -> np.ndarray:
        """What rows are sorted by, as it is."""
        found = self._label(name)
        return np.array(found.words)[found.places] if isinstance(found, Words) else found

    def ids(self, name: str) -> np.ndarray:
        """What tells rows apart, and says nothing else."""
        found = self._label(name)
        return found.places if isinstance(found, Words) else found

    def _label(self, name: str) -> np.ndarray | Words:
        found = self.loaded.load(name)
        if not isinstance(found, Words):
            found = _words(found, False) or found
        with placed(self.where, name, self.place):
            if isinstance(found, Words):
                words = [word.strip() for word in found.words]
                longest = max(words, key=len)
                if len(longest) > LONGEST_TEXT:
                    what = f"a label of {len(longest)} characters; shorten labels to {LONGEST_TEXT}"
                    raise BadCell(_first(found, words.index(longest)), what)
                found, missing = Words(found.places, words), np.array([not word for word in words])
                missing = missing[found.places] if missing.any() else missing[:0]
            elif found.dtype.kind not in _LABELS:
                raise BadCell(None, "no numbers, times or text; store it as one of these")
            else:
                missing = ~np.isfinite(found) if found.dtype.kind in "fMm" else np.zeros(0, bool)
            if missing.any():
                raise Gap(int(np.argmax(missing)))
        return found

    def _of_texts(self, name: str, given: Words, declared: bool) -> Column:
        """A column of texts; those that differ in case alone are the commonest, where that was asked for."""
        counts = np.bincount(given.places, minlength=len(given.words))
        words = ["" if word.strip().lower() in MISSING_TEXTS else word.strip() for word in given.words]
        if not declared:
            told = np.array([bool(word) for word in words]) @ counts if words else 0
            if told and 2 * (np.array([bool(w) and is_like_a_number(w) for w in words]) @ counts) >= told:
                what = f"numbers written as texts; write them as numbers{advice_of(self.advise)}"
                raise BadCell(None, what)
        for i, word in enumerate(words):
            if len(word) > LONGEST_TEXT and counts[i]:
                what = f"a text of {len(word)} characters; shorten texts to {LONGEST_TEXT}"
                raise BadCell(_first(given, i), what)
        alike: dict[str, list[int]] = {}
        for i, word in enumerate(words):
            alike.setdefault(word.casefold(), []).append(i)
        several = [same for same in alike.values() if len({words[i] for i in same}) > 1]
        if several and name in self.roles.ignore_case:
            for same in several:
                commonest = words[max(same, key=lambda i: counts[i])]
                for i in same:
                    words[i] = commonest
        elif several:
            one, other, *_ = sorted({words[i] for i in several[0]})
            self.variants[name] = one, other
        return of_words(replace(given, words=words))


def advice_of(advise: bool) -> str:
    """What can be done about a text among numbers."""
    return ", or name it in --categories" if advise else ""


def _first(given: Words, word: int) -> int:
    """The first row that has a word."""
    return int(np.argmax(given.places == word))


def _words(column: np.ndarray, declared: bool) -> Words | None:
    """The column as texts, if that is what it holds, or was declared to; a missing one is empty."""
    if column.dtype.kind == "S":
        column = np.char.decode(column, "utf-8")
    if column.dtype.kind == "O":
        known = [value for value in column.flat if not is_nothing(value)]
        if not declared and not (known and all(isinstance(value, str) for value in known)):
            return None
        column = np.array([as_text(value) for value in column.flat], dtype=str)
    elif column.dtype.kind != "U" and not declared:
        return None
    values, places = np.unique(column, return_inverse=True)
    return Words(places.reshape(-1), [as_text(value) for value in values.tolist()])


def _format(path: Path) -> Any:
    return FORMATS.get(path.suffix.lower(), csv_table)


def format_of(path: Path) -> str:
    """CSV, Parquet, NPZ or Excel."""
    return _format(path).NAME


def open_table(path: Path, roles: Roles, *, advise: bool = True) -> Table:
    """The columns of a file that have a role, to be asked for: values as numbers or texts, labels as such.

    What cannot be read is refused, with the advice to give it another role where that can be said.
    """
    check_readable(path)
    if format_of(path) == "CSV":  # has no columns that could be read alone: what is named is read, and held
        loaded = csv_columns.columns(path, roles, advice_of(advise))
    else:
        loaded = _format(path).columns(path, [*roles.columns, *roles.labels])
    if 0 in loaded.shape:
        raise InputError(f"{path} has no rows; add data.")
    return Table(str(path), loaded, roles, advise)


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
    with replacing(out) as file:
        yield file
