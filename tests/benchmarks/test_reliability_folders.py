"""A share of the attack on run folders: each way to tamper once, in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import folders  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

SEED = 7


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(folders.WAYS)))
def test_a_tampered_folder_is_not_believed(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    result = folders.attack(number, SEED)
    assert result.failure == "", result.detail
    assert result.outcome.startswith("exit ")


@pytest.mark.slow
def test_a_wrong_program_would_be_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The attack itself: a command that believes everything is found out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folders, "main", lambda arguments: 0)
    ways = {"another rule": folders.change_recurrence}
    monkeypatch.setattr(folders, "WAYS", ways)
    assert any(folders.attack(number, SEED).failure for number in range(10))
