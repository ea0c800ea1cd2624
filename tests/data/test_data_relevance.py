"""Which of many columns tell anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weights2code.data import file_source, from_file, from_lists
from weights2code.data.relevance import MANY, MOST_KEPT, narrowed, relevant

ROWS, COLUMNS = 4000, 100


def problem_of(rule, low: int = 0, high: int = 10, categories: tuple[int, ...] = ()):
    rng = np.random.default_rng(0)
    x = rng.integers(low, high, (ROWS, COLUMNS)).astype(float)
    for column in categories:
        x[:, column] = rng.integers(1, 4, ROWS)
    names = tuple(f"c{i}" for i in range(COLUMNS))
    y = np.asarray(rule(x), float)[:, None]
    given: np.ndarray = x.astype(object) if categories else x
    for column in categories:
        given[:, column] = np.array(["p", "q", "r"], object)[x[:, column].astype(int) - 1]
    return from_lists([given], [y], names, ("y",), 0)


def last(column: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], column[:-1]])


@pytest.mark.parametrize(
    ("rule", "needed"),
    [
        (lambda x: 3 * x[:, 1] - 2 * x[:, 40] + x[:, 77], {1, 40, 77}),
        (lambda x: np.cumsum(x[:, 3] - x[:, 50]), {3, 50}),
        (lambda x: np.maximum(x[:, 10], last(x[:, 20])) + x[:, 30], {10, 20, 30}),
        (lambda x: (x[:, 5] > x[:, 6]).astype(float), {5, 6}),
    ],
)
def test_columns_that_matter_are_found(rule, needed: set[int]):
    found = relevant(problem_of(rule))
    assert needed <= set(found)
    assert len(found) <= MOST_KEPT


def test_two_columns_that_tell_nothing_alone():
    assert relevant(problem_of(lambda x: x[:, 3] != x[:, 50], high=2)) == [3, 50]


@pytest.mark.slow
def test_a_text_that_chooses_between_two_columns():
    found = relevant(problem_of(lambda x: np.where(x[:, 9] == 2, x[:, 20], x[:, 60]), categories=(9,)))
    assert {9, 20, 60} <= set(found)


def test_a_few_columns_stay_as_they_are():
    x = np.random.default_rng(0).integers(0, 5, (400, MANY)).astype(float)
    problem = from_lists([x], [x[:, :1]], tuple(f"c{i}" for i in range(MANY)), ("y",), 0)
    assert narrowed(problem) is problem


def test_what_is_left_out_is_said(tmp_path: Path):
    rng, path = np.random.default_rng(0), tmp_path / "wide.csv"
    x = rng.integers(0, 9, (600, 30))
    lines = [",".join(map(str, (*row, row[4] + row[7]))) for row in x.tolist()]
    path.write_text("\n".join([",".join([*(f"c{i}" for i in range(30)), "y"]), *lines]) + "\n")
    problem = from_file(file_source(path, None, ["y"]), 0)
    assert problem.inputs == ("c4", "c7")
    assert problem.held_out is not None
    assert problem.training.x.shape[2] == problem.held_out.x.shape[2] == 2
    assert problem.remarks[0].startswith("28 of 30 columns are not inputs of the program: beside c4, c7")


def test_gaps_of_columns_that_tell_nothing_do_not_cut(tmp_path: Path):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, (800, MANY + 20)).astype(object)
    y = (x[:, 3] > x[:, 7]).astype(int)
    x[rng.random(x.shape) < 0.05] = ""
    lines = [",".join(map(str, (*row, answer))) for row, answer in zip(x, y, strict=True)]
    names = [f"c{i}" for i in range(x.shape[1])]
    (tmp_path / "rows.csv").write_text("\n".join([",".join([*names, "y"]), *lines]) + "\n")
    problem = from_file(file_source(tmp_path / "rows.csv", None, ["y"], missing="drop"), 0)
    assert problem.inputs == ("c3", "c7")
    cut = int((x[:, [3, 7]] == "").sum())
    assert any(f"cut at {cut} cells" in remark for remark in problem.remarks)
    assert any(f"{MANY + 18} of {MANY + 20} columns are not inputs" in remark for remark in problem.remarks)
