"""A table on standard input, which can be read once: it is kept as a file for as long as it is needed."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weights2code.errors import InputError

#: How a command line names it.
STANDARD_INPUT = "-"
#: Bytes that it may hold: they are kept in memory.
LARGEST = 1 << 30


def read_input() -> bytes:
    """Everything on standard input, if that is not more than can be kept."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- is standard input, and nothing is sent there; pipe a CSV table into the command.")
    content = sys.stdin.buffer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise InputError(f"standard input holds more than {LARGEST >> 30} GiB; give fewer rows or columns.")
    if not content.strip():
        raise InputError("standard input is empty; it needs a header line and rows.")
    return content


@contextmanager
def file_or_input(name: str) -> Iterator[Path]:
    """The file of that name, or standard input as one."""
    if name != STANDARD_INPUT:
        yield Path(name)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard-input.csv"
        path.write_bytes(read_input())
        yield path
