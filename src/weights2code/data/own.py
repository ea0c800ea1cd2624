"""Files of own data: what a run is bound to, and the problem that it reads from them, column by column."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from weights2code import json_values
from weights2code.data.columns import Column, Stored, of_numbers
from weights2code.data.limits import check_readable
from weights2code.data.own_problem import from_columns, with_remarks
from weights2code.data.problem import Problem
from weights2code.data.relevance import narrowed
from weights2code.data.row_order import Arranged, arranged
from weights2code.data.tables import Table, names_in, open_table
from weights2code.data.times import time_leaves
from weights2code.errors import InputError
from weights2code.roles import Roles


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file of own data, as an absolute path, and the meaning of its columns; `sha256` ties a run to the
    content."""

    path: str
    size: int
    sha256: str
    roles: Roles

    @property
    def name(self) -> str:
        """The file's name without its ending: what the program is called."""
        return Path(self.path).stem

    def __str__(self) -> str:
        return self.name

    def to_dict(self) -> dict[str, Any]:
        return {"file": self.path, "size": self.size, "sha256": self.sha256, **self.roles.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> FileSource:
        """Inverse of `to_dict`."""
        known = dict(json_values.mapping(data, "a source"))
        return FileSource(
            json_values.name(known.pop("file"), "a file"),
            json_values.whole(known.pop("size"), "a size", most=2**62),
            json_values.text(known.pop("sha256"), "a digest"),
            Roles.from_dict(known),
        )


def file_source(
    path: Path | str,
    inputs: Sequence[str] | None,
    targets: Sequence[str],
    sequence: str | None = None,
    order: str | None = None,
    **options: Any,
) -> FileSource:
    """Describe a file, its content included, by options of `Roles`."""
    check_readable(Path(path))
    given = None if inputs is None else tuple(inputs)
    return described(path, Roles(given, tuple(targets), sequence, order, **options))


def described(path: Path | str, roles: Roles) -> FileSource:
    """Describe a file, its content included; the columns are checked when it is read.

    Without `inputs` every column that has no other role is one. Rows are sorted by their `time` unless
    `order` names another column.
    """
    path = Path(path).absolute()
    check_readable(path)
    inputs = roles.inputs
    for what, names in (("--inputs", inputs), ("--targets", roles.targets)):
        if names == () and (what == "--targets" or roles.time is None):
            raise InputError(f"{what} names no column; give names separated by commas.")
    if inputs is None:
        others = {*roles.targets, *roles.labels}
        inputs = tuple(name for name in names_in(path) if name and name not in others)
        if not inputs and roles.time is None:
            raise InputError(f"{path} has no column beside those that are named; there are no inputs.")
    order = roles.time if roles.order is None else roles.order
    return FileSource(
        str(path), path.stat().st_size, content_hash(path), replace(roles, inputs=inputs, order=order)
    )


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
    table = open_table(path, source.roles)
    return from_table(table, arranged(table), seed, source.name)


def from_table(
    table: Table, stand: Arranged, seed: int, name: str = "program", fewest: int | None = None
) -> Problem:
    """The problem of the rows of a table, in the order in which they are read."""
    roles, rows, leaves = table.roles, stand.rows, {}
    if roles.time is not None:
        found = time_leaves(stand.times, stand.listed, stand.ends, roles.time, {*roles.columns})
        leaves = {name: of_numbers(leaf) for name, leaf in found.items()}

    def column(name: str) -> Column:
        found = leaves[name] if name in leaves else table.column(name)
        return found if rows is None else found.at(rows)

    def place(row: int) -> str:
        return table.place(row if rows is None else int(rows[row]))

    problem = from_columns(
        Stored(column, stand.lengths, place),
        (*(roles.inputs or ()), *leaves),
        roles.targets,
        seed,
        name,
        table.where,
        fewest=fewest,
        roles=roles,
    )
    return narrowed(with_remarks(problem, (*filter(None, (stand.remark,)), *table.remarks())))
