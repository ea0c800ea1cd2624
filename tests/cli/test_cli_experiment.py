"""`w2c experiment`: what it lists, refuses, writes and continues."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from weights2code.cli import main
from weights2code.experiments.registry import NAMES


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(NAMES)
    assert main(["experiment", "--list", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(NAMES)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "name an experiment"),
        (["tabel1"], "did you mean table1"),
        (["table1", "--seeds", "0,x"], "whole numbers such as 0,1,2 or 0-4"),
        (["table1", "--seeds", "3-1"], "names no seed"),
        (["l1", "--tasks", "div_3"], "l1 is not about div_3"),
        (["l1", "--tasks", "nonsense"], "there is no task called"),
        (["l1", "--jobs", "0"], "--jobs must be at least 1"),
    ],
)
def test_bad_usage_is_one_sentence_and_leaves_nothing(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_experiment_is_written_and_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["experiment", "attention_patterns", "--tasks", "prefix_mean", "--seeds", "0", "--jobs", "1"]
    words += ["--out", str(out)]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["experiment"] == "attention_patterns"
    assert sum(record["standing"].values()) == 1
    assert "worse" not in record["standing"]
    with open(out / "table.csv", newline="", encoding="utf-8") as file:
        rows = {row["task"]: row for row in csv.DictReader(file)}
    assert rows["prefix_mean"]["paper_rmse"] == "0.000314"
    assert float(rows["prefix_mean"]["gap"]) < 0.01
    assert "<svg" in (out / "figure.svg").read_text()
    changed = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/result.json")}
    assert len(changed) == 1
    assert main([*words, "--quiet"]) == 0
    assert {path: path.stat().st_mtime_ns for path in changed} == changed  # nothing ran again
    assert "prefix_mean" in capsys.readouterr().out
