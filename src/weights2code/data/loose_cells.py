"""Columns as people have them: texts beside numbers, and cells that hold nothing.

A column of which most cells are no numbers is a column of texts. One text among numbers is more likely a
mistake, and is refused as ever, unless the column was declared to hold categories. Cells that hold nothing
become `nan`, or an empty text, and are counted: what to do about them is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from weights2code.data.columns import Column, Gaps, of_numbers, of_texts
from weights2code.data.date_forms import iso_times
from weights2code.data.exact_numbers import (
    LOCAL_TIME,
    MISSING,
    WORDS,
    WORLD_TIME,
    HoldsText,
    convert,
    decimal_form,
    entry,
    is_like_a_number,
    parse,
    with_points,
)
from weights2code.errors import InputError
from weights2code.language.domain import EXACT
from weights2code.roles import Roles

#: Cells of a column of texts that say that a value is missing; "none" and "-" may be texts.
MISSING_TEXTS = frozenset({"", "na", "n/a", "nan", "null"})
#: The longest text: an array of text is as wide as its longest one.
LONGEST_TEXT = 128
#: What pandas calls nothing.
_NOTHING = ("NAType", "NaTType")


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A column of texts as places in a list of words, in the order in which they first appear."""

    places: np.ndarray
    words: list[str]


class Loaded(NamedTuple):
    """What a file of columns holds: (rows,), or (n, T) where it holds n sequences of T rows; what gives a
    column by its name; how many rows of the file stand above the first one, where somebody counts them."""

    shape: tuple[int, ...]
    load: Callable[[str], np.ndarray | Words]
    above: int = 0


@dataclass(slots=True)
class Loosely:
    """How the columns of one file are read: which of them hold texts, and which cells hold nothing.

    Parameters
    ----------
    roles : which columns hold texts, whatever they look like, and in which of them case does not matter.
    above : rows above the first one in the file, where somebody counts them.
    advise : whether the meaning of columns can be said anew.
    variants : of columns of texts two that differ in case alone.
    forms : of columns of numbers whether they have a decimal "point" or "comma", once that shows.
    """

    roles: Roles
    texts: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    truths: set[str] = field(default_factory=set)
    gaps: dict[str, Gaps] = field(default_factory=dict)
    variants: dict[str, tuple[str, str]] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    above: int = 0
    advise: bool = True

    def remarks(self) -> tuple[str, ...]:
        """What whoever reads a certificate should know about the cells."""
        return tuple(
            f"{name} holds {one!r} and {other!r}, which differ in case alone; "
            f"--ignore-case {name} makes them one"
            for name, (one, other) in self.variants.items()
        )

    @property
    def advice(self) -> str:
        return ", or name it in --categories" if self.advise else ""

    def entry(self, index: Sequence[Any] | np.ndarray) -> str:
        """Where a value stands."""
        return entry([int(index[0]) + self.above, *map(int, index[1:])])

    def cells(self, where: str, name: str, cells: Sequence[str], lines: Sequence[int]) -> np.ndarray:
        """Some cells of a CSV file: numbers with gaps, or texts."""
        if name not in self.roles.declared | self.texts:
            try:
                values = self.parsed(where, name, cells, lines)
            except HoldsText as error:
                if name in self.numbers or not mostly_texts(cells):
                    raise InputError(f"{str(error)[:-1]}{self.advice}.") from None
                _refuse_times(where, name, cells)
            else:
                self._note_truths(name, cells)
                self._note(name, np.isnan(values), lambda i: f"{where}, line {lines[i]}")
                return values
        self.texts.add(name)
        stripped = [cell.strip() for cell in cells]
        found = np.array(["" if cell.lower() in MISSING_TEXTS else cell for cell in stripped])
        _refuse_long(found, name, lambda i: f"{where}, line {lines[i]}")
        self._note(name, found == "", lambda i: f"{where}, line {lines[i]}")
        return found

    def parsed(self, where: str, name: str, cells: Sequence[str], lines: Sequence[int]) -> np.ndarray:
        """Cells as numbers, with points, or with commas and separators where all of them agree to that."""
        form = self.roles.decimal or self.forms.get(name, "")
        try:
            if form == "comma":
                raise HoldsText("")
            values = parse(where, name, cells, lines)
        except HoldsText:
            found = decimal_form(where, name, cells, form, lines)
            if not found:
                return parse(where, name, cells, lines)
            self.forms[name] = found
            return parse(where, name, with_points(cells, found), lines)
        if not form and "." in "".join(cells):
            self.forms[name] = "point"
        return values

    def column(self, where: str, name: str, array: np.ndarray | Words) -> Column:
        """A column of anything but a CSV file, in line, whatever its shape: as it is stored, if it can be."""
        self.gaps.pop(name, None)  # it may be read again
        shape = (len(array.places),) if isinstance(array, Words) else array.shape

        def place(index: int) -> str:
            return f"{where}, {self.entry(np.unravel_index(index, shape))}"

        given = array if isinstance(array, Words) else _words(array.reshape(-1), name in self.roles.declared)
        if given is not None:
            return self.words(where, name, given, place)
        assert isinstance(array, np.ndarray)
        flat = array.reshape(-1)
        if holds_truths(flat):
            self.truths.add(name)
        if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
            flat = flat.view(np.uint8) if flat.dtype.kind == "b" else flat
            found = of_numbers(flat)
            if max(-found.low, found.high) < EXACT:  # neither infinite nor nothing, and exact
                return replace(found, truths=name in self.truths)
        if array.dtype.kind == "O" and any(isinstance(value, str) for value in flat):
            raise InputError(f"{where}, column {name!r} holds texts and numbers; mend it{self.advice}.")
        values = convert(where, name, _with_nan(array)).reshape(-1)
        self._note(name, np.isnan(values), place)
        return self.read(name, values)

    def read(self, name: str, values: np.ndarray) -> Column:
        """A column that was read: numbers, or texts."""
        if name not in self.texts:
            return replace(of_numbers(values, self.gaps.get(name)), truths=name in self.truths)
        words, places = np.unique(values, return_inverse=True)
        return self._of_texts(name, places.reshape(-1), words.tolist())

    def words(self, where: str, name: str, given: Words, place: Callable[[int], str]) -> Column:
        """Texts that are stored as places in a list of words; `place` says where a row stands."""
        counts = np.bincount(given.places, minlength=len(given.words))
        stripped = [word.strip() for word in given.words]
        found = ["" if word.lower() in MISSING_TEXTS else word for word in stripped]
        if name not in self.roles.declared:
            told = [(word, count) for word, count in zip(found, counts.tolist(), strict=True) if word]
            like = sum(count for word, count in told if is_like_a_number(word))
            if told and 2 * like >= sum(count for _, count in told):
                raise InputError(
                    f"{where}, column {name!r} holds numbers written as texts; write them as numbers"
                    f"{self.advice}."
                )
        self.texts.add(name)
        for i, word in enumerate(found):
            if len(word) > LONGEST_TEXT:
                first = int(np.argmax(given.places == i))
                _refuse_long(np.array([word]), name, lambda _, row=first: place(row))
        self.gaps.pop(name, None)
        self._note(name, np.array([not word for word in found])[given.places], place)
        return self._of_texts(name, given.places, found)

    def _of_texts(self, name: str, places: np.ndarray, words: list[str]) -> Column:
        """A column of texts; those that differ in case alone are the commonest, where that was asked for."""
        alike: dict[str, list[int]] = {}
        for i, word in enumerate(words):
            alike.setdefault(word.casefold(), []).append(i)
        several = [same for same in alike.values() if len({words[i] for i in same}) > 1]
        if several and name in self.roles.ignore_case:
            counts, words = np.bincount(places, minlength=len(words)), list(words)
            for same in several:
                commonest = words[max(same, key=lambda i: counts[i])]
                for i in same:
                    words[i] = commonest
        elif several:
            one, other, *_ = sorted({words[i] for i in several[0]})
            self.variants[name] = one, other
        return of_texts(places, words, self.gaps.get(name))

    def _note_truths(self, name: str, cells: Sequence[str]) -> None:
        """A column is one of truth values if all that it holds are the words for them."""
        told = (word for word in (cell.strip().lower() for cell in cells) if word not in MISSING)
        first = next(told, None)
        if name not in self.numbers and first in WORDS and all(word in WORDS for word in told):
            self.truths.add(name)
        elif first is not None:
            self.numbers.add(name)
            self.truths.discard(name)

    def _note(self, name: str, missing: np.ndarray, place: Any) -> None:
        count = int(missing.sum())
        if count:
            before = self.gaps.get(name)
            first = before.first if before else place(int(np.argmax(missing)))
            self.gaps[name] = Gaps(count + (before.count if before else 0), first)


def holds_truths(column: np.ndarray) -> bool:
    """Whether a column holds truth values and nothing else, but what is nothing."""
    if column.dtype.kind != "O":
        return column.dtype.kind == "b"
    known = [value for value in column.flat if not is_nothing(value)]
    return bool(known) and all(isinstance(value, (bool, np.bool_)) for value in known)


def mostly_texts(cells: Sequence[str]) -> bool:
    """Whether few of the cells that hold something may be meant as numbers."""
    told = [cell.strip() for cell in cells]
    told = [cell for cell in told if cell.lower() not in MISSING_TEXTS]
    return 2 * sum(map(is_like_a_number, told)) < len(told)


def _refuse_times(where: str, name: str, cells: Sequence[str]) -> None:
    told = [cell.strip() for cell in cells if cell.strip()]
    iso = all(LOCAL_TIME.fullmatch(cell) or WORLD_TIME.fullmatch(cell) for cell in told)
    if iso or iso_times(told, "day-first", where):
        raise InputError(
            f"{where}, column {name!r} holds dates; leave it out of --inputs and sort by it with --order, or "
            "take hours and weekdays from it with --time, or give the time that has passed as numbers."
        )


def _refuse_long(texts: np.ndarray, name: str, place: Any) -> None:
    lengths = np.char.str_len(texts)
    if len(texts) and lengths.max() > LONGEST_TEXT:
        longest = int(np.argmax(lengths))
        raise InputError(
            f"{place(longest)}, column {name!r} holds a text of {lengths[longest]} characters; shorten texts "
            f"to {LONGEST_TEXT}."
        )


def _words(column: np.ndarray, declared: bool) -> Words | None:
    """The column as texts, if that is what it holds, or was declared to; a missing one is empty."""
    if column.dtype.kind == "S":
        column = np.char.decode(column, "utf-8")
    if column.dtype.kind == "O":
        known = [value for value in column if not is_nothing(value)]
        if not declared and not (known and all(isinstance(value, str) for value in known)):
            return None
        column = np.array(["" if is_nothing(value) else as_text(value) for value in column], dtype=str)
    elif column.dtype.kind != "U" and not declared:
        return None
    values, places = np.unique(column, return_inverse=True)
    words = ["" if is_nothing(value) else as_text(value) for value in values.tolist()]
    return Words(places.reshape(-1), words)


def _with_nan(column: np.ndarray) -> np.ndarray:
    """Objects that are truth values and numbers that float64 holds, or nothing, as numbers."""
    if column.dtype.kind != "O" or not all(is_nothing(value) or _is_exact(value) for value in column.flat):
        return column
    told = [np.nan if is_nothing(value) else value for value in column.flat]
    return np.array(told, dtype=float).reshape(column.shape)


def _is_exact(value: Any) -> bool:
    if isinstance(value, (int, np.integer)):
        return abs(int(value)) < EXACT
    return isinstance(value, (bool, float, np.bool_, np.floating))


def is_nothing(value: Any) -> bool:
    """Whether a cell says that it holds nothing: None, `nan`, or what pandas writes."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _NOTHING


def as_text(value: Any) -> str:
    """A number as a text: whole ones without a point."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole or isinstance(value, bool) else str(value)
