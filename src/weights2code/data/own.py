"""Own data: files and arrays as a problem, with what can be found out about them found out.

Domains are what the values show (bits, whole numbers, reals). Whether past outputs are needed, how far back
and through which architecture is left to the ladder. There is no reference machine, so the certificate
rests on sequences that were set aside.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weights2code import json_values
from weights2code.data.exact_numbers import LOCAL_TIME, NUMBER, WORLD_TIME, shown
from weights2code.data.gaps import WAYS, without_gaps
from weights2code.data.limits import check_readable
from weights2code.data.parts import LONGEST, Parts, divide, divide_by_season, divide_uncut
from weights2code.data.problem import Problem
from weights2code.data.relevance import MANY, narrowed, relevant, words_for
from weights2code.data.seasons import checked_season, season_in
from weights2code.data.tables import names_in, read_table
from weights2code.data.texts import as_codes
from weights2code.data.times import Times, remark_on_steps, time_leaves
from weights2code.errors import InputError
from weights2code.language import infer, texts
from weights2code.language.domain import Category, quoted

#: The place in the world, which no time is without that matches `WORLD_TIME`.
ZONE = re.compile(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
#: Fewer rows than this say nothing.
FEWEST_ROWS = 20
#: Values beyond this, or columns that stay below its inverse, cannot be squared and multiplied.
LARGEST = 1e60


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file of own data and the meaning of its columns; `sha256` ties a run to the content.

    Parameters
    ----------
    path : the file, as an absolute path.
    inputs, targets : names of columns.
    sequence : the column that tells sequences apart; None is one sequence.
    order : the column that rows are sorted by within a sequence; None keeps the order of the file.
    time : the column of times that hours, weekdays and the time between rows are taken from, as inputs.
    categories : columns of categories that look like numbers.
    missing : what becomes of cells that hold nothing: "refuse", "drop" or "last".
    season : how many rows a season has; None leaves it to the data.
    """

    path: str
    size: int
    sha256: str
    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    sequence: str | None = None
    order: str | None = None
    time: str | None = None
    categories: tuple[str, ...] = ()
    missing: str = "refuse"
    season: int | None = None

    @property
    def name(self) -> str:
        """The file's name without its ending: what the program is called."""
        return Path(self.path).stem

    def __str__(self) -> str:
        return self.name

    def to_dict(self) -> dict[str, Any]:
        known = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}
        for name, usual in (("categories", []), ("missing", "refuse"), ("time", None), ("season", None)):
            if known[name] == usual:
                del known[name]  # as older versions wrote it
        return {"file": known.pop("path"), **known}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> FileSource:
        """Inverse of `to_dict`."""
        known = json_values.mapping(data, "a source")
        sequence, order, time = (known.get(role) for role in ("sequence", "order", "time"))
        columns = {"inputs", "targets", "sequence", "order", "time", "season", "categories"}
        unknown = set(known) - {"file", "size", "sha256", "missing", *columns}
        season = known.get("season")
        missing = known.get("missing", "refuse")
        if unknown or missing not in WAYS:
            raise ValueError(f"a file has no {min(unknown, default='such way with missing cells')}")
        return FileSource(
            json_values.name(known["file"], "a file"),
            json_values.whole(known["size"], "a size", most=2**62),
            json_values.text(known["sha256"], "a digest"),
            json_values.names(known["inputs"], "the inputs"),
            json_values.names(known["targets"], "the targets"),
            None if sequence is None else json_values.name(sequence, "a column"),
            None if order is None else json_values.name(order, "a column"),
            None if time is None else json_values.name(time, "a column"),
            json_values.names(known.get("categories", []), "the categories"),
            missing,
            None if season is None else json_values.whole(season, "a season", most=json_values.MOST_LAG),
        )


def file_source(
    path: Path | str,
    inputs: Sequence[str] | None,
    targets: Sequence[str],
    sequence: str | None = None,
    order: str | None = None,
    time: str | None = None,
    categories: Sequence[str] = (),
    missing: str = "refuse",
    season: int | None = None,
) -> FileSource:
    """Describe a file, its content included; the columns are checked when it is read.

    Without `inputs` every column that has no other role is one. Rows are sorted by their `time` unless
    `order` names another column.
    """
    path = Path(path).absolute()
    check_readable(path)
    if missing not in WAYS:
        raise InputError(f"--missing {missing} is not known; choose one of {', '.join(WAYS)}.")
    if inputs is None:
        others = (*targets, sequence, order, time)
        inputs = [name for name in names_in(path) if name and name not in others]
        if not inputs and time is None:
            raise InputError(f"{path} has no column beside those that are named; there are no inputs.")
    for what, names in (("--inputs", inputs), ("--targets", targets)):
        if not (names or (names is inputs and time is not None)) or not all(names):
            raise InputError(f"{what} names no column; give names separated by commas.")
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise InputError(f"{what} names {twice!r} twice; name each column once.")
    both = set(inputs) & set(targets)
    if both:
        raise InputError(
            f"{min(both)!r} is an input and a target; past targets are used by themselves, so leave it out "
            "of --inputs."
        )
    for what, name in (("--sequence", sequence), ("--order", order), ("--time", time)):
        if name is not None and name in (*inputs, *targets):
            raise InputError(f"{what} {name!r} is an input or a target too; give it one role.")
    for name in categories:
        if name not in (*inputs, *targets):
            raise InputError(f"--categories {name!r} is no input and no target; name one of these.")
    return FileSource(
        str(path),
        path.stat().st_size,
        content_hash(path),
        tuple(inputs),
        tuple(targets),
        sequence,
        time if order is None else order,
        time,
        tuple(dict.fromkeys(categories)),
        missing,
        season,
    )


def content_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def from_file(source: FileSource, seed: int) -> Problem:
    """Read the file, which must be what it was when it was described."""
    path = Path(source.path)
    check_readable(path)  # the hash would say less
    if path.stat().st_size != source.size or content_hash(path) != source.sha256:
        raise InputError(
            f"{path} has changed since the run began; restore it, or begin a new run with another --out."
        )
    numbers = (*source.inputs, *source.targets)
    labels = tuple(name for name in (source.sequence, source.order, source.time) if name is not None)
    table = read_table(path, numbers, tuple(dict.fromkeys(labels)), source.categories)
    columns = table.columns
    written = {name: columns[name] for name in numbers if name in table.texts}
    codes, categories = as_codes(written, frozenset(source.categories))
    columns = {**columns, **codes}
    told = set(written) - set(source.categories)
    named = [name for name in source.inputs if name in told and _all_different(written[name])]
    inputs, remarks = tuple(name for name in source.inputs if name not in named), []
    if named and not inputs and source.time is None:
        raise InputError(
            f"{path}, column {named[0]!r} holds another text in every row, which says nothing about other "
            "rows; give another input."
        )
    if named:
        each = "has another text" if len(named) == 1 else "have other texts"
        remarks.append(f"{', '.join(named)} {each} in every row, so nothing can be learned from that")
    y = np.stack([columns[name] for name in source.targets], -1)
    x = np.stack([columns[name] for name in inputs], -1) if inputs else y[..., :0]
    if x.ndim == 3:
        if labels:
            raise InputError(f"{path} holds arrays (n, T): leave out --sequence, --order and --time.")
        xs, ys = [*x], [*y]
    else:
        rows, ends = rows_of_sequences(path, columns, len(x), source.sequence, source.order)
        if source.time is not None:
            times = times_of(path, source.time, columns[source.time])
            leaves = time_leaves(times, rows, ends, source.time, {*inputs, *source.targets})
            inputs = (*inputs, *leaves)
            x = np.concatenate([x, *(leaf[:, None] for leaf in leaves.values())], 1)
        if source.order is not None:
            moments = _sortable(path, source.order, columns[source.order])
            remarks.append(remark_on_steps(moments, rows, ends, source.order))
        xs, ys = np.split(x[rows], ends), np.split(y[rows], ends)
    gaps = table.gaps
    if source.missing == "drop" and len(inputs) > MANY and set(gaps) & set(inputs):
        # gaps of columns that tell nothing need not cut sequences, so which ones do is asked first
        around = without_gaps(xs, ys, gaps, "last")
        whole = from_lists(around.x, around.y, inputs, source.targets, seed, categories=categories)
        kept = relevant(whole)
        remarks.append(words_for(inputs, kept, source.targets))
        inputs, xs = tuple(inputs[i] for i in kept), [sequence[:, kept] for sequence in xs]
        gaps = {name: found for name, found in gaps.items() if name in (*inputs, *source.targets)}
    filled = without_gaps(xs, ys, gaps, source.missing)
    remarks.append(filled.remark)
    problem = from_lists(
        filled.x,
        filled.y,
        inputs,
        source.targets,
        seed,
        source.name,
        str(path),
        categories=categories,
        true_starts=filled.true_starts,
        season=source.season,
    )
    said = tuple(remark for remark in remarks if remark)
    seasonal, uncut = (
        None if other is None else replace(other, remarks=(*said, *other.remarks))
        for other in (problem.seasonal, problem.uncut)
    )
    return narrowed(replace(problem, remarks=said, seasonal=seasonal, uncut=uncut))


def _all_different(column: np.ndarray) -> bool:
    """Whether no text stands twice, as with the number of an order."""
    return len(np.unique(column)) == column.size


def times_of(path: Path, name: str, column: np.ndarray) -> Times:
    """A column of times as moments, and as they are written, without their zone."""
    moments = _sortable(path, name, column)
    written = moments
    if moments.dtype.kind == "M" and column.dtype.kind in "US" and WORLD_TIME.fullmatch(str(column[0])):
        written = np.array([ZONE.sub("", str(text)) for text in column]).astype(moments.dtype)
    return moments, written


def rows_of_sequences(
    path: Path, columns: Mapping[str, np.ndarray], count: int, sequence: str | None, order: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a table, sequence by sequence, and where in that list each but the first begins.

    Sequences come in the order in which their ids first appear.
    """
    rows = np.arange(count)
    codes = np.zeros(count, int)
    if sequence is not None:
        _, first, inverse = np.unique(columns[sequence], return_index=True, return_inverse=True)
        codes = np.argsort(np.argsort(first))[inverse.reshape(-1)]
    if order is not None:
        keys = _sortable(path, order, columns[order])
        rows = np.lexsort((keys, codes))
        same = (np.diff(codes[rows]) == 0) & (keys[rows][1:] == keys[rows][:-1])
        if same.any():
            twice = columns[order][rows[int(np.flatnonzero(same)[0])]]
            hint = "" if sequence else " or name the column that tells sequences apart with --sequence"
            raise InputError(
                f"{path}, column {order!r}: {twice} stands twice in a sequence; make it unique{hint}."
            )
    else:
        rows = np.argsort(codes, kind="stable")
    return rows, np.flatnonzero(np.diff(codes[rows])) + 1


def _sortable(path: Path, name: str, column: np.ndarray) -> np.ndarray:
    """Numbers as numbers, times as times, anything else as it is."""
    if column.dtype.kind not in "US":
        if column.dtype.kind == "O":
            raise InputError(f"{path}, column {name!r} cannot be sorted by; give numbers or ISO times.")
        return column
    texts = [str(text) for text in column]
    kinds = {NUMBER: "float64", LOCAL_TIME: "datetime64[us]", WORLD_TIME: "datetime64[us]"}
    form = next((form for form in kinds if all(map(form.fullmatch, texts))), None)
    if form is None:
        other = next((text for text in texts if not any(form.fullmatch(text) for form in kinds)), None)
        if other is None:
            raise InputError(
                f"{path}, column {name!r} mixes numbers, times and times of a zone; write all of them alike."
            )
        raise InputError(
            f"{path}, column {name!r} holds {shown(other)}, which is no number and no ISO time to sort by; "
            "write times like 2024-01-31 12:00."
        )
    try:
        with warnings.catch_warnings():  # that zones are not kept: order is all that is asked for
            warnings.simplefilter("ignore", UserWarning)
            keys = column.astype(kinds[form])
    except ValueError as error:
        raise InputError(f"{path}, column {name!r} cannot be sorted by ({error}); mend the time.") from None
    if not np.isfinite(keys).all():
        other = texts[int(np.flatnonzero(~np.isfinite(keys))[0])]
        raise InputError(f"{path}, column {name!r} cannot be sorted by: {shown(other)} is too large.")
    return keys


def from_lists(
    x: Sequence[np.ndarray],
    y: Sequence[np.ndarray],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    seed: int,
    name: str = "program",
    where: str = "the data",
    fewest: int | None = None,
    *,
    categories: Mapping[str, tuple[Category, ...]] | None = None,
    true_starts: Sequence[bool] | None = None,
    season: int | None = None,
) -> Problem:
    """The problem of sequences (T_i, columns) and (T_i, outputs) of the user's own.

    `categories` are the texts of the columns that hold texts; `true_starts` says which sequences begin where
    they truly began: all, unless it is given. A `season` is one that is declared; else the data are asked.
    """
    longest = max(len(item) for item in x)
    if longest < 1:
        raise InputError(f"{where} has no rows; add data.")
    fewest = FEWEST_ROWS if fewest is None else fewest
    rows = sum(len(item) for item in x)
    if rows < fewest:
        raise InputError(
            f"{where}: {rows} rows (n_samples = {rows}) are too few to learn from; give at least {fewest}."
        )
    for i, column in enumerate(outputs):
        values = np.concatenate([item[:, i] for item in y])
        if np.ptp(values) == 0:
            value = f"{values[0]:g}"
            if categories and column in categories:
                value = quoted(categories[column][int(values[0]) - 1])
            raise InputError(
                f"{where}: the target {column!r} is {value} everywhere, so there is nothing to learn; "
                "name another target."
            )
    for table, names in ((x, inputs), (y, outputs)):
        for i, column in enumerate(names):
            largest = max((float(np.max(np.abs(item[:, i]))) for item in table if len(item)), default=0.0)
            if largest > LARGEST or 0 < largest < 1 / LARGEST:
                size = "large" if largest > 1 else "small"
                raise InputError(
                    f"{where}: the values of {column!r}, up to {largest:.3g}, are too {size} to compute "
                    "with; give them in other units."
                )
    parts = divide(x, y, seed, true_starts)
    everything = (inputs, np.concatenate(list(x))), (outputs, np.concatenate(list(y)))
    known = categories or {}
    domains, output_domains = (
        tuple(
            texts(known[column]) if column in known else infer(values)
            for column, values in zip(names, table.T, strict=True)
        )
        for names, table in everything
    )
    for i, column in enumerate(outputs):
        if np.ptp(parts.training.y[..., i][parts.training.scored]) == 0:
            raise InputError(
                f"{where}: the target {column!r} changes too rarely to be learned; give more rows."
            )
    length = min(int(np.max(parts.training.lengths)), LONGEST)
    problem = Problem(
        name,
        inputs,
        outputs,
        domains,
        output_domains,
        parts.training,
        parts.validation,
        length,
        held_out=parts.held_out,
        beginnings=parts.beginnings,
    )
    if parts.beginnings is not None and problem.whole:
        problem = replace(problem, uncut=_uncut(problem, divide_uncut(x, y, seed, true_starts)))
    found = season_in(x, y) if season is None else checked_season(season, longest)
    seasonal = divide_by_season(x, y, seed, found) if found else None
    if found is None or seasonal is None:
        return problem
    return replace(problem, seasonal=_in_seasons(problem, seasonal, found))


def _uncut(problem: Problem, parts: Parts | None) -> Problem | None:
    """The problem in sequences from their true start."""
    if parts is None:
        return None
    return replace(
        problem,
        training=parts.training,
        validation=parts.validation,
        held_out=parts.held_out,
        beginnings=None,
        length=parts.training.x.shape[1],
    )


def _in_seasons(problem: Problem, parts: Parts, season: int) -> Problem:
    """The problem in windows that see more than a season."""
    remark = (
        f"rows were looked at a season of {season} rows back; what lies a season before the first rows "
        "nobody knows, so they were given and not judged"
    )
    return replace(
        problem,
        training=parts.training,
        validation=parts.validation,
        held_out=parts.held_out,
        beginnings=None,
        length=parts.training.x.shape[1],
        season=season,
        remarks=(*problem.remarks, remark),
    )
