"""Cells as people have them: decimal commas, thousands, dates in several forms, Excel, variants of a text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import arrow_csv, file_source, from_file
from weights2code.data.date_forms import iso_times
from weights2code.data.tables import open_table
from weights2code.errors import InputError
from weights2code.language import Recurrence, Step, Var, integers
from weights2code.program import Program
from weights2code.roles import Roles


def column(folder: Path, cells: list[str], **options: Any) -> list[float]:
    path = folder / "data.csv"
    path.write_text("x;y\n" + "".join(f"{cell};1\n" for cell in cells), encoding="utf-8")
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
    tmp_path: Path, cells: list[str], numbers: list[float]
):
    assert np.array_equal(column(tmp_path, cells), numbers, equal_nan=True)


def test_what_may_be_decimals_or_thousands_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match=r"line 3, column 'x' holds '1,234'.*--decimal comma or --decimal"):
        column(tmp_path, ["12", "1,234"])
    assert column(tmp_path, ["12", "1,234"], decimal="comma") == [12, 1.234]
    assert column(tmp_path, ["12", "1,234"], decimal="point") == [12, 1234]
    monkeypatch.setattr(arrow_csv, "LARGE", 0)
    assert column(tmp_path, ["12", "1.234"], decimal="comma") == [12, 1234]
    with pytest.raises(InputError, match="decimal point, or all with a comma"):
        column(tmp_path, ["1.5", "2,25"])


def test_a_column_keeps_its_decimals_from_block_to_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("weights2code.data.csv_table.BLOCK_CHARACTERS", 8)
    assert column(tmp_path, ["1", "2,5", "3.000"]) == [1, 2.5, 3000]
    with pytest.raises(InputError, match=r"line 4, column 'x' holds .*'2,5'.* write all"):
        column(tmp_path, ["1.5", "11.25", "2,5"])


@pytest.mark.parametrize(
    ("texts", "iso"),
    [
        (["31.12.2024", "1.2.2024"], ["2024-12-31", "2024-02-01"]),
        (["02/01/2024", "13/01/2024 8:05"], ["2024-01-02", "2024-01-13T08:05"]),
        (["02/01/2024", "01/13/2024 8:05 PM"], ["2024-02-01", "2024-01-13T20:05"]),
        (["2024/1/31 12:30:15.5"], ["2024-01-31T12:30:15.5"]),
        (["31 Jan 2024", "Feb 1, 2024, 12:00 AM"], ["2024-01-31", "2024-02-01T00:00"]),
    ],
)
def test_dates_in_several_forms(texts: list[str], iso: list[str]):
    assert iso_times(texts, None, "here") == iso


def test_days_and_months_that_look_alike_are_asked_for():
    with pytest.raises(InputError, match=r"'02/01/2024', whose day and month .* --dates day-first"):
        iso_times(["02/01/2024"], None, "here")
    assert iso_times(["02/01/2024"], "month-first", "here") == ["2024-02-01"]
    assert iso_times(["02/01/2024", "soon"], None, "here") is None


def test_rows_are_sorted_by_dates_of_any_form(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_text("day,x,y\n" + "".join(f"{28 - i}.02.2024,{i % 5},{i}\n" for i in range(28)))
    problem = from_file(file_source(path, ["x"], ["y"], order="day"), 0)
    start = problem.validation.take(np.flatnonzero(problem.validation.given == 0))
    assert start.y[0, :3, 0].tolist() == [27, 26, 25]


def test_variants_of_a_text_are_remarked_and_joined_on_request(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_text(
        "x,y\n" + "".join(f"{('Open', 'shut', 'open', 'open')[i % 4]},{i % 3}\n" for i in range(60))
    )
    problem = from_file(file_source(path, ["x"], ["y"]), 0)
    assert problem.categories["x"] == ("Open", "open", "shut")
    assert "'Open' and 'open', which differ in case alone; --ignore-case x" in problem.remarks[0]
    problem = from_file(file_source(path, ["x"], ["y"], ignore_case=["x"]), 0)
    assert problem.categories["x"] == ("open", "shut")
    assert not problem.remarks


def gaps(folder: Path, rows: int, **options: Any):
    rng = np.random.default_rng(0)
    lines = [
        f"{a},{'' if i % 40 == 3 else b},,{2 * a}" for i, (a, b) in enumerate(rng.integers(0, 9, (rows, 2)))
    ]
    path = folder / "log.csv"
    path.write_text("a,b,empty,y\n" + "\n".join(lines) + "\n")
    return from_file(file_source(path, None, ["y"], **options), 0)


@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_gaps_of_columns_that_tell_nothing_are_no_matter(tmp_path: Path, missing: str):
    problem = gaps(tmp_path, 600, missing=missing)
    assert problem.inputs == ("a",)
    assert any("nothing was found that tells about y: b" in remark for remark in problem.remarks)
    with pytest.raises(InputError, match=r"column 'b' holds a missing value; 2 cells"):
        gaps(tmp_path, 60)  # too few rows to say so


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([])
    sheet.append(["day", "inflow", "level", "note"])
    level, rng = 0.0, np.random.default_rng(0)
    for i in range(40):
        inflow = int(rng.integers(0, 9))
        level = 0.5 * level + inflow
        sheet.append([datetime(2024, 1, 1) + timedelta(days=i), inflow, level, None if i else "first"])
    book.save(tmp_path / "tank.xlsx")
    return tmp_path / "tank.xlsx"


def test_excel_files_are_read_and_written(
    workbook: Path, made_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
):
    source = file_source(workbook, ["inflow"], ["level"], order="day")
    problem = from_file(source, 0)
    assert str(problem.domains[0]) == "integers 0..8"
    assert [remark for remark in problem.remarks if "distances" in remark] == []
    rule = Recurrence(("inflow",), (Step("level", Var("inflow") + 0.5 * Var("level", 1)),), ("level",))
    folder = made_folder(workbook.parent / "out", source, Program("tank", rule, (integers(0, 7),)))
    out = workbook.with_name("made.xlsx")
    assert main(["predict", str(folder), str(workbook), "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert "the same in 40 of 40 rows" in said
    assert "8 in row" in said
    rows = list(pytest.importorskip("openpyxl").load_workbook(out).active.iter_rows(values_only=True))
    assert rows[1] == ("day", "inflow", "level", "note")
    assert rows[2][3] == "first"
    assert [row[2] for row in rows[2:5]] == problem.rows.y[:3, 0].tolist()  # type: ignore[union-attr]
    row = int(said.partition("8 in row ")[2].partition(",")[0].partition("\n")[0].rstrip("."))
    assert rows[row - 1][1] == 8


def test_excel_files_that_are_none_are_refused(tmp_path: Path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "data.xlsx"
    path.write_bytes(b"PK\x03\x04 and more")
    with pytest.raises(InputError, match="cannot be read as an Excel file"):
        file_source(path, None, ["y"])
