"""Rules of reals: what is lost by a choice of quantities, and pieces inside one another."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import Domain, Var, infer
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.reals.neighbours import Neighbours, surely_lossy

A, B, C = Var("a"), Var("b"), Var("c")


def rows(count: int, columns: int, digits: int | None = None) -> np.ndarray:
    X = np.random.default_rng(5).uniform(0, 10, (count, columns))
    return X if digits is None else np.round(X, digits)


def found(
    X: np.ndarray, y: np.ndarray, variables: tuple[Var, ...], domains: tuple[Domain, ...] | None = None
) -> str:
    domains = domains or tuple(infer(column) for column in X.T)
    front = NativeEngine().search(X, y, variables=variables, domains=domains, tolerance=1e-6, effort=4.0)
    return next((str(candidate.expr) for candidate in front if candidate.exact), "-")


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


@pytest.mark.slow
def test_regions_whose_first_cut_settles_nothing() -> None:
    X = rows(4000, 2)
    a, b = X.T
    y = np.maximum(np.where(a > 3.8, a, 1.0), b)
    assert found(X, y, (A, B)) == "max(a[t], b[t]) if a[t] > 3.8 else max(b[t], 1)"


@pytest.mark.slow
def test_extrema_inside_one_another() -> None:
    X = rows(4000, 2)
    a, b = X.T
    y = b + np.clip(np.minimum(a, 5.3) - b, -3, 3)
    assert found(X, y, (A, B)) == "min(max(min(a[t], 5.3), b[t] - 3), b[t] + 3)"
