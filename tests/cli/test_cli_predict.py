"""`w2c predict`, and tables on standard input: the same table out, and what no certificate covers."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from case_table import rule
from weights2code.cli import main
from weights2code.data import csv_columns, csv_table, file_source, from_file
from weights2code.data.tables import write_with
from weights2code.language import BITS, Domain, Recurrence, Var, integers, op, texts
from weights2code.program import Program
from weights2code.verify.all_rows import over_all

LEAK = rule(None, "inflow", "level", level=Var("inflow") + 0.5 * Var("level", 1))
COUNT = Var("count", 1) + Var("event").equals(1)
SWITCH = texts(["on", "off"])


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
    source = file_source(place / "tank.csv", ["inflow"], ["level"], "day", "minute")
    made_folder(place / "out", source, Program("tank", LEAK, (integers(0, 8),)))
    return place


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def made(made_folder: Callable[..., Path]) -> Callable[..., None]:
    """Makes the run folder `out` of a rule, as if it had been found in a table of such a header."""

    def make(header: str, recurrence: Recurrence, *domains: Domain, reads: Sequence[str] = (), **own: Any):
        outputs, row = own.pop("outputs", {}), ",".join("ab"[i % 2] for i in range(header.count(",") + 1))
        Path("rows.csv").write_text(f"{header}\n{row.replace('b', '1')}\n")
        source = file_source("rows.csv", reads or list(recurrence.inputs), list(recurrence.outputs), **own)
        program = Program("gate", recurrence, domains, recurrence is not LEAK, output_categories=outputs)
        made_folder(Path("out"), source, program)

    return make


def predicted(table: str, *options: str, folder: Path | str = "out") -> int:
    Path("new.csv").write_text(table)
    return main(["predict", str(folder), "new.csv", *options])


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
    assert "rely" not in said.err
    assert main(["predict", str(fitted / "out"), "new.csv", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out.encode() == Path("made.csv").read_bytes()
    assert said.err == ""


def test_what_the_certificate_does_not_cover_is_said(fitted: Path, capsys: pytest.CaptureFixture[str]):
    rows = "".join(f"a,{minute},{inflow}\n" for minute, inflow in enumerate([0, 9, 8, -1, 2.5, 77, 3]))
    table = f"day,minute,inflow\n{rows}"
    assert predicted(table, folder=fitted / "out") == 0
    error = capsys.readouterr().err
    assert "inflow leaves integers 0..8" in error
    assert "in 4 of 7 rows: 9 in line 3, -1 in line 5, 2.5 in line 6, ..." in error
    assert predicted(table, "--out", "made.csv", "--json", folder=fitted / "out") == 0
    (outside,) = json.loads(capsys.readouterr().out)["outside"]
    assert (outside["count"], outside["first"][0]) == (4, {"line": 3, "value": 9.0})


def test_targets_in_the_table_are_computed_anew_and_those_that_differ_are_written(
    fitted: Path, capsys: pytest.CaptureFixture[str]
):
    out = fitted / "out"
    assert predicted("level,day,minute,inflow\n1,a,1,1\n7,a,2,1\n", folder=out) == 0
    said = capsys.readouterr()
    assert said.out == "level,day,minute,inflow\n1.0,a,1,1\n1.5,a,2,1\n"
    assert "level stood in the table: the program has the same in 1 of 2 rows" in said.err
    table = 'note,level,day,minute,inflow\n"a, b",1,a,1,1\nc,7,a,2,1\nd,1.75,a,3,1\n'
    assert predicted(table, "--out", "made.csv", "--wrong", "wrong.csv", folder=out) == 0
    assert Path("wrong.csv").read_text() == "note,level,day,minute,inflow,level_by_rule\nc,7,a,2,1,1.5\n"
    assert "the same in 2 of 3 rows" in capsys.readouterr().err
    assert predicted("day,minute,inflow\na,1,1\n", "--wrong", "other.csv", folder=out) == 2
    assert "does not hold level" in capsys.readouterr().err
    assert not Path("other.csv").exists()


def test_parquet_and_npz_come_out_as_such(fitted: Path, made_folder: Callable[..., Path]):
    parquet, pandas = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"day": ["x", "x"], "minute": [2, 1], "inflow": [3, 4], "when": pandas.to_datetime(["2024", "2025"])}
    )
    frame.to_parquet("new.parquet")
    out = str(fitted / "out")
    assert main(["predict", out, "new.parquet", "--out", "made.parquet", "--quiet"]) == 0
    made = parquet.read_table("made.parquet").to_pandas()
    assert made["level"].tolist() == [5.0, 4.0]
    assert made["when"].tolist() == frame["when"].tolist()
    np.savez("new.npz", day=[1, 1], minute=[1, 2], inflow=[4, 3], other=np.eye(3))
    assert main(["predict", out, "new.npz", "--out", "made.npz", "--quiet"]) == 0
    with np.load("made.npz") as arrays:
        assert arrays["level"].tolist() == [4.0, 5.0]
        assert arrays["other"].tolist() == np.eye(3).tolist()
    # arrays of sequences keep their shape
    parity = Program("parity_last2", rule(y=op("ne", Var("x"), Var("x", 1))), (BITS,), True)
    made_folder(Path("parity"), "parity_last2", parity)
    np.savez("new.npz", x=[[1, 0, 0], [1, 1, 0]])
    assert main(["predict", "parity", "new.npz", "--out", "made.npz", "--quiet"]) == 0
    with np.load("made.npz") as arrays:
        assert arrays["y"].tolist() == [[1, 1, 0], [1, 0, 1]]
        assert arrays["y"].dtype.kind == "i"


@pytest.mark.parametrize(
    ("missing", "answers"),
    [("last", ["", "4.0", "6.0", "5.0", "1.0"]), ("drop", ["", "4.0", "", "2.0", "1.0"])],
)
def test_gaps_are_dealt_with_as_in_the_fit(made, missing: str, answers: list[str], capsys):
    made("day,inflow,level", LEAK, integers(0, 8), sequence="day", missing=missing)
    assert predicted("inflow,day\n,a\n4,a\nNA,a\n2,a\n1,b\n") == 0
    said = capsys.readouterr()
    assert [line.rpartition(",")[2] for line in said.out.splitlines()[1:]] == answers
    assert f"level has no value in {answers.count('')} of 5 rows, first in line 2" in said.err
    assert "leaves" not in said.err
    assert predicted("inflow,day\nmuch,a\n") == 2
    assert "holds texts, such as 'much', and the program reads numbers there" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_rows_are_counted_as_the_certificate_counts_them(
    made_folder: Callable[..., Path], hidden: bool, wrong: bool, capsys: pytest.CaptureFixture[str]
):
    """After a gap, in inputs or targets, the program goes on from what the table holds."""
    rng = np.random.default_rng(0)
    seen = rule(y=(Var("y", 1) + Var("x")) % 3)
    recurrence = rule(s=(Var("s", 1) + Var("x")) % 3, y=Var("s").equals(2)) if hidden else seen
    x = rng.integers(0, 2, (400, 1)).astype(float)
    y = recurrence.run(x[None])[0]
    y[300:] = 1 - y[300:] if wrong else y[300:]
    cells = [[str(int(a)), str(int(b))] for a, b in zip(x[:, 0], y[:, 0], strict=True)]
    for row in rng.choice(np.arange(30, 400), 12, replace=False):
        cells[row][int(rng.integers(0, 2))] = ""
    Path("rows.csv").write_text("x,y\n" + "\n".join(map(",".join, cells)) + "\n")
    source = file_source("rows.csv", ["x"], ["y"], missing="drop")
    problem = from_file(source, 0)
    assert problem.rows is not None
    told = over_all(recurrence, problem.rows, (BITS,), near=0.5)
    right = int((np.abs(told.answers - problem.rows.y)[told.judged] < 0.5).sum())
    made_folder(Path("out"), source, Program("gate", recurrence, (BITS,), True))
    assert main(["predict", "out", "rows.csv", "--out", "made.csv"]) == 0
    count = int(told.judged.sum())
    assert f"the same in {right} of the {count} rows that can be judged" in capsys.readouterr().err
    assert (right < count) == wrong
    made = Path("made.csv").read_text().splitlines()[1:]
    known = [(a, b) for (_, a), b in zip(cells, made, strict=True) if a and b.split(",")[1]]
    assert wrong or all(a == b.split(",")[1] for a, b in known)
    assert predicted('x\n1\n""\n1\n1\n') == 0
    assert "began anew 1 times after them" in capsys.readouterr().err


def test_texts_and_whole_numbers_have_gaps_too(made: Callable[..., None]):
    both = rule(None, "event", "state count", state=Var("event"), count=COUNT)
    made("event,state,count", both, SWITCH, outputs={"state": ("on", "off")}, missing="drop")
    assert predicted("n,event\n1,on\n2,\n3,off\n", "--out", "made.csv", "--quiet") == 0
    assert Path("made.csv").read_text() == "n,event,state,count\n1,on,on,1\n2,,,\n3,off,off,0\n"
    np.savez("new.npz", event=["on", "off"])
    assert main(["predict", "out", "new.npz", "--out", "made.npz", "--quiet"]) == 0
    with np.load("made.npz") as arrays:
        assert arrays["state"].tolist() == ["on", "off"]


def test_columns_that_the_rule_does_without_may_hold_anything_or_be_absent(made, capsys):
    """Of many columns of a fit few are left; what the others hold, and whether they are there, is one."""
    alone = rule(None, "event", "count", count=COUNT)
    made("kind,event,level,other,count", alone, SWITCH, reads=["kind", "event", "level", "other"])
    assert predicted("kind,event,level\nx,on,\ny,on,much\n", "--out", "made.csv", "--quiet") == 0
    assert Path("made.csv").read_text() == "kind,event,level,count\nx,on,,1\ny,on,much,2\n"
    shutil.rmtree("out")
    beside = rule(None, "kind event level", "count", count=COUNT)
    made("kind,event,level,count", beside, texts(["a", "b"]), SWITCH, integers(3, 9))
    assert predicted("kind,event\nz,on\n,on\n", "--out", "made.csv") == 0
    assert Path("made.csv").read_text() == "kind,event,count\nz,on,1\n,on,2\n"
    assert "leaves" not in capsys.readouterr().err


def test_texts_that_the_program_does_not_know_are_named_with_their_line(made, capsys):
    alone = rule(None, "event", "count", count=COUNT)
    made("event,day,count", alone, SWITCH, order="day", ignore_case=["event"])
    assert predicted("event,day\nON,3\n\noff,2\nslam,1\n") == 2
    assert "new.csv, line 5, column 'event': 'slam' is none of" in capsys.readouterr().err
    assert predicted("event,day\nON,3\noff,2\n", "--quiet") == 0
    assert capsys.readouterr().out == "event,day,count\nON,3,1\noff,2,0\n"


@pytest.mark.parametrize(
    ("table", "arguments", "words"),
    [
        ("", "nowhere new.csv", "there is no run folder nowhere"),
        ("", "OUT missing.csv", "there is no file missing.csv"),
        ("a,1,1", "OUT new.csv --out new.csv", "is the table itself"),
        ("a,1,1", "OUT new.csv --out new.npz", "would be NPZ"),
        ("a,1,1", "OUT new.csv --json", "name a file with --out"),
        ("a,1,", "OUT new.csv", "a missing value"),
        ("a,1,much", "OUT new.csv", "holds texts, such as 'much'"),
        ("a,1,1", "OUT lacks.csv", "has no column 'inflow'"),
        ("a,1,1", "edited new.csv", "is not what the run wrote there"),
    ],
)
def test_what_cannot_be_is_one_sentence(fitted: Path, table: str, arguments: str, words: str, capsys):
    Path("new.csv").write_text(f"day,minute,inflow\n{table}\n")
    Path("lacks.csv").write_text("day,minute\na,1\n")
    program = Path(shutil.copytree(fitted / "out", "edited")) / "program.py"
    program.write_text(program.read_text().replace("0.5", "0.25"))
    before = set(Path().iterdir())
    assert main(["predict", *arguments.replace("OUT", str(fitted / "out")).split()]) == 2
    said = capsys.readouterr()
    assert said.out == "" or "--json" in arguments
    assert words in said.err
    assert said.err.count("\n") == 1
    assert set(Path().iterdir()) == before


@pytest.mark.slow
def test_tables_come_on_standard_input(fitted: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
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
    for content, words in ((b"", "standard input is empty"), (b"a,b\n1,2\n", "no column")):
        send(content)
        assert main(["fit", "-", "--inputs", "a", "--targets", "c", "--out", "none"]) == 2
        assert words in capsys.readouterr().err
    assert not Path("none").exists()


def test_packed_tables_stay_packed():
    Path("one.csv.gz").write_bytes(gzip.compress(b"a\n1\n2\n"))
    write_with(Path("one.csv.gz"), {"b": np.array([0.5, np.nan])}, Path("two.csv.gz"))
    assert gzip.decompress(Path("two.csv.gz").read_bytes()) == b"a,b\n1,0.5\n2,\n"


def test_large_tables_are_read_and_written_like_small_ones(
    fitted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Whatever the size of blocks, with quotes from the first row on or late, by either reader."""
    rows = [f"{i // 9},{i % 9},{i % 7},n{i}" for i in range(300)]
    rows[200] = rows[200].replace("n200", '"n,""200"')
    told = []
    for size, large in ((1 << 23, 1 << 20), (50, 1 << 20), (50, 0)):
        monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", size)
        monkeypatch.setattr(csv_columns, "LARGE", large)
        table = "\n".join(["day,minute,inflow,note", *rows, ""])
        assert predicted(table, "--quiet", folder=fitted / "out") == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]
    lines = told[0].splitlines()
    assert [line.rpartition(",")[0] for line in lines[1:]] == rows
    assert lines[10].endswith("n9,2.0")
