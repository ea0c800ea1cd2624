"""Repeats: one command under other circumstances."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import repeats  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))


@pytest.mark.slow
def test_the_same_result_under_other_circumstances(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(repeats.os, "nice", lambda lower: 0)  # not of the tests
    assert repeats.attack(1, 0).failure == ""
