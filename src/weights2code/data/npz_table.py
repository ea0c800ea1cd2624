"""Arrays of an NPZ archive by their names, as they are stored; nothing in it is executed."""

from __future__ import annotations

import shutil
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data.columns import Loaded
from weights2code.data.limits import LARGEST, find_column, readable
from weights2code.errors import InputError

NAME, ENDINGS = "NPZ", (".npz",)


def names(path: Path) -> list[str]:
    """The names of all arrays, in the order of the archive."""
    with readable(path, NAME, "write it with numpy.savez"), zipfile.ZipFile(path) as archive:
        return list(_members(archive).values())


def columns(path: Path, wanted: Sequence[str]) -> Loaded:
    """The arrays that are wanted, all of one shape."""
    with readable(path, NAME, "write it with numpy.savez"):
        with open(path, "rb") as file:
            if file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
                raise ValueError("it holds a single array without a name")
        with zipfile.ZipFile(path) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of Python 2, which are read all the same
            members = _members(archive)
            for name in wanted:
                find_column(path, list(members.values()), name)
            places = {name: info for info, name in members.items() if name in wanted}
            found = {name: _read_array(path, archive, places[name]) for name in wanted}
    shapes = {name: column.shape for name, column in found.items()}
    if len({shapes[name] for name in wanted}) > 1 or len(shapes[wanted[0]]) not in (1, 2):
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"{path}: the arrays must all be (rows,) or all (n, T), but are {listed}.")
    return Loaded(shapes[wanted[0]], found.__getitem__)


def write(path: Path, made: Mapping[str, np.ndarray], file: Any, only: np.ndarray | None) -> None:
    """The archive again, with these arrays; everything else is copied without being opened."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        if only is not None:
            raise InputError("--wrong is for CSV and Parquet; save the arrays as one of these.")
        for info, name in _members(old).items():
            if name not in made:
                with old.open(info) as source, new.open(info.filename, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target)
        for name, values in made.items():
            with new.open(f"{name}.npy", "w", force_zip64=True) as target:
                np.lib.format.write_array(target, _plain(values), allow_pickle=False)


def _members(archive: zipfile.ZipFile) -> dict[zipfile.ZipInfo, str]:
    return {info: info.filename.removesuffix(".npy") for info in archive.infolist()}


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


def _plain(values: np.ndarray) -> np.ndarray:
    """Objects as arrays have them: texts, or numbers, of which missing ones are `nan`."""
    if values.dtype != object:
        return values
    if any(isinstance(value, str) for value in values.flat):
        texts = ["" if value is None else str(value) for value in values.flat]
        return np.array(texts).reshape(values.shape)
    return np.array([np.nan if v is None else float(v) for v in values.flat]).reshape(values.shape)
