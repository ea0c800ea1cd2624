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

from weights2code.data.csv_table import names_in_csv, read_csv
from weights2code.data.exact_numbers import convert, entry, refuse_gap
from weights2code.data.limits import LARGEST, check_cells, check_readable, find_column
from weights2code.data.loose_cells import Gaps, Loosely
from weights2code.errors import InputError

#: Columns by name: numbers (float64), or for labels whatever they are.
Columns = dict[str, np.ndarray]
#: Whole numbers, times and text tell sequences apart or order them; records and complex numbers do not.
_LABELS = "biufMmUS"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns, which of them hold texts (missing ones are empty), and how many cells hold nothing."""

    columns: Columns
    texts: frozenset[str]
    gaps: dict[str, Gaps]


def read_table(
    path: Path, values: Sequence[str], labels: Sequence[str] = (), texts: Sequence[str] = ()
) -> Table:
    """The named columns: `values` are numbers or texts (`texts` in any case), `labels` what they are."""
    loosely = Loosely(frozenset(texts))
    columns = read_columns(path, values, labels, loosely)
    return Table(columns, frozenset(loosely.texts), loosely.gaps)


def names_in(path: Path) -> list[str]:
    """The names of all columns of a file, in its order."""
    check_readable(path)
    suffix = path.suffix.lower()
    try:
        if suffix in (".parquet", ".pq"):
            return _parquet_reader(path)[0]
        if suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return [info.filename.removesuffix(".npy") for info in archive.infolist()]
    except (ImportError, InputError):
        raise
    except Exception as error:
        raise InputError(f"{path} cannot be read ({_first(error)}); write it again.") from None
    return names_in_csv(path)


def read_columns(
    path: Path, numbers: Sequence[str], labels: Sequence[str] = (), loosely: Loosely | None = None
) -> Columns:
    """The named columns of a file: `numbers` as float64, `labels` (ids, times) as they are.

    With `loosely` numbers may be missing, and columns be texts, which is noted there. In an NPZ file a column
    may be an array (n, T): n sequences; all others are one-dimensional.
    """
    check_readable(path)
    suffix = path.suffix.lower()
    readers: dict[str, Callable[[Path, Sequence[str], Sequence[str], Loosely | None], Columns]] = {
        ".parquet": read_parquet,
        ".pq": read_parquet,
        ".npz": read_npz,
    }
    return readers.get(suffix, read_csv)(path, numbers, labels, loosely)


def read_parquet(
    path: Path, numbers: Sequence[str], labels: Sequence[str] = (), loosely: Loosely | None = None
) -> Columns:
    """Columns of a Parquet file, by pyarrow or polars."""
    wanted = [*numbers, *labels]
    try:
        header, load = _parquet_reader(path)
        for name in wanted:
            find_column(path, header, name)
        columns = load(list(dict.fromkeys(wanted)))
    except (ImportError, InputError):
        raise
    except Exception as error:  # what the readers raise for damaged files is not one family
        raise InputError(f"{path} cannot be read as Parquet ({_first(error)}); write it again.") from None
    return {
        name: clean(path, name, columns[name], number=name in numbers, loosely=loosely) for name in wanted
    }


def _parquet_reader(path: Path) -> tuple[list[str], Callable[[list[str]], Columns]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        pass
    else:
        file = parquet.ParquetFile(path)
        _check_sizes(path, file.metadata)

        def by_arrow(names: list[str]) -> Columns:
            check_cells(path, file.metadata.num_rows, len(names))
            table = file.read(columns=names, use_threads=False)
            return {name: table.column(name).to_numpy() for name in names}

        return list(file.schema_arrow.names), by_arrow
    try:
        import polars
    except ImportError:
        raise InputError(
            f"reading {path} needs pyarrow; install it with `pip install weights2code[data]`, or save as CSV."
        ) from None

    def by_polars(names: list[str]) -> Columns:
        rows = polars.scan_parquet(path).select(polars.len()).collect().item()
        check_cells(path, int(rows), len(names))
        frame = polars.read_parquet(path, columns=names)
        return {name: frame[name].to_numpy() for name in names}

    return list(polars.read_parquet_schema(path)), by_polars


def _check_sizes(path: Path, metadata: object) -> None:
    """Refuse what says of itself that it unpacks to more than can be held."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]  # type: ignore[attr-defined]
    if sum(group.total_byte_size for group in groups) > LARGEST:
        raise InputError(f"{path} unpacks to more than {LARGEST >> 30} GiB; give fewer rows.")


def read_npz(
    path: Path, numbers: Sequence[str], labels: Sequence[str] = (), loosely: Loosely | None = None
) -> Columns:
    """Arrays of an NPZ file: (rows,) each, or (n, T) each, all of one shape; nothing is unpickled."""
    wanted = [*numbers, *labels]
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
            f"{path} cannot be read as NPZ ({_first(error)}); write it with numpy.savez."
        ) from None
    shapes = {name: column.shape for name, column in columns.items()}
    if len({shapes[name] for name in wanted}) > 1 or len(shapes[wanted[0]]) not in (1, 2):
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"{path}: the arrays must all be (rows,) or all (n, T), but are {listed}.")
    return {
        name: clean(path, name, columns[name], number=name in numbers, loosely=loosely) for name in wanted
    }


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


def _first(error: Exception) -> str:
    """The first line of what an error says, without what cannot be shown."""
    text = str(error).strip().partition("\n")[0].rstrip(".")[:200]
    return "".join(c if c.isprintable() else "?" for c in text) or type(error).__name__


def clean(
    path: Path | str, name: str, column: np.ndarray, *, number: bool, loosely: Loosely | None = None
) -> np.ndarray:
    """A column as finite float64, or as it is where it is a label; what cannot be is refused."""
    column = np.asarray(column)
    if not column.size:
        raise InputError(f"{path} has no rows; add data.")
    if number and loosely:
        return loosely.array(str(path), name, column)
    return convert(str(path), name, column) if number else _clean_labels(path, name, column)


def _clean_labels(path: Path | str, name: str, column: np.ndarray) -> np.ndarray:
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
        refuse_gap(f"{path}, {entry(np.argwhere(missing)[0])}", name, "")
    return column
