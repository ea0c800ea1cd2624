"""Rules with a season in them: found, certified, checked again, and run on new rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from weights2code.training.seasons import fitting_seasonal, linear_leaves

from weights2code.cli import main
from weights2code.data import from_lists
from weights2code.settings import Settings


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


Rule = Callable[[np.ndarray, np.ndarray, int], float]


def write(name: str, rows: int, season: int, rule: Rule) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, rows), np.zeros(rows)
    for t in range(rows):
        y[t] = rule(x, y, t) if t >= season else rng.integers(0, 9)
    lines = [f"{a},{b!r}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    Path(name).write_text("x,y\n" + "\n".join(lines) + "\n")


def test_least_squares_choose_what_a_linear_rule_reads():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(800, 2)), np.zeros((800, 1))
    for t in range(30, 800):
        y[t] = 2 * x[t, 1] - x[t - 30, 0] + 0.5 * y[t - 31]
    problem = from_lists([x], [y], ("a", "b"), ("y",), 0, season=30)
    assert problem.seasonal is not None
    chosen, left = linear_leaves(problem.seasonal)
    assert set(chosen) == {(1, 0), (0, 30), (2, 30)}
    assert left < 1e-10


@pytest.mark.slow
def test_a_rule_with_a_season_is_found_and_goes_through_every_command(capsys: pytest.CaptureFixture[str]):
    write("rows.csv", 840, 24, lambda x, y, t: x[t] + 0.5 * y[t - 24])
    assert main(["fit", "rows.csv", "--inputs", "x", "--targets", "y", "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["formula"] == ["y[t] = x[t] + 0.5*y[t-24]"]
    assert result["certificate"]["verdict"] == "tested"
    assert any("a season of 24 rows back" in note for note in result["certificate"]["notes"])
    for later in ("verify", "extract", "report"):
        assert main([later, "out", "--quiet"]) == 0
    Path("new.csv").write_text("x\n" + "3\n" * 26)
    capsys.readouterr()
    assert main(["predict", "out", "new.csv"]) == 0
    assert "the rule looks 24 rows back" in capsys.readouterr().err


def test_a_season_that_is_none_is_one_sentence(capsys: pytest.CaptureFixture[str]):
    write("rows.csv", 200, 10, lambda x, y, t: x[t])
    assert (
        main(["fit", "rows.csv", "--inputs", "x", "--targets", "y", "--season", "168", "--out", "out"]) == 2
    )
    said = capsys.readouterr().err
    assert "--season 168 needs a sequence of at least 504 rows" in said
    assert said.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.slow
def test_training_alone_looks_a_season_back(capsys: pytest.CaptureFixture[str]):
    write("rows.csv", 900, 24, lambda x, y, t: max(x[t], x[t - 24]))
    columns = ["--inputs", "x", "--targets", "y", "--season", "24"]
    assert main(["train", "rows.csv", *columns, "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["fitted"]
    assert result["rung"] == "season window"
    assert main(["extract", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["formula"] == ["y[t] = max(x[t], x[t-24])"]
    assert main(["verify", "out", "--quiet"]) == 0


def test_a_rung_that_reads_nothing_of_a_season_ago_is_left_to_the_ladder():
    x = np.random.default_rng(0).integers(0, 9, (600, 1)).astype(float)
    last = np.concatenate([np.zeros((1, 1)), x[:-1]])
    problem = from_lists([x], [2 * x - last], ("x",), ("y",), 0, season=24)
    assert problem.seasonal is not None
    assert fitting_seasonal(problem, Settings()) is None
