"""One function at several lags, added up: what such sums say of it, and rules that are found that way."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import Var, integers
from weights2code.symbolic.decomposition.repeated_functions import Repeated, _function, _sums
from weights2code.symbolic.search.rows import prepare

NAMES = tuple(Var(name, lag) for lag in range(4) for name in "ab")


def rows(length: int = 20_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a and b at lags 0 to 3, and both as (row, lag)."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(-5, 6, (length, 4)), rng.integers(-5, 6, (length, 4))
    return np.stack([a, b], axis=2).reshape(length, 8).astype(float), a, b


def sum_of(s: np.ndarray, weights: tuple[int, ...]) -> np.ndarray:
    return sum(w * s[:, lag] for lag, w in enumerate(weights)) + np.zeros(len(s))


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (1, -2, 1), (1, -1)])
def test_a_sum_says_what_is_added(weights: tuple[int, ...]) -> None:
    X, a, b = rows()
    s = np.where(b > 2 * a, b, 0)
    used = NAMES[: 2 * len(weights)]
    y = sum_of(s, weights) + 7
    problem = prepare(
        X[:, : len(used)], y, variables=used, domains=(integers(-5, 5),) * len(used), tolerance=0.4
    )
    sums = next(sums for sums in _sums(used) if sums.weights == weights)
    assert sums == Repeated(weights, tuple(range(len(weights))), NAMES[:2])
    found = _function(problem, sums)
    assert found is not None
    read, values, offset = found
    expected = np.where(read[:, 1] > 2 * read[:, 0], read[:, 1], 0)
    shift = values - expected
    assert np.ptp(shift) == 0
    assert offset + sum(weights) * shift[0] == 7


def test_what_is_no_such_sum_is_left_alone() -> None:
    X, a, b = rows()
    s = np.where(b > 2 * a, b, 0)
    problem = prepare(
        X, s.max(axis=1).astype(float), variables=NAMES, domains=(integers(-5, 5),) * 8, tolerance=0.4
    )
    assert all(_function(problem, sums) is None for sums in _sums(NAMES))
