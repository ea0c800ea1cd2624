"""Files: what is read, by either reader, and the one sentence that names file, row or column and the fix."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import csv_columns, csv_table, file_source, from_file, limits, npz_table
from weights2code.data.date_forms import iso_times
from weights2code.data.tables import open_table
from weights2code.errors import InputError
from weights2code.language import Recurrence, Step, Var, integers
from weights2code.program import Program
from weights2code.roles import Roles


def read_columns(path: Path, numbers: tuple[str, ...], labels: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Columns that hold numbers and no gaps, and labels."""
    table = open_table(path, Roles(numbers, order=labels[0] if labels else None))
    found = {}
    for name in numbers:
        column = table.column(name)
        if column.gaps:
            place = table.place(int(np.argmax(column.missing())))
            raise InputError(f"{place}, column {name!r} holds a missing value")
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


# -- CSV -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "x", "y"),
    [
        ("id,x,y\na,1,2.5\nb,-3,1e2\n", [1, -3], [2.5, 100]),
        *((f"x{d}y\n1{d}2\n", [1], [2]) for d in ",;\t|"),
        ('\ufeff"x", y \r\n"1", 2 \r\n\r\nTRUE,False\r\n', [1, 1], [2, 0]),  # as spreadsheets write it
        (gzip.compress(b"x,y\n1,2\n", mtime=0), [1], [2]),
        *((f"x,y\n2,{cell}\n", [2], [value]) for cell, value in (
            ("+1", 1.0), (" 1\t", 1.0), ("007", 7.0), (".5", 0.5), ("5.", 5.0), ("-0", 0.0), ("1E+2", 100.0),
            ("9007199254740992", 2.0**53), ("1180591620717411303424", 2.0**70), ("6.02e23", 6.02e23),
            ("0.1000000000000000055", 0.1), ("true", 1.0), ('"1"', 1.0), ("0e5", 0.0), ("1e-300", 1e-300))),
    ],
)  # fmt: skip
def test_csv_is_read_however_it_is_written(tmp_path: Path, text: str | bytes, x: list, y: list):
    found = read_columns(csv_file(tmp_path, text), ("y", "x"))
    assert (found["x"].tolist(), found["y"].tolist()) == (x, y)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("is empty",)), ("x,y\n", ("no rows",)), ("x,y\n1,red\n", ("holds texts",)),
        ("x,y\n1,2\n3\n", ("line 3", "1 cells", "2")), ("x,y\n1,2\n3,4,5\n", ("line 3", "3 cells")),
        ("x;y\n1;1,250\n", ("line 2", "'1,250'", "--decimal comma")),
        *((f"x,y\n1,{gap}\n", ("line 2", "'y'", "missing")) for gap in ("", "NaN", "n/a", "-nan")),
        *((f"x,y\n1,{far}\n", ("line 2", "'y'", "infinite")) for far in ("-inf", "1e400", "+Infinity")),
        ("3,4\n1,2\n", ("no column 'x'", "first line holds numbers", "header")),
        ("\n\n", ("no column 'x'", "first line is empty", "header")),
        ("x,Y\n1,2\n", ("no column 'y'", "did you mean 'Y'")),
        ("x,temperature\n1,2\n", ("no column 'y'", "'temperature'")),
        ("x,y,y\n1,2,3\n", ("2 columns named 'y'", "rename")),
        (b"x,y\n\x80\x81\xff,2\n", ("UTF-8",)), (b"\x00\x01\x02\x00garbage\x00", ("not a text file",)),
        ("x,y\n1,2\n1,\x00\n", ("not a text file",)),
        *((f"x,y\n1,{odd}\n", ("line 2", "'y'", "digits 0 to 9")) for odd in ("1_000", "\u0661", "\uff11")),
        *((f"x,y\n1,{odd}\n", ("line 2", "'y'", "encode")) for odd in ("\u00a01", "1\x1c", "0x10\n2,3")),
        ("x,y\n1,9007199254740993\n", ("line 2", "'y'", "2^53")),
        ("x,y\n1,-9007199254740993.0\n", ("line 2", "'y'", "2^53")),
        ("x,y\n1,1e-400\n", ("line 2", "'y'", "too small")), ('x,y\n1,"1"2\n', ("line 2", "quote")),
        ('x,y\n1,2\n1,"2\n', ("line 3", "quote")), ('x,"y\n1,2\n', ("line 1", "quote")),
        ("x,y\n1;2\n", ("line 2", "not by ';' and by ','")),
        ("x,y\n" + "1" * 5_000_000, ("line 2", "longer than")),
        ("x,y\n1," + "1" * 200_000 + "\n", ("line 2", "too long")),
        (gzip.compress(b"x,y\n1,2\n", mtime=0)[:-6], ("damaged gzip file",)),
        (b"PK\x03\x04 and more", ("spreadsheet or a ZIP archive",)),
    ],
)  # fmt: skip
def test_bad_csv_is_refused_in_one_sentence(tmp_path: Path, text: str | bytes, parts: tuple[str, ...]):
    sentence = refusal(csv_file(tmp_path, text))
    for part in parts:
        assert part in sentence


def test_blocks_are_put_together_and_lines_are_counted_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", 30)
    rows = [f"{i},{2 * i}" for i in range(50)]
    path = csv_file(tmp_path, "\n".join(["x,y", *rows]))
    assert read_columns(path, ("x", "y"))["y"].tolist() == [2 * i for i in range(50)]
    rows[30] = "oops,1"
    assert "line 32" in refusal(csv_file(tmp_path, "\n".join(["x,y", *rows])))


def test_columns_that_nobody_asks_for_hold_anything_and_labels_something(tmp_path: Path):
    text = 'x,"a;b;c;d",y,\n1,"two\nlines",2,nan\n3,"; ""so"" ;",4,1_0\nfive,,6,\n'
    with pytest.raises(InputError, match="line 5, column 'x' holds the text 'five'"):
        read_columns(csv_file(tmp_path, text), ("x", "y"))
    assert read_columns(csv_file(tmp_path, text), ("y",))["y"].tolist() == [2, 4, 6]
    assert read_columns(csv_file(tmp_path, "id,x\na,1\nb,2\n"), ("x",), ("id",))["id"].tolist() == ["a", "b"]
    for cell, part in (("", "missing"), ("a" * 1000, "1000 characters")):
        path = csv_file(tmp_path, f"id,x\na,1\n{cell},2\n")
        with pytest.raises(InputError, match=f"line 3, column 'id' holds .*{part}"):
            read_columns(path, ("x",), ("id",))


# -- what is no file -----------------------------------------------------------------------------------------


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
    assert "is a folder" in refusal(tmp_path)
    assert "there is no file" in refusal(tmp_path / f"nothing{suffix}")
    for seed in range(20):
        refusal(csv_file(tmp_path, np.random.default_rng(seed).bytes(300), f"noise{suffix}"))
    if os.geteuid():  # root may read everything
        path = csv_file(tmp_path, "x,y\n1,2\n")
        path.chmod(0)
        assert "permission" in refusal(path)


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(csv_table, "LARGEST", 1000)
    assert "unpacks to more" in refusal(csv_file(tmp_path, gzip.compress(b"x,y\n" + b"\n" * 5000)))
    monkeypatch.setattr(npz_table, "LARGEST", 1000)
    np.savez_compressed(tmp_path / "data.npz", x=np.zeros(5000), y=np.zeros(5000))
    assert "unpacks to more" in refusal(tmp_path / "data.npz")
    monkeypatch.setattr(limits, "MOST_CELLS", 100)
    assert "more than 100 values" in refusal(csv_file(tmp_path, "x,y\n" + "1,2\n" * 60))


# -- arrays --------------------------------------------------------------------------------------------------


def npz(folder: Path, **columns: Any) -> Path:
    np.savez(folder / "data.npz", **columns)
    return folder / "data.npz"


def test_npz_columns_and_batches(tmp_path: Path):
    found = read_columns(npz(tmp_path, x=np.arange(6).reshape(2, 3), y=np.ones((2, 3))), ("x", "y"))
    assert found["x"].shape == (2, 3)
    assert "all be (rows,)" in refusal(npz(tmp_path, x=np.arange(6), y=np.ones(5)))
    assert "row 1" in refusal(npz(tmp_path, x=np.arange(2), y=np.array([1.0, np.inf])))
    for kind in ("?", "i1", "u8", ">i4", "f2", ">f8", "g"):
        path = npz(tmp_path, x=np.array([0, 1]).astype(kind), y=np.array([2**53, -(2**60)]))
        assert read_columns(path, ("x", "y"))["x"].tolist() == [0, 1]
    with open(tmp_path / "single.npz", "wb") as file:
        np.save(file, np.arange(50))
    with pytest.raises(InputError, match="a single array without a name"):
        read_columns(tmp_path / "single.npz", ("x",))
    # nothing is unpickled
    pickled = npz(tmp_path, x=np.array([{"a": 1}, None], dtype=object), y=np.ones(2))
    assert "cannot be read as NPZ" in refusal(pickled)


@pytest.mark.parametrize(
    ("column", "part"),
    [
        (np.array(["2024-01-01", "NaT"], "M8[D]"), "holds dates"), (np.zeros(0), "must all be"),
        (np.array([1, 2], "m8[s]"), "spans of time"), (np.array([1, 2j]), "complex numbers"),
        (np.array([(1.0,), (2.0,)], dtype=[("v", "f8")]), "records"), (np.array(1.0), "must all be"),
        (np.array(["1", "2"]), "numbers written as texts"), (np.zeros((1, 1, 2)), "must all be"),
        (np.array([b"1", b"2"]), "numbers written as texts"),
        (np.array([1, 2**53 + 1], np.uint64), "row 1, column 'x' .* 2\\^53"),
        (np.array([2**64 - 1, 1], np.uint64), "row 0, column 'x' .* 2\\^53"),
        (np.array([1, -(2**63) + 1]), "row 1, column 'x' .* 2\\^53"),
        (np.array([1, np.nan], np.float16), "row 1, column 'x' holds a missing value"),
    ],
)  # fmt: skip
def test_arrays_that_are_no_numbers_are_refused(tmp_path: Path, column: np.ndarray, part: str):
    with pytest.raises(InputError, match=part):
        read_columns(npz(tmp_path, x=column, y=np.ones(2)), ("x", "y"))


def test_labels_of_arrays_can_be_told_apart(tmp_path: Path):
    for label, words in (
        (np.array([1.0, np.nan]), "row 1, column 'id' holds a missing value"),
        (np.array(["2024-01-01", "NaT"], "M8[D]"), "row 1, column 'id' holds a missing value"),
        (np.array(["a", " "]), "row 1, column 'id' holds a missing value"),
        (np.array([1j, 2j]), "'id' holds no numbers, times or text"),
    ):
        with pytest.raises(InputError, match=words):
            read_columns(npz(tmp_path, x=np.ones(2), id=label), ("x",), ("id",))


def test_a_header_is_believed_as_far_as_there_are_bytes(tmp_path: Path):
    path, plain = tmp_path / "data.npz", io.BytesIO()
    np.save(plain, np.ones(2))
    for shape in (b"(2000000000000000000,), ", b"(-2,), ", b"(3,), ", b"(2, 1000000000000000), "):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", plain.getvalue().replace(b"(2,), ", shape, 1))
            archive.writestr("y.npy", plain.getvalue())
        assert "cannot be read as NPZ" in refusal(path)


def test_parquet(tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def stored(**columns: Any) -> Path:
        parquet.write_table(arrow.table(columns), tmp_path / "data.parquet")
        return tmp_path / "data.parquet"

    decimals = arrow.array([Decimal("0.1"), Decimal(3)])
    found = read_columns(stored(x=decimals, y=[True, False], id=["a", "b"]), ("x", "y"), ("id",))
    assert [list(found[name]) for name in ("x", "y", "id")] == [[0.1, 3], [1, 0], ["a", "b"]]
    assert "did you mean" in refusal(stored(x=[1], y=[2]), ("yy", "x"))
    for part, column in {
        "row 1, column 'x' holds a missing value": arrow.array([1, None]),
        "holds texts": arrow.array(["a", "b"]),
        "dates": arrow.array([datetime(2024, 1, 1), datetime(2024, 1, 2)]),
        "spans of time": arrow.array([timedelta(1), timedelta(2)]),
        "'[1.": arrow.array([[1.5], [2.5]]),
        "numbers written as texts": arrow.array(["1", "2"]),
        "2^53": arrow.array([Decimal(2**53 + 1), Decimal(1)], arrow.decimal128(20, 0)),
        "a whole number beyond": arrow.array([2**53 + 1, 1]),
    }.items():
        assert part in refusal(stored(x=column, y=[1, 2]))


# -- large files, by PyArrow: the same as by the standard library, or not at all -----------------------------


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is found of a file with and without PyArrow, or what is said."""
    pytest.importorskip("pyarrow")
    found: list[Any] = []
    for least in (0, 1 << 40):
        monkeypatch.setattr(csv_columns, "LARGE", least)
        try:
            table = open_table(path, Roles(("x",), order="t"))
            column = table.column("x")
            place = table.place(int(np.argmax(column.missing()))) if column.gaps else ""
            found.append((column.take(slice(None)).tolist(), column.texts, column.truths, place))
        except InputError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2", "300"], ["0.5", "-7", "1e3"], ["007", ".5", "5."], ["-0", "1E+2", " 3 "], ["+1", "0", "2"],
        ["true", "False", "TRUE"], ["a", " b", "a "], ["1", "", "3"], ["1", "NA", "3"], ["a", "", "b"],
        ["x y", "née", "-"], ["9007199254740991", "1", "2"], ["1e-30", "0", "0.0"], ["", "1,5", "2"],
        *(["1"] * 30 + [cell] for cell in (
            "1_000", "0x10", "inf", "9007199254740993", "1e-400", '"1"2', "5e", "1;2", "2024-01-05", "seven",
            "\0", "1,5", '"3"')),
    ],
)  # fmt: skip
def test_large_files_are_read_like_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[str]
):
    rows = "".join(f"{cell};{i}\n" for i, cell in enumerate(cells))
    path = csv_file(tmp_path, f"x;t\n{rows}")
    for size in (1 << 22, 40):
        monkeypatch.setattr(csv_columns, "BLOCK", size)
        monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", size)
        quick, slow = both(path, monkeypatch)
        assert str(quick) == str(slow)  # nan


@pytest.mark.parametrize("missing", ["drop", "last"])
def test_problems_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    rows = [
        f"{'07' if i % 7 else '7'},2024-01-{i // 50 + 1:02d} {i % 24:02d}:{i % 60:02d}:{i // 24 % 60:02d},"
        f"{a},{'' if i % 90 == 5 else b},{'pqr'[a % 3]},{a > 4}"
        for i, (a, b) in enumerate(zip(rng.integers(0, 9, 900), rng.normal(size=900).round(3), strict=True))
    ]
    path = csv_file(tmp_path, "\n".join(["id,when,a,b,kind,y", *rows]) + "\n")
    cells = "".join(f"{i},{'' if i == 41 else i % 5},{i % 3}\n" for i in range(80))
    gap = csv_file(tmp_path, f"t,x,y\n{cells}", "gap.csv")
    source = file_source(path, ["a", "b", "kind"], ["y"], "id", "when", missing=missing)
    found = []
    for least in (0, 1 << 40):
        monkeypatch.setattr(csv_columns, "LARGE", least)
        found.append(from_file(source, 3))
        with pytest.raises(InputError, match=r"line 43, column 'x' holds a missing value; 1 cell"):
            from_file(file_source(gap, ["x"], ["y"], order="t"), 0)
    quick, slow = found
    for part in ("training", "validation", "held_out"):
        assert np.array_equal(getattr(quick, part).x, getattr(slow, part).x)
        assert np.array_equal(getattr(quick, part).y, getattr(slow, part).y)
    assert (quick.domains, quick.categories, quick.remarks) == (slow.domains, slow.categories, slow.remarks)


# -- cells as people have them -------------------------------------------------------------------------------


def column(folder: Path, cells: list[str], **options: Any) -> list[float]:
    path = csv_file(folder, "x;y\n" + "".join(f"{cell};1\n" for cell in cells))
    found = open_table(path, Roles(("x",), ("y",), **options)).column("x")
    assert not found.texts
    return found.take(slice(None)).tolist()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3,5", "-1", "1.234,5"], [3.5, -1, 1234.5]), (["1,234.5", "1,234", "7"], [1234.5, 1234, 7]),
        (["1 234,5", "2\u00a0000", "-1"], [1234.5, 2000, -1]), (["1'234.5", "12"], [1234.5, 12]),
        (["0,123", "1.234"], [0.123, 1234]), (["1.234", "2"], [1.234, 2]),
        (["1,5", "", "2"], [1.5, np.nan, 2]),
    ],
)  # fmt: skip
def test_decimals_and_thousands_are_what_all_cells_agree_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[str], numbers: list[float]
):
    assert np.array_equal(column(tmp_path, cells), numbers, equal_nan=True)
    monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", 8)  # from block to block too
    assert np.array_equal(column(tmp_path, cells), numbers, equal_nan=True)


def test_what_may_be_decimals_or_thousands_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match=r"line 3, column 'x' holds '1,234'.*--decimal comma or --decimal"):
        column(tmp_path, ["12", "1,234"])
    assert column(tmp_path, ["12", "1,234"], decimal="comma") == [12, 1.234]
    assert column(tmp_path, ["12", "1,234"], decimal="point") == [12, 1234]
    monkeypatch.setattr(csv_columns, "LARGE", 0)
    assert column(tmp_path, ["12", "1.234"], decimal="comma") == [12, 1234]
    with pytest.raises(InputError, match="decimal point, or all with a comma"):
        column(tmp_path, ["1.5", "2,25"])
    monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", 8)
    with pytest.raises(InputError, match=r"line 4, column 'x' holds .*'2,5'.* write all"):
        column(tmp_path, ["1.5", "11.25", "2,5"])


@pytest.mark.parametrize(
    ("cells", "form", "iso"),
    [
        (["31.12.2024", "1.2.2024"], None, ["2024-12-31", "2024-02-01"]),
        (["02/01/2024", "13/01/2024 8:05"], None, ["2024-01-02", "2024-01-13T08:05"]),
        (["02/01/2024", "01/13/2024 8:05 PM"], None, ["2024-02-01", "2024-01-13T20:05"]),
        (["2024/1/31 12:30:15.5"], None, ["2024-01-31T12:30:15.5"]),
        (["31 Jan 2024", "Feb 1, 2024, 12:00 AM"], None, ["2024-01-31", "2024-02-01T00:00"]),
        (["02/01/2024"], "month-first", ["2024-02-01"]),
        (["02/01/2024", "soon"], None, None),
    ],
)
def test_dates_in_several_forms(cells: list[str], form: str | None, iso: list[str] | None):
    assert iso_times(cells, form, "here") == iso
    with pytest.raises(InputError, match=r"'02/01/2024', whose day and month .* --dates day-first"):
        iso_times(["02/01/2024"], None, "here")


def test_excel_files_are_read_and_written(
    tmp_path: Path, made_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
):
    openpyxl = pytest.importorskip("openpyxl")
    with pytest.raises(InputError, match="cannot be read as an Excel file"):
        file_source(csv_file(tmp_path, b"PK\x03\x04 and more", "data.xlsx"), None, ["y"])
    book = openpyxl.Workbook()
    for row in ([], ["day", "inflow", "level", "note"]):
        book.active.append(row)
    level, rng = 0.0, np.random.default_rng(0)
    for i in range(40):
        inflow = int(rng.integers(0, 9))
        level = 0.5 * level + inflow
        book.active.append([datetime(2024, 1, 1) + timedelta(i), inflow, level, None if i else "first"])
    book.save(tmp_path / "tank.xlsx")
    source = file_source(tmp_path / "tank.xlsx", ["inflow"], ["level"], order="day")
    problem = from_file(source, 0)
    assert str(problem.domains[0]) == "integers 0..8"
    assert [remark for remark in problem.remarks if "distances" in remark] == []
    rule = Recurrence(("inflow",), (Step("level", Var("inflow") + 0.5 * Var("level", 1)),), ("level",))
    folder, out = tmp_path / "out", tmp_path / "made.xlsx"
    made_folder(folder, source, Program("tank", rule, (integers(0, 7),)))
    assert main(["predict", str(folder), str(tmp_path / "tank.xlsx"), "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert "the same in 40 of 40 rows" in said
    written = list(openpyxl.load_workbook(out).active.iter_rows(values_only=True))
    assert written[1] == ("day", "inflow", "level", "note")
    assert written[2][3] == "first"
    assert [row[2] for row in written[2:5]] == problem.rows.y[:3, 0].tolist()  # type: ignore[union-attr]
    row = int(said.partition("8 in row ")[2].partition(",")[0].partition("\n")[0].rstrip("."))
    assert written[row - 1][1] == 8
