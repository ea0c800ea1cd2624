"""Columns that tell sequences apart in rows that were taken for one."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, from_lists
from weights2code.data.by_key import telling_apart

NAMES = ("article", "quantity")


def problem_of(y: list[int], x: np.ndarray) -> Problem:
    return from_lists([x.astype(float)], [np.array(y, float)[:, None]], NAMES, ("y",), seed=0)


def drawn() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.integers(0, 6, 1200), rng.integers(-3, 6, 1200)])


def test_a_stock_of_each_article_follows_from_the_last_row_of_the_article():
    x, stock, y = drawn(), dict.fromkeys(range(6), 0), []
    for article, quantity in x.tolist():
        stock[article] += quantity
        y.append(stock[article])
    assert telling_apart(problem_of(y, x)) == ["article"]


def test_whether_a_key_came_up_before_follows_from_its_last_row():
    x = drawn()
    x[:, 0] = np.random.default_rng(1).integers(0, 300, 1200)
    seen: set[int] = set()
    y = [int(article in seen or seen.add(article) is not None) for article in x[:, 0].tolist()]
    assert telling_apart(problem_of(y, x)) == ["article"]


def test_one_total_is_one_sequence_and_chance_is_none():
    x = drawn()
    assert telling_apart(problem_of(np.cumsum(x[:, 1]).tolist(), x)) == []
    assert telling_apart(problem_of(np.random.default_rng(2).integers(0, 2, 1200).tolist(), x)) == []
