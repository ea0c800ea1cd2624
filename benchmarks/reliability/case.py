"""What attacks share: what is said of a case, and how it calls a command.

A case is made from its number and a seed alone, so that cases can run in any order and on any number of
processes, and a sweep that was stopped goes on with the numbers that are missing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weights2code.cli import main


@dataclass(frozen=True, slots=True)
class Result:
    """What was tried (`kind`), what the system said (`outcome`), and what is wrong with that (`failure`)."""

    kind: str
    outcome: str = ""
    failure: str = ""
    #: What is needed to see the case again: a program, a file, a command.
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Called:
    """How a command ended: with an exit code and what it and its libraries printed, or with a traceback."""

    code: int | None
    out: str
    err: str
    crash: str

    @property
    def not_plain(self) -> str:
        """What is wrong with the way in which it refused, which should be one sentence; empty if nothing."""
        plain = self.err.count("\n") == 1 and "Traceback" not in self.err and len(self.err) <= 2000
        return "" if plain else f"not one sentence: {self.err[:500]!r}"


def called(*arguments: str) -> Called:
    """`w2c` with these arguments, in this process."""
    code, crash, streams = None, "", (sys.stdout, sys.stderr)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = [os.dup(1), os.dup(2)]
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            with open(1, "w", closefd=False) as sys.stdout, open(2, "w", closefd=False) as sys.stderr:
                code = main(list(arguments))
        except BaseException:
            crash = traceback.format_exc()[-2000:]
        finally:
            sys.stdout, sys.stderr = streams
            for number, handle in enumerate(kept, 1):
                os.dup2(handle, number)
                os.close(handle)
        out.seek(0)
        err.seek(0)
        said, complained = (file.read(1 << 20).decode(errors="replace") for file in (out, err))
    return Called(code, said, complained, crash)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def finished(*arguments: str) -> dict[str, bytes]:
    """The files of the folder that a command makes, which must end well."""
    with tempfile.TemporaryDirectory() as place:
        found = called(*arguments, "--quiet", "--out", f"{place}/run")
        if found.code != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {found.code} {found.err} {found.crash}")
        return content(Path(place, "run"))


@contextlib.contextmanager
def unpacked(files: Mapping[str, bytes]) -> Iterator[Path]:
    """A working directory with nothing in it but the folder `run`, which holds these files."""
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        folder = Path("run").absolute()
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        yield folder


def shown(*machines: Any) -> str:
    """Programs on one line."""
    return "  |  ".join(
        "; ".join(f"{step.name} = {step.definition}" for step in one.steps) + f" from {dict(one.start)}"
        for one in machines
    )


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every place of a JSON value, as the container and the key in it."""
    found: list[tuple[Any, Any]] = []
    keys = data.keys() if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        found += [(data, key), *places(data[key])]
    return found
