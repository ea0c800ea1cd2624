"""Files: what is read, and the one sentence that names file, row or column and the fix."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from weights2code.data import csv_table
from weights2code.data.tables import read_columns
from weights2code.errors import InputError


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
    monkeypatch.setattr(csv_table, "BLOCK", 7)
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
        ("x,y\n1,red\n", ("line 2", "'y'", "'red'", "encode")),
        ("x;y\n1;3,5\n", ("line 2", "'3,5'", "decimal point")),
        ("x,y\n1,\n", ("line 2", "'y'", "missing", "fill")),
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
    ],
)
def test_bad_csv_is_refused_in_one_sentence(tmp_path: Path, text: str | bytes, parts: tuple[str, ...]):
    sentence = refusal(csv_file(tmp_path, text))
    for part in parts:
        assert part in sentence


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
    assert "encode" in refusal(path)
    assert "did you mean" in refusal(path, ("yy", "x"))
