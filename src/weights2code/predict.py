"""A program over a new table: its target columns computed, and where the table leaves what is certified.

Columns, sequences and order are those of the fit. What runs is the text that the recurrence in the folder
gives, in a limited process; the folder's own text must be the same. After a row that lacks a value, where the
table holds the targets, the recurrence goes on from those, as it does when it is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data import FileSource, Rows
from weights2code.data.gaps import carried, stretches
from weights2code.data.row_order import Arranged, arranged
from weights2code.data.tables import Table, check_target, names_in, open_table, write_with
from weights2code.data.texts import numbered
from weights2code.data.times import time_leaf
from weights2code.errors import InputError, NotExtracted
from weights2code.language import Domain
from weights2code.language.categories import decoded, encoded, in_words, truths_of
from weights2code.program import Program, run_program
from weights2code.recheck import check_written
from weights2code.results import read_program
from weights2code.roles import Roles
from weights2code.run_folder import CERTIFICATE, MODEL, PROGRAM, RunFolder
from weights2code.verify import Certificate
from weights2code.verify.all_rows import over_all

#: What runs the text of a program over sequences.
Run = Callable[..., list[np.ndarray]]
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
class Prediction:
    """What was computed, and what somebody who uses it should know.

    `place` says what rows are counted by: lines of a text file, or rows from 0 on. `outside` are columns that
    leave what the certificate speaks about, in how many rows, and the first of these with their values.
    `undefined` counts, for each target, rows without a value; `right`, for each target that the table held
    already, rows in which the program has the same, of those that can be `judged`. `anew` counts where it
    began anew after a gap.
    """

    columns: Mapping[str, np.ndarray]
    rows: int
    place: str
    verdict: str
    outside: list[dict[str, Any]]
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
        for found in self.outside:
            shown = [f"{value['value']:.17g} in {self.place} {value[self.place]}" for value in found["first"]]
            said.append(
                f"{found['column']} leaves {found['domain']}, which is all that the certificate covers, in "
                f"{found['count']} of {self.rows} rows: "
                f"{', '.join([*shown, '...'][: found['count']])}"
            )
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
            "outside": self.outside,
            "undefined": {name: count for name, (count, _) in self.undefined.items()},
            "right": dict(self.right),
            "judged": self.judged,
        }


def predict(
    folder: RunFolder,
    path: Path,
    out: Path | None,
    wrong: Path | None = None,
    **changes: Any,
) -> Prediction:
    """Run the program of a folder over the table in `path`, and write the table with its targets to `out`.

    The rows in which the program has something else than the table go to `wrong`; `changes` are what differs
    from the roles that columns had in the fit.
    """
    program, certificate = program_in(folder)
    for target in (out, *filter(None, (wrong,))):
        check_target(path, target)
    rule, source = program.recurrence, folder.source
    given = source.roles if isinstance(source, FileSource) else Roles(rule.inputs, rule.outputs)
    table, has_targets = _opened(path, reading_roles(program, given, **changes), program)
    stand = arranged(table)
    x, answers = answered(program, table, stand)
    targets = None
    if has_targets:
        targets = np.stack([as_read(table, name, program, stand) for name in rule.outputs], -1)
        targets = None if np.isnan(targets).all() else targets
    looks_back = bool(rule.depths()) or rule.retrieves()
    said, judged = answers, np.zeros(stand.count, bool)
    if targets is not None:
        said, judged = _judged(program, x, targets, answers, stand)
    later, again = after_gaps(np.logical_not(np.isnan(x).any(axis=1)), stand)
    if targets is not None and looks_back:
        answers[later] = np.where(judged[later, None], said[later], np.nan)
    back = stand.back
    made = {
        name: _column(answers[back, i], program, name).reshape(table.shape)
        for i, name in enumerate(rule.outputs)
    }
    right = None if targets is None else _right(program, said, targets) & judged[:, None]
    if wrong is not None:  # the rows that the program misses, as they stand, with what it has instead
        if right is None:
            raise InputError(
                f"{path} does not hold {', '.join(made)}, so no row is known to be wrong; leave out --wrong."
            )
        by_rule = {f"{name}_by_rule": values for name, values in made.items()}
        write_with(path, by_rule, wrong, (judged & ~right.all(1))[back])
    prediction = replace(
        _described(table, program, certificate, x[back], answers[back], made),
        right={} if right is None else dict(zip(rule.outputs, right.sum(0).tolist(), strict=True)),
        judged=int(judged.sum()),
        anew=len(again) if looks_back and targets is None else 0,
    )
    write_with(path, made, out)
    return prediction


def reading_roles(program: Program, given: Roles, **changes: Any) -> Roles:
    """The roles of the columns that a program reads, by those that they had in the fit.

    Of many columns few may be left, what comes from times is no column, and some are not read.
    """
    known = [name for name in program.recurrence.inputs if name in (given.inputs or ())]
    read = [name for name in known if name in program.reading().recurrence.inputs] or known
    return replace(
        given,
        inputs=tuple(read),
        targets=(),
        categories=tuple(name for name in read if name in program.categories),
        ignore_case=tuple(name for name in given.ignore_case if name in read),
        **changes,
    )


def answered(
    program: Program, table: Table, stand: Arranged, run: Run = run_program
) -> tuple[np.ndarray, np.ndarray]:
    """What the program reads of the rows of a table, in the order in which they are read, and its outputs."""
    rule, roles = program.recurrence, table.roles
    x = np.empty((stand.count, len(rule.inputs)))
    for i, name in enumerate(rule.inputs):
        x[:, i] = program.domains[i].low  # nothing reads it
        if name in (roles.inputs or ()):
            x[:, i] = as_read(table, name, program, stand)
        elif roles.time is not None and (leaf := _time_leaf(table, program, stand, name)) is not None:
            x[:, i] = leaf[stand.listed]
    return x, over(program, x, stand.lengths, run)


def _opened(path: Path, roles: Roles, program: Program) -> tuple[Table, bool]:
    """The table, and whether it holds the targets already, as something that they may be."""
    outputs, texts = program.recurrence.outputs, program.output_categories
    if set(outputs) <= set(names_in(path)):
        wider = replace(roles, targets=outputs, categories=(*roles.categories, *texts))
        with suppress(InputError):
            table = open_table(path, wider, advise=False)
            columns = {name: table.column(name) for name in outputs}
            if all(name in texts or columns[name].texts is None for name in outputs):
                return table, True
    return open_table(path, roles, advise=False), False


def as_read(table: Table, name: str, program: Program, stand: Arranged) -> np.ndarray:
    """A column as numbers that a program computes with, gaps dealt with as roles say; nothing is `nan`."""

    def place(odd: np.ndarray) -> tuple[int, str]:
        first = int(np.argmax(odd))
        return first, table.place(int(stand.listed[first]))

    rule, roles, known = program.recurrence, table.roles, program.categories.get(name, ())
    column, asked = table.column(name).at(stand.listed), name in rule.inputs
    if column.gaps and roles.missing == "refuse" and asked:
        raise InputError(f"{place(column.missing())[1]}, column {name!r} holds a missing value; fill it.")
    if not known and column.texts is not None and len(column.texts):
        raise InputError(
            f"{table.where}, column {name!r} holds texts, such as {column.texts[0]!r}, and the program reads "
            "numbers there."
        )
    values = column.take(slice(None))
    if known:
        same = str.casefold if name in roles.ignore_case else str
        codes = {same(str(text)): float(code) for code, text in enumerate(known, start=1)}
        told = [same(text) for text in column.texts or ()]
        values = numbered(column.values, told, codes, np.nan)
        if asked and (values < 0).any():
            first, at = place(values < 0)
            other = (column.texts or ())[int(column.values[first]) - 1]
            raise InputError(
                f"{at}, column {name!r}: {other!r} is none of "
                f"{program.domains[rule.inputs.index(name)]}, which is all that the program knows."
            )
    return carried(values, stand.begins) if roles.missing == "last" else values


def over(program: Program, x: np.ndarray, lengths: np.ndarray, run: Run = run_program) -> np.ndarray:
    """Outputs (rows, outputs) of sequences one after the other; after a row that lacks something the program
    begins anew, and there it has none."""
    answers = np.full((len(x), len(program.recurrence.outputs)), np.nan)
    whole = np.logical_not(np.isnan(x).any(axis=1))
    if not program.recurrence.depths() and not program.recurrence.retrieves():
        pieces = [x[whole]] if whole.any() else []
    else:
        pieces = [x[first:last] for first, last in zip(*stretches(whole, lengths), strict=True)]
    if pieces:
        answers[whole] = np.concatenate(run_over(program, pieces, run))
    return answers


def _judged(
    program: Program, x: np.ndarray, y: np.ndarray, answers: np.ndarray, stand: Arranged
) -> tuple[np.ndarray, np.ndarray]:
    """What the program says where it is judged as the certificate judges it, and where that is."""
    rule = program.recurrence
    judged = np.logical_not(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    said, (later, sizes) = answers.copy(), after_gaps(judged, stand)
    if max(rule.depths().values(), default=0) >= FAR:  # nobody knows what lies a season before the start
        begun, ended = stretches(judged, stand.lengths)
        later, sizes = judged.copy(), ended - begun
    if len(sizes):
        rows = Rows(x[later], y[later], sizes, np.zeros(len(sizes), bool), len(x))
        near = 0.5 if program.integer_outputs else NEAR * float(np.abs(y[later]).max(initial=1.0))
        told = over_all(rule, rows, program.domains, near=near)
        said[later], judged[later] = told.answers, told.judged
    return said, judged


def after_gaps(whole: np.ndarray, stand: Arranged) -> tuple[np.ndarray, np.ndarray]:
    """The rows of stretches that do not begin where their sequence does, and how long each of these is."""
    begun, ended = stretches(whole, stand.lengths)
    after = begun > stand.begins[begun]
    later = np.zeros(len(whole), bool)
    later[whole] = np.repeat(after, ended - begun)
    return later, (ended - begun)[after]


def _time_leaf(table: Table, program: Program, stand: Arranged, name: str) -> np.ndarray | None:
    """What the program reads of the time of a row; None of a column that it does not read."""
    column = table.roles.time or ""
    leaf = time_leaf(stand.times, stand.listed, stand.ends, column, name)
    if leaf is None and name in program.reading().recurrence.inputs:
        raise InputError(
            f"{table.where}, column {column!r} gives no {name}, which the program reads; write times as they "
            "were written in the fit."
        )
    return leaf


def program_in(folder: RunFolder) -> tuple[Program, Certificate]:
    """The program of a folder with its certificate; its text must be what the run wrote."""
    if not folder.has(CERTIFICATE) and folder.has(MODEL):
        raise NotExtracted(f"{folder.path} holds a model and no program; try `w2c extract {folder.path}`.")
    program, certificate = read_program(folder)
    if not folder.has(PROGRAM):
        raise InputError(f"{folder.path} has no {PROGRAM}; make it with `w2c extract {folder.path}`.")
    check_written(folder, program)
    return program, certificate


def run_over(program: Program, sequences: Sequence[np.ndarray], run: Run = run_program) -> list[np.ndarray]:
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
            answers += run(text, waiting, timeout=seconds, memory=memory)
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
    table: Table,
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
    number = table.loaded.numbers(named)
    unit = table.loaded.unit
    return Prediction(
        columns,
        len(x),
        unit,
        certificate.verdict,
        [
            {
                "column": name,
                "domain": str(program.domains[i]),
                "count": len(outside[name]),
                "first": [
                    {unit: number[row], "value": float(x[row, i])} for row in outside[name][:NAMED].tolist()
                ],
            }
            for i, name in enumerate(rule.inputs)
            if len(outside[name])
        ],
        {name: (len(found), number[int(found[0])]) for name, found in undefined.items() if len(found)},
        {},
        looks_back=max(rule.depths().values(), default=0),
    )


def _outside(values: np.ndarray, domain: Domain) -> np.ndarray:
    """Where values are none of a domain."""
    beyond = (values < domain.low) | (values > domain.high)
    odd = (values != np.round(values)) & ~np.isnan(values)  # what is missing is nowhere
    return beyond | odd if domain.discrete else beyond


def _right(program: Program, said: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Where the program has the value of a target that the table holds already."""
    if program.integer_outputs:
        return np.round(said) == targets
    return np.abs(said - targets) <= NEAR * np.maximum(1.0, np.abs(targets))
