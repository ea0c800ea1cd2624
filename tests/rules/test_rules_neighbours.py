"""Rules of reals: what is lost by a choice of quantities, and pieces inside one another."""

from __future__ import annotations

import numpy as np

from weights2code.language import Var
from weights2code.rules.neighbours import Neighbours, surely_lossy

A, B, C = Var("a"), Var("b"), Var("c")


def rows(count: int, columns: int, digits: int | None = None) -> np.ndarray:
    X = np.random.default_rng(5).uniform(0, 10, (count, columns))
    return X if digits is None else np.round(X, digits)


def test_what_carries_the_target_loses_little() -> None:
    X = rows(3000, 3)
    y = np.abs(X.max(1) - 6.0)
    neighbours = Neighbours(y, whole=False)
    among = X[neighbours.among]
    assert neighbours.lost(among.max(1)[:, None]) < 0.02
    assert neighbours.lost(among) < 0.1
    assert neighbours.lost(among[:, :2]) > 0.2
    assert neighbours.lost(among.sum(1)[:, None]) > 0.2


def test_values_that_do_not_determine_the_target_are_told() -> None:
    X = rows(3000, 3)
    y = (X[:, 0] + X[:, 1] > X[:, 2] + 5.0).astype(float)
    reals = (False,) * 3
    assert not surely_lossy(X, y, reals)
    assert surely_lossy(X[:, :1], 3 * X[:, 1] - X[:, 2], reals[:1])
    remainder = np.floor(X[:, 0] * 100) % 7  # of whole numbers neighbours tell nothing
    whole = np.column_stack([np.floor(X[:, 0] * 100), X[:, 1]])
    assert not surely_lossy(whole, remainder, (True, False))
