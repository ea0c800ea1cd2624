"""Columns of True and False: bits to the search, truth values wherever they go in and come out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import arrow_csv, file_source, from_file, from_lists
from weights2code.data.shapes import read_pair
from weights2code.estimator import ProgramRegressor, SourceText
from weights2code.language import BITS, Domain, Recurrence, Step, Var, integers
from weights2code.language.domain import TRUTHS
from weights2code.program import Program, run_program

RULE = Recurrence(("a", "x"), (Step("y", Var("a") + Var("y", 1) - 2 * Var("a") * Var("y", 1)),), ("y",))
PARITY = Program("parity", RULE, (TRUTHS, integers(0, 3)), True, output_truths=("y",))


def rows(count: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, x = rng.integers(0, 2, count), rng.integers(0, 4, count)
    return a.astype(bool), x, np.cumsum(a) % 2 == 1


def write(path: Path, spell: Callable[[Any], str] = str) -> Path:
    a, x, y = rows()
    if path.suffix == ".npz":
        np.savez(path, a=a, x=x, y=y)
    elif path.suffix == ".parquet":
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame({"a": a, "x": x, "y": y}).to_parquet(path)
    else:
        lines = [f"{spell(p)},{q},{spell(r)}" for p, q, r in zip(a, x, y, strict=True)]
        path.write_text("a,x,y\n" + "\n".join(lines) + "\n")
    return path


def kinds(problem: Any) -> list[bool]:
    return [domain.truths for domain in (*problem.domains, *problem.output_domains)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("by_arrow", [False, True])
def test_files_say_which_columns_they_are(
    tmp_path: Path, ending: str, by_arrow: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(arrow_csv, "LARGE", 0 if by_arrow else 1 << 20)
    problem = from_file(file_source(write(tmp_path / f"rows.{ending}"), ["a", "x"], ["y"]), 0)
    assert kinds(problem) == [True, False, True]
    assert [str(domain) for domain in problem.domains] == ["True or False", "integers 0..3"]
    assert problem.domains[0] == BITS  # nothing that searches sees a difference
    assert problem.output_truths == ("y",)


@pytest.mark.parametrize(
    ("spell", "truths"),
    [
        (lambda bit: str(bit).upper(), True),
        (lambda bit: f" {str(bit).lower()}", True),
        (lambda bit: str(int(bit)), False),
        (lambda bit: "true" if bit else "0", False),
    ],
)
def test_words_alone_are_truth_values(tmp_path: Path, spell: Callable[[Any], str], truths: bool):
    problem = from_file(file_source(write(tmp_path / "rows.csv", spell), ["a", "x"], ["y"]), 0)
    assert kinds(problem) == [truths, False, truths]
    assert problem.domains[0].kind == "bits"


def test_gaps_leave_truth_values(tmp_path: Path):
    path = write(tmp_path / "rows.csv")
    path.write_text(path.read_text() + ",1,True\n" + "True,1,\n" + "False,0,True\n" * 30)
    for missing in ("drop", "last"):
        assert kinds(from_file(file_source(path, ["a", "x"], ["y"], missing=missing), 0)) == [
            True,
            False,
            True,
        ]


def test_domains_and_programs_are_stored_with_them():
    assert Domain.from_dict(TRUTHS.to_dict()).truths
    assert "truths" not in BITS.to_dict()
    with pytest.raises(ValueError, match="only they are truth values"):
        Domain.from_dict({**integers(0, 3).to_dict(), "truths": True})
    again = Program.from_dict(json.loads(json.dumps(PARITY.to_dict())))
    assert again == PARITY
    assert again.truths == {"a", "y"}


def test_the_text_returns_truth_values():
    a, x, y = rows()
    text, space = PARITY.source(), {}
    exec(text, space)
    table = np.stack([a.astype(object), x], 1)
    for answer in (space["parity"](table), PARITY.run(table)):
        assert answer.dtype == bool
        assert answer.tolist() == y.tolist()
    assert "y: True or False" in text
    assert run_program(text, [np.stack([a, x], 1).astype(float)])[0].tolist() == y.tolist()


def test_truth_values_beside_numbers_are_objects():
    both = Recurrence(("a",), (Step("y", 1 - Var("a")), Step("n", Var("n", 1) + Var("a"))), ("y", "n"))
    made = Program("both", both, (TRUTHS,), True, output_truths=("y",))
    space: dict[str, Any] = {}
    exec(made.source(), space)
    for answer in (space["both"]([True, False]), made.run([True, False])):
        assert answer.tolist() == [[False, 1.0], [True, 1.0]]
        assert isinstance(answer[0, 0], bool)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_predicted_columns_are_truth_values(
    tmp_path: Path, ending: str, made_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
):
    path, made = write(tmp_path / f"rows.{ending}"), tmp_path / f"made.{ending}"
    made_folder(tmp_path / "out", file_source(path, ["a", "x"], ["y"]), PARITY)
    assert main(["predict", str(tmp_path / "out"), str(path), "--out", str(made)]) == 0
    assert "y stood in the table: the program has the same in 60 of 60 rows" in capsys.readouterr().err
    if ending == "csv":
        assert made.read_text() == path.read_text()
    elif ending == "npz":
        with np.load(made) as arrays:
            assert arrays["y"].dtype == bool
            assert arrays["y"].tolist() == rows()[2].tolist()
    else:
        column = pytest.importorskip("pyarrow.parquet").read_table(made).column("y")
        assert str(column.type) == "bool"
        assert column.to_pylist() == rows()[2].tolist()


def frames() -> list[Any]:
    a, x, y = rows()
    found: list[Any] = [(np.stack([a.astype(object), x], 1)[None], y[None])]
    for library in ("pandas", "polars"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        frame = module.DataFrame({"a": a, "x": x, "y": y})
        found += [(frame[["a", "x"]], frame["y"]), (frame[["a", "x"]], frame[["y"]])]
    return found


@pytest.mark.parametrize("which", range(len(frames())))
def test_the_estimator_takes_and_gives_truth_values(which: int):
    X, y = frames()[which]
    given, xs, ys = read_pair(X, y)
    problem = from_lists(xs, ys, given.inputs, given.outputs, 0, truths=given.truths)
    assert kinds(problem) == [True, False, True]
    rule = Recurrence(
        given.inputs,
        (Step("y", Var(given.inputs[0]) + Var("y", 1) - 2 * Var(given.inputs[0]) * Var("y", 1)),),
        ("y",),
    )
    model = ProgramRegressor()
    model.given_ = given
    made = Program("parity", rule, problem.domains, True, output_truths=problem.output_truths)
    model.program_ = SourceText(made)
    answers = model.predict(X)
    assert answers.dtype == bool
    assert answers.shape == np.shape(y)
    assert answers.ravel().tolist() == rows()[2].tolist()
    assert model.score(X, y) == 1.0


def test_arrays_of_truth_values():
    a, _, y = rows()
    for X, Y in (
        (a.reshape(6, 10), y.reshape(6, 10)),
        (a.reshape(6, 10, 1), y.reshape(6, 10)),
        ([a[:30], a[30:]], [y[:30], y[30:]]),
    ):
        assert read_pair(X, Y)[0].truths == {"x", "y"}
    assert read_pair(a.reshape(6, 10), y.reshape(6, 10).astype(int))[0].truths == {"x"}
