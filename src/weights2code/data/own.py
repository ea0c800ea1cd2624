"""Files of own data: what a run is bound to, and the problem that it reads from them, column by column."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from weights2code import json_values
from weights2code.data.columns import Column, Stored, of_numbers
from weights2code.data.gaps import WAYS, checked_way
from weights2code.data.limits import check_readable
from weights2code.data.own_problem import from_columns
from weights2code.data.problem import Problem
from weights2code.data.relevance import narrowed
from weights2code.data.row_order import sequences_in, sortable, times_of
from weights2code.data.tables import names_in, open_table
from weights2code.data.times import remark_on_steps, time_leaves
from weights2code.errors import InputError


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
    checked_way(missing)
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
    check_categories(categories, (*inputs, *targets))
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


def check_categories(categories: Sequence[str], names: Sequence[str]) -> None:
    """Refuse columns that have no role."""
    for name in categories:
        if name not in names:
            raise InputError(f"--categories {name!r} is no input and no target; name one of these.")


def content_hash(path: Path) -> str:
    """SHA-256 of a file; one that has not been touched since is not read again."""
    found = path.stat()
    return _hash_of(path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@lru_cache(maxsize=16)
def _hash_of(path: Path, *_: int) -> str:
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
    labels = tuple(name for name in (source.sequence, source.order, source.time) if name is not None)
    names = (*source.inputs, *source.targets)
    table = open_table(path, names, tuple(dict.fromkeys(labels)), source.categories, source.sequence)
    inputs, remarks, leaves = source.inputs, [], {}
    rows: np.ndarray | None = None
    if len(table.shape) == 2:
        if labels:
            raise InputError(f"{path} holds arrays (n, T): leave out --sequence, --order and --time.")
        lengths = np.full(table.shape[0], table.shape[1])
    else:
        ids = None if source.sequence is None else table.ids(source.sequence)
        order = None if source.order is None else table.label(source.order)
        rows, ends = sequences_in(path, table.shape[0], ids, order, source.sequence, source.order)
        lengths = np.diff(np.concatenate([[0], ends, table.shape]))
        listed = np.arange(table.shape[0]) if rows is None else rows
        if source.time is not None:
            times = times_of(path, source.time, table.label(source.time))
            leaves = {
                name: of_numbers(leaf)
                for name, leaf in time_leaves(times, listed, ends, source.time, {*names}).items()
            }
            inputs = (*inputs, *leaves)
        if source.order is not None and order is not None:
            moments = sortable(path, source.order, order)
            remarks.append(remark_on_steps(moments, listed, ends, source.order))
        del ids, order, listed

    def column(name: str) -> Column:
        found = leaves[name] if name in leaves else table.column(name)
        return found if rows is None else found.at(rows)

    problem = from_columns(
        Stored(column, lengths),
        inputs,
        source.targets,
        seed,
        source.name,
        str(path),
        declared=frozenset(source.categories),
        missing=source.missing,
        season=source.season,
    )
    said = tuple(remark for remark in remarks if remark)
    seasonal, uncut = (
        None if other is None else replace(other, remarks=(*said, *other.remarks))
        for other in (problem.seasonal, problem.uncut)
    )
    return narrowed(replace(problem, remarks=(*said, *problem.remarks), seasonal=seasonal, uncut=uncut))
