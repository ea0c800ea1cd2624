"""Data that are real and few: every view has more columns than there are near rows for."""

from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main


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
