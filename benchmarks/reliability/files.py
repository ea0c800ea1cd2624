"""Data files of all kinds: each is either refused in one sentence, or read as what it says.

`w2c fit` runs up to the start of training. What it read is compared with a second, independent reading;
a fifth of the files are good ones, which must not be refused.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from case import Result
from file_cases import Case, make
from strict_reading import Unclear, read

from weights2code import pipeline
from weights2code.cli import commands, main
from weights2code.data import own
from weights2code.data.columns import Stored

WHOLE = 10_000
#: Imported here, so that a case need not.
LOADED = (commands, pyarrow.parquet)


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
    with tempfile.TemporaryDirectory() as name:
        case = make(number, seed, Path(name))
        return judge(case, Path(name) / "run", f"number {number}")


def judge(case: Case, out: Path, detail: str) -> Result:
    said, shown = io.StringIO(), io.StringIO()
    with (
        _stopping_before_training() as noted,
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(shown),
    ):
        try:
            code = main(["fit", str(case.path), *case.options, "--out", str(out), "--quiet"])
        except _Read:
            code = 0
    detail = f"{detail}: {said.getvalue().strip()}"[:500]
    if code == 0:
        wrong = compare(case, *noted[0])
        return Result(case.kind, "read", wrong, detail)
    if code != 2:
        return Result(case.kind, f"exit {code}", f"exit code {code}", detail)
    sentence = said.getvalue()
    if (
        sentence.count("\n") != 1
        or not sentence.startswith("w2c fit: ")
        or not sentence.strip().endswith((".", "?"))
    ):
        return Result(case.kind, "refused", f"no sentence: {sentence!r}", detail)
    if len(sentence) > 1000 or not sentence.strip().isprintable():
        return Result(case.kind, "refused", f"no readable sentence: {sentence[:1000]!r}", detail)
    return Result(case.kind, "refused", f"a good file was refused: {sentence}" if case.good else "", detail)


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
            if not np.array_equal(found, np.array(right)):
                return f"sequence {index} is {found.tolist()} in place of {right}"[:500]
    return ""
