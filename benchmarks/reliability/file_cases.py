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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet


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
VALUES = ("x", "z", "y")


def table(rng: random.Random) -> Table:
    """Rows of a log: an id, a step, two inputs and what follows from them."""
    sequences, length = rng.randint(3, 6), rng.randint(10, 14)
    found: Table = {name: [] for name in ("id", "step", *VALUES)}
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
    "nan", "", "now", "today", "NaT", "1_0", "\u0661", "inf", "2024-01-31", "x", "0x1", "NaN", "infinity",
)  # fmt: skip
BAD_IDS = ("", " ", "a\x00", "x" * 5000)
FOREIGN = (b'"', b",", b"\n", b"\r", b";", b"\x00", b"-", b".", b"e", b"_", b"\xef\xbb\xbf", b" ")


def csv_text(cells: list[list[str]], delimiter: str = ",", end: str = "\n") -> str:
    return end.join(delimiter.join(row) for row in cells) + end


def cells_of(rng: random.Random) -> list[list[str]]:
    rows = table(rng)
    return [list(rows), *([str(value) for value in row] for row in zip(*rows.values(), strict=True))]


def good_plain(rng: random.Random) -> bytes:
    return csv_text(cells_of(rng)).encode()


def good_csv(rng: random.Random) -> bytes:
    """A table as programs and people write it."""
    cells = cells_of(rng)
    for row in cells[1:]:
        for place in (2, 4):
            if rng.random() < 0.3:
                text = rng.choice(GOOD_NUMBERS).format(row[place])
                row[place] = text.replace("+-", "-").replace("00-", "-00")
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
    if delimiter != ",":
        quoted = () if delimiter == "\t" else ('"',)
        cells = [
            [cell if any(q in cell for q in quoted) else cell.replace(delimiter, " ") for cell in row]
            for row in cells
        ]
    text = csv_text(cells, delimiter, rng.choice(("\n", "\n", "\r\n", "\r")))
    if rng.random() < 0.2:
        text = text.rstrip("\r\n")
    elif rng.random() < 0.2:
        text += rng.choice(("\n", "\r\n\r\n", "\n\n\n"))
    data = (("\ufeff" if rng.random() < 0.2 else "") + text).encode()
    return gzip.compress(data, 1) if rng.random() < 0.1 else data


def bad_cell(rng: random.Random) -> bytes:
    cells = cells_of(rng)
    cells[rng.randrange(1, len(cells))][rng.choice((2, 3, 4))] = rng.choice(BAD_CELLS)
    return csv_text(cells, rng.choice(",,;")).encode()


def bad_label(rng: random.Random) -> bytes:
    cells, place = cells_of(rng), rng.randrange(2)
    cells[rng.randrange(1, len(cells))][place] = rng.choice(BAD_ORDERS if place else BAD_IDS)
    return csv_text(cells).encode()


def bad_header(rng: random.Random) -> bytes:
    return (rng.choice(BAD_HEADERS) + "\n" + csv_text(cells_of(rng)[1:])).encode()


def bad_row(rng: random.Random) -> bytes:
    """Rows that are not cut like the header."""
    cells, text = cells_of(rng), csv_text
    row, place = rng.randrange(1, len(cells)), rng.randrange(5)
    before, one, after = cells[:row], cells[row], cells[row + 1 :]
    longer = [*one[:place], one[place] + "," * rng.randrange(1, 3), *one[place + 1 :]]
    ways = (
        text([*before, [*one[:place], *one[place + 1 :]], *after]),
        text([*before, [*one[:place], "1", *one[place:]], *after]),
        text(cells[:1]) + text(cells[1:], rng.choice(";\t|")),
        text(before) + text([one], ";") + text(after),
        text([*before, [*one[:2], '"' + one[2], *one[3:]], *after]),
        text(cells[:1]),
        text([[line[2]] for line in cells]),
        text([*before, longer, *after]),
        text(cells[: rng.randrange(1, 8)]),
        text(cells).replace(",", rng.choice((" , ", ",,"))),
    )
    return rng.choice(ways).encode()


def other_encoding(rng: random.Random) -> bytes:
    cells = [[*row, "\u00fcber" if i else "m\u00e9mo"] for i, row in enumerate(cells_of(rng))]
    coding = rng.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-16-be"))
    return csv_text(cells).encode(coding)


def packed(rng: random.Random) -> bytes:
    """Gzip that is damaged, or that unpacks to far more than it is."""
    choice = rng.randrange(6)
    if choice == 3:
        return gzip.compress(b"id,step,x,z,y\n" + b"1" * (1 << 25), 1)
    if choice == 4:
        return gzip.compress(b"x," * (1 << 24), 1)
    once = gzip.compress(good_plain(rng), 1)
    return gzip.compress(once) if choice == 5 else damaged(rng, once)


def damaged(rng: random.Random, data: bytes) -> bytes:
    """A file with flipped, lost, repeated or foreign bytes, or a part of it."""
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at, far = rng.randrange(len(data) or 1), rng.randint(1, 40)
        one = data[at : at + 1]
        before, after = data[:at], data[at + 1 :]
        data = rng.choice(
            (
                before + bytes(byte ^ 1 << rng.randrange(8) for byte in one) + after,
                before + rng.randbytes(len(one)) + after,
                before + data[at + far :],
                data[: at + far] + data[at:],
                before + rng.randbytes(rng.randint(1, 8)) + data[at:],
                before + rng.choice(FOREIGN) + data[at:],
                before if rng.random() < 0.3 else data,
            )
        )
    return data


# -- NPZ ---------------------------------------------------------------------------------------------------


def arrays_of(rng: random.Random) -> dict[str, np.ndarray]:
    return {name: np.array(values) for name, values in table(rng).items()}


def npz(arrays: dict[str, np.ndarray], packed: bool = False) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def good_npz(rng: random.Random, whole: bool = False) -> bytes:
    """Arrays of any kind of number; `whole` are sequences (n, T)."""
    arrays = arrays_of(rng)
    if whole:
        arrays = {name: column.reshape(max(arrays["id"]) + 1, -1) for name, column in arrays.items()}
    for name in VALUES:
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
    return npz(arrays, rng.random() < 0.5)


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
BAD_LABELS = ("NaT", "nan", "complex", "structured", "objects", "infinity", "void", "no rows", "shorter")


def bad_array(rng: random.Random) -> bytes:
    arrays, name = arrays_of(rng), rng.choice(VALUES)
    arrays[name] = BAD_ARRAYS[rng.choice(list(BAD_ARRAYS))](np.abs(arrays[name]))
    return npz(arrays, rng.random() < 0.3)


def bad_label_array(rng: random.Random) -> bytes:
    arrays, name = arrays_of(rng), rng.choice(("id", "step"))
    arrays[name] = BAD_ARRAYS[rng.choice(BAD_LABELS)](arrays[name])
    return npz(arrays)


def bad_npy_header(rng: random.Random) -> bytes:
    """An array whose header says something else than its bytes."""
    rows, file = arrays_of(rng), io.BytesIO()
    count = len(rows["x"])
    said = "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}"
    headers = [
        *(said.format("'<f8'", "False", shape) for shape in (
            f"({10 ** rng.randint(3, 18)},)", f"({2**40}, {2**40})", f"(-{count},)", f"({count}, 0)",
            f"({count}.0,)", "(True,)", f"[{count}]", "()", "None"
        )),
        *(said.format(kind, "False", f"({count},)") for kind in (
            "'|O'", "'<f16'", "[('a', '<f8')]", "''", "'<U2000000000'",
            "__import__('os').system('false')", "1", "'<M8[D]'"
        )),
        said.format("'<f8'", "'no'", f"({count},)"), "{'descr': '<f8', 'fortran_order': False}",
        "{" * 500, "(" * 3000, "'" * 20, "[" * 90 + "]" * 90, "{'descr': 1L}", "", "\xff" * 30, "lambda: 0",
    ]  # fmt: skip
    header = rng.choice(headers).encode("latin-1")
    version = rng.choice((b"\x01\x00",) * 6 + (b"\x02\x00", b"\x03\x00", b"\x09\x09"))
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
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
    """An archive whose structure lies: sizes of an array, how it is packed and encrypted, where it begins,
    what the end says; names that come twice, entries that are no arrays, and one array alone."""
    data, file = npz(arrays_of(rng), rng.random() < 0.5), io.BytesIO()
    entry, end = data.find(b"PK\x01\x02"), data.find(b"PK\x05\x06")
    sizes = struct.pack("<II", *(rng.choice((0, 1, 2**31, 2**32 - 1)) for _ in range(2)))
    lies = ((entry + 20, sizes), (entry + 8, rng.randbytes(4)), (entry + 42, rng.randbytes(4)))
    choice = rng.randrange(7)
    if choice < 4:
        at, lie = (*lies, (end + 8, rng.randbytes(12)))[choice]
        return data[:at] + lie + data[at + len(lie) :]
    if choice == 6:
        np.save(file, np.arange(60))
        return file.getvalue()
    file.write(data if choice == 4 else b"")
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        if choice == 4:
            archive.writestr(rng.choice(("x.npy", "x", "y.npy")), b"again")
        for name in VALUES if choice == 5 else ():
            entries = (b"", b"\0" * (1 << 24), b"\x93NUMPY", b"text")
            archive.writestr(f"{name}.npy", rng.choice(entries))
    return file.getvalue()


# -- Parquet -----------------------------------------------------------------------------------------------


def parquet(columns: dict[str, Any], **how: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file, **how)
    return file.getvalue()


NUMBERS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(20, 3)),
    "dictionary",
)


def good_parquet(rng: random.Random) -> bytes:
    rows = table(rng)
    columns: dict[str, Any] = dict(rows)
    for name in VALUES:
        kind, made = rng.choice(NUMBERS), pa.array(rows[name], pa.int64())
        if kind == "dictionary":
            columns[name] = made.dictionary_encode()
        elif isinstance(kind, pa.Decimal128Type):
            columns[name] = pa.array([Decimal(value) for value in rows[name]], kind)
        else:
            columns[name] = made.cast(kind)
    if rng.random() < 0.3:
        columns["z"] = pa.array([bool(value) for value in rows["z"]])
    if rng.random() < 0.5:
        texts = [f"m{value}" for value in rows["id"]]
        columns["id"] = pa.array(texts, rng.choice((pa.string(), pa.large_string())))
    if rng.random() < 0.3:
        columns["step"] = pa.array([datetime(2024, 1, 31) + timedelta(hours=value) for value in rows["step"]])
    columns["note"] = pa.array([None, *(["text"] * (len(rows["step"]) - 1))])
    return parquet(
        columns,
        compression=rng.choice(("snappy", "gzip", "zstd", "none")),
        row_group_size=rng.choice((5, 100)),
        version=rng.choice(("1.0", "2.4", "2.6")),
        use_dictionary=rng.random() < 0.5,
        data_page_version=rng.choice(("1.0", "2.0")),
    )


def _first(value: Any, kind: Any = None, like: Callable[[int], Any] = int) -> Callable[[list[int]], Any]:
    """A column that begins with a value of its own."""
    return lambda numbers: pa.array([value, *map(like, numbers[1:])], kind)


def _all(like: Callable[[int], Any], kind: Any = None) -> Callable[[list[int]], Any]:
    return lambda numbers: pa.array([like(value) for value in numbers], kind)


def _day(value: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(value)


BAD_COLUMNS: dict[str, Callable[[list[int]], Any]] = {
    "moments": _all(_day),
    "dates": _all(lambda value: date(2024, 1, 1) + timedelta(value)),
    "spans": _all(timedelta),
    "times": _all(lambda value: datetime(2024, 1, 1, value % 24).time()),
    "long decimals": _first(Decimal(2**53 + 1), pa.decimal128(30, 0), Decimal),
    "longer decimals": _first(Decimal(10) ** 60 + 1, pa.decimal256(70, 0), Decimal),
    "lists": _all(lambda value: [value]),
    "records": _all(lambda value: {"v": value}),
    "a nested name": _all(lambda value: {"x": value, "y": value}),
    "a null": _first(None),
    "a null beside a large number": lambda numbers: pa.array([None, 2**53 + 1, *numbers[2:]]),
    "nothing but nulls": lambda numbers: pa.nulls(len(numbers)),
    "text": _all(str),
    "bytes": _all(lambda value: str(value).encode()),
    "nan": _first(float("nan"), None, float),
    "infinity": _first(float("inf"), None, float),
    "a null truth": _first(None, None, lambda value: value > 3),
    "text in a dictionary": lambda numbers: pa.array(list(map(str, numbers))).dictionary_encode(),
    "int64 beyond": _first(2**53 + 1),
    "uint64 beyond": _first(2**64 - 1, pa.uint64()),
    "a map": _all(lambda value: [("k", value)], pa.map_(pa.string(), pa.int64())),
}
BAD_LABEL_COLUMNS = (
    *(BAD_COLUMNS[kind] for kind in ("a null", "lists", "records", "nothing but nulls", "nan", "bytes")),
    *(_first(None, None, str), _first("", None, str), _first(None, None, _day)),
)


def bad_parquet(rng: random.Random) -> bytes:
    columns: dict[str, Any] = dict(table(rng))
    kind, name = rng.choice(("no rows", *BAD_COLUMNS)), rng.choice(VALUES)
    if kind == "no rows":
        return parquet({key: pa.array([], pa.int64()) for key in columns})
    return parquet(columns | {name: BAD_COLUMNS[kind]([abs(value) for value in columns[name]])})


def bad_label_parquet(rng: random.Random) -> bytes:
    columns: dict[str, Any] = dict(table(rng))
    name = rng.choice(("id", "step"))
    return parquet(columns | {name: rng.choice(BAD_LABEL_COLUMNS)(columns[name])})


# -- what is no file ---------------------------------------------------------------------------------------


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _huge(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 42)


NO_FILES: tuple[Callable[[Path], Any], ...] = (
    os.mkfifo,
    *(partial(os.symlink, device) for device in ("/dev/zero", "/dev/null", "/dev/random", "/dev/full")),
    os.mkdir,
    _socket,
    Path.touch,
    _huge,
    lambda path: path.symlink_to(path),
    lambda path: None,
)


def no_file(rng: random.Random, folder: Path) -> Path:
    """Something else in the place of a file, or a name that is too long."""
    suffix = rng.choice((".csv", ".npz", ".parquet"))
    if rng.random() < 0.1:
        return folder / ("n" * 300 + suffix)
    path = folder / f"data{suffix}"
    rng.choice(NO_FILES)(path)
    return path


#: How often, the ending of the file's name, and what makes its content; None is something else than a file.
BAD: dict[str, tuple[int, str, Callable[[random.Random], bytes] | None]] = {
    "CSV, bad cell": (12, ".csv", bad_cell),
    "CSV, bad labels": (3, ".csv", bad_label),
    "CSV, bad header": (4, ".csv", bad_header),
    "CSV, bad rows": (5, ".csv", bad_row),
    "CSV, other encoding": (2, ".csv", other_encoding),
    "CSV, packed": (2, ".csv", packed),
    "CSV, damaged": (9, ".csv", lambda rng: damaged(rng, good_plain(rng))),
    "CSV of all kinds, damaged": (3, ".csv", lambda rng: damaged(rng, good_csv(rng))),
    "noise": (1, ".csv", lambda rng: rng.randbytes(rng.randint(1, 400))),
    "noise as NPZ": (1, ".npz", lambda rng: b"PK\x03\x04" + rng.randbytes(rng.randint(1, 400))),
    "noise as Parquet": (1, ".parquet", lambda rng: b"PAR1" + rng.randbytes(rng.randint(1, 400)) + b"PAR1"),
    "NPZ, bad array": (8, ".npz", bad_array),
    "NPZ, bad labels": (3, ".npz", bad_label_array),
    "NPZ, bad array header": (5, ".npz", bad_npy_header),
    "NPZ, bad archive": (4, ".npz", bad_zip),
    "NPZ, damaged": (8, ".npz", lambda rng: damaged(rng, good_npz(rng, rng.random() < 0.4))),
    "Parquet, bad column": (7, ".parquet", bad_parquet),
    "Parquet, bad labels": (3, ".parquet", bad_label_parquet),
    "Parquet, damaged": (9, ".parquet", lambda rng: damaged(rng, good_parquet(rng))),
    "CSV as NPZ": (1, ".npz", good_plain),
    "CSV as Parquet": (1, ".parquet", good_plain),
    "Parquet as CSV": (1, ".csv", good_parquet),
    "no file": (3, "", None),
}
GOOD: dict[str, tuple[int, str, Callable[[random.Random], bytes]]] = {
    "good CSV": (10, ".csv", good_csv),
    "good NPZ": (3, ".npz", good_npz),
    "good NPZ of sequences": (2, ".npz", lambda rng: good_npz(rng, True)),
    "good Parquet": (5, ".parquet", good_parquet),
}


def make(number: int, seed: int, folder: Path) -> Case:
    """The case of a number; a fifth of them are good files."""
    rng = random.Random(f"{seed}/{number}")
    good = number % 5 == 0
    kinds = GOOD if good else BAD
    kind = rng.choices(list(kinds), [weight for weight, _, _ in kinds.values()])[0]
    ids, order = rng.choice(((None, None), ("id", None), ("id", "step"), ("id", "step")))
    if "labels" in kind:
        ids, order = "id", "step"
    if "of sequences" in kind:
        ids, order = None, None
    _, suffix, write = kinds[kind]
    path = folder / f"data{suffix}"
    if write is None:
        path = no_file(rng, folder)
    else:
        path.write_bytes(write(rng))
    return Case(kind, path, good, ids, order)
