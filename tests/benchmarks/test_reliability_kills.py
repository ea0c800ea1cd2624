"""Kills: what counts as a difference, and one command that is really killed and goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import commands  # pyright: ignore[reportMissingImports]
    import kills  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

FILES = commands.Command("run", ("run", "abs"), ("program.py", "certificate.json"))


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders that differ in how long they took."""
    for name, seconds in (("one", 1.0), ("other", 2.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "program.py").write_text("y = x\n")
        said = {"verdict": "proved", "attempts": [{"seconds": seconds, "rung": "linear"}]}
        (tmp_path / name / "certificate.json").write_text(json.dumps(said))
    return tmp_path / "one", tmp_path / "other"


def test_only_seconds_may_differ(both: tuple[Path, Path]):
    assert commands.difference(FILES, *both) == ""
    (both[1] / "certificate.json").write_text('{"verdict": "proved", "attempts": []}')
    assert commands.difference(FILES, *both) == "certificate.json differs"


def test_lost_files_and_leftovers_are_seen(both: tuple[Path, Path]):
    (both[1] / "program.py").unlink()
    assert commands.difference(FILES, *both) == "program.py is only in one"
    (both[1] / "checkpoint").mkdir()
    (both[1] / "checkpoint" / ".x.12.part").touch()
    assert "left behind" in commands.difference(FILES, *both)


def test_a_case_is_made_from_its_number(tmp_path: Path):
    drawn = [commands.draw(np.random.default_rng([0, 2]), tmp_path, ("fit",)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert Path(drawn[0].arguments[1]).read_text().startswith("s,x,z,y\n0,")


@pytest.mark.slow
def test_a_killed_command_goes_on():
    assert kills.attack(0, 0).failure == ""
