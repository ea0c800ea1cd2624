"""A table written again with some columns new: what was in it stays as it was, cell by cell.

CSV files are copied row by row, so that a table larger than memory is no matter; of an NPZ archive everything
else is copied without being opened. A file appears whole or not at all.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data.csv_table import collector_at_rest, csv_rows
from weights2code.data.excel_table import ENDINGS, write_excel
from weights2code.errors import InputError

#: The formats by what a name ends in; every other ending is CSV.
FORMATS = {".parquet": "Parquet", ".pq": "Parquet", ".npz": "NPZ"} | dict.fromkeys(ENDINGS, "Excel")


def format_of(path: Path) -> str:
    """CSV, Parquet, NPZ or Excel."""
    return FORMATS.get(path.suffix.lower(), "CSV")


def check_target(path: Path, out: Path | None) -> None:
    """Refuse a place that the table cannot be written to, before anything is computed."""
    if out is None:
        if format_of(path) != "CSV" and sys.stdout.isatty():
            raise InputError(f"{format_of(path)} is nothing for a terminal; name a file with --out.")
        return
    if format_of(path) != format_of(out):
        raise InputError(
            f"--out {out} would be {format_of(out)}, but {path} is {format_of(path)}; "
            f"give it the ending {path.suffix or '.csv'}."
        )
    if out.is_dir():
        raise InputError(f"--out {out} is a folder; name a file.")
    if out.exists() and os.path.samefile(path, out):
        raise InputError(f"--out {out} is the table itself; name another file.")


def write_with(
    path: Path, columns: Mapping[str, np.ndarray], out: Path | None, only: np.ndarray | None = None
) -> None:
    """Write the table in `path` to `out` (None is standard output) with these columns, replaced or added.

    With `only`, the rows where that is true.
    """
    writers = {"CSV": _write_csv, "Parquet": _write_parquet, "NPZ": _write_npz, "Excel": _write_excel}
    with _opened(out) as file:
        writers[format_of(path)](path, columns, file, out, only)


@contextmanager
def _opened(out: Path | None) -> Iterator[Any]:
    """The place to write to: standard output, or a file that takes its name when it is whole."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)


def _write_csv(
    path: Path, columns: Mapping[str, np.ndarray], file: Any, out: Path | None, only: np.ndarray | None
) -> None:
    packed = gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if out and out.suffix == ".gz" else file
    text = io.TextIOWrapper(packed, encoding="utf-8", newline="")
    with csv_rows(path) as (header, delimiter, ending, blocks), collector_at_rest():
        writer = csv.writer(text, delimiter=delimiter, lineterminator=ending)
        names = [name.strip() for name in header]
        places = {name: names.index(name) for name in columns if name in names}
        added = [name for name in columns if name not in names]
        writer.writerow([*header, *added])
        first = 0
        for block in blocks:
            part = slice(first, first + len(block.numbered))
            first, kept = part.stop, None if only is None else only[part].tolist()
            texts = {name: _texts(values[part]) for name, values in columns.items()}
            plain = block.lines is not None and not any(map(_quoted(delimiter), texts.values()))
            rows: Any = block.lines if plain and not places else block.rows
            for name, place in places.items():
                for row, cell in zip(rows, texts[name], strict=True):
                    row[place] = cell
            if plain:
                lines = rows if not places else map(delimiter.join, rows)
                rows = map(delimiter.join, zip(lines, *(texts[name] for name in added), strict=True))
                text.writelines(
                    f"{line}{ending}" for line in (rows if kept is None else compress(rows, kept))
                )
                continue
            cells = zip(rows, *(texts[name] for name in added), strict=True)
            rows = ([*row, *more] for row, *more in cells)
            writer.writerows(rows if kept is None else compress(rows, kept))
    text.flush()
    text.detach()
    if packed is not file:
        packed.close()


def _quoted(delimiter: str) -> Callable[[Sequence[str]], bool]:
    """Whether cells cannot be written as they are."""
    odd = re.compile(f'["\r\n{re.escape(delimiter)}]')
    return lambda cells: odd.search(" ".join(cells)) is not None


def _texts(values: np.ndarray) -> Sequence[str]:
    """Cells of a column; a value that is none is an empty one."""
    if values.dtype.kind == "f":
        return ["" if value != value else repr(value) for value in values.tolist()]
    return ["" if value is None else str(value) for value in values.tolist()]


def _write_parquet(
    path: Path, columns: Mapping[str, np.ndarray], file: Any, out: Path | None, only: np.ndarray | None
) -> None:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(
            f"writing {out} needs pyarrow; install it with `pip install weights2code[data]`."
        ) from None
    table = parquet.read_table(path)
    for name, values in columns.items():
        made = pyarrow.array(values.tolist() if values.dtype.kind == "O" else values)
        places = table.schema.get_all_field_indices(name)
        if places:
            table = table.set_column(places[0], name, made)
        else:
            table = table.append_column(name, made)
    parquet.write_table(table if only is None else table.filter(pyarrow.array(only)), file)


def _write_npz(
    path: Path, columns: Mapping[str, np.ndarray], file: Any, out: Path | None, only: np.ndarray | None
) -> None:
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        if only is not None:
            raise InputError("--wrong is for CSV and Parquet; save the arrays as one of these.")
        for info in old.infolist():
            if info.filename.removesuffix(".npy") not in columns:
                with old.open(info) as source, new.open(info.filename, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target)
        for name, values in columns.items():
            with new.open(f"{name}.npy", "w", force_zip64=True) as target:
                np.lib.format.write_array(target, _plain(values), allow_pickle=False)


def _write_excel(
    path: Path, columns: Mapping[str, np.ndarray], file: Any, out: Path | None, only: np.ndarray | None
) -> None:
    write_excel(path, columns, file, only)


def _plain(values: np.ndarray) -> np.ndarray:
    """Objects as arrays have them: texts, or numbers, of which missing ones are `nan`."""
    if values.dtype != object:
        return values
    if any(isinstance(value, str) for value in values.flat):
        return np.array(_texts(values.ravel())).reshape(values.shape)
    return np.array([np.nan if v is None else float(v) for v in values.flat]).reshape(values.shape)
