"""Data files of all kinds: each is either refused in one sentence, or read as what it says.

`w2c fit` runs up to the start of training. What it read is compared with a second, independent reading;
a fifth of the files are good ones, which must not be refused.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from case import Result, called
from file_cases import Case, make
from strict_reading import Unclear, read

from weights2code import pipeline
from weights2code.cli import commands
from weights2code.data import own
from weights2code.data.columns import Stored

#: Imported here, so that a case need not.
LOADED = commands


class _Read(BaseException):
    """Training would begin."""


@contextlib.contextmanager
def _stopping_before_training() -> Iterator[list[Any]]:
    """What is read is noted, and the command ends where training would begin."""
    noted: list[Any] = []
    from_columns, search = own.from_columns, pipeline.search

    def note(stored: Stored, inputs: Any, outputs: Any, *arguments: Any, **more: Any) -> Any:
        noted.append(tuple(_sequences(stored, names) for names in (inputs, outputs)))
        return from_columns(stored, inputs, outputs, *arguments, **more)

    def stop(*_: Any) -> None:
        raise _Read

    own.from_columns, pipeline.search = note, stop  # type: ignore[assignment]
    try:
        yield noted
    finally:
        own.from_columns, pipeline.search = from_columns, search


def _sequences(stored: Stored, names: Any) -> list[np.ndarray]:
    """Sequences (T, columns) of what is stored column by column."""
    table = np.stack([stored.column(name).take(slice(None)) for name in names], -1)
    return np.split(table, np.cumsum(stored.lengths)[:-1])


def attack(number: int, seed: int) -> Result:
    with tempfile.TemporaryDirectory() as name, _stopping_before_training() as noted:
        case = make(number, seed, Path(name))
        ended = called("fit", str(case.path), *case.options, "--out", f"{name}/run", "--quiet")
        said, detail = ended.err, f"number {number}: {ended.err.strip()}"[:500]
        if _Read.__name__ in ended.crash:
            return Result(case.kind, "read", compare(case, *noted[0]), detail)
        failure = ended.crash or ("" if ended.code == 2 else f"exit code {ended.code}")
        sentence = said.startswith("w2c fit: ") and said.strip().endswith((".", "?"))
        if not failure and (ended.not_plain or not sentence):
            failure = ended.not_plain or f"no sentence: {said!r}"
        elif not failure and (len(said) > 1000 or not said.strip().isprintable()):
            failure = f"no readable sentence: {said[:1000]!r}"
        elif not failure and case.good:
            failure = f"a good file was refused: {said}"
        outcome = "refused" if ended.code == 2 else f"exit {ended.code}"
        return Result(case.kind, outcome, failure, detail)


def compare(case: Case, x: list[np.ndarray], y: list[np.ndarray]) -> str:
    """What is wrong with the sequences that were read; empty if nothing is."""
    try:
        expected = read(case.path, ["x", "z"], ["y"], case.ids, case.order)
    except Unclear as error:
        return f"read although it is unclear: {error}"
    if len(expected) != len(x):
        return f"{len(x)} sequences in place of {len(expected)}"
    for index, (inputs, targets) in enumerate(expected):
        for found, right in ((x[index], inputs), (y[index], targets)):
            if not np.array_equal(found, np.array(right), equal_nan=True):
                return f"sequence {index} is {found.tolist()} in place of {right}"[:500]
    return ""
