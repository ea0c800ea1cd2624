"""Rules with a season in them: found, certified, checked again, and run on new rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main


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
