"""Columns of a Parquet file, one at a time, by PyArrow; texts as places in a list of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data.columns import Loaded, Words
from weights2code.data.limits import LARGEST, check_cells, find_column, readable
from weights2code.errors import InputError

NAME, ENDINGS = "Parquet", (".parquet", ".pq")
#: What gives a column by its name.
Load = Callable[[str], np.ndarray | Words]


def names(path: Path) -> list[str]:
    """The names of all columns, in the order of the file."""
    with readable(path, NAME, "write it again"):
        return _reader(path)[0]


def columns(path: Path, wanted: Sequence[str]) -> Loaded:
    """What reads one of the columns that are wanted, all of which are there."""
    with readable(path, NAME, "write it again"):
        header, rows, load = _reader(path)
        for name in wanted:
            find_column(path, header, name)
    check_cells(path, rows, 1)

    def read(name: str) -> np.ndarray | Words:
        with readable(path, NAME, "write it again"):
            return load(name)

    return Loaded((rows,), read)


def write(path: Path, made: Mapping[str, np.ndarray], file: Any, only: np.ndarray | None) -> None:
    """The table again, with these columns replaced or added, and the rows where `only` is true."""
    import pyarrow  # which has read the table

    parquet = _package(path)
    table = parquet.read_table(path)
    for name, values in made.items():
        column = pyarrow.array(values.tolist() if values.dtype.kind == "O" else values)
        places = table.schema.get_all_field_indices(name)
        if places:
            table = table.set_column(places[0], name, column)
        else:
            table = table.append_column(name, column)
    parquet.write_table(table if only is None else table.filter(pyarrow.array(only)), file)


def _package(path: Path) -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(
            f"reading {path} needs pyarrow; install it with `pip install weights2code[data]`, or save as CSV."
        ) from None
    return parquet


def _reader(path: Path) -> tuple[list[str], int, Load]:
    file = _package(path).ParquetFile(path)
    _check_sizes(path, file.metadata)

    def load(name: str) -> np.ndarray | Words:
        return from_arrow(file.read(columns=[name], use_threads=False).column(0))

    return list(file.schema_arrow.names), file.metadata.num_rows, load


def from_arrow(column: Any) -> np.ndarray | Words:
    """A column of Arrow: texts as places in a list of words, anything else as NumPy has it."""
    import pyarrow as arrow

    kinds = arrow.types
    if kinds.is_dictionary(column.type) and not _is_text(column.type.value_type):
        column = column.cast(column.type.value_type)
    if _is_text(column.type):
        column = column.dictionary_encode()
    if not kinds.is_dictionary(column.type) or not len(column):
        return column.to_numpy()
    whole = column.unify_dictionaries().combine_chunks()
    words = ["" if word is None else word for word in whole.dictionary.to_pylist()]
    places = whole.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    return Words(places, [*words, ""])


def _is_text(kind: Any) -> bool:
    import pyarrow as arrow

    return arrow.types.is_string(kind) or arrow.types.is_large_string(kind)


def _check_sizes(path: Path, metadata: Any) -> None:
    """Refuse what says of itself that it unpacks to more than can be read."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > LARGEST:
        raise InputError(f"{path} unpacks to more than {LARGEST >> 30} GiB; give fewer rows.")
