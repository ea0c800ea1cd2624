"""A share of the attack with files that have no rule; a claim that is not so is found out."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import unsolvable  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

PROGRAM = """
__all__ = ["program"]
def program(data):
    return 2 * data
"""
NOISE = "the data are not exact: out0 scatters by 0.1 (3 % of its spread) around the program"


def number_of(kind: str) -> int:
    return list(unsolvable.KINDS).index(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["all zero", "three rows", "two columns alike", "time index", "random bits"])
def test_files_end_as_they_may(kind: str):
    assert unsolvable.attack(number_of(kind), seed=0).failure == ""


@pytest.mark.parametrize("kind", list(unsolvable.KINDS))
def test_files_are_the_same_for_the_same_seed(kind: str):
    first, second = (unsolvable.KINDS[kind](np.random.default_rng(0)) for _ in range(2))
    for one, other in zip(first.x + first.y, second.x + second.y, strict=True):
        assert np.array_equal(one, other)


def test_claims_are_compared_with_the_file(tmp_path: Path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    x = np.arange(40.0)[:, None]
    exact, wrong, noisy = (unsolvable.Log([x], [2 * x + d]) for d in (0.0, x == 3, 0.1 * np.sin(x)))
    plain = {"one_step": False, "notes": []}
    assert unsolvable.claims(plain, exact, path) == ""
    assert "1 of 40 values of out0 are wrong" in unsolvable.claims(plain, wrong, path)
    mistaken = {"one_step": False, "notes": ["the data are not exact: 2.5 % of the rows disagree with it"]}
    assert unsolvable.claims(mistaken, wrong, path) == ""
    assert "of the rows are wrong" in unsolvable.claims(mistaken, unsolvable.Log([x], [x]), path)
    measured = {"one_step": False, "notes": [NOISE]}
    assert unsolvable.claims(measured, noisy, path) == ""
    assert "out0 is off by" in unsolvable.claims(measured, unsolvable.Log([x], [2 * x + 1]), path)
