"""The work of a sweep: one task, run as the command does and judged on sequences that nobody saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from weights2code.errors import InputError
from weights2code.experiments.work import run_task


@pytest.mark.slow
def test_a_run_leaves_its_folder_and_a_row(tmp_path: Path) -> None:
    arguments = {"task": "Sum_Last2", "settings": {"seed": 3}}
    row = run_task(arguments, tmp_path)
    assert (row["task"], row["seed"], row["exit"], row["solved"]) == ("sum_last2", 3, 0, True)
    assert row["verdict"] == "proved"
    assert row["source"] == (tmp_path / "run/program.py").read_text()
    assert row["lines"] == len(row["source"].splitlines())
    assert row["raw_lines"] == len((tmp_path / "run/program_raw.py").read_text().splitlines())
    assert row["training_seconds"] <= row["seconds"]
    assert not row["resumed"]
    again = run_task(
        arguments, tmp_path
    )  # of a complete run: the times of the first are gone, and that is said
    assert again["resumed"]
    assert again["training_seconds"] is None
    for name in ("formula", "verdict", "rung", "loss", "solved", "raw_lines"):
        assert again[name] == row[name]


@pytest.mark.slow
def test_a_run_without_a_program_has_a_row_too(tmp_path: Path) -> None:
    settings = {"layers": 1, "submlps": 1, "arity": 1, "heads": 0, "epochs": 1, "members": 1}
    row = run_task({"task": "balanced_parenthesis", "settings": settings}, tmp_path)
    assert row["exit"] == 3
    assert row["solved"] is False
    assert row["attempts"]
    assert row["rung"]


@pytest.mark.slow
def test_settings_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown settings: colour"):
        run_task({"task": "abs", "settings": {"colour": "red"}}, tmp_path)
