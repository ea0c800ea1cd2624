"""A program over a new table: its target columns computed, and where the table leaves what is certified.

Columns, sequences and order are those of the fit. What runs is the text that the recurrence in the folder
gives, in a limited process; the folder's own text must be the same. After a row that lacks a value, where the
table holds the targets, the recurrence goes on from those, as it does when it is certified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data import FileSource, Rows
from weights2code.data.csv_table import csv_rows
from weights2code.data.gaps import carried
from weights2code.data.row_order import rows_of_sequences, times_of
from weights2code.data.table_writing import check_target, format_of, write_with
from weights2code.data.tables import names_in, read_columns, read_table
from weights2code.data.times import time_leaf
from weights2code.errors import InputError, NotExtracted
from weights2code.language import Domain, definition_variables
from weights2code.language.categories import decoded, encoded, in_words, truths_of
from weights2code.program import Program, run_program
from weights2code.recheck import check_written
from weights2code.results import read_program
from weights2code.run_folder import CERTIFICATE, MODEL, PROGRAM, RunFolder
from weights2code.verify import Certificate
from weights2code.verify.all_rows import over_all

#: Rows that are named of those outside a domain, and rows that one process runs.
NAMED = 3
ROWS_AT_ONCE = 500_000
#: A rule that looks so far back is one with a season: somebody should know of the first rows.
FAR = 13
#: Reals that differ by this share of the larger of 1 and the right value are the same.
NEAR = 1e-6
#: Seconds and bytes that a process may use, and what each row adds to them.
SECONDS, SECONDS_A_ROW = 20.0, 1e-3
BYTES, BYTES_A_ROW = 1 << 30, 2000


@dataclass(frozen=True, slots=True)
class Outside:
    """Rows of a column that the certificate does not speak about: how many, the first with their values."""

    column: str
    domain: str
    count: int
    first: tuple[tuple[int, float], ...]

    def words(self, place: str, rows: int) -> str:
        shown = ", ".join(f"{value:.17g} in {place} {number}" for number, value in self.first)
        more = ", ..." if self.count > len(self.first) else ""
        return (
            f"{self.column} leaves {self.domain}, which is all that the certificate covers, in {self.count} "
            f"of {rows} rows: {shown}{more}"
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was computed, and what somebody who uses it should know.

    `place` says what rows are counted by: lines of a text file, or rows from 0 on. `undefined` counts, for
    each target, rows without a value; `right`, for each target that the table held already, rows in which
    the program has the same, of those that can be `judged`. `anew` counts where it began anew after a gap.
    """

    columns: Mapping[str, np.ndarray]
    rows: int
    place: str
    verdict: str
    outside: tuple[Outside, ...]
    undefined: Mapping[str, tuple[int, int]]
    right: Mapping[str, int]
    judged: int = 0
    looks_back: int = 0
    anew: int = 0

    @property
    def exit_code(self) -> int:
        return 1 if self.verdict == "failed" else 0

    def lines(self) -> list[str]:
        """What to say about it, a sentence a line."""
        said = [f"{self.rows} rows by a program whose certificate says: {self.verdict}"]
        said += [found.words(self.place, self.rows) for found in self.outside]
        for name, (count, first) in self.undefined.items():
            said.append(f"{name} has no value in {count} of {self.rows} rows, first in {self.place} {first}")
        for name, count in self.right.items():
            of = f"{self.rows} rows"
            if self.judged < self.rows:
                of = f"the {self.judged} rows that can be judged"
            said.append(f"{name} stood in the table: the program has the same in {count} of {of}")
        if self.anew:
            said.append(
                f"rows lack a value: the program, which looks back, began anew {self.anew} times after them"
            )
        if self.looks_back >= FAR:
            said.append(
                f"the rule looks {self.looks_back} rows back, so the first {self.looks_back} rows of a "
                "sequence rest on what is taken to lie before it"
            )
        if self.verdict == "failed":
            said.append("the program misses what it was made for: do not rely on these numbers")
        return said

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "targets": list(self.columns),
            "verdict": self.verdict,
            "outside": [
                {
                    "column": found.column,
                    "domain": found.domain,
                    "count": found.count,
                    "first": [{self.place: number, "value": value} for number, value in found.first],
                }
                for found in self.outside
            ],
            "undefined": {name: count for name, (count, _) in self.undefined.items()},
            "right": dict(self.right),
            "judged": self.judged,
        }


def predict(
    folder: RunFolder,
    path: Path,
    out: Path | None,
    sequence: str | None = None,
    order: str | None = None,
) -> Prediction:
    """Run the program of a folder over the table in `path`, and write the table with its targets to `out`."""
    program, certificate = program_in(folder)
    source = folder.source
    if isinstance(source, FileSource):
        sequence, order = sequence or source.sequence, order or source.order
    check_target(path, out)
    rule = program.recurrence
    time = source.time if isinstance(source, FileSource) else None
    labels = tuple(name for name in dict.fromkeys((sequence, order, time)) if name is not None)
    # of many columns of the fit few may be left, what comes from times is no column, and some are not read
    known = [name for name in rule.inputs if not isinstance(source, FileSource) or name in source.inputs]
    read = {v.name for step in rule.live().steps for v in definition_variables(step.definition)}
    inputs = [name for name in known if name in read] or known
    missing = source.missing if isinstance(source, FileSource) else "refuse"
    table = _numbers(path, program, inputs, labels, missing)
    shape = table[(*inputs, *labels)[0]].shape
    if len(shape) == 2 and labels:
        raise InputError(f"{path} holds arrays (n, T): leave out --sequence and --order.")
    count = int(np.prod(shape))
    if len(shape) == 2:
        rows, ends = np.arange(count), np.arange(1, shape[0]) * shape[1]
    else:
        rows, ends = rows_of_sequences(path, table, count, sequence, order)
    if time is not None:
        table |= _time_leaves(path, program, table, rows, ends, time)
    for name in set(known) - set(inputs):
        table[name] = np.full(shape, float(program.domains[rule.inputs.index(name)].low))
    flat = np.stack([table[name].reshape(-1) for name in rule.inputs], -1)
    if missing == "last":
        flat[rows] = np.concatenate([carried(sequence) for sequence in np.split(flat[rows], ends)])
    whole = np.logical_not(np.isnan(flat).any(axis=1))
    answers = np.full((len(flat), len(rule.outputs)), np.nan)
    sequences = np.split(rows, ends)
    begun, later = _pieces(sequences, whole)
    if begun or later:
        pieces = [*begun, *later]
        answers[np.concatenate(pieces)] = np.concatenate(run_over(program, [flat[piece] for piece in pieces]))
    targets = _targets(path, program)
    if targets is not None and missing == "last":
        targets[rows] = np.concatenate([carried(targets[sequence]) for sequence in sequences])
    looks_back = bool(rule.depths()) or rule.retrieves()
    said, judged = answers, np.zeros(count, bool)
    if targets is not None:
        said, judged = _judged(program, sequences, flat, targets, answers)
        if later and looks_back:
            after = np.concatenate(later)
            answers[after] = np.where(judged[after, None], said[after], np.nan)
    columns = {
        name: _column(answers[:, i], program, name).reshape(shape) for i, name in enumerate(rule.outputs)
    }
    prediction = replace(
        _described(path, program, certificate, flat, answers, columns),
        right={} if targets is None else _right(program, said, targets, judged),
        judged=int(judged.sum()),
        anew=len(later) if looks_back and targets is None else 0,
    )
    write_with(path, columns, out)
    return prediction


def _pieces(sequences: Sequence[np.ndarray], whole: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The rows of sequences, cut where one lacks a value: pieces from a true start, and those after a gap."""
    begun, later = [], []
    for rows in sequences:
        borders = np.flatnonzero(np.diff(np.concatenate([[False], whole[rows], [False]]).astype(int)))
        for first, last in borders.reshape(-1, 2):
            (later if first else begun).append(rows[first:last])
    return begun, later


def _judged(
    program: Program, sequences: Sequence[np.ndarray], x: np.ndarray, y: np.ndarray, answers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What the program says where it is judged as the certificate judges it, and where that is."""
    rule = program.recurrence
    whole = np.logical_not(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    begun, later = _pieces(sequences, whole)
    if max(rule.depths().values(), default=0) >= FAR:  # nobody knows what lies a season before the start
        begun, later = [], [*begun, *later]
    said, judged = answers.copy(), np.zeros(len(x), bool)
    if begun:
        judged[np.concatenate(begun)] = True
    if later:
        places, lengths = np.concatenate(later), np.array([len(piece) for piece in later])
        rows = Rows(x[places], y[places], lengths, np.zeros(len(later), bool), len(x))
        near = 0.5 if program.integer_outputs else NEAR * float(np.abs(y[places]).max(initial=1.0))
        told = over_all(rule, rows, program.domains, near=near)
        said[places], judged[places] = told.answers, told.judged
    return said, judged


def _numbers(
    path: Path, program: Program, inputs: Sequence[str], labels: Sequence[str], missing: str
) -> dict[str, np.ndarray]:
    """The columns that are read, texts as the numbers that stand for them; what is missing is `nan`."""
    texts = {name: known for name, known in program.categories.items() if name in inputs}
    if not texts and missing == "refuse":
        return read_columns(path, inputs, labels)
    table = read_table(path, inputs, labels, tuple(texts))
    for name, found in table.gaps.items() if missing == "refuse" else ():
        raise InputError(f"{found.first}, column {name!r} holds a missing value; fill it.")
    for name in sorted(table.texts & set(inputs) - set(texts)):
        raise InputError(f"{path}, column {name!r} holds texts, and the program reads numbers there.")
    numbers = {name: column for name, column in table.columns.items() if name not in texts}
    for name, known in texts.items():
        column = table.columns[name]
        spelled = {str(text): text for text in known}
        codes = encoded(np.array([spelled.get(str(text), text) for text in column.flat], object), known)
        codes = np.where([str(text) == "" for text in column.flat], np.nan, codes)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            place = f"line {_lines_of(path, {row})[row]}" if format_of(path) == "CSV" else f"row {row}"
            domain = program.domains[program.recurrence.inputs.index(name)]
            raise InputError(
                f"{path}, {place}, column {name!r}: {column.flat[row]!s} is none of {domain}, which is all "
                "that the program knows."
            )
        numbers[name] = codes.reshape(column.shape)
    return numbers


def _time_leaves(
    path: Path,
    program: Program,
    table: Mapping[str, np.ndarray],
    rows: np.ndarray,
    ends: np.ndarray,
    column: str,
) -> dict[str, np.ndarray]:
    """What the program reads of the time of a row."""
    times, found = times_of(path, column, table[column]), {}
    for name in program.recurrence.inputs:
        if name in table:
            continue
        leaf = time_leaf(times, rows, ends, column, name)
        if leaf is None:
            raise InputError(
                f"{path}, column {column!r} gives no {name}, which the program reads; write times as they "
                "were written in the fit."
            )
        found[name] = leaf
    return found


def program_in(folder: RunFolder) -> tuple[Program, Certificate]:
    """The program of a folder with its certificate; its text must be what the run wrote."""
    if not folder.has(CERTIFICATE) and folder.has(MODEL):
        raise NotExtracted(f"{folder.path} holds a model and no program; try `w2c extract {folder.path}`.")
    program, certificate = read_program(folder)
    if not folder.has(PROGRAM):
        raise InputError(f"{folder.path} has no {PROGRAM}; make it with `w2c extract {folder.path}`.")
    check_written(folder, program)
    return program, certificate


def run_over(program: Program, sequences: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Outputs (T, outputs) of each sequence (T, columns), by the text of the program."""
    text, answers = program.source(), []
    rule, texts = program.recurrence, program.categories
    waiting: list[np.ndarray] = []
    size = 0
    for index, sequence in enumerate(sequences):
        given = in_words(sequence, rule.inputs, texts)
        given = given.astype(object) if texts else given
        waiting.append(given[:, 0] if given.shape[1] == 1 else given)
        size += len(sequence)
        if size >= ROWS_AT_ONCE or index + 1 == len(sequences):
            seconds, memory = SECONDS + SECONDS_A_ROW * size, BYTES + BYTES_A_ROW * size
            answers += run_program(text, waiting, timeout=seconds, memory=memory)
            waiting, size = [], 0
    return [_as_numbers(answer.reshape(len(answer), -1), program) for answer in answers]


def _as_numbers(answers: np.ndarray, program: Program) -> np.ndarray:
    """Outputs (T, outputs), texts as the numbers that stand for them; no text is nan."""
    numbers = np.empty(answers.shape)
    for i, name in enumerate(program.recurrence.outputs):
        known = program.output_categories.get(name)
        codes = encoded(answers[:, i], known) if known else answers[:, i].astype(float)
        numbers[:, i] = np.where(codes < 0, np.nan, codes) if known else codes
    return numbers


def _column(values: np.ndarray, program: Program, name: str) -> np.ndarray:
    """Texts and truth values as such, and whole numbers, if every value is one."""
    if name in program.output_categories:
        return decoded(values, program.output_categories[name])
    if name in program.output_truths:
        return truths_of(values)
    known = values[~np.isnan(values)]
    if not program.integer_outputs or not ((known == np.round(known)) & (np.abs(known) < 2**53)).all():
        return values
    if len(known) == len(values):
        return values.astype(np.int64)
    return np.array([None if value != value else int(value) for value in values.tolist()], dtype=object)


def _described(
    path: Path,
    program: Program,
    certificate: Certificate,
    x: np.ndarray,
    answers: np.ndarray,
    columns: Mapping[str, np.ndarray],
) -> Prediction:
    """What is to be said about the values that went in and came out."""
    rule = program.recurrence
    outside = {
        name: np.flatnonzero(_outside(x[:, i], program.domains[i])) for i, name in enumerate(rule.inputs)
    }
    undefined = {name: np.flatnonzero(~np.isfinite(answers[:, i])) for i, name in enumerate(rule.outputs)}
    named = {int(row) for found in (*outside.values(), *undefined.values()) for row in found[:NAMED]}
    csv = format_of(path) == "CSV"
    number = _lines_of(path, named) if csv else {row: row for row in named}
    return Prediction(
        columns,
        len(x),
        "line" if csv else "row",
        certificate.verdict,
        tuple(
            Outside(
                name,
                str(program.domains[i]),
                len(outside[name]),
                tuple((number[int(row)], float(x[row, i])) for row in outside[name][:NAMED]),
            )
            for i, name in enumerate(rule.inputs)
            if len(outside[name])
        ),
        {name: (len(found), number[int(found[0])]) for name, found in undefined.items() if len(found)},
        {},
        looks_back=max(rule.depths().values(), default=0),
    )


def _outside(values: np.ndarray, domain: Domain) -> np.ndarray:
    """Where values are none of a domain."""
    beyond = (values < domain.low) | (values > domain.high)
    odd = (values != np.round(values)) & ~np.isnan(values)  # what is missing is nowhere
    return beyond | odd if domain.discrete else beyond


def _lines_of(path: Path, rows: set[int]) -> dict[int, int]:
    """The lines on which some rows of a CSV file end."""
    if not rows:
        return {}
    with csv_rows(path) as (_, _, _, found):
        return {row: line for row, (line, _) in enumerate(found) if row in rows}


def _targets(path: Path, program: Program) -> np.ndarray | None:
    """The targets as the table holds them already, (rows, outputs), texts as their numbers and nothing as
    `nan`; None if it does not hold them."""
    there, columns = set(names_in(path)), []
    for name in program.recurrence.outputs:
        known = program.output_categories.get(name)
        if name not in there:
            return None
        try:
            found = read_table(path, (name,), (), (name,) if known else ()).columns[name].reshape(-1)
        except InputError:
            return None  # no numbers: it is what is asked for
        if known:
            spelled = {str(text): text for text in known}
            codes = encoded(np.array([spelled.get(str(text), text) for text in found], object), known)
            found = np.where(found == "", np.nan, codes)
        elif found.dtype.kind != "f":
            return None
        columns.append(found)
    table = np.stack(columns, -1)
    return None if np.isnan(table).all() else table


def _right(program: Program, said: np.ndarray, targets: np.ndarray, judged: np.ndarray) -> dict[str, int]:
    """In how many rows the program has the value of a target that the table holds already."""
    if program.integer_outputs:
        same = np.round(said) == targets
    else:
        same = np.abs(said - targets) <= NEAR * np.maximum(1.0, np.abs(targets))
    counts = (same & judged[:, None]).sum(axis=0).tolist()
    return dict(zip(program.recurrence.outputs, counts, strict=True))
