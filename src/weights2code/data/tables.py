"""Tables: named columns out of a CSV, Parquet or NPZ file, whole or not at all.

CSV is read in blocks with the standard library and needs nothing installed. Reading executes nothing. What
cannot be used is refused in one sentence that names the file, the row or column, and the fix; rows are
counted as an editor counts lines, the header being line 1.
"""

from __future__ import annotations

import csv
import difflib
import gc
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.errors import InputError

#: Rows of a CSV file that are converted at a time.
BLOCK = 50_000
#: What may separate the cells of a CSV file; the one that the header has most of is taken.
DELIMITERS = ",;\t|"
#: What packed files begin with.
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
#: Cells that say that a value is missing, and words that are numbers.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
WORDS = {"true": 1.0, "false": 0.0}

#: Columns by name: numbers (float64), or for labels whatever they are.
Columns = dict[str, np.ndarray]


def read_columns(path: Path, numbers: Sequence[str], labels: Sequence[str] = ()) -> Columns:
    """The named columns of a file: `numbers` as float64, `labels` (ids, times) as they are.

    In an NPZ file a column may be an array (n, T): n sequences; all others are one-dimensional.
    """
    check_readable(path)
    suffix = path.suffix.lower()
    readers: dict[str, Callable[[Path, Sequence[str], Sequence[str]], Columns]] = {
        ".parquet": read_parquet,
        ".pq": read_parquet,
        ".npz": read_npz,
    }
    return readers.get(suffix, read_csv)(path, numbers, labels)


def check_readable(path: Path) -> None:
    """Refuse what is no file, or no file that may be read."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the CSV, Parquet or NPZ file in it.")
    if not path.exists():
        raise InputError(f"there is no file {path}; check the name.")
    if not path.is_file():
        raise InputError(f"{path} is a pipe or a device; save its content as a file.")
    try:
        with open(path, "rb") as file:
            first = file.read(4)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {path}: {reason}; check its permissions.") from None
    if not first:
        raise InputError(f"{path} is empty; it needs a header line and rows.")
    if first == ZIP and path.suffix.lower() != ".npz":
        raise InputError(f"{path} is a spreadsheet or a ZIP archive; save it as CSV (UTF-8).")


# -- CSV ---------------------------------------------------------------------------------------------------


def read_csv(path: Path, numbers: Sequence[str], labels: Sequence[str] = ()) -> Columns:
    """Columns of a CSV file with a header line; cells may be quoted, and end in spaces; gzip is unpacked."""
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            plain = gzip.GzipFile(fileobj=raw) if packed else raw
            with (
                io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as file,  # type: ignore[type-var]
                collector_at_rest(),
            ):
                return _read_csv(path, file, numbers, labels)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path} is a damaged gzip file; write it again.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8; save it as CSV (UTF-8).") from None
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as CSV ({error}); save it as CSV (UTF-8) again.") from None


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Without garbage collection: millions of cells are no garbage, and looking costs a third of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _read_csv(path: Path, file: io.TextIOBase, numbers: Sequence[str], labels: Sequence[str]) -> Columns:
    header_line = file.readline()
    if "\0" in header_line:
        raise InputError(f"{path} is not a text file; save it as CSV (UTF-8).")
    delimiter = max(DELIMITERS, key=header_line.count)
    header = [name.strip() for name in next(csv.reader([header_line], delimiter=delimiter), [])]
    places = {name: find_column(path, header, name) for name in (*numbers, *labels)}
    parts: dict[str, list[np.ndarray]] = {name: [] for name in places}
    for line, rows in _blocks(csv.reader(file, delimiter=delimiter)):
        lines = _check_widths(path, line, rows, header)
        columns = list(zip(*rows, strict=True))
        for name, place in places.items():
            if not columns:
                continue
            if name in numbers:
                parts[name].append(_to_numbers(path, name, columns[place], lines))
            else:
                parts[name].append(np.array([cell.strip() for cell in columns[place]]))
    if not any(parts.values()):
        raise InputError(f"{path} has a header but no rows; add data.")
    return {name: np.concatenate(part) for name, part in parts.items()}


def _blocks(reader: Any) -> Iterator[tuple[int, list[list[str]]]]:
    """Blocks of rows with the line on which each begins."""
    block: list[list[str]] = []
    line = 2
    for row in reader:
        block.append(row)
        if len(block) == BLOCK:
            yield line, block
            block, line = [], reader.line_num + 2
    if block:
        yield line, block


def _check_widths(path: Path, line: int, rows: list[list[str]], header: list[str]) -> Sequence[int]:
    """Drop blank lines, refuse ragged ones; the line number of each row that is left."""
    width = len(header)
    lines: Sequence[int] = range(line, line + len(rows))
    if all(len(row) == width for row in rows):
        return lines
    kept = [(number, row) for number, row in zip(lines, rows, strict=True) if row]
    for number, row in kept:
        if len(row) != width:
            raise InputError(
                f"{path}, line {number} has {len(row)} cells but the header has {width}; "
                "give every row as many cells as the header."
            )
    rows[:] = [row for _, row in kept]
    return [number for number, _ in kept]


def _to_numbers(path: Path, name: str, cells: Sequence[str], lines: Sequence[int]) -> np.ndarray:
    try:
        values = np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        values = np.array([_number(path, name, c, line) for c, line in zip(cells, lines, strict=True)])
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        cell = cells[int(bad[0])].strip()
        _refuse_gap(path, f"line {lines[int(bad[0])]}", name, cell)
    return values


def _number(path: Path, name: str, cell: str, line: int) -> float:
    text = cell.strip()
    try:
        return float(text)
    except ValueError:
        pass
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if text.lower() in MISSING:
        _refuse_gap(path, f"line {line}", name, text)
    comma = text.replace(",", ".", 1)
    hint = "encode it as numbers"
    if comma != text and comma.replace(".", "", 1).lstrip("+-").isdigit():
        hint = "use a decimal point"
    shown = text if len(text) <= 20 else text[:20] + "..."
    raise InputError(f"{path}, line {line}, column {name!r} holds the text {shown!r}; {hint}.")


def _refuse_gap(path: Path, row: str, name: str, cell: str) -> None:
    what = "a missing value" if cell.lower() in MISSING else "an infinite value"
    raise InputError(f"{path}, {row}, column {name!r} holds {what}; remove the row or fill it.")


# -- Parquet and NPZ ---------------------------------------------------------------------------------------


def read_parquet(path: Path, numbers: Sequence[str], labels: Sequence[str] = ()) -> Columns:
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
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} cannot be read as Parquet ({first}); write it again.") from None
    return {name: clean(path, name, columns[name], number=name in numbers) for name in wanted}


def _parquet_reader(path: Path) -> tuple[list[str], Callable[[list[str]], Columns]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        pass
    else:
        schema = parquet.read_schema(path)

        def by_arrow(names: list[str]) -> Columns:
            table = parquet.read_table(path, columns=names)
            return {name: table.column(name).to_numpy() for name in names}

        return list(schema.names), by_arrow
    try:
        import polars
    except ImportError:
        raise InputError(
            f"reading {path} needs pyarrow; install it with `pip install weights2code[data]`, or save as CSV."
        ) from None

    def by_polars(names: list[str]) -> Columns:
        frame = polars.read_parquet(path, columns=names)
        return {name: frame[name].to_numpy() for name in names}

    return list(polars.read_parquet_schema(path)), by_polars


def read_npz(path: Path, numbers: Sequence[str], labels: Sequence[str] = ()) -> Columns:
    """Arrays of an NPZ file: (rows,) each, or (n, T) each, all of one shape; nothing is unpickled."""
    import zipfile

    wanted = [*numbers, *labels]
    try:
        archive = np.load(path, allow_pickle=False)
        if not hasattr(archive, "files"):
            raise ValueError("it holds a single array without a name")
        with archive:
            for name in wanted:
                find_column(path, list(archive.files), name)
            columns = {name: archive[name] for name in wanted}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "pickle" in first:  # NumPy's advice is to load it unsafely
            first = "it holds something else than plain arrays of numbers"
        raise InputError(f"{path} cannot be read as NPZ ({first}); write it with numpy.savez.") from None
    shapes = {name: column.shape for name, column in columns.items()}
    if len({shapes[name] for name in wanted}) > 1 or len(shapes[wanted[0]]) not in (1, 2):
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"{path}: the arrays must all be (rows,) or all (n, T), but are {listed}.")
    return {name: clean(path, name, columns[name], number=name in numbers) for name in wanted}


def clean(path: Path | str, name: str, column: np.ndarray, *, number: bool) -> np.ndarray:
    """A column as finite float64, or as it is where it is a label; what cannot be is refused."""
    column = np.asarray(column)
    if not number:
        return column
    if not column.size:
        raise InputError(f"{path} has no rows; add data.")
    try:
        values = column.astype(float)
    except (TypeError, ValueError):
        for index, value in np.ndenumerate(column):
            row = f"row {index[0]}" if len(index) == 1 else f"entry {index}"
            if value is None:
                _refuse_gap(path, row, name, "")  # type: ignore[arg-type]
            try:
                float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                shown = str(value)[:20]
                raise InputError(
                    f"{path}, {row}, column {name!r} holds {shown!r}; encode it as numbers."
                ) from None
        raise InputError(f"{path}, column {name!r} holds no numbers; encode it as numbers.") from None
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row = f"row {bad[0][0]}" if values.ndim == 1 else f"entry {tuple(int(i) for i in bad[0])}"
        _refuse_gap(path, row, name, str(values[tuple(bad[0])]))  # type: ignore[arg-type]
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
