"""A share of the attack with data files: each is refused in one sentence, or read as what it says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import files  # pyright: ignore[reportMissingImports]
    import strict_reading  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_files_are_refused_or_read_as_what_they_say(first: int):
    found = [files.attack(number, seed=0) for number in range(first, first + 20)]
    assert not [result for result in found if result.failure]
    assert {result.outcome for result in found} == {"refused", "read"}


@pytest.mark.parametrize("cell", ["1_000", "\u0661", '"1"2', "9007199254740993", "nan", "", "1e-400", "1,5"])
def test_the_second_reading_refuses_what_is_unclear(tmp_path: Path, cell: str):
    path = tmp_path / "data.csv"
    path.write_text(f"x,y\n1,2\n3,{cell}\n")
    with pytest.raises(strict_reading.Unclear):
        strict_reading.read(path, ["x"], ["y"], None, None)
    path.write_text('x,y\n1,2\n3,"4"\n')
    assert strict_reading.read(path, ["x"], ["y"], None, None) == [([[1.0], [3.0]], [[2.0], [4.0]])]
