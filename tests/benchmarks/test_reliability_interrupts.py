"""Interrupts: what counts as a clean end, and one command that is really interrupted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import interrupts  # pyright: ignore[reportMissingImports]
    from commands import Command, Ended  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

LINE = "w2c run: stopped; the same command with the same --out continues.\n"
WHOLE = '{"exit_code": 0, "seconds": 2.0}'


@pytest.mark.parametrize(
    ("end", "part"),
    [
        (Ended(130, "", LINE), ""),
        (Ended(0, '{"exit_code": 0, "seconds": 1.0}', ""), ""),
        (Ended(130, "", LINE + LINE), "one line"),
        (Ended(130, "", "Traceback\n"), "one line"),
        (Ended(-6, "", "terminate called\n"), "exit code -6"),
        (Ended(0, "", ""), "no result"),
        (Ended(130, '{"exit_code"', LINE), "half a result"),
        (Ended(0, '{"exit_code": 1}', ""), "another result"),
    ],
)
def test_what_a_clean_end_is(end: Ended, part: str):
    found = interrupts.wrong(Command("run", (), ()), "stopped", end, Ended(0, WHOLE, ""))
    assert part in found
    assert bool(part) == bool(found)


@pytest.mark.slow
def test_an_interrupted_command_goes_on():
    assert interrupts.attack(2, 0).failure == ""
