"""The rows of an attack belong to one source: what changed since is attacked again from the first case on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
sys.modules.pop("run", None)
try:
    import run  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))
    sys.modules.pop("run", None)


def test_rows_are_kept_by_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = "1" * 40
    monkeypatch.setattr(run, "source", lambda: tree)
    first = run.rows_file(tmp_path, "mutants", 0)
    first.write_text('{"number": 0}\n')
    assert run.read(run.rows_file(tmp_path, "mutants", 0)) == [{"number": 0}]
    assert run.read(run.rows_file(tmp_path, "mutants", 1)) == []
    tree = "2" * 40
    assert run.read(run.rows_file(tmp_path, "mutants", 0)) == []
    tree = "1" * 40 + run.CHANGES
    assert run.read(run.rows_file(tmp_path, "mutants", 0)) == []
