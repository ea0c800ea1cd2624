"""Data without a rule: they end soon, and what is said of them is true."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.data import from_lists
from weights2code.effort import work
from weights2code.views.guessing import guess_of, standing_for_something
from weights2code.views.rows import Rows


def test_random_labels_end_soon_with_what_is_true_of_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(0, 20)},{rng.choice(['a', 'b', 'c'])},{rng.integers(0, 2)}" for _ in range(200)]
    Path("random.csv").write_text("\n".join(["amount,kind,y", *rows]) + "\n")
    before = work()
    assert main(["fit", "random.csv", "--inputs", "amount,kind", "--targets", "y", "--out", "out"]) == 3
    assert work() - before < 20
    said = capsys.readouterr().out
    assert re.search(r"no rule of y is better than guessing \(\d\d%; always [01]: 5\d%\)", said)
    assert "with more of them a weak one" in said
    assert "network" not in said
    assert "--categories" not in said
    page = Path("out/report.html").read_text()
    assert "Extracted program" not in page
    assert "with more of them a weak one" in page


def test_only_codes_that_mean_something_may_be_categories():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.choice([7, 12, 300, 15, 9, 40, 2], 2000), rng.integers(0, 20, 2000)])
    told = np.isin(x[:, 0], [7, 15, 300]) ^ (x[:, 1] > 9)
    y = np.where(rng.random(2000) < 0.2, rng.integers(0, 2, 2000), told)
    problem = from_lists([x], [y[:, None]], ("zone", "amount"), ("y",), seed=0)
    (rows,) = Rows.of(problem)
    assert standing_for_something(rows) == ["zone"]
    assert guess_of(rows).better


def test_a_few_rows_of_noise_are_no_rule_and_no_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table = np.random.default_rng(0).normal(size=(48, 3)).round(3)
    lines = [",".join(map(str, row)) for row in table.tolist()]
    Path("noise.csv").write_text("\n".join(["a,b,y", *lines]) + "\n", encoding="utf-8")
    code = main(["fit", "noise.csv", "--inputs", "a,b", "--targets", "y", "--time-limit", "10"])
    shown = capsys.readouterr()
    assert code in (1, 3)
    assert "defect" not in shown.out + shown.err
