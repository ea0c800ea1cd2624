"""`w2c predict`, and tables on standard input: the same table out, and what no certificate covers."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import arrow_csv, csv_table, file_source, from_file
from weights2code.data.table_writing import write_with
from weights2code.language import BITS, Recurrence, Step, Var, integers, op, texts
from weights2code.program import Program
from weights2code.verify.all_rows import over_all


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory, made_folder: Callable[..., Path]) -> Path:
    """The run folder, and the file, of a tank that leaks, of several days; rows stand in no order."""
    place = tmp_path_factory.mktemp("fitted")
    rng = np.random.default_rng(0)
    rows = []
    for day in range(20):
        level = 0.0
        for minute in range(15):
            inflow = int(rng.integers(0, 9))
            level = 0.5 * level + inflow
            rows.append(f"{day},{minute},{inflow},{level!r}")
    rng.shuffle(rows)
    (place / "tank.csv").write_text("day,minute,inflow,level\n" + "\n".join(rows) + "\n")
    rule = Recurrence(("inflow",), (Step("level", Var("inflow") + 0.5 * Var("level", 1)),), ("level",))
    source = file_source(place / "tank.csv", ["inflow"], ["level"], "day", "minute")
    made_folder(place / "out", source, Program("tank", rule, (integers(0, 8),)))
    return place


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_rows_keep_their_cells_and_place(fitted: Path, capsys: pytest.CaptureFixture[str]):
    Path("new.csv").write_text(
        'note;minute;day;inflow\r\n"a;""b""";3;b;4\r\n 007;1;b;8\r\n\r\nx;2;b;0\r\nü;5;a;1\r\n',
        encoding="utf-8",
        newline="",
    )
    assert main(["predict", str(fitted / "out"), "new.csv", "--out", "made.csv"]) == 0
    assert Path("made.csv").read_bytes().decode() == (
        'note;minute;day;inflow;level\r\n"a;""b""";3;b;4;6.0\r\n'
        " 007;1;b;8;8.0\r\nx;2;b;0;4.0\r\nü;5;a;1;1.0\r\n"
    )
    said = capsys.readouterr()
    assert said.out == ""
    assert "leaves" not in said.err
    assert main(["predict", str(fitted / "out"), "new.csv", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out.encode() == Path("made.csv").read_bytes()
    assert said.err == ""


def test_what_the_certificate_does_not_cover_is_said(fitted: Path, capsys: pytest.CaptureFixture[str]):
    rows = [f"a,{minute},{inflow}" for minute, inflow in enumerate([0, 9, 8, -1, 2.5, 77, 3])]
    Path("new.csv").write_text("day,minute,inflow\n" + "\n".join(rows) + "\n")
    assert main(["predict", str(fitted / "out"), "new.csv"]) == 0
    error = capsys.readouterr().err
    assert "inflow leaves integers 0..8" in error
    assert "in 4 of 7 rows: 9 in line 3, -1 in line 5, 2.5 in line 6, ..." in error
    assert main(["predict", str(fitted / "out"), "new.csv", "--out", "made.csv", "--json"]) == 0
    (outside,) = json.loads(capsys.readouterr().out)["outside"]
    assert outside["count"] == 4
    assert outside["first"][0] == {"line": 3, "value": 9.0}


def test_targets_in_the_table_are_computed_anew(fitted: Path, capsys: pytest.CaptureFixture[str]):
    Path("new.csv").write_text("level,day,minute,inflow\n1,a,1,1\n7,a,2,1\n")
    assert main(["predict", str(fitted / "out"), "new.csv"]) == 0
    said = capsys.readouterr()
    assert said.out == "level,day,minute,inflow\n1.0,a,1,1\n1.5,a,2,1\n"
    assert "level stood in the table: the program has the same in 1 of 2 rows" in said.err


def test_parquet_and_npz_come_out_as_such(fitted: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"day": ["x", "x"], "minute": [2, 1], "inflow": [3, 4], "when": pandas.to_datetime(["2024", "2025"])}
    )
    frame.to_parquet("new.parquet")
    assert main(["predict", str(fitted / "out"), "new.parquet", "--out", "made.parquet", "--quiet"]) == 0
    made = parquet.read_table("made.parquet").to_pandas()
    assert made["level"].tolist() == [5.0, 4.0]
    assert made["when"].tolist() == frame["when"].tolist()
    np.savez("new.npz", day=[1, 1], minute=[1, 2], inflow=[4, 3], other=np.eye(3))
    assert main(["predict", str(fitted / "out"), "new.npz", "--out", "made.npz", "--quiet"]) == 0
    with np.load("made.npz") as arrays:
        assert arrays["level"].tolist() == [4.0, 5.0]
        assert arrays["other"].tolist() == np.eye(3).tolist()


def test_arrays_of_sequences_keep_their_shape(made_folder: Callable[..., Path]):
    rule = Recurrence(("x",), (Step("y", op("ne", Var("x"), Var("x", 1))),), ("y",))
    made_folder(Path("parity"), "parity_last2", Program("parity_last2", rule, (BITS,), True))
    np.savez("new.npz", x=[[1, 0, 0], [1, 1, 0]])
    assert main(["predict", "parity", "new.npz", "--out", "made.npz", "--quiet"]) == 0
    with np.load("made.npz") as arrays:
        assert arrays["y"].tolist() == [[1, 1, 0], [1, 0, 1]]
        assert arrays["y"].dtype.kind == "i"


@pytest.mark.parametrize(
    ("missing", "answers"),
    [("last", ["", "4.0", "6.0", "5.0", "1.0"]), ("drop", ["", "4.0", "", "2.0", "1.0"])],
)
def test_gaps_are_dealt_with_as_in_the_fit(
    made_folder: Callable[..., Path], missing: str, answers: list[str], capsys: pytest.CaptureFixture[str]
):
    Path("rows.csv").write_text("day,inflow,level\na,1,1\n")
    rule = Recurrence(("inflow",), (Step("level", Var("inflow") + 0.5 * Var("level", 1)),), ("level",))
    source = file_source("rows.csv", ["inflow"], ["level"], "day", missing=missing)
    made_folder(Path("out"), source, Program("tank", rule, (integers(0, 8),)))
    Path("new.csv").write_text("inflow,day\n,a\n4,a\nNA,a\n2,a\n1,b\n")
    assert main(["predict", "out", "new.csv"]) == 0
    said = capsys.readouterr()
    assert [line.rpartition(",")[2] for line in said.out.splitlines()[1:]] == answers
    assert f"level has no value in {answers.count('')} of 5 rows, first in line 2" in said.err
    assert "leaves" not in said.err
    Path("new.csv").write_text("inflow,day\nmuch,a\n")
    assert main(["predict", "out", "new.csv"]) == 2
    assert "holds texts, such as 'much', and the program reads numbers there" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_rows_are_counted_as_the_certificate_counts_them(
    made_folder: Callable[..., Path], hidden: bool, wrong: bool, capsys: pytest.CaptureFixture[str]
):
    """After a gap, in inputs or targets, the program goes on from what the table holds."""
    rng = np.random.default_rng(0)
    steps = (Step("s", (Var("s", 1) + Var("x")) % 3), Step("y", Var("s").equals(2)))
    rule = Recurrence(("x",), steps if hidden else (Step("y", (Var("y", 1) + Var("x")) % 3),), ("y",))
    x = rng.integers(0, 2, (400, 1)).astype(float)
    y = rule.run(x[None])[0]
    y[300:] = 1 - y[300:] if wrong else y[300:]
    cells = [[str(int(a)), str(int(b))] for a, b in zip(x[:, 0], y[:, 0], strict=True)]
    for row in rng.choice(np.arange(30, 400), 12, replace=False):
        cells[row][int(rng.integers(0, 2))] = ""
    Path("rows.csv").write_text("x,y\n" + "\n".join(map(",".join, cells)) + "\n")
    source = file_source("rows.csv", ["x"], ["y"], missing="drop")
    problem = from_file(source, 0)
    assert problem.rows is not None
    told = over_all(rule, problem.rows, (BITS,), near=0.5)
    right = int((np.abs(told.answers - problem.rows.y)[told.judged] < 0.5).sum())
    made_folder(Path("out"), source, Program("gate", rule, (BITS,), True))
    assert main(["predict", "out", "rows.csv", "--out", "made.csv"]) == 0
    count = int(told.judged.sum())
    assert f"the same in {right} of the {count} rows that can be judged" in capsys.readouterr().err
    assert (right < count) == wrong
    made = Path("made.csv").read_text().splitlines()[1:]
    known = [(a, b) for (_, a), b in zip(cells, made, strict=True) if a and b.split(",")[1]]
    assert wrong or all(a == b.split(",")[1] for a, b in known)
    Path("new.csv").write_text('x\n1\n""\n1\n1\n')
    assert main(["predict", "out", "new.csv"]) == 0
    assert "began anew 1 times after them" in capsys.readouterr().err


def test_texts_and_whole_numbers_have_gaps_too(made_folder: Callable[..., Path]):
    Path("rows.csv").write_text("event,state,count\na,b,1\n")
    steps = (Step("state", Var("event")), Step("count", Var("count", 1) + Var("event").equals(1)))
    made = Program(
        "gate",
        Recurrence(("event",), steps, ("state", "count")),
        (texts(["on", "off"]),),
        True,
        output_categories={"state": ("on", "off")},
    )
    source = file_source("rows.csv", ["event"], ["state", "count"], missing="drop")
    made_folder(Path("out"), source, made)
    Path("new.csv").write_text("n,event\n1,on\n2,\n3,off\n")
    assert main(["predict", "out", "new.csv", "--out", "made.csv", "--quiet"]) == 0
    assert Path("made.csv").read_text() == "n,event,state,count\n1,on,on,1\n2,,,\n3,off,off,0\n"
    np.savez("new.npz", event=["on", "off"])
    assert main(["predict", "out", "new.npz", "--out", "made.npz", "--quiet"]) == 0
    with np.load("made.npz") as arrays:
        assert arrays["state"].tolist() == ["on", "off"]


def test_columns_that_the_program_does_not_read_may_hold_anything(made_folder: Callable[..., Path]):
    """Of many columns of a fit few are left; what the others hold, and whether they are there, is one."""
    Path("rows.csv").write_text("kind,event,level,other,count\na,b,1,2,1\n")
    steps = (Step("count", Var("count", 1) + Var("event").equals(1)),)
    rule = Recurrence(("event",), steps, ("count",))
    source = file_source("rows.csv", ["kind", "event", "level", "other"], ["count"])
    made_folder(Path("out"), source, Program("gate", rule, (texts(["on", "off"]),), True))
    Path("new.csv").write_text("kind,event,level\nx,on,\ny,on,much\n")
    assert main(["predict", "out", "new.csv", "--out", "made.csv", "--quiet"]) == 0
    assert Path("made.csv").read_text() == "kind,event,level,count\nx,on,,1\ny,on,much,2\n"


def test_columns_that_the_rule_does_without_need_not_be_there(
    made_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
):
    Path("rows.csv").write_text("kind,event,level,count\na,b,1,1\n")
    rule = Recurrence(
        ("kind", "event", "level"), (Step("count", Var("count", 1) + Var("event").equals(1)),), ("count",)
    )
    domains = (texts(["a", "b"]), texts(["on", "off"]), integers(3, 9))
    made_folder(
        Path("out"),
        file_source("rows.csv", ["kind", "event", "level"], ["count"]),
        Program("gate", rule, domains, True),
    )
    Path("new.csv").write_text("kind,event\nz,on\n,on\n")
    assert main(["predict", "out", "new.csv", "--out", "made.csv"]) == 0
    assert Path("made.csv").read_text() == "kind,event,count\nz,on,1\n,on,2\n"
    assert "leaves" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("nowhere new.csv", "there is no run folder nowhere"),
        ("OUT missing.csv", "there is no file missing.csv"),
        ("OUT new.csv --out new.csv", "is the table itself"),
        ("OUT new.csv --out new.npz", "would be NPZ"),
        ("OUT new.csv --json", "name a file with --out"),
        ("OUT lacks.csv", "has no column 'inflow'"),
        ("OUT gap.csv", "a missing value"),
        ("OUT text.csv", "holds texts, such as 'much'"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    fitted: Path, arguments: str, words: str, capsys: pytest.CaptureFixture[str]
):
    Path("new.csv").write_text("day,minute,inflow\na,1,1\n")
    Path("lacks.csv").write_text("day,minute\na,1\n")
    Path("gap.csv").write_text("day,minute,inflow\na,1,\n")
    Path("text.csv").write_text("day,minute,inflow\na,1,much\n")
    before = set(Path().iterdir())
    assert main(["predict", *arguments.replace("OUT", str(fitted / "out")).split()]) == 2
    said = capsys.readouterr()
    assert said.out == "" or "--json" in arguments
    assert words in said.err
    assert said.err.count("\n") == 1
    assert set(Path().iterdir()) == before


@pytest.mark.slow
def test_a_folder_without_a_program_has_none(capsys: pytest.CaptureFixture[str]):
    train = "train parity_last2 --out model --rungs linear --epochs 1 --members 1 --quiet"
    assert main(train.split()) == 0
    Path("new.csv").write_text("x\n1\n")
    assert main(["predict", "model", "new.csv"]) == 3
    assert "holds a model and no program" in capsys.readouterr().err


def test_a_program_that_was_edited_is_not_run(fitted: Path, capsys: pytest.CaptureFixture[str]):
    shutil.copytree(fitted / "out", "edited")
    text = Path("edited/program.py").read_text()
    Path("edited/program.py").write_text(text.replace("0.5", "0.25"))
    Path("new.csv").write_text("day,minute,inflow\na,1,1\n")
    assert main(["predict", "edited", "new.csv"]) == 2
    assert "is not what the run wrote there" in capsys.readouterr().err


@pytest.mark.slow
def test_tables_come_on_standard_input(
    fitted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def send(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    send((fitted / "tank.csv").read_bytes())
    command = "fit - --inputs inflow --targets level --sequence day --order minute --out own --quiet"
    assert main(command.split()) == 0
    assert "level[t] = inflow[t] + 0.5*level[t-1]" in capsys.readouterr().out
    assert Path("own/rows.csv").read_bytes() == (fitted / "tank.csv").read_bytes()
    assert main(["verify", "own", "--quiet"]) == 0
    send(gzip.compress(b"day,minute,inflow\na,1,5\n"))
    capsys.readouterr()
    assert main(["predict", "own", "-", "--quiet"]) == 0
    assert capsys.readouterr().out == "day,minute,inflow,level\na,1,5,5.0\n"
    send(b"")
    assert main(["fit", "-", "--inputs", "a", "--targets", "b", "--out", "none"]) == 2
    assert "standard input is empty" in capsys.readouterr().err
    send(b"a,b\n1,2\n")
    assert main(["fit", "-", "--inputs", "a", "--targets", "c", "--out", "none"]) == 2
    assert not Path("none").exists()


def test_packed_tables_stay_packed():
    Path("one.csv.gz").write_bytes(gzip.compress(b"a\n1\n2\n"))
    write_with(Path("one.csv.gz"), {"b": np.array([0.5, np.nan])}, Path("two.csv.gz"))
    assert gzip.decompress(Path("two.csv.gz").read_bytes()) == b"a,b\n1,0.5\n2,\n"


def test_rows_that_the_rule_misses_are_written(fitted: Path, capsys: pytest.CaptureFixture[str]):
    Path("new.csv").write_text('note,level,day,minute,inflow\n"a, b",1,a,1,1\nc,7,a,2,1\nd,1.75,a,3,1\n')
    assert main(["predict", str(fitted / "out"), "new.csv", "--out", "made.csv", "--wrong", "wrong.csv"]) == 0
    assert Path("wrong.csv").read_text() == "note,level,day,minute,inflow,level_by_rule\nc,7,a,2,1,1.5\n"
    assert "the same in 2 of 3 rows" in capsys.readouterr().err
    Path("new.csv").write_text("day,minute,inflow\na,1,1\n")
    assert main(["predict", str(fitted / "out"), "new.csv", "--wrong", "other.csv"]) == 2
    assert "does not hold level" in capsys.readouterr().err
    assert not Path("other.csv").exists()


def test_large_tables_are_read_and_written_like_small_ones(
    fitted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Whatever the size of blocks, with quotes from the first row on or late, by either reader."""
    rows = [f"{i // 9},{i % 9},{i % 7},n{i}" for i in range(300)]
    rows[200] = rows[200].replace("n200", '"n,""200"')
    Path("new.csv").write_text("\n".join(["day,minute,inflow,note", *rows, ""]))
    told = []
    for size, large in ((1 << 23, 1 << 20), (50, 1 << 20), (50, 0)):
        monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", size)
        monkeypatch.setattr(arrow_csv, "LARGE", large)
        assert main(["predict", str(fitted / "out"), "new.csv", "--quiet"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]
    lines = told[0].splitlines()
    assert [line.rpartition(",")[0] for line in lines[1:]] == rows
    assert lines[10].endswith("n9,2.0")


def test_texts_that_the_program_does_not_know_are_named_with_their_line(
    made_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
):
    Path("rows.csv").write_text("event,day,count\na,1,1\n")
    rule = Recurrence(("event",), (Step("count", Var("count", 1) + Var("event").equals(1)),), ("count",))
    source = file_source("rows.csv", ["event"], ["count"], order="day", ignore_case=["event"])
    made_folder(Path("out"), source, Program("gate", rule, (texts(["on", "off"]),), True))
    Path("new.csv").write_text("event,day\nON,3\n\noff,2\nslam,1\n")
    assert main(["predict", "out", "new.csv"]) == 2
    assert "new.csv, line 5, column 'event': 'slam' is none of" in capsys.readouterr().err
    Path("new.csv").write_text("event,day\nON,3\noff,2\n")
    assert main(["predict", "out", "new.csv", "--quiet"]) == 0
    assert capsys.readouterr().out == "event,day,count\nON,3,1\noff,2,0\n"
