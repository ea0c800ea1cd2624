"""Columns that are no plain numbers: texts, categories, gaps, times, truth values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from case_table import PROGRAMS, rule
from weights2code.cli import main
from weights2code.data import FileSource, Problem, csv_columns, file_source, from_file
from weights2code.data.columns import Stored, of_numbers
from weights2code.data.gaps import without_gaps
from weights2code.data.own import from_table
from weights2code.data.shapes import given_by
from weights2code.data.tables import names_in, open_table
from weights2code.data.texts import numbered, shared_numbers
from weights2code.data.times import remark_on_steps, time_leaf, time_leaves
from weights2code.errors import InputError
from weights2code.estimator import ProgramRegressor, SourceText
from weights2code.language import BITS, Var
from weights2code.program import Program
from weights2code.roles import Roles

ROWS = 60


def csv_file(folder: Path, header: str, row: Callable[[int], str], rows: int = ROWS, *more: str) -> Path:
    path = folder / "data.csv"
    path.write_text("\n".join([header, *map(row, range(rows)), *more]) + "\n", encoding="utf-8")
    return path


# -- texts ---------------------------------------------------------------------------------------------------


def test_columns_of_texts_are_numbered_and_sources_read_back(tmp_path: Path):
    events = np.random.default_rng(0).choice(["coin", "push"], ROWS)
    state = {"coin": "open", "push": "shut"}
    path = csv_file(tmp_path, "event,ok,state", lambda i: f"{events[i]},true,{state[events[i]]}")
    source = file_source(path, ["event", "ok"], ["state"])
    problem = from_file(source, seed=0)
    assert problem.categories == {"event": ("coin", "push"), "state": ("open", "shut")}
    assert problem.domains[1].kind == "bits"
    assert problem.output_domains[0].categories == ("open", "shut")
    assert problem.integer_outputs
    assert problem.inexact() == "with mistakes"
    assert set(np.unique(problem.training.x[..., 0][problem.training.scored])) == {1, 2}
    assert file_source(path, None, ["state"], order="ok").roles.inputs == ("event",)
    with pytest.raises(InputError, match="no column beside"):
        file_source(path, None, ["state", "event"], order="ok")
    roles = {"file", "size", "sha256", "inputs", "targets", "sequence", "order"}
    assert set(source.to_dict()) == roles
    other = file_source(path, ["event"], ["state"], categories=["event"], missing="last")
    assert [FileSource.from_dict(one.to_dict()) for one in (source, other)] == [source, other]
    with pytest.raises(ValueError, match="choose one of refuse, drop, last"):
        FileSource.from_dict({**source.to_dict(), "missing": "perhaps"})


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_texts_in_arrays(tmp_path: Path, suffix: str):
    path = tmp_path / f"data{suffix}"
    if suffix == ".npz":
        np.savez(path, event=np.array(["a", "b"] * 30), on=np.array([True, False] * 30), y=np.arange(60.0))
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = {"event": ["a", None, "b", "a"], "on": [True, None, False, True], "y": [1.0, 2.0, 3.0, None]}
        parquet.write_table(arrow.table(table), path)
    assert names_in(path) == ["event", "on", "y"]
    opened = open_table(path, Roles(("event", "on"), ("y",)))
    columns = {name: opened.column(name) for name in ("event", "on", "y")}
    assert [name for name, column in columns.items() if column.texts] == ["event"]
    if suffix == ".parquet":
        assert [column.gaps for column in columns.values()] == [1, 1, 1]
        assert columns["event"].values.tolist() == [1, 0, 2, 1]
    else:
        assert from_file(file_source(path, ["event", "on"], ["y"]), 0).categories == {"event": ("a", "b")}


@pytest.mark.parametrize(
    ("header", "row", "more", "part"),
    [
        ("x,y", lambda i: f"{i},{i % 3}", ["seven,1"], r"line 62, column 'x' .* text 'seven'.*--categories"),
        ("x;y", lambda i: f"3,500;{i % 3}", [], "--decimal point"),
        ("x;y", lambda i: f"1_000;{i % 3}", [], "digits 0 to 9"),
        ("x;y", lambda i: f"2024-01-05;{i % 3}", [], "dates"),
        ("x,y", lambda i: f"order-{i},{i % 2}", [], "another text in every row"),
        ("x,y", lambda i: f"{i % 5},np.float64({i * i})", [], r"'y' holds 60 texts in 60 rows, .*np.float64"),
    ],
)  # fmt: skip
def test_what_was_meant_as_a_number_or_never_comes_again_is_no_text(tmp_path: Path, header, row, more, part):
    path = csv_file(tmp_path, header, row, ROWS, *more)
    with pytest.raises(InputError, match=part):
        from_file(file_source(path, ["x"], ["y"]), 0)
    if more:
        assert "seven" in from_file(file_source(path, ["x"], ["y"], categories=["x"]), 0).categories["x"]


def test_categories_that_look_like_numbers_and_texts_that_are_alike(tmp_path: Path):
    path = csv_file(tmp_path, "zone,place,y", lambda i: f"{(7, 12, 300)[i % 3]},{i % 2}.5,{i % 3}")
    problem = from_file(file_source(path, ["zone", "place"], ["y"], categories=["zone", "place"]), 0)
    assert problem.categories == {"zone": (7, 12, 300), "place": ("0.5", "1.5")}
    with pytest.raises(InputError, match="no input and no target"):
        file_source(path, ["zone"], ["y"], categories=["place"])
    path = csv_file(tmp_path, "id,x,y", lambda i: f"o{i},{('Open', 'shut', 'open', 'open')[i % 4]},{i % 3}")
    problem = from_file(file_source(path, None, ["y"]), 0)
    assert problem.inputs == ("x",)
    assert problem.categories["x"] == ("Open", "open", "shut")
    assert any("id has another text in every row" in remark for remark in problem.remarks)
    said = "'Open' and 'open', which differ in case alone; --ignore-case x"
    assert any(said in remark for remark in problem.remarks)
    problem = from_file(file_source(path, ["x"], ["y"], ignore_case=["x"]), 0)
    assert problem.categories["x"] == ("open", "shut")
    assert not problem.remarks


def test_columns_of_the_same_texts_share_their_numbers():
    columns = {"a": ("x", "y", "z"), "b": ("w", "y", "z"), "c": ("open", "shut", "x"), "d": ("off", "on")}
    numbers, categories = shared_numbers(columns)
    assert categories["a"] == categories["b"] == ("w", "x", "y", "z")
    assert numbered(np.array([1, 0, 3]), columns["a"], numbers["a"]).tolist() == [2, 0, 4]
    assert categories["c"] == ("open", "shut", "x")  # one text alone may mean two things
    assert numbered(np.array([2]), ("off", "?"), numbers["d"]).tolist() == [-1]


# -- gaps ----------------------------------------------------------------------------------------------------


def test_gaps_are_refused_with_their_number_cut_or_filled(tmp_path: Path):
    path = csv_file(
        tmp_path,
        "t,x,kind,y",
        lambda i: f"{i},{'' if i in (7, 30) else i % 5},{'NA' if i == 30 else 'ab'[i % 2]},{i % 3}",
    )
    with pytest.raises(InputError, match=r"line 9, column 'x' .* 3 cells .*x 2, kind 1.*drop.*last"):
        from_file(file_source(path, ["x", "kind"], ["y"], order="t"), 0)
    cut = from_file(file_source(path, ["x", "kind"], ["y"], order="t", missing="drop"), 0)
    assert cut.remarks == ("sequences were cut at 3 cells that held nothing (x 2, kind 1), which left 3",)
    assert sum(int(part.scored.sum()) for part in (cut.training, cut.validation, cut.held_out) if part) < ROWS
    filled = from_file(file_source(path, ["x", "kind"], ["y"], order="t", missing="last"), 0)
    assert "filled with the last value" in filled.remarks[0]
    with pytest.raises(InputError, match="unknown missing 'sometimes'"):
        file_source(path, ["x"], ["y"], missing="sometimes")
    path = csv_file(tmp_path, "id,x,y", lambda i: f"{i // 10},{'' if i % 10 == 3 else i % 4},{i % 3}", 400)
    parts = from_file(file_source(path, ["x"], ["y"], "id", missing="drop"), 0).training
    for length, given in ((6, 3), (3, 0)):  # what was cut has no true start
        assert set(parts.given[parts.lengths == length].tolist()) == {given}


def test_what_is_left_of_sequences_with_gaps():
    x = np.array([1, np.nan, 3, 4, np.nan, 6])
    y = np.array([1, 2, 3, np.nan, 5, 6])
    columns = {"x": of_numbers(x), "y": of_numbers(y)}
    stored = Stored(columns.__getitem__, np.array([4, 2]))
    cut = without_gaps(stored, ("x", "y"), "drop")
    assert cut.stored.lengths.tolist() == [1, 1, 1]
    assert cut.stored.column("x").values.tolist() == [1, 3, 6]
    assert cut.true_starts == [True, False, False]
    filled = without_gaps(stored, ("x", "y"), "last")
    assert filled.stored.lengths.tolist() == [4, 1]
    assert filled.stored.column("x").values.tolist() == [1, 1, 3, 4, 6]
    assert filled.stored.column("y").values.tolist() == [1, 2, 3, 3, 6]
    assert filled.true_starts == [True, False]
    nothing = Stored(lambda _: of_numbers(np.full(3, np.nan)), np.array([3]))
    with pytest.raises(InputError, match="no row is left"):
        without_gaps(nothing, ("x",), "last")


@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_gaps_of_columns_that_tell_nothing_are_no_matter(tmp_path: Path, missing: str):
    a, b = np.random.default_rng(0).integers(0, 9, (600, 2)).T

    def problem(rows: int, missing: str) -> Problem:
        row = lambda i: f"{a[i]},{'' if i % 40 == 3 else b[i]},,{2 * a[i]}"  # noqa: E731
        return from_file(
            file_source(csv_file(tmp_path, "a,b,empty,y", row, rows), None, ["y"], missing=missing), 0
        )

    found = problem(600, missing)
    assert found.inputs == ("a",)
    assert any("nothing was found that tells about y: b" in remark for remark in found.remarks)
    with pytest.raises(InputError, match=r"column 'b' holds a missing value; 2 cells"):
        problem(60, "refuse")  # too few rows to say so


# -- times ---------------------------------------------------------------------------------------------------


def moments(*texts: str) -> Any:
    return (np.array(texts, dtype="datetime64[us]"),) * 2


def leaves(times: Any, ends: list[int] | None = None, taken: tuple[str, ...] = ()) -> dict[str, list[float]]:
    found = time_leaves(times, np.arange(len(times[0])), np.array(ends or [], int), "when", taken)
    return {name: values.tolist() for name, values in found.items()}


def test_hours_weekdays_and_the_time_between_rows():
    times = moments("2024-01-01 00:00", "2024-01-01 06:30", "2024-01-02 23:59:59", "2024-01-07 12:00")
    assert leaves(times) == {
        "hour": [0, 6, 23, 12],
        "weekday": [0, 0, 1, 6],
        "seconds_since_last": [0, 23400, 149399, 388801],
    }
    days = moments("2024-01-01", "2024-01-03", "2024-01-04", "2024-01-07")
    assert leaves(days) == {"weekday": [0, 2, 3, 6], "days_since_last": [0, 2, 1, 3]}
    # what does not vary is no input
    assert leaves(moments("2024-01-01", "2024-01-08", "2024-01-15")) == {}
    assert list(leaves(moments("2024-01-01 10:00", "2024-01-01 11:00", "2024-01-01 12:00"))) == ["hour"]
    assert leaves((np.array([1.0, 2.0, 4.0]),) * 2) == {"since_last": [0, 1, 2]}
    assert leaves((np.array([1.0, 2.0, 3.0]),) * 2) == {}
    # sequences begin with no time passed
    times = moments("2024-01-01 10:00", "2024-01-01 11:00", "2024-01-01 08:00", "2024-01-01 10:00")
    assert leaves(times, [2])["hours_since_last"] == [0, 1, 0, 2]
    # names that are taken get the name of the column
    assert list(leaves(moments("2024-01-01 10:00", "2024-01-01 11:00"), taken=("hour",))) == ["when_hour"]
    two = moments("2024-01-01 10:00", "2024-01-01 11:00"), np.arange(2), np.array([], int), "when"
    found = time_leaf(*two, "when_hour")
    assert found is not None
    assert found.tolist() == [10, 11]
    assert time_leaf(*two, "size") is None


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["2024-01-01", "2024-01-02", "2024-01-03"], ""),
        (
            [f"2024-01-{day:02}" for day in range(1, 25) if day != 11],
            "when goes on by 1 day, but 1 step is missing, the first after 2024-01-10 00:00:00",
        ),
        (
            ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 01:30", "2024-01-01 05:00"],
            "rows come at unequal distances of when: from 30 minutes to 3.5 hours",
        ),
        ([*range(20), *range(22, 40)], "when goes on by 1, but 1 step is missing, the first after 19"),
    ],
)
def test_steps_that_are_missing_are_said(texts: list, words: str):
    times = moments(*texts)[0] if isinstance(texts[0], str) else np.array(texts)
    said = remark_on_steps(times, np.array([], int), "when")
    assert said.startswith(words)
    assert bool(said) == bool(words)
    assert remark_on_steps(np.array([0, 1, 2, 0, 1, 2]), np.array([3]), "when") == ""  # two sequences


def test_zones_count_for_distances_and_not_for_hours(tmp_path: Path):
    path = csv_file(
        tmp_path,
        "when,load,cost",
        lambda i: f"2024-03-{i + 1:02}T{7 + (i + 1) % 3:02}:00{'+01:00' if i < 14 else '+02:00'},{i},{i % 5}",
        28,
    )
    source = file_source(path, ["load"], ["cost"], time="when")
    assert source.roles.order == source.roles.time == "when"
    assert FileSource.from_dict(source.to_dict()) == source
    found = from_file(source, 0)
    assert found.inputs == ("load", "hour", "weekday", "hours_since_last")
    hours = np.concatenate([found.training.x[..., 1].ravel(), found.validation.x[..., 1].ravel()])
    assert set(hours.tolist()) <= {0.0, 7.0, 8.0, 9.0}
    assert 22.0 in found.training.x[..., 3] or 24.0 in found.training.x[..., 3]
    with pytest.raises(InputError, match="--time 'load' is an input"):
        file_source(path, ["load"], ["cost"], time="load")


@pytest.mark.slow
def test_a_rule_of_hours_and_distances_is_found_and_runs_on_new_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A meter that is read at odd times: the night tariff from 22 to 6, times the hours since the last."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    at, lines = np.datetime64("2024-01-01T00:00"), []
    for _ in range(400):
        at = at + np.timedelta64(int(rng.integers(1, 6)), "h")
        hour, load = int(at.astype("datetime64[h]").astype(int) % 24), int(rng.integers(1, 9))
        lines.append(f"{str(at).replace('T', ' ')},{load},{load * (2 if hour < 6 else 3)}")
    Path("meter.csv").write_text("when,load,cost\n" + "\n".join(lines) + "\n")
    command = "fit meter.csv --inputs load --targets cost --time when --out out --json"
    assert main(command.split()) == 0
    result = json.loads(capsys.readouterr().out)
    (formula,) = result["formula"]
    assert "hour[t]" in formula
    assert any("rows come at unequal distances of when" in note for note in result["certificate"]["notes"])
    Path("new.csv").write_text("load,when\n5,2025-06-01 03:00\n5,2025-06-01 04:00\n7,2025-06-01 12:00\n")
    assert main(["predict", "out", "new.csv", "--quiet"]) == 0
    said = capsys.readouterr().out.splitlines()[1:]
    assert said == ["5,2025-06-01 03:00,10", "5,2025-06-01 04:00,10", "7,2025-06-01 12:00,21"]
    Path("other.csv").write_text("load,when\n5,1\n5,2\n")
    assert main(["predict", "out", "other.csv"]) == 2
    assert "gives no hour, which the program reads" in capsys.readouterr().err
    assert main(["verify", "out", "--quiet"]) == 0


# -- truth values: bits to the search, True and False wherever they go in and come out -----------------------

PARITY = PROGRAMS["truths"]


def truths() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, x = rng.integers(0, 2, ROWS), rng.integers(0, 4, ROWS)
    return a.astype(bool), x, np.cumsum(a) % 2 == 1


def write(path: Path, spell: Callable[[Any], str] = str) -> Path:
    a, x, y = truths()
    if path.suffix == ".npz":
        np.savez(path, a=a, x=x, y=y)
    elif path.suffix == ".parquet":
        pytest.importorskip("pandas").DataFrame({"a": a, "x": x, "y": y}).to_parquet(path)
    else:
        lines = [f"{spell(p)},{q},{spell(r)}" for p, q, r in zip(a, x, y, strict=True)]
        path.write_text("a,x,y\n" + "\n".join(lines) + "\n")
    return path


def kinds(problem: Problem) -> list[bool]:
    return [domain.truths for domain in (*problem.domains, *problem.output_domains)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("large", [0, 1 << 20])
def test_truth_values_are_read_and_predicted(
    tmp_path: Path, ending: str, large: int, monkeypatch, made_folder: Callable[..., Path], capsys
):
    monkeypatch.setattr(csv_columns, "LARGE", large)
    path, made = write(tmp_path / f"rows.{ending}"), tmp_path / f"made.{ending}"
    source = file_source(path, ["a", "x"], ["y"])
    problem = from_file(source, 0)
    assert kinds(problem) == [True, False, True]
    assert [str(domain) for domain in problem.domains] == ["True or False", "integers 0..3"]
    assert problem.domains[0] == BITS  # nothing that searches sees a difference
    assert problem.output_truths == ("y",)
    made_folder(tmp_path / "out", source, PARITY)
    assert main(["predict", str(tmp_path / "out"), str(path), "--out", str(made)]) == 0
    assert "y stood in the table: the program has the same in 60 of 60 rows" in capsys.readouterr().err
    if ending == "csv":
        assert made.read_text() == path.read_text()
    elif ending == "npz":
        with np.load(made) as arrays:
            assert arrays["y"].dtype == bool
            assert arrays["y"].tolist() == truths()[2].tolist()
    else:
        column = pytest.importorskip("pyarrow.parquet").read_table(made).column("y")
        assert str(column.type) == "bool"
        assert column.to_pylist() == truths()[2].tolist()


@pytest.mark.parametrize(
    ("spell", "alone"),
    [
        (lambda bit: str(bit).upper(), True), (lambda bit: f" {str(bit).lower()}", True),
        (lambda bit: str(int(bit)), False), (lambda bit: "true" if bit else "0", False),
    ],
)  # fmt: skip
def test_words_alone_are_truth_values_and_gaps_leave_them(tmp_path: Path, spell, alone: bool):
    path = write(tmp_path / "rows.csv", spell)
    problem = from_file(file_source(path, ["a", "x"], ["y"]), 0)
    assert kinds(problem) == [alone, False, alone]
    assert problem.domains[0].kind == "bits"
    if alone:
        path.write_text(path.read_text() + ",1,True\n" + "True,1,\n" + "False,0,True\n" * 30)
        for missing in ("drop", "last"):
            problem = from_file(file_source(path, ["a", "x"], ["y"], missing=missing), 0)
            assert kinds(problem) == [True, False, True]


def test_the_estimator_takes_and_gives_truth_values():
    a, x, y = truths()
    given: list[Any] = [(np.stack([a.astype(object), x], 1)[None], y[None])]
    for library in (pytest.importorskip("pandas"), pytest.importorskip("polars")):
        frame = library.DataFrame({"a": a, "x": x, "y": y})
        given += [(frame[["a", "x"]], frame["y"]), (frame[["a", "x"]], frame[["y"]])]
    for X, Y in given:
        read = given_by(X, Y)
        problem = from_table(*read.rows(X, Y), 0)
        assert kinds(problem) == [True, False, True]
        first = Var(read.inputs[0])
        parity = PARITY.recurrence.steps[0].definition.substitute({Var("a"): first})  # type: ignore[union-attr]
        model = ProgramRegressor()
        model.given_ = read
        recurrence = rule(None, " ".join(read.inputs), y=parity)
        program = Program("parity", recurrence, problem.domains, True, output_truths=problem.output_truths)
        model.program_ = SourceText(program)
        answers = model.predict(X)
        assert answers.dtype == bool
        assert answers.shape == np.shape(Y)
        assert answers.ravel().tolist() == y.tolist()
        assert model.score(X, Y) == 1.0
    for X, Y in (
        (a.reshape(6, 10), y.reshape(6, 10)),
        (a.reshape(6, 10, 1), y.reshape(6, 10)),
        ([a[:30], a[30:]], [y[:30], y[30:]]),
    ):
        table, _ = given_by(X, Y).rows(X, Y)
        assert table.column("x").truths
        assert table.column("y").truths
