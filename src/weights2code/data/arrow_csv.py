"""Large CSV files by PyArrow, which is ten times as fast as the standard library and less exact.

It is trusted with what is plain: numbers that float64 holds, truth values, texts, times. Whatever is not
(a number beyond 2^53 or too small, a quote in the middle of a cell, rows of unequal width, ...) makes
`read_with_arrow` give up, and the file is read by `csv_table`, which knows what to say about it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data.columns import Gaps
from weights2code.data.csv_table import LONGEST_LABEL, Block, csv_rows, unpacked
from weights2code.data.exact_numbers import LOCAL_TIME, MISSING, NUMBER, WORDS, WORLD_TIME
from weights2code.data.limits import LARGEST, check_cells, find_column
from weights2code.data.loose_cells import Loosely, Words, mostly_texts
from weights2code.language.domain import EXACT
from weights2code.roles import Roles

#: Smaller files are read at once without it.
LARGE = 1 << 20
#: Bytes that are converted at a time, and rows that say what a column holds.
BLOCK = 1 << 22
FIRST_ROWS = 1000
#: What a missing number may be written as.
_NOTHING = sorted({form for word in MISSING for form in (word, word.upper(), word.title())} | {"NaN"})
_TRUE, _FALSE = (["true", "TRUE", "True"], ["false", "FALSE", "False"])
#: Exponents of numbers that may be too small; a quote that neither begins nor ends a cell.
_SMALL = re.compile(rb"[eE]-[0-9]{3}")
_ZEROS = b"0" * 300
_QUOTE = rb'[^\r\n"%b]"[^\r\n"%b]'
#: Types that whole numbers are kept in.
_WHOLE = (np.int8, np.int16, np.int32)


@dataclass(slots=True)
class _Kept:
    """What was read of a column so far."""

    parts: list[np.ndarray] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    first: int = -1

    def whole(self) -> np.ndarray:
        """All of it in one type; the parts are gone then."""
        found = np.concatenate(self.parts)
        self.parts.clear()
        return found


class _Odd(Exception):
    """Something that the other reader should look at."""


class _Watched(io.RawIOBase):
    """A file that is looked over while it is read: counted, and searched for what is not plain."""

    def __init__(self, file: Any, delimiter: str, quoted: bool) -> None:
        self.file, self.tail = file, b""
        self.quote = re.compile(_QUOTE % ((re.escape(delimiter.encode()),) * 2))
        self.lines, self.size, self.quoted, self.odd = 0, 0, quoted, False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.lines += data.count(b"\n")
        self.size += len(data)
        looked = self.tail + data
        self.tail = looked[-len(_ZEROS) :]
        if b'"' in data:
            self.quoted = True
            self.odd |= self.quote.search(looked) is not None
        if b"e-" in looked or b"E-" in looked:
            self.odd |= _SMALL.search(looked) is not None
        self.odd |= b"\0" in data or _ZEROS in looked or self.size > LARGEST
        return data


def read_with_arrow(path: Path, loosely: Loosely) -> dict[str, np.ndarray | Words] | None:
    """The columns that have a role, each in a narrow type; None if somebody else should read the file.

    Gaps are noted in `loosely`. Labels are numbers, times, or texts as `Words`; those that tell sequences
    apart are texts, whatever they look like.
    """
    labels = loosely.roles.labels
    if path.stat().st_size < LARGE or loosely.roles.decimal:
        return None
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        header, delimiter, kinds = _kinds(path, loosely.roles)
        places = {name: str(find_column(path, header, name)) for name in kinds}
        with unpacked(path) as beginning:
            quoted = b'"' in beginning.read(BLOCK)
        kept, rows = {name: _Kept() for name in kinds}, 0
        with unpacked(path) as raw:
            watched = _Watched(raw, delimiter, quoted)
            types = {places[name]: kind for name, kind in kinds.items()}
            for batch in _batches(watched, delimiter, len(header), types, quoted):
                for name, kind in kinds.items():
                    _keep(kept[name], batch.column(places[name]), kind, rows)
                rows += batch.num_rows
                check_cells(path, rows, len(kinds))
                if watched.odd or watched.quoted != quoted:
                    return None
        return _finished(path, kept, kinds, watched, rows, labels, loosely)
    except (_Odd, pyarrow.ArrowException, UnicodeDecodeError, KeyError):
        return None


def _batches(file: Any, delimiter: str, width: int, kinds: dict[str, str], quoted: bool) -> Any:
    """Batches of rows; columns are called by their places."""
    import pyarrow
    from pyarrow import csv

    types = {"number": pyarrow.float64(), "truth": pyarrow.bool_(), "time": pyarrow.timestamp("us")}
    return csv.open_csv(
        file,
        csv.ReadOptions(skip_rows=1, column_names=[str(i) for i in range(width)], block_size=BLOCK),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted),
        csv.ConvertOptions(
            column_types={place: types.get(kind, pyarrow.string()) for place, kind in kinds.items()},
            include_columns=list(kinds),
            null_values=_NOTHING,
            true_values=_TRUE,
            false_values=_FALSE,
            strings_can_be_null=False,
        ),
    )


def _first_rows(block: Block) -> list[list[str]]:
    lines = block.lines and block.lines[:FIRST_ROWS]
    return Block(block.numbered, block.delimiter, lines, block.cells[:FIRST_ROWS]).rows


def _kinds(path: Path, roles: Roles) -> tuple[list[str], str, dict[str, str]]:
    """Header, delimiter, and what each column holds, by its first rows."""
    with csv_rows(path) as (names, delimiter, _, found):
        block = next(found, None)
        rows = _first_rows(block) if block else []
    header = [name.strip() for name in names]
    if any(len(row) != len(header) for row in rows) or not rows:
        raise _Odd
    kinds = {}
    for name in dict.fromkeys((*roles.columns, *roles.labels)):
        place = find_column(path, header, name)
        cells = [row[place].strip() for row in rows]
        kinds[name] = _kind(cells, name in roles.labels, name in roles.declared or name == roles.sequence)
    return header, delimiter, kinds


def _kind(cells: Sequence[str], label: bool, declared: bool) -> str:
    told = [cell for cell in cells if cell.lower() not in MISSING]
    if declared or (label and not told):
        return "text"
    if all(map(NUMBER.fullmatch, told)):
        return "number"
    times = all(LOCAL_TIME.fullmatch(cell) or WORLD_TIME.fullmatch(cell) for cell in told)
    if label:
        return "time" if times and all(map(LOCAL_TIME.fullmatch, told)) else "text"
    if all(cell.lower() in WORDS for cell in told):
        return "truth"
    if times or not mostly_texts(cells):
        raise _Odd
    return "text"


def _keep(kept: _Kept, column: Any, kind: str, rows: int) -> None:
    """A batch of a column, in the narrowest type that holds it."""
    if kind == "text":
        coded = column.dictionary_encode()
        words = [word.strip() for word in coded.dictionary.to_pylist()]
        own = [kept.words.setdefault(word, len(kept.words)) for word in words]
        kept.parts.append(np.array(own, np.int32)[coded.indices.to_numpy()])
        return
    if column.null_count:
        if kept.first < 0:
            kept.first = rows + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        kept.missing += column.null_count
    if kind == "truth":
        column = column.cast("uint8")
    if kind == "time":
        if column.null_count:
            raise _Odd
        kept.parts.append(column.to_numpy(zero_copy_only=False))
        return
    values = column.to_numpy(zero_copy_only=False)
    low, high = float(values.min()), float(values.max())
    if not column.null_count and not max(-low, high) < EXACT:
        raise _Odd
    if column.null_count and (np.abs(values) >= EXACT).any():
        raise _Odd
    if values.dtype.kind == "f" and not column.null_count:
        for narrow in _WHOLE:
            if np.iinfo(narrow).min <= low and high <= np.iinfo(narrow).max:
                whole = values.astype(narrow)
                values = whole if (whole == values).all() else values
                break
    kept.parts.append(values)


def _finished(
    path: Path,
    kept: dict[str, _Kept],
    kinds: dict[str, str],
    watched: _Watched,
    rows: int,
    labels: Sequence[str],
    loosely: Loosely,
) -> dict[str, np.ndarray | Words]:
    if not rows:
        raise _Odd
    counted = rows in (watched.lines, watched.lines - 1) and not watched.quoted
    found: dict[str, np.ndarray | Words] = {}
    for name, column in kept.items():
        if column.missing:
            if name in labels or not counted:
                raise _Odd
            loosely.gaps[name] = Gaps(column.missing, f"{path}, line {column.first + 2}")
        values = column.whole()
        if kinds[name] != "text":
            loosely.truths |= {name} if kinds[name] == "truth" else set()
            found[name] = values
            continue
        words = list(column.words)
        if name in labels and (not all(words) or max(map(len, words)) > LONGEST_LABEL):
            raise _Odd
        found[name] = Words(values, words)
    return found
