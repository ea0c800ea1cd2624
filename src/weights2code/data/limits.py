"""What may be read at all, plain files not larger than can be held, and files that appear whole."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from weights2code.errors import InputError

#: Bytes that a file holds at most, packed or unpacked.
LARGEST = 1 << 36
#: Values that are held of a file at a time: of one column where they are read one by one, else of all that
#: are named. A quarter of the memory is theirs, and half a gigabyte in any case.
MOST_CELLS = 1 << 26
if hasattr(os, "sysconf"):
    MOST_CELLS = max(MOST_CELLS, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 32)
#: What spreadsheets and archives begin with.
ZIP = b"PK\x03\x04"


def check_readable(path: Path) -> None:
    """Refuse what is no file, or no file that may be read."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the CSV, Parquet or NPZ file in it.")
    if not path.exists():
        raise InputError(f"there is no file {path}; check the name.")
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is a pipe or a device; save what it gives as a file.")
    if found.st_size > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST >> 30} GiB; give fewer rows or columns.")
    try:
        with open(path, "rb") as file:
            first = file.read(4)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {path}: {reason}; check its permissions.") from None
    if not first:
        raise InputError(f"{path} is empty; it needs a header line and rows.")
    if first == ZIP and path.suffix.lower() not in (".npz", ".xlsx", ".xlsm"):
        raise InputError(
            f"{path} is a spreadsheet or a ZIP archive; name it .xlsx if that is what it is, else save it as "
            "CSV (UTF-8)."
        )


@contextmanager
def readable(path: Path, kind: str, fix: str) -> Iterator[None]:
    """What is wrong with a file is said in one sentence; what readers raise is not one family."""
    try:
        yield
    except (ImportError, InputError):
        raise
    except Exception as error:
        said = str(error).strip().partition("\n")[0].rstrip(".")[:200]
        said = "".join(c if c.isprintable() else "?" for c in said) or type(error).__name__
        raise InputError(f"{path} cannot be read as {kind} ({said}); {fix}.") from None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.unlink(missing_ok=True)
        with open(temporary, "xb") as file:  # never through a link that lies there
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_cells(path: Path, rows: int, columns: int) -> None:
    """Refuse a table that is too large to be held."""
    if rows * columns > MOST_CELLS:
        raise InputError(
            f"{path} has more than {MOST_CELLS} values in the named columns; give fewer rows or columns."
        )


def find_column(path: Path | str, header: Sequence[str], name: str) -> int:
    """The place of a column; an unknown or repeated name is refused, with the nearest one named."""
    count = list(header).count(name)
    if count == 1:
        return list(header).index(name)
    if count > 1:
        raise InputError(f"{path} has {count} columns named {name!r}; rename all but one.")
    near = difflib.get_close_matches(name, header, 1, 0.5) or [
        other for other in header if other.lower() == name.lower()
    ]
    shown = ", ".join(repr(other) for other in list(header)[:8]) + (", ..." if len(header) > 8 else "")
    shown = shown if len(shown) <= 200 else shown[:200] + "..."
    hint = f"did you mean {near[0]!r}?" if near else f"it has {shown}."
    if not any(header):
        hint = "its first line is empty; begin it with a header line."
    elif not near and all(map(_is_number, header)):
        hint = "its first line holds numbers; begin it with a header line."
    raise InputError(f"{path} has no column {name!r}; {hint}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
