"""Tables as people have them: texts, categories that look like numbers, cells that hold nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weights2code.data import FileSource, file_source, from_file
from weights2code.data.columns import Gaps, Stored, of_numbers
from weights2code.data.gaps import without_gaps
from weights2code.data.tables import names_in, open_table
from weights2code.data.texts import numbered, shared_numbers
from weights2code.errors import InputError
from weights2code.roles import Roles

ROWS = 60


def csv_file(folder: Path, header: str, rows: list[str]) -> Path:
    path = folder / "data.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def turnstile(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    events = [str(event) for event in rng.choice(["coin", "push"], ROWS)]
    return csv_file(
        folder, "event,ok,state", [f"{e},true,{'open' if e == 'coin' else 'shut'}" for e in events]
    )


def test_columns_of_texts_are_numbered(tmp_path: Path):
    problem = from_file(file_source(turnstile(tmp_path), ["event", "ok"], ["state"]), seed=0)
    assert problem.categories == {"event": ("coin", "push"), "state": ("open", "shut")}
    assert problem.domains[1].kind == "bits"
    assert problem.output_domains[0].categories == ("open", "shut")
    assert problem.integer_outputs
    assert problem.inexact() == "with mistakes"
    assert set(np.unique(problem.training.x[..., 0][problem.training.scored])) == {1, 2}


def test_without_inputs_all_other_columns_are_inputs(tmp_path: Path):
    source = file_source(turnstile(tmp_path), None, ["state"], order="ok")
    assert source.roles.inputs == ("event",)
    with pytest.raises(InputError, match="no column beside"):
        file_source(turnstile(tmp_path), None, ["state", "event"], order="ok")


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
    table = open_table(path, Roles(("event", "on"), ("y",)))
    columns = {name: table.column(name) for name in ("event", "on", "y")}
    assert [name for name, column in columns.items() if column.texts] == ["event"]
    if suffix == ".parquet":
        assert {name: c.gaps and c.gaps.count for name, c in columns.items()} == {"event": 1, "on": 1, "y": 1}
        assert columns["event"].values.tolist() == [1, 0, 2, 1]
    else:
        assert from_file(file_source(path, ["event", "on"], ["y"]), 0).categories == {"event": ("a", "b")}


def test_one_text_among_numbers_is_a_mistake(tmp_path: Path):
    path = csv_file(tmp_path, "x,y", [*(f"{i},{i % 3}" for i in range(ROWS)), "seven,1"])
    with pytest.raises(InputError, match=r"line 62, column 'x' holds the text 'seven'.*--categories"):
        from_file(file_source(path, ["x"], ["y"]), 0)
    assert "seven" in from_file(file_source(path, ["x"], ["y"], categories=["x"]), 0).categories["x"]


def test_what_was_meant_as_a_number_is_no_text(tmp_path: Path):
    for cell, part in (("3,500", "--decimal point"), ("1_000", "digits 0 to 9"), ("2024-01-05", "dates")):
        path = csv_file(tmp_path, "x;y", [f"{cell};{i % 3}" for i in range(ROWS)])
        with pytest.raises(InputError, match=part):
            from_file(file_source(path, ["x"], ["y"]), 0)


def test_categories_that_look_like_numbers(tmp_path: Path):
    path = csv_file(
        tmp_path, "zone,place,y", [f"{(7, 12, 300)[i % 3]},{i % 2}.5,{i % 3}" for i in range(ROWS)]
    )
    problem = from_file(file_source(path, ["zone", "place"], ["y"], categories=["zone", "place"]), 0)
    assert problem.categories == {"zone": (7, 12, 300), "place": ("0.5", "1.5")}
    with pytest.raises(InputError, match="no input and no target"):
        file_source(path, ["zone"], ["y"], categories=["place"])


def test_columns_of_the_same_texts_share_their_numbers():
    columns = {"a": ("x", "y", "z"), "b": ("w", "y", "z"), "c": ("open", "shut", "x"), "d": ("off", "on")}
    numbers, categories = shared_numbers(columns)
    assert categories["a"] == categories["b"] == ("w", "x", "y", "z")
    assert numbered(np.array([1, 0, 3]), columns["a"], numbers["a"]).tolist() == [2, 0, 4]
    assert categories["c"] == ("open", "shut", "x")  # one text alone may mean two things
    assert numbered(np.array([2]), ("off", "?"), numbers["d"]).tolist() == [-1]


def gap_file(folder: Path) -> Path:
    rows = [
        f"{i},{'' if i in (7, 30) else i % 5},{'NA' if i == 30 else 'ab'[i % 2]},{i % 3}" for i in range(ROWS)
    ]
    return csv_file(folder, "t,x,kind,y", rows)


def test_gaps_are_refused_with_their_number(tmp_path: Path):
    with pytest.raises(InputError, match=r"line 9, column 'x' .* 3 cells .*x 2, kind 1.*drop.*last"):
        from_file(file_source(gap_file(tmp_path), ["x", "kind"], ["y"], order="t"), 0)


def test_gaps_cut_sequences_or_are_filled(tmp_path: Path):
    path = gap_file(tmp_path)
    cut = from_file(file_source(path, ["x", "kind"], ["y"], order="t", missing="drop"), 0)
    assert cut.remarks == ("sequences were cut at 3 cells that held nothing (x 2, kind 1), which left 3",)
    rows = sum(int(part.scored.sum()) for part in (cut.training, cut.validation, cut.held_out) if part)
    assert rows < ROWS
    filled = from_file(file_source(path, ["x", "kind"], ["y"], order="t", missing="last"), 0)
    assert "filled with the last value" in filled.remarks[0]
    with pytest.raises(InputError, match="--missing sometimes is not known"):
        file_source(path, ["x"], ["y"], missing="sometimes")


def test_what_is_left_of_sequences_with_gaps():
    x = np.array([1, np.nan, 3, 4, np.nan, 6])
    y = np.array([1, 2, 3, np.nan, 5, 6])
    columns = {"x": of_numbers(x, Gaps(2, "row 1")), "y": of_numbers(y, Gaps(1, "row 3"))}
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
    nothing = Stored(lambda _: of_numbers(np.full(3, np.nan), Gaps(3, "row 0")), np.array([3]))
    with pytest.raises(InputError, match="no row is left"):
        without_gaps(nothing, ("x",), "last")


def test_a_cut_sequence_has_no_true_start(tmp_path: Path):
    rows = [f"{i // 10},{'' if i % 10 == 3 else i % 4},{i % 3}" for i in range(400)]
    path = csv_file(tmp_path, "id,x,y", rows)
    problem = from_file(file_source(path, ["x"], ["y"], "id", missing="drop"), 0)
    given = problem.training.given
    assert set(given[problem.training.lengths == 6].tolist()) == {3}
    assert set(given[problem.training.lengths == 3].tolist()) == {0}


def test_sources_are_read_back(tmp_path: Path):
    path = gap_file(tmp_path)
    for source in (
        file_source(path, ["x"], ["y"]),
        file_source(path, ["x", "kind"], ["y"], categories=["x"], missing="last"),
    ):
        assert FileSource.from_dict(source.to_dict()) == source
    assert set(file_source(path, ["x"], ["y"]).to_dict()) == {
        "file", "size", "sha256", "inputs", "targets", "sequence", "order"
    }  # fmt: skip
    with pytest.raises(ValueError, match="choose one of refuse, drop, last"):
        FileSource.from_dict({**source.to_dict(), "missing": "perhaps"})
