"""Other rules beside the chosen one: on the terminal, in the files, on the page and in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weights2code import ProgramRegressor
from weights2code.cli import main


def test_a_front_of_rules_has_shorter_ones_that_fit_less(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, (300, 2))
    rows = [f"{a},{b},{2 * a + b + (a > 7)}" for a, b in x]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    options = ["--inputs", "a,b", "--targets", "y", "--alternatives", "3", "--out", str(tmp_path / "out")]
    assert main(["fit", str(tmp_path / "data.csv"), *options]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rules:")]
    listed = json.loads((tmp_path / "out/certificate.json").read_text())["alternatives"]
    assert len(shown) == len(listed) >= 2
    assert len(listed) <= 4
    (pick,) = [one for one in listed if one["chosen"]]
    assert pick["loss"] == 0
    shorter = [one for one in listed if one["complexity"] < pick["complexity"]]
    assert shorter
    assert all(one["loss"] > 0 for one in shorter)
    assert shorter[0]["equation"].replace("*", "") in (tmp_path / "out/report.html").read_text().replace(
        "*", ""
    )


def test_the_estimator_has_the_front_too():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, (60, 8)).astype(float)
    model = ProgramRegressor(alternatives=2).fit(x, 3 * x + (x > 7))
    assert any(one.chosen and one.equation == "; ".join(model.equations_) for one in model.alternatives_)
    assert [one.complexity for one in model.alternatives_] == sorted(
        o.complexity for o in model.alternatives_
    )
