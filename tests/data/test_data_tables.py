"""Files: what is read, and the one sentence that names file, row or column and the fix."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from weights2code.data import csv_table, limits, tables
from weights2code.data.tables import open_table
from weights2code.errors import InputError
from weights2code.roles import Roles


def read_columns(path: Path, numbers: tuple[str, ...], labels: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Columns that hold numbers and no gaps, and labels."""
    table = open_table(path, Roles(numbers, order=labels[0] if labels else None))
    found = {}
    for name in numbers:
        column = table.column(name)
        if column.gaps:
            raise InputError(f"{column.gaps.first}, column {name!r} holds a missing value")
        if column.texts:
            raise InputError(f"{path}, column {name!r} holds texts")
        found[name] = column.take(slice(None)).reshape(table.shape)
    return found | {name: table.label(name) for name in labels}


def csv_file(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(path: Path, numbers: tuple[str, ...] = ("x", "y")) -> str:
    with pytest.raises(InputError) as caught:
        read_columns(path, numbers)
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    return text


def test_numbers_and_labels_are_read(tmp_path: Path):
    path = csv_file(tmp_path, "id,x,y\na,1,2.5\nb,-3,1e2\n")
    found = read_columns(path, ("y", "x"), ("id",))
    assert found["x"].tolist() == [1, -3]
    assert found["y"].tolist() == [2.5, 100]
    assert found["id"].tolist() == ["a", "b"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str):
    path = csv_file(tmp_path, f"x{delimiter}y\n1{delimiter}2\n")
    assert read_columns(path, ("x", "y"))["y"].tolist() == [2]


def test_what_spreadsheets_write_is_read(tmp_path: Path):
    text = '\ufeff"x", y \r\n"1", 2 \r\n\r\nTRUE,False\r\n'
    found = read_columns(csv_file(tmp_path, text), ("x", "y"))
    assert found["x"].tolist() == [1, 1]
    assert found["y"].tolist() == [2, 0]


def test_gzip_is_unpacked(tmp_path: Path):
    path = csv_file(tmp_path, gzip.compress(b"x,y\n1,2\n"))
    assert read_columns(path, ("x", "y"))["y"].tolist() == [2]
    assert "damaged gzip file" in refusal(csv_file(tmp_path, gzip.compress(b"x,y\n1,2\n")[:-6]))
    assert "spreadsheet or a ZIP archive" in refusal(csv_file(tmp_path, b"PK\x03\x04 and more"))


def test_an_array_without_a_name_is_refused(tmp_path: Path):
    path = tmp_path / "single.npz"
    with open(path, "wb") as file:
        np.save(file, np.arange(50))
    with pytest.raises(InputError, match="a single array without a name"):
        read_columns(path, ("x",))


def test_blocks_are_put_together_and_lines_are_counted_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", 30)
    rows = [f"{i},{2 * i}" for i in range(50)]
    path = csv_file(tmp_path, "\n".join(["x,y", *rows]))
    assert read_columns(path, ("x", "y"))["y"].tolist() == [2 * i for i in range(50)]
    rows[30] = "oops,1"
    assert "line 32" in refusal(csv_file(tmp_path, "\n".join(["x,y", *rows])))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("is empty",)),
        ("x,y\n", ("no rows",)),
        ("x,y\n1,2\n3\n", ("line 3", "1 cells", "2")),
        ("x,y\n1,2\n3,4,5\n", ("line 3", "3 cells")),
        ("x,y\n1,red\n", ("holds texts",)),
        ("x;y\n1;1,250\n", ("line 2", "'1,250'", "--decimal comma")),
        ("x,y\n1,\n", ("line 2", "'y'", "missing")),
        ("x,y\n1,NaN\n", ("line 2", "'y'", "missing")),
        ("x,y\n1,n/a\n", ("line 2", "'y'", "missing")),
        ("x,y\n1,-inf\n", ("line 2", "'y'", "infinite")),
        ("x,y\n1,1e400\n", ("line 2", "'y'", "infinite")),
        ("3,4\n1,2\n", ("no column 'x'", "first line holds numbers", "header")),
        ("\n\n", ("no column 'x'", "first line is empty", "header")),
        ("x,Y\n1,2\n", ("no column 'y'", "did you mean 'Y'")),
        ("x,temperature\n1,2\n", ("no column 'y'", "'temperature'")),
        ("x,y,y\n1,2,3\n", ("2 columns named 'y'", "rename")),
        (b"x,y\n\x80\x81\xff,2\n", ("UTF-8",)),
        (b"\x00\x01\x02\x00garbage\x00", ("not a text file",)),
        ("x,y\n1,2\n1,\x00\n", ("not a text file",)),
        ("x,y\n1,1_000\n", ("line 2", "'y'", "'1_000'", "digits 0 to 9")),
        ("x,y\n1,\u0661\n", ("line 2", "'y'", "digits 0 to 9")),
        ("x,y\n1,\uff11\n", ("line 2", "'y'", "digits 0 to 9")),
        ("x,y\n1,\u00a01\n", ("line 2", "'y'", "encode")),
        ("x,y\n1,1\x1c\n", ("line 2", "'y'", "encode")),
        ("x,y\n1,0x10\n2,3\n", ("line 2", "'y'", "encode")),
        ("x,y\n1,+Infinity\n", ("line 2", "'y'", "infinite")),
        ("x,y\n1,-nan\n", ("line 2", "'y'", "missing")),
        ("x,y\n1,9007199254740993\n", ("line 2", "'y'", "2^53")),
        ("x,y\n1,-9007199254740993.0\n", ("line 2", "'y'", "2^53")),
        ("x,y\n1,1e-400\n", ("line 2", "'y'", "too small")),
        ('x,y\n1,"1"2\n', ("line 2", "quote")),
        ('x,y\n1,2\n1,"2\n', ("line 3", "quote")),
        ('x,"y\n1,2\n', ("line 1", "quote")),
        ("x,y\n1;2\n", ("line 2", "not by ';' and by ','")),
        ("x,y\n" + "1" * 5_000_000, ("line 2", "longer than")),
        ("x,y\n1," + "1" * 200_000 + "\n", ("line 2", "too long")),
    ],
)
def test_bad_csv_is_refused_in_one_sentence(tmp_path: Path, text: str | bytes, parts: tuple[str, ...]):
    sentence = refusal(csv_file(tmp_path, text))
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("+1", 1.0), (" 1\t", 1.0), ("007", 7.0), (".5", 0.5), ("5.", 5.0), ("-0", 0.0), ("1E+2", 100.0),
        ("9007199254740992", 2.0**53), ("1180591620717411303424", 2.0**70), ("6.02e23", 6.02e23),
        ("0.1000000000000000055", 0.1), ("true", 1.0), ('"1"', 1.0), ("0e5", 0.0), ("1e-300", 1e-300),
    ],
)  # fmt: skip
def test_numbers_are_read_however_they_are_written(tmp_path: Path, cell: str, value: float):
    found = read_columns(csv_file(tmp_path, f"x,y\n2,{cell}\n"), ("x", "y"))
    assert found["y"].tolist() == [value]


def test_columns_that_nobody_asks_for_hold_anything(tmp_path: Path):
    text = 'x,"a;b;c;d",y,\n1,"two\nlines",2,nan\n3,"; ""so"" ;",4,1_0\nfive,,6,\n'
    with pytest.raises(InputError, match="line 5, column 'x' holds the text 'five'"):
        read_columns(csv_file(tmp_path, text), ("x", "y"))
    assert read_columns(csv_file(tmp_path, text), ("y",))["y"].tolist() == [2, 4, 6]


def test_labels_are_not_missing_and_not_endless(tmp_path: Path):
    for cell, part in (("", "missing"), ("a" * 1000, "1000 characters")):
        path = csv_file(tmp_path, f"id,x\na,1\n{cell},2\n")
        with pytest.raises(InputError, match=f"line 3, column 'id' holds .*{part}"):
            read_columns(path, ("x",), ("id",))


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_what_is_no_plain_file_is_refused(tmp_path: Path, suffix: str):
    pipe, device, sparse = (tmp_path / f"{name}{suffix}" for name in ("pipe", "device", "sparse"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    with open(sparse, "wb") as file:
        file.truncate(1 << 42)
    assert "is a pipe or a device" in refusal(pipe)
    assert "is a pipe or a device" in refusal(device)
    assert "is larger than 64 GiB" in refusal(sparse)


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(csv_table, "LARGEST", 1000)
    packed = gzip.compress(b"x,y\n" + b"\n" * 5000)
    assert "unpacks to more" in refusal(csv_file(tmp_path, packed))
    monkeypatch.setattr(tables, "LARGEST", 1000)
    np.savez_compressed(tmp_path / "data.npz", x=np.zeros(5000), y=np.zeros(5000))
    assert "unpacks to more" in refusal(tmp_path / "data.npz")
    monkeypatch.setattr(limits, "MOST_CELLS", 100)
    assert "more than 100 values" in refusal(csv_file(tmp_path, "x,y\n" + "1,2\n" * 60))


def test_random_bytes_are_refused(tmp_path: Path):
    for seed in range(20):
        noise = np.random.default_rng(seed).bytes(300)
        for name in ("data.csv", "data.npz", "data.parquet"):
            refusal(csv_file(tmp_path, noise, name))


def test_folders_and_missing_files_are_refused(tmp_path: Path):
    assert "is a folder" in refusal(tmp_path)
    assert "there is no file" in refusal(tmp_path / "nothing.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path):
    path = csv_file(tmp_path, "x,y\n1,2\n")
    path.chmod(0)
    assert "permission" in refusal(path)


def test_npz_columns_and_batches(tmp_path: Path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.arange(6).reshape(2, 3), y=np.ones((2, 3)))
    assert read_columns(path, ("x", "y"))["x"].shape == (2, 3)
    np.savez(path, x=np.arange(6), y=np.ones(5))
    assert "all be (rows,)" in refusal(path)
    np.savez(path, x=np.arange(2), y=np.array([1.0, np.inf]))
    assert "row 1" in refusal(path)


@pytest.mark.parametrize(
    ("column", "part"),
    [
        (np.array(["2024-01-01", "NaT"], "M8[D]"), "holds dates"),
        (np.array([1, 2], "m8[s]"), "spans of time"),
        (np.array([1, 2j]), "complex numbers"),
        (np.array([(1.0,), (2.0,)], dtype=[("v", "f8")]), "records"),
        (np.array(["1", "2"]), "numbers written as texts"),
        (np.array([b"1", b"2"]), "numbers written as texts"),
        (np.array(1.0), "must all be"),
        (np.zeros((1, 1, 2)), "must all be"),
        (np.zeros(0), "must all be"),
        (np.array([1, 2**53 + 1], np.uint64), "row 1, column 'x' .* 2\\^53"),
        (np.array([2**64 - 1, 1], np.uint64), "row 0, column 'x' .* 2\\^53"),
        (np.array([1, -(2**63) + 1]), "row 1, column 'x' .* 2\\^53"),
        (np.array([1, np.nan], np.float16), "row 1, column 'x' holds a missing value"),
    ],
)
def test_arrays_that_are_no_numbers_are_refused(tmp_path: Path, column: np.ndarray, part: str):
    path = tmp_path / "data.npz"
    np.savez(path, x=column, y=np.ones(2))
    with pytest.raises(InputError, match=part):
        read_columns(path, ("x", "y"))


def test_arrays_of_all_kinds_of_numbers_are_read(tmp_path: Path):
    path = tmp_path / "data.npz"
    for kind in ("?", "i1", "u8", ">i4", "f2", ">f8", "g"):
        np.savez(path, x=np.array([0, 1]).astype(kind), y=np.array([2**53, -(2**60)]))
        assert read_columns(path, ("x", "y"))["x"].tolist() == [0, 1]


def test_a_header_is_believed_as_far_as_there_are_bytes(tmp_path: Path):
    path, plain = tmp_path / "data.npz", io.BytesIO()
    np.save(plain, np.ones(2))
    for shape in (b"(2000000000000000000,), ", b"(-2,), ", b"(3,), ", b"(2, 1000000000000000), "):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", plain.getvalue().replace(b"(2,), ", shape, 1))
            archive.writestr("y.npy", plain.getvalue())
        assert "cannot be read as NPZ" in refusal(path)


def test_labels_of_arrays_can_be_told_apart(tmp_path: Path):
    path = tmp_path / "data.npz"
    for label in (np.array([1.0, np.nan]), np.array(["2024-01-01", "NaT"], "M8[D]"), np.array(["a", " "])):
        np.savez(path, x=np.ones(2), id=label)
        with pytest.raises(InputError, match="row 1, column 'id' holds a missing value"):
            read_columns(path, ("x",), ("id",))
    np.savez(path, x=np.ones(2), id=np.array([1j, 2j]))
    with pytest.raises(InputError, match="'id' holds no numbers, times or text"):
        read_columns(path, ("x",), ("id",))


def test_nothing_is_unpickled(tmp_path: Path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.array([{"a": 1}, None], dtype=object), y=np.ones(2))
    assert "cannot be read as NPZ" in refusal(path)


def test_parquet(tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    parquet.write_table(arrow.table({"x": [1, 2], "y": [0.5, 1.5], "id": ["a", "b"]}), path)
    found = read_columns(path, ("x", "y"), ("id",))
    assert found["x"].tolist() == [1, 2]
    assert list(found["id"]) == ["a", "b"]
    parquet.write_table(arrow.table({"x": [1, None], "y": [0.5, 1.5]}), path)
    assert "row 1, column 'x' holds a missing value" in refusal(path)
    parquet.write_table(arrow.table({"x": ["a", "b"], "y": [0.5, 1.5]}), path)
    assert "holds texts" in refusal(path)
    assert "did you mean" in refusal(path, ("yy", "x"))


def test_parquet_columns_that_are_no_numbers_are_refused(tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    columns = {
        "dates": arrow.array([datetime(2024, 1, 1), datetime(2024, 1, 2)]),
        "spans of time": arrow.array([timedelta(1), timedelta(2)]),
        "'[1.": arrow.array([[1.5], [2.5]]),
        "numbers written as texts": arrow.array(["1", "2"]),
        "row 1, column 'x' holds a missing value": arrow.array([True, None]),
        "2^53": arrow.array([Decimal(2**53 + 1), Decimal(1)], arrow.decimal128(20, 0)),
        "a whole number beyond": arrow.array([2**53 + 1, 1]),
    }
    for part, column in columns.items():
        parquet.write_table(arrow.table({"x": column, "y": [1, 2]}), path)
        assert part in refusal(path)
    parquet.write_table(
        arrow.table({"x": arrow.array([Decimal("0.1"), Decimal(3)]), "y": [True, False]}), path
    )
    found = read_columns(path, ("x", "y"))
    assert [found["x"].tolist(), found["y"].tolist()] == [[0.1, 3], [1, 0]]
