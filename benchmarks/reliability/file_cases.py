"""Data files to be read: good ones in all the ways in which they may be written, and every way to be bad.

A file is made of a table of numbers that follow a rule; then one thing, or one byte, is not as it should be.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import socket
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Case:
    """A file, the options to read it with, and whether it is one that must be read."""

    kind: str
    path: Path
    good: bool
    ids: str | None = None
    order: str | None = None

    @property
    def options(self) -> list[str]:
        named = {"--inputs": "x,z", "--targets": "y", "--sequence": self.ids, "--order": self.order}
        return [word for option, value in named.items() if value for word in (option, value)]


Table = dict[str, list[Any]]


def table(rng: random.Random) -> Table:
    """Rows of a log: an id, a step, two inputs and what follows from them."""
    sequences, length = rng.randint(3, 6), rng.randint(10, 14)
    found: Table = {name: [] for name in ("id", "step", "x", "z", "y")}
    for i in range(sequences):
        last = 0
        for t in range(length):
            x, z = rng.randint(-9, 99), rng.randint(0, 1)
            last = x if z else last
            for name, value in zip(found, (i, t, x, z, last), strict=True):
                found[name].append(value)
    return found


# -- CSV ---------------------------------------------------------------------------------------------------

GOOD_NUMBERS = (
    "{}", " {} ", "+{}", "00{}", "{}.", "{}.0", "{}e0", "{}E+0", "{}0e-1", '"{}"', "\t{}",
    "{}.000000000000000000001",
)  # fmt: skip
OTHER_GOOD = (
    "9007199254740992", "-9007199254740992", ".5", "1e20", "6.02e23", "1e-30", "-0", "0.1", "TRUE", "false",
    "1180591620717411303424", "0e5",
)  # fmt: skip
BAD_CELLS = (
    "1_000", '"1"2', '"1" 2', "\u0661\u0662", "\uff11\uff12", "9007199254740993", "-9007199254740995",
    "18446744073709551615", "9007199254740993.0", "nan", "NaN", "-nan", "NAN", "inf", "-Inf", "+infinity",
    "INFINITY", "Infinity", "0x10", "0b1", "1e400", "-1e999", "1e-400", "", " ", "NA", "n/a", "null",
    "None", "-", "?", "1,5", "1 000", "1\u00a0000", "\u00a01", "1'000", "--1", "+-1", "1e", "e5", ".", "+",
    "1.2.3", "1j", "1/2", "50%", "$5", "12:00", "2024-01-31", "\u22121", "\u200b1", "1\u200b", "\ufeff1",
    "yes", "true1", "one", "1\x00", "\x001", "1\x1c", "1\x0b", "1d5", "1f", "1L", "\u00bd", "\u00b2",
    "\u2460", "=1+1", "#N/A", '"1', '1"', "1e5_0", "9" * 500, "1" * 200000, "0." + "0" * 400 + "1", "1;2",
    "1|2", "1\t2", "nan(5)", "1e+", "0X1P3", "\u0be7", "١e٢",
)  # fmt: skip
BAD_HEADERS = (
    "id,step,x,x,y", "id,step,X,z,y", "", "id,step,,z,y", "1,2,3,4,5", "id;step;x;z;y", "id,step,x,z",
    "id,step,x,z,y,", '"id,step,x,z,y', 'id,step,"x"x,z,y', "id\tstep\tx\tz\ty", "id,step,x,z,y\x00",
    "\x00\x00", "id,step,x,z,y,x", "id step x z y", " x, z ,y", "id,step,х,z,y",
)  # fmt: skip
BAD_ORDERS = (
    "nan",
    "",
    "now",
    "today",
    "NaT",
    "1_0",
    "\u0661",
    "inf",
    "2024-01-31",
    "x",
    "0x1",
    "NaN",
    "infinity",
)


def csv_text(cells: list[list[str]], delimiter: str = ",", end: str = "\n") -> str:
    return end.join(delimiter.join(row) for row in cells) + end


def cells_of(rows: Table) -> list[list[str]]:
    return [list(rows), *([str(value) for value in row] for row in zip(*rows.values(), strict=True))]


def good_csv(rng: random.Random) -> bytes:
    """A table as programs and people write it."""
    cells = cells_of(table(rng))
    for row in cells[1:]:
        for place in (2, 4):
            if rng.random() < 0.3:
                row[place] = (
                    rng.choice(GOOD_NUMBERS).format(row[place]).replace("+-", "-").replace("00-", "-00")
                )
    if rng.random() < 0.3:
        cells[rng.randrange(1, len(cells))][2] = rng.choice(OTHER_GOOD)
    if rng.random() < 0.3:  # a column that nobody asks for holds anything
        odd = ('"a,b"', '"two\nlines"', '"say ""so"""', "", "nan", "\u0661", "1_000", "text", '"; | "')
        cells[0].append(rng.choice(("note", "", '"a;b|c;d|e;f|g"')))
        for row in cells[1:]:
            row.append(rng.choice(odd))
    if rng.random() < 0.2:
        cells[0] = [f'"{name}"' if name and not name.startswith('"') else name for name in cells[0]]
    delimiter = rng.choice(",,,;\t|")
    if delimiter == "\t":
        cells = [[cell.replace("\t", " ") for cell in row] for row in cells]
    if delimiter == "|" or delimiter == ";":
        cells = [[cell if '"' in cell else cell.replace(delimiter, " ") for cell in row] for row in cells]
    text = csv_text(cells, delimiter, rng.choice(("\n", "\n", "\r\n", "\r")))
    if rng.random() < 0.2:
        text = text.rstrip("\r\n")
    elif rng.random() < 0.2:
        text += rng.choice(("\n", "\r\n\r\n", "\n\n\n"))
    if rng.random() < 0.2:
        text = "\ufeff" + text
    data = text.encode()
    return gzip.compress(data, 1) if rng.random() < 0.1 else data


def bad_cell(rng: random.Random) -> bytes:
    cells = cells_of(table(rng))
    cells[rng.randrange(1, len(cells))][rng.choice((2, 3, 4))] = rng.choice(BAD_CELLS)
    return csv_text(cells, rng.choice(",,;")).encode()


def bad_label(rng: random.Random) -> bytes:
    cells = cells_of(table(rng))
    place = rng.randrange(2)
    cells[rng.randrange(1, len(cells))][place] = (
        rng.choice(BAD_ORDERS) if place else rng.choice(("", " ", "a\x00", "x" * 5000))
    )
    return csv_text(cells).encode()


def bad_header(rng: random.Random) -> bytes:
    cells = cells_of(table(rng))
    return (rng.choice(BAD_HEADERS) + "\n" + csv_text(cells[1:])).encode()


def bad_row(rng: random.Random) -> bytes:
    """Rows that are not cut like the header."""
    cells = cells_of(table(rng))
    row = rng.randrange(1, len(cells))
    text = csv_text(cells)
    choice = rng.randrange(10)
    if choice == 0:
        cells[row].pop(rng.randrange(5))
    elif choice == 1:
        cells[row].insert(rng.randrange(5), "1")
    elif choice == 2:
        return (csv_text(cells[:1]) + csv_text(cells[1:], rng.choice(";\t|"))).encode()
    elif choice == 3:
        return (
            csv_text(cells[:row]) + csv_text(cells[row : row + 1], ";") + csv_text(cells[row + 1 :])
        ).encode()
    elif choice == 4:
        cells[row][2] = '"' + cells[row][2]
    elif choice == 5:
        return csv_text(cells[:1]).encode()
    elif choice == 6:
        return csv_text([[line[2]] for line in cells]).encode()
    elif choice == 7:
        cells[row][rng.randrange(5)] += "," * rng.randrange(1, 3)
    elif choice == 8:
        cells = cells[: rng.randrange(1, 8)]
    else:
        return text.replace(",", " , " if rng.random() < 0.5 else ",,").encode()
    return csv_text(cells).encode()


def other_encoding(rng: random.Random) -> bytes:
    cells = cells_of(table(rng))
    cells[0].append("m\u00e9mo")
    for row in cells[1:]:
        row.append("\u00fcber")
    return csv_text(cells).encode(
        rng.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-16-be"))
    )


def packed(rng: random.Random) -> bytes:
    """Gzip that is damaged, or that unpacks to far more than it is."""
    choice = rng.randrange(6)
    if choice < 3:
        data = gzip.compress(good_plain(rng), 1)
        return damaged(rng, data)
    if choice == 3:
        return gzip.compress(b"id,step,x,z,y\n" + b"1" * (1 << 25), 1)
    if choice == 4:
        return gzip.compress(b"x," * (1 << 24), 1)
    return gzip.compress(gzip.compress(good_plain(rng)))


def good_plain(rng: random.Random) -> bytes:
    return csv_text(cells_of(table(rng))).encode()


def damaged(rng: random.Random, data: bytes) -> bytes:
    """A file with flipped, lost, repeated or foreign bytes, or a part of it."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        place = rng.randrange(len(made)) if made else 0
        choice = rng.randrange(7)
        if choice == 0 and made:
            made[place] ^= 1 << rng.randrange(8)
        elif choice == 1 and made:
            made[place] = rng.randrange(256)
        elif choice == 2:
            del made[place : place + rng.randint(1, 40)]
        elif choice == 3:
            made[place:place] = made[place : place + rng.randint(1, 40)]
        elif choice == 4:
            made[place:place] = rng.randbytes(rng.randint(1, 8))
        elif choice == 5:
            made[place:place] = rng.choice(
                (b'"', b",", b"\n", b"\r", b";", b"\x00", b"-", b".", b"e", b"_", b"\xef\xbb\xbf", b" ")
            )
        elif rng.random() < 0.3:
            del made[place:]
    return bytes(made)


# -- NPZ ---------------------------------------------------------------------------------------------------


def arrays_of(rows: Table, shape: tuple[int, ...] | None = None) -> dict[str, np.ndarray]:
    return {
        name: np.array(values) if shape is None else np.array(values).reshape(shape)
        for name, values in rows.items()
    }


def npz(arrays: dict[str, np.ndarray], packed: bool = False) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def good_npz(rng: random.Random) -> tuple[bytes, bool]:
    """Arrays of any kind of number; whether they are sequences (n, T)."""
    rows = table(rng)
    count = max(rows["id"]) + 1
    whole = rng.random() < 0.4
    arrays = arrays_of(rows, (count, len(rows["id"]) // count) if whole else None)
    for name in ("x", "z", "y"):
        kind = rng.choice(("i1", "i2", "i4", "i8", ">i4", ">i8", "f2", "f4", "f8", ">f8", "<f4", "g"))
        arrays[name] = arrays[name].astype(kind)
    if rng.random() < 0.3:
        arrays["z"] = arrays["z"].astype(rng.choice((bool, "u1", "u8", "u4")))
    if whole and rng.random() < 0.5:
        arrays["y"] = np.asfortranarray(arrays["y"])
    if rng.random() < 0.2:
        arrays["x"].flat[0] = 0
        arrays["x"] = arrays["x"].astype(np.int64) * 2**40
    arrays["other"] = np.array(["anything"])
    return npz(arrays, rng.random() < 0.5), whole


def _replaced(index: int, value: Any, dtype: Any = None) -> Callable[[np.ndarray], np.ndarray]:
    def change(column: np.ndarray) -> np.ndarray:
        made = column.astype(dtype or column.dtype)
        made.flat[index] = value
        return made

    return change


BAD_ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "NaT": lambda a: np.array(["2024-01-01", "NaT"] * (len(a) // 2) + ["NaT"] * (len(a) % 2), "M8[D]"),
    "dates": lambda a: a.astype("M8[D]"),
    "moments": lambda a: a.astype("M8[ns]"),
    "timedeltas": lambda a: a.astype("m8[s]"),
    "complex": lambda a: a.astype(complex),
    "complex with no imaginary part": lambda a: a.astype("c8"),
    "structured": lambda a: np.array([(v,) for v in a], dtype=[("v", "f8")]),
    "two fields": lambda a: np.array([(v, v) for v in a], dtype=[("v", "f8"), ("w", "i4")]),
    "objects": lambda a: a.astype(object),
    "text": lambda a: a.astype(str),
    "bytes": lambda a: a.astype("S"),
    "one number": lambda a: np.array(a[0]),
    "three axes": lambda a: a.reshape(1, 1, -1),
    "shorter": lambda a: a[:-1],
    "other shape": lambda a: a.reshape(1, -1),
    "no rows": lambda a: a[:0],
    "nan": _replaced(3, np.nan, float),
    "infinity": _replaced(3, -np.inf, float),
    "nan of half": _replaced(3, np.nan, "f2"),
    "uint64 beyond": _replaced(3, 2**53 + 1, np.uint64),
    "largest uint64": _replaced(3, 2**64 - 1, np.uint64),
    "int64 beyond": _replaced(3, -(2**53) - 1, np.int64),
    "largest int64": _replaced(3, 2**63 - 1, np.int64),
    "longdouble beyond": _replaced(3, np.longdouble(2) ** 60 + 1, np.longdouble),
    "longdouble too large": _replaced(3, np.longdouble(10) ** 400, np.longdouble),
    "void": lambda a: a.astype("f8").view("V8"),
    "sub-arrays": lambda a: np.zeros(len(a), dtype=("f8", (2,))),
}


def bad_array(rng: random.Random) -> tuple[str, bytes]:
    arrays = arrays_of(table(rng))
    kind = rng.choice(list(BAD_ARRAYS))
    name = rng.choice(("x", "z", "y"))
    arrays[name] = BAD_ARRAYS[kind](np.abs(arrays[name]))
    return kind, npz(arrays, rng.random() < 0.3)


def bad_label_array(rng: random.Random) -> bytes:
    arrays = arrays_of(table(rng))
    name = rng.choice(("id", "step"))
    kind = rng.choice(
        ("NaT", "nan", "complex", "structured", "objects", "infinity", "void", "no rows", "shorter")
    )
    arrays[name] = BAD_ARRAYS[kind](arrays[name])
    return npz(arrays)


def bad_npy_header(rng: random.Random) -> bytes:
    """An array whose header says something else than its bytes."""
    rows = arrays_of(table(rng))
    file = io.BytesIO()
    count = len(rows["x"])
    said = "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}"
    headers = [
        *(said.format("'<f8'", "False", shape) for shape in (
            f"({10 ** rng.randint(3, 18)},)", f"({2**40}, {2**40})", f"(-{count},)", f"({count}, 0)",
            f"({count}.0,)", "(True,)", f"[{count}]", "()", "None",
        )),
        *(said.format(kind, "False", f"({count},)") for kind in (
            "'|O'", "'<f16'", "[('a', '<f8')]", "''", "'<U2000000000'",
            "__import__('os').system('false')", "1", "'<M8[D]'",
        )),
        said.format("'<f8'", "'no'", f"({count},)"), "{'descr': '<f8', 'fortran_order': False}",
        "{" * 500, "(" * 3000, "'" * 20, "[" * 90 + "]" * 90, "{'descr': 1L}", "", "\xff" * 30, "lambda: 0",
    ]  # fmt: skip
    header = rng.choice(headers).encode("latin-1")
    version = rng.choice((b"\x01\x00",) * 6 + (b"\x02\x00", b"\x03\x00", b"\x09\x09"))
    length = struct.pack("<H", len(header)) if version == b"\x01\x00" else struct.pack("<I", len(header))
    if rng.random() < 0.1:
        length = length[:-1] + b"\xff"
    with zipfile.ZipFile(file, "w") as archive:
        for name, column in rows.items():
            plain = io.BytesIO()
            np.save(plain, column)
            made = b"\x93NUMPY" + version + length + header + column.astype("<f8").tobytes()
            archive.writestr(f"{name}.npy", made if name == "x" else plain.getvalue())
    return file.getvalue()


def bad_zip(rng: random.Random) -> bytes:
    """An archive whose structure lies."""
    data = bytearray(npz(arrays_of(table(rng)), rng.random() < 0.5))
    choice = rng.randrange(7)
    central = data.find(b"PK\x01\x02")
    if choice == 0:  # the sizes of the first array
        data[central + 20 : central + 28] = struct.pack(
            "<II", *(rng.choice((0, 1, 2**31, 2**32 - 1)) for _ in range(2))
        )
    elif choice == 1:  # how it is packed, encryption included
        data[central + 8 : central + 12] = rng.randbytes(4)
    elif choice == 2:
        data[central + 42 : central + 46] = rng.randbytes(4)
    elif choice == 3:
        end = data.find(b"PK\x05\x06")
        data[end + 8 : end + 20] = rng.randbytes(12)
    elif choice == 4:
        file = io.BytesIO(bytes(data))
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(rng.choice(("x.npy", "x", "y.npy")), b"again")
        return file.getvalue()
    elif choice == 5:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name in ("x", "z", "y"):
                archive.writestr(f"{name}.npy", rng.choice((b"", b"\0" * (1 << 24), b"\x93NUMPY", b"text")))
        return file.getvalue()
    else:
        file = io.BytesIO()
        np.save(file, np.arange(60))
        return file.getvalue()
    return bytes(data)


# -- Parquet -----------------------------------------------------------------------------------------------


def parquet(columns: dict[str, Any], rng: random.Random | None = None) -> bytes:
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    made = pyarrow.table(columns)
    if rng is None:
        pyarrow.parquet.write_table(made, file)
    else:
        pyarrow.parquet.write_table(
            made,
            file,
            compression=rng.choice(("snappy", "gzip", "zstd", "none")),
            row_group_size=rng.choice((5, 100)),
            version=rng.choice(("1.0", "2.4", "2.6")),
            use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(("1.0", "2.0")),
        )
    return file.getvalue()


def good_parquet(rng: random.Random) -> bytes:
    import pyarrow as pa

    columns: dict[str, Any] = dict(table(rng))
    for name in ("x", "z", "y"):
        kind = rng.choice(
            (
                pa.int8(),
                pa.int16(),
                pa.int32(),
                pa.int64(),
                pa.float32(),
                pa.float64(),
                pa.decimal128(20, 3),
                "dictionary",
            )
        )
        made = pa.array(columns[name], pa.int64())
        if kind == "dictionary":
            columns[name] = made.dictionary_encode()
        elif isinstance(kind, pa.Decimal128Type):
            columns[name] = pa.array([Decimal(value) for value in columns[name]], kind)
        else:
            columns[name] = made.cast(kind)
    if rng.random() < 0.3:
        columns["z"] = pa.array([bool(value) for value in table_of(columns["z"])])
    if rng.random() < 0.5:
        columns["id"] = pa.array(
            [f"m{value}" for value in columns["id"]], rng.choice((pa.string(), pa.large_string()))
        )
    if rng.random() < 0.3:
        start = datetime(2024, 1, 31)
        columns["step"] = pa.array([start + timedelta(hours=value) for value in columns["step"]])
    columns["note"] = pa.array([None, *(["text"] * (len(columns["step"]) - 1))])
    return parquet(columns, rng)


def table_of(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def bad_parquet(rng: random.Random) -> tuple[str, bytes]:
    import pyarrow as pa

    columns: dict[str, Any] = dict(table(rng))
    name = rng.choice(("x", "z", "y"))
    numbers = [abs(value) for value in columns[name]]
    count = len(numbers)
    kinds: dict[str, Callable[[], Any]] = {
        "moments": lambda: pa.array([datetime(2024, 1, 1) + timedelta(value) for value in numbers]),
        "dates": lambda: pa.array([date(2024, 1, 1) + timedelta(value) for value in numbers]),
        "spans": lambda: pa.array([timedelta(value) for value in numbers]),
        "times": lambda: pa.array([datetime(2024, 1, 1, value % 24).time() for value in numbers]),
        "long decimals": lambda: pa.array(
            [Decimal(2**53 + 1), *map(Decimal, numbers[1:])], pa.decimal128(30, 0)
        ),
        "longer decimals": lambda: pa.array(
            [Decimal(10) ** 60 + 1, *map(Decimal, numbers[1:])], pa.decimal256(70, 0)
        ),
        "lists": lambda: pa.array([[value] for value in numbers]),
        "records": lambda: pa.array([{"v": value} for value in numbers]),
        "a null": lambda: pa.array([None, *numbers[1:]]),
        "a null beside a large number": lambda: pa.array([None, 2**53 + 1, *numbers[2:]]),
        "nothing but nulls": lambda: pa.nulls(count),
        "text": lambda: pa.array([str(value) for value in numbers]),
        "bytes": lambda: pa.array([str(value).encode() for value in numbers]),
        "nan": lambda: pa.array([float("nan"), *map(float, numbers[1:])]),
        "infinity": lambda: pa.array([float("inf"), *map(float, numbers[1:])]),
        "a null truth": lambda: pa.array([None, *(value > 3 for value in numbers[1:])]),
        "text in a dictionary": lambda: pa.array([str(value) for value in numbers]).dictionary_encode(),
        "int64 beyond": lambda: pa.array([2**53 + 1, *numbers[1:]]),
        "uint64 beyond": lambda: pa.array([2**64 - 1, *numbers[1:]], pa.uint64()),
        "a map": lambda: pa.array([[("k", value)] for value in numbers], pa.map_(pa.string(), pa.int64())),
        "no rows": lambda: None,
        "nested name": lambda: None,
    }
    kind = rng.choice(list(kinds))
    if kind == "no rows":
        columns = {key: pa.array([], pa.int64()) for key in columns}
    elif kind == "nested name":
        columns[name] = pa.array([{"x": value, "y": value} for value in numbers])
    else:
        columns[name] = kinds[kind]()
    return kind, parquet(columns)


def bad_label_parquet(rng: random.Random) -> bytes:
    import pyarrow as pa

    columns: dict[str, Any] = dict(table(rng))
    name = rng.choice(("id", "step"))
    values = columns[name]
    columns[name] = rng.choice(
        (
            pa.array([None, *values[1:]]),
            pa.array([None, *map(str, values[1:])]),
            pa.array([[value] for value in values]),
            pa.array([{"v": value} for value in values]),
            pa.nulls(len(values)),
            pa.array([float("nan"), *map(float, values[1:])]),
            pa.array([str(value).encode() for value in values]),
            pa.array(["", *map(str, values[1:])]),
            pa.array([None, *(datetime(2024, 1, 1) + timedelta(value) for value in values[1:])]),
        )
    )
    return parquet(columns)


# -- what is no file ---------------------------------------------------------------------------------------


def no_file(rng: random.Random, folder: Path) -> tuple[str, Path]:
    suffix = rng.choice((".csv", ".npz", ".parquet"))
    path = folder / f"data{suffix}"
    kind = rng.choice(
        ("pipe", "device", "folder", "socket", "nothing", "empty", "huge", "link in a circle", "long name")
    )
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to(rng.choice(("/dev/zero", "/dev/null", "/dev/random", "/dev/full")))
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif kind == "empty":
        path.touch()
    elif kind == "huge":
        with open(path, "wb") as file:
            file.truncate(1 << 42)
    elif kind == "link in a circle":
        path.symlink_to(path)
    elif kind == "long name":
        path = folder / ("n" * 300 + suffix)
    return kind, path


def make(number: int, seed: int, folder: Path) -> Case:
    """The case of a number; a fifth of them are good files."""
    rng = random.Random(f"{seed}/{number}")
    ids, order = rng.choice(((None, None), ("id", None), ("id", "step"), ("id", "step")))
    if number % 5 == 0:
        kind = rng.choice(("CSV", "CSV", "NPZ", "Parquet"))
        if kind == "CSV":
            return _written(f"good {kind}", folder / "data.csv", good_csv(rng), True, ids, order)
        if kind == "NPZ":
            data, whole = good_npz(rng)
            return _written(
                f"good {kind}", folder / "data.npz", data, True, *((None, None) if whole else (ids, order))
            )
        return _written(f"good {kind}", folder / "data.parquet", good_parquet(rng), True, ids, order)
    kind = rng.choices(list(BAD), [weight for weight, _, _ in BAD.values()])[0]
    _, suffix, write = BAD[kind]
    if write is None:
        _, path = no_file(rng, folder)
        return Case(kind, path, False, ids, order)
    data = write(rng)
    data = data[1] if isinstance(data, tuple) else data
    if "labels" in kind:
        ids, order = "id", "step"
    return _written(kind, folder / f"data{suffix}", data, False, ids, order)


#: How often, the ending of the file's name, and what makes its content; None is something else than a file.
BAD: dict[str, tuple[int, str, Callable[[random.Random], Any] | None]] = {
    "CSV, bad cell": (12, ".csv", bad_cell),
    "CSV, bad labels": (3, ".csv", bad_label),
    "CSV, bad header": (4, ".csv", bad_header),
    "CSV, bad rows": (5, ".csv", bad_row),
    "CSV, other encoding": (2, ".csv", other_encoding),
    "CSV, packed": (2, ".csv", packed),
    "CSV, damaged": (
        12,
        ".csv",
        lambda rng: damaged(rng, good_csv(rng) if rng.random() < 0.3 else good_plain(rng)),
    ),
    "noise": (1, ".csv", lambda rng: rng.randbytes(rng.randint(1, 400))),
    "noise as NPZ": (1, ".npz", lambda rng: b"PK\x03\x04" + rng.randbytes(rng.randint(1, 400))),
    "noise as Parquet": (1, ".parquet", lambda rng: b"PAR1" + rng.randbytes(rng.randint(1, 400)) + b"PAR1"),
    "NPZ, bad array": (8, ".npz", bad_array),
    "NPZ, bad labels": (3, ".npz", bad_label_array),
    "NPZ, bad array header": (5, ".npz", bad_npy_header),
    "NPZ, bad archive": (4, ".npz", bad_zip),
    "NPZ, damaged": (8, ".npz", lambda rng: damaged(rng, good_npz(rng)[0])),
    "Parquet, bad column": (7, ".parquet", bad_parquet),
    "Parquet, bad labels": (3, ".parquet", bad_label_parquet),
    "Parquet, damaged": (9, ".parquet", lambda rng: damaged(rng, good_parquet(rng))),
    "CSV as NPZ": (1, ".npz", good_plain),
    "CSV as Parquet": (1, ".parquet", good_plain),
    "Parquet as CSV": (1, ".csv", good_parquet),
    "no file": (3, "", None),
}


def _written(kind: str, path: Path, data: bytes, good: bool, ids: str | None, order: str | None) -> Case:
    path.write_bytes(data)
    return Case(kind, path, good, ids, order)
