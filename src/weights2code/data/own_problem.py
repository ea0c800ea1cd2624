"""Own sequences as a problem, with what can be found out about them found out.

Domains are what the values show (bits, whole numbers, reals, texts). Whether past outputs are needed, how far
back and through which architecture is left to the ladder. There is no reference machine, so the certificate
rests on sequences that were set aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weights2code.data.columns import Loaded, Stored
from weights2code.data.gaps import without_gaps
from weights2code.data.parts import (
    LONGEST,
    SEQUENCE,
    all_rows,
    divide,
    divide_by_season,
    divide_uncut,
    sizes_of,
)
from weights2code.data.problem import Problem
from weights2code.data.relevance import MANY, relevant, words_for
from weights2code.data.seasons import MOST_ROWS, checked_season, season_in
from weights2code.data.sequences import Rows
from weights2code.data.tables import Table
from weights2code.data.taking import Taken, take
from weights2code.errors import InputError
from weights2code.language.domain import quoted
from weights2code.roles import Roles

#: Fewer rows than this say nothing.
FEWEST_ROWS = 20
#: Rows that are enough to say that a column tells nothing.
EVIDENCE = 500
#: Values beyond this, or columns that stay below its inverse, cannot be squared and multiplied.
LARGEST = 1e60


def from_lists(
    x: Sequence[np.ndarray],
    y: Sequence[np.ndarray],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    seed: int,
    name: str = "program",
    where: str = "the data",
    fewest: int | None = None,
    **options: Any,
) -> Problem:
    """The problem of sequences (T_i, columns) and (T_i, outputs) of the user's own: numbers or texts;
    `options` are those of `Roles`."""
    roles = Roles(inputs, outputs, **options)
    places = {name: (x, i) for i, name in enumerate(inputs)} | {
        name: (y, i) for i, name in enumerate(outputs)
    }

    def load(name: str) -> np.ndarray:
        given, i = places[name]
        return np.concatenate([item[:, i] for item in given])

    lengths = np.array([len(item) for item in x])
    table = Table(where, Loaded((int(lengths.sum()),), load), roles)
    stored = Stored(table.column, lengths, table.place)
    problem = from_columns(stored, inputs, outputs, seed, name, where, fewest=fewest, roles=roles)
    return with_remarks(problem, table.remarks())


def from_columns(
    stored: Stored,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    seed: int,
    name: str = "program",
    where: str = "the data",
    *,
    fewest: int | None = None,
    roles: Roles,
) -> Problem:
    """The problem of sequences of the user's own, taken column by column.

    The `roles` say which columns hold categories, even where these are numbers, what becomes of cells that
    hold nothing, and whether a season is declared; else the data are asked.
    """
    missing, season = roles.missing, roles.season
    declared = frozenset(roles.categories) & {*inputs, *outputs}
    fewest = FEWEST_ROWS if fewest is None else fewest
    _refuse_few(stored, where, fewest)
    true_starts, of = np.ones(len(stored.lengths), bool), stored.rows
    remarks: tuple[str, ...] = ()
    taken = take(stored, (*inputs, *outputs), _divisions(stored.lengths, seed))
    if taken.gaps:
        fewer, said = _without_idle_gaps(stored, inputs, outputs, seed, roles)
        if len(fewer) < len(inputs):
            problem = from_columns(stored, fewer, outputs, seed, name, where, fewest=fewest, roles=roles)
            return with_remarks(problem, (said,))
        filled = without_gaps(stored, (*inputs, *outputs), missing)
        stored, true_starts, remarks = filled.stored, np.array(filled.true_starts), (filled.remark,)
        _refuse_few(stored, where, fewest)
        taken = take(stored, (*inputs, *outputs), _divisions(stored.lengths, seed, filled.true_starts))
    _refuse_names(outputs, taken, stored.rows, where)
    inputs, said = _without_names(inputs, taken, stored.rows, declared, where)
    problem = replace(_problem(taken, inputs, outputs, name, where, declared), remarks=(*remarks, *said))
    problem = replace(problem, rows=_rows(taken, inputs, outputs, true_starts, of))
    if "uncut training" in taken.pieces and problem.whole:
        problem = replace(problem, uncut=_in_windows(problem, taken, "uncut "))
    if season is None:
        x, y = (np.stack(taken.rows("beginning", names), -1) for names in (inputs, outputs))
        found = season_in([x], [y])
    else:
        found = checked_season(season, int(stored.lengths.max()))
    seasons = divide_by_season(stored.lengths, seed, found) if found else None
    if found is None or seasons is None:
        return problem
    again = take(stored, (*inputs, *outputs), seasons.named())
    again.number_texts(declared)
    return replace(problem, seasonal=_in_seasons(problem, again, found))


def _without_idle_gaps(
    stored: Stored, inputs: tuple[str, ...], outputs: tuple[str, ...], seed: int, roles: Roles
) -> tuple[tuple[str, ...], str]:
    """The inputs without those that lack cells and tell nothing, and what to say: their gaps need neither be
    refused nor cut sequences."""
    columns = {name: stored.column(name).gaps for name in inputs}
    empty = {name for name, gaps in columns.items() if gaps == stored.rows}
    if empty and len(empty) < len(inputs):
        return tuple(
            name for name in inputs if name not in empty
        ), f"{', '.join(sorted(empty))}: no cell holds anything"
    gaps = {name for name, found in columns.items() if found}
    if roles.missing == "last" or not gaps or stored.rows < EVIDENCE:
        return inputs, ""
    filled = replace(roles, missing="last", season=None)
    kept = relevant(from_columns(stored, inputs, outputs, seed, roles=filled))
    if len(inputs) > MANY:
        return tuple(inputs[i] for i in kept), words_for(inputs, kept, outputs)
    idle = gaps - {inputs[i] for i in kept}
    return tuple(name for name in inputs if name not in idle), (
        f"left out, as cells are missing and nothing was found that tells about {', '.join(outputs)}: "
        f"{', '.join(sorted(idle))}"
    )


def _problem(
    taken: Taken,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    name: str,
    where: str,
    declared: frozenset[str],
) -> Problem:
    """The problem of rows that were taken, none of which lacks anything."""
    taken.number_texts(declared)
    _refuse_useless(taken, inputs, outputs, where)
    domains, output_domains = (
        tuple(taken.domains[column] for column in names) for names in (inputs, outputs)
    )
    parts = taken.sequences(inputs, outputs)
    training = parts["training"]
    assert training is not None
    for i, column in enumerate(outputs):
        if np.ptp(training.y[..., i][training.scored]) == 0:
            raise InputError(
                f"{where}: the target {column!r} changes too rarely to be learned; give more rows."
            )
    length = min(training.x.shape[1], LONGEST)
    return Problem(name, inputs, outputs, domains, output_domains, length=length, **parts)  # type: ignore[arg-type]


def _in_windows(problem: Problem, taken: Taken, prefix: str = "") -> Problem:
    """The problem in other windows, which were taken too."""
    parts = taken.sequences(problem.inputs, problem.outputs, prefix)
    return replace(problem, **parts, length=parts["training"].x.shape[1])  # type: ignore[union-attr]


def _rows(
    taken: Taken, inputs: tuple[str, ...], outputs: tuple[str, ...], true_starts: np.ndarray, of: int
) -> Rows:
    """What a program is judged by."""
    whole = taken.pieces["whole"]
    x, y = (np.stack(taken.rows("whole", names), -1) for names in (inputs, outputs))
    return Rows(x, y, sizes_of(whole), true_starts[whole[:, SEQUENCE]], of)


def with_remarks(problem: Problem, remarks: tuple[str, ...]) -> Problem:
    """The problem, in whatever windows, with these remarks before its own."""
    return problem.changed(lambda one: replace(one, remarks=(*remarks, *one.remarks)))


def _without_names(
    inputs: tuple[str, ...], taken: Taken, rows: int, declared: frozenset[str], where: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The inputs without texts that never stand twice, such as the number of an order, and what to say."""
    named = [name for name in inputs if name not in declared and len(taken.columns[name].texts or ()) == rows]
    if not named:
        return inputs, ()
    kept = tuple(name for name in inputs if name not in named)
    if not kept:
        raise InputError(
            f"{where}, column {named[0]!r} holds another text in every row, which says nothing about other "
            "rows; give another input."
        )
    each = "has another text" if len(named) == 1 else "have other texts"
    return kept, (f"{', '.join(named)} {each} in every row, so nothing can be learned from that",)


def _refuse_names(outputs: tuple[str, ...], taken: Taken, rows: int, where: str) -> None:
    """Refuse targets of texts that hardly ever come again."""
    for column in outputs:
        known: tuple[str, ...] = taken.columns[column].texts or ()
        if known and 2 * len(known) > rows:
            raise InputError(
                f"{where}: the target {column!r} holds {len(known)} texts in {rows} rows, such "
                f"as {quoted(known[0])}; a rule chooses among texts that come again, so write "
                "numbers as numbers, or name another target."
            )


def _divisions(
    lengths: np.ndarray, seed: int, true_starts: Sequence[bool] | None = None
) -> dict[str, np.ndarray]:
    """The parts, and where sequences were cut, those of sequences from their true start; the beginning of the
    longest sequence, and all rows."""
    parts, longest = divide(lengths, seed, true_starts), int(np.argmax(lengths))
    uncut = None if parts.beginnings is None else divide_uncut(lengths, seed, true_starts)
    beginning = np.array([(longest, 0, min(MOST_ROWS, int(lengths[longest])), 0)])
    found = parts.named() | ({} if uncut is None else uncut.named("uncut "))
    return {**found, "beginning": beginning, "whole": all_rows(lengths)}


def _refuse_few(stored: Stored, where: str, fewest: int) -> None:
    if not len(stored.lengths) or not stored.lengths.all():
        raise InputError(f"{where} has no rows, or a sequence without any; add data.")
    if stored.rows < fewest:
        raise InputError(
            f"{where}: {stored.rows} rows (n_samples = {stored.rows}) are too few to learn from; give at "
            f"least {fewest}."
        )


def _refuse_useless(taken: Taken, inputs: Sequence[str], outputs: Sequence[str], where: str) -> None:
    """Targets that never change, and numbers that cannot be computed with."""
    for column in outputs:
        known = taken.columns[column]
        if known.low == known.high:
            value = quoted(known.texts[0]) if known.texts else f"{known.low:g}"
            raise InputError(
                f"{where}: the target {column!r} is {value} everywhere, so there is nothing to learn; "
                "name another target."
            )
    for column in (*inputs, *outputs):
        largest = max(abs(taken.columns[column].low), abs(taken.columns[column].high))
        if largest > LARGEST or 0 < largest < 1 / LARGEST:
            size = "large" if largest > 1 else "small"
            raise InputError(
                f"{where}: the values of {column!r}, up to {largest:.3g}, are too {size} to compute "
                "with; give them in other units."
            )


def _in_seasons(problem: Problem, taken: Taken, season: int) -> Problem:
    """The problem in windows that see more than a season."""
    remark = (
        f"rows were looked at a season of {season} rows back; what lies a season before the first rows "
        "nobody knows, so they were given and not judged"
    )
    assert problem.rows is not None
    return replace(
        _in_windows(problem, taken),
        rows=replace(problem.rows, begins=np.zeros_like(problem.rows.begins)),
        season=season,
        remarks=(*problem.remarks, remark),
    )
