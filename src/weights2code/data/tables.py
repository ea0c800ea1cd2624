"""Tables: named columns out of a CSV, Parquet or NPZ file, whole or not at all.

Reading executes nothing. What cannot be used is refused in one sentence that names the file, the row or
column, and the fix; nothing is guessed, rounded to another whole number, or bent into a number.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weights2code.data.arrow_csv import read_with_arrow
from weights2code.data.columns import Column
from weights2code.data.csv_table import names_in_csv, read_csv
from weights2code.data.exact_numbers import refuse_gap
from weights2code.data.excel_table import ENDINGS, excel_columns, names_in_excel
from weights2code.data.limits import LARGEST, check_readable, find_column
from weights2code.data.loose_cells import Loosely, Words
from weights2code.data.parquet_table import first_line, names_in_parquet, parquet_columns, spelled
from weights2code.errors import InputError
from weights2code.roles import Roles

#: Columns by name: numbers (float64), or for labels whatever they are.
Columns = dict[str, np.ndarray]
#: Whole numbers, times and text tell sequences apart or order them; records and complex numbers do not.
_LABELS = "biufMmUS"


@dataclass(frozen=True, slots=True, eq=False)
class OpenTable:
    """A file whose columns are read when they are asked for, and not kept where the file is read by columns.

    `shape` is (rows,), or (n, T) where a file holds n sequences of T rows. A `label` is as it is; `ids` only
    tell rows apart.
    """

    shape: tuple[int, ...]
    column: Callable[[str], Column]
    label: Callable[[str], np.ndarray]
    ids: Callable[[str], np.ndarray]
    loosely: Loosely


def open_table(path: Path, roles: Roles, *, advise: bool = True) -> OpenTable:
    """The columns of a file that have a role, to be asked for: values as numbers or texts, labels as such.

    What tells sequences apart is only told apart. What cannot be read is refused, with the advice to give it
    another role where that can be said.
    """
    check_readable(path)
    loosely, suffix = Loosely(roles, advise=advise), path.suffix.lower()
    wanted = [*roles.columns, *roles.labels]
    if suffix in (".parquet", ".pq"):
        rows, load = parquet_columns(path, wanted)
        shape: tuple[int, ...] = (rows,)
    elif suffix in (".npz", *ENDINGS):
        arrays, header = excel_columns(path, wanted) if suffix in ENDINGS else (_npz_arrays(path, wanted), -1)
        loosely.above = header + 1
        shape, load = next(iter(arrays.values())).shape, arrays.__getitem__
    else:
        return _open_csv(path, loosely)
    if 0 in shape:
        raise InputError(f"{path} has no rows; add data.")

    def ids(name: str) -> np.ndarray:
        found = load(name)
        if not isinstance(found, Words):
            return _clean_labels(path, name, found, loosely)
        missing = np.array([not word.strip() for word in found.words])[found.places]
        if missing.any():
            refuse_gap(f"{path}, {loosely.entry(np.argwhere(missing)[0])}", name, "")
        return found.places

    return OpenTable(
        shape,
        lambda name: loosely.column(str(path), name, load(name)),
        lambda name: _clean_labels(path, name, spelled(load(name)), loosely),
        ids,
        loosely,
    )


def _open_csv(path: Path, loosely: Loosely) -> OpenTable:
    """A CSV file has no columns that could be read alone: what is named is read, and held."""
    held = read_with_arrow(path, loosely)
    if held is None:
        held = {**read_csv(path, loosely)}

    def column(name: str) -> Column:
        found = held[name]
        if isinstance(found, Words):
            return loosely.words(str(path), name, found, lambda row: f"{path}, line {row + 2}")
        return loosely.read(name, found)

    def label(name: str) -> np.ndarray:
        found = held[name]
        return np.array(found.words)[found.places] if isinstance(found, Words) else found

    def ids(name: str) -> np.ndarray:
        found = held[name]
        return found.places if isinstance(found, Words) else found

    first = next(iter(held.values()))
    rows = len(first.places if isinstance(first, Words) else first)
    return OpenTable((rows,), column, label, ids, loosely)


def names_in(path: Path) -> list[str]:
    """The names of all columns of a file, in its order."""
    check_readable(path)
    suffix = path.suffix.lower()
    try:
        if suffix in (".parquet", ".pq"):
            return names_in_parquet(path)
        if suffix in ENDINGS:
            return names_in_excel(path)
        if suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return [info.filename.removesuffix(".npy") for info in archive.infolist()]
    except (ImportError, InputError):
        raise
    except Exception as error:
        raise InputError(f"{path} cannot be read ({first_line(error)}); write it again.") from None
    return names_in_csv(path)


def _npz_arrays(path: Path, wanted: Sequence[str]) -> Columns:
    """The arrays as they are stored."""
    try:
        with open(path, "rb") as file:
            if file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
                raise ValueError("it holds a single array without a name")
        with zipfile.ZipFile(path) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of Python 2, which are read all the same
            members = {info: info.filename.removesuffix(".npy") for info in archive.infolist()}
            for name in wanted:
                find_column(path, list(members.values()), name)
            found = {name: info for info, name in members.items() if name in wanted}
            columns = {name: _read_array(path, archive, found[name]) for name in wanted}
    except InputError:
        raise
    except Exception as error:  # a damaged archive fails in many ways, down to its parser of headers
        raise InputError(
            f"{path} cannot be read as NPZ ({first_line(error)}); write it with numpy.savez."
        ) from None
    shapes = {name: column.shape for name, column in columns.items()}
    if len({shapes[name] for name in wanted}) > 1 or len(shapes[wanted[0]]) not in (1, 2):
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"{path}: the arrays must all be (rows,) or all (n, T), but are {listed}.")
    return columns


def _read_array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """An array of an archive; its header is believed only as far as there are bytes for it."""
    if info.file_size > LARGEST:
        raise InputError(f"{path} unpacks to more than {LARGEST >> 30} GiB; give fewer rows.")
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version not in readers:
            raise ValueError(f"{info.filename} holds something else than plain arrays of numbers")
        shape, _, dtype = readers[version](file)
        if dtype.hasobject:  # NumPy's advice is to load it unsafely
            raise ValueError("it holds something else than plain arrays of numbers")
        size = dtype.itemsize * int(np.prod([int(axis) for axis in shape], dtype=object))
        if any(axis < 0 for axis in shape) or size != info.file_size - file.tell():
            raise ValueError(f"the header of {info.filename} says {shape}, which its length does not")
    with archive.open(info) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _clean_labels(path: Path | str, name: str, column: np.ndarray, loosely: Loosely) -> np.ndarray:
    """Labels that can be told apart and, where they are numbers or times, be sorted."""
    if column.dtype.kind == "O" and all(value is None or isinstance(value, str) for value in column.flat):
        missing = np.array([value is None or not value.strip() for value in column.flat]).reshape(
            column.shape
        )
        column = np.where(missing, "", column).astype(str)
    elif column.dtype.kind not in _LABELS:
        raise InputError(
            f"{path}, column {name!r} holds no numbers, times or text; store it as one of these."
        )
    elif column.dtype.kind in "US":
        missing = np.char.strip(column) == column.dtype.type()
    elif column.dtype.kind in "fMm":
        missing = ~np.isfinite(column)
    else:
        missing = np.zeros(column.shape, bool)
    if missing.any():
        refuse_gap(f"{path}, {loosely.entry(np.argwhere(missing)[0])}", name, "")
    return column
