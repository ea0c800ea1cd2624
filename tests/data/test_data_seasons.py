"""Seasons: found where they stand out, declared, and in windows that never see what is kept back."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import from_lists
from weights2code.data.seasons import checked_season, season_in
from weights2code.errors import InputError


def series(rows: int, season: int, seed: int = 0, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 9, rows).astype(float), np.zeros(rows)
    for t in range(rows):
        y[t] = x[t] + 0.5 * (y[t - season] if t >= season else rng.integers(0, 9))
    return x[:, None], (y + noise * rng.normal(size=rows))[:, None]


@pytest.mark.parametrize("season", [13, 24, 52, 168, 366])
def test_a_season_is_found(season: int):
    for noise in (0.0, 1.0):
        x, y = series(6 * season + 200, season, noise=noise)
        assert season_in([x], [y]) == season


def test_a_season_of_an_input_is_found():
    x = np.random.default_rng(0).integers(0, 9, 2000).astype(float)
    y = np.maximum(x, np.roll(x, 30))
    assert season_in([x[:, None]], [y[:, None]]) == 30


@pytest.mark.parametrize("seed", range(5))
def test_none_is_found_where_there_is_none(seed: int):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (1500, 3)).astype(float)
    assert season_in([x], [rng.normal(size=(1500, 1))]) is None
    assert season_in([x], [(x[:, :1] > 4) * x[:, 1:2]]) is None
    assert season_in([x], [np.cumsum(x[:, :1], 0)]) is None
    assert season_in([x[:30]], [x[:30, :1]]) is None


def test_a_season_that_was_declared_must_be_there():
    assert checked_season(24, 100) == 24
    with pytest.raises(InputError, match="at least 504 rows, and the longest has 300"):
        checked_season(168, 300)
    with pytest.raises(InputError, match="from 2 to 400"):
        checked_season(1, 300)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_windows_see_a_season_and_none_of_what_is_kept_back(count: int):
    """Each row has a number of its own, so that rows can be told apart."""
    xs = [np.arange(1000.0 * i, 1000.0 * i + 400)[:, None] for i in range(count)]
    ys = [x % 7 for x in xs]
    problem = from_lists(xs, ys, ("x",), ("y",), 0, season=24)
    seasonal = problem.seasonal
    assert seasonal is not None
    assert seasonal.season == 24
    scored = {
        name: part.x[..., 0][part.scored].tolist()
        for name in ("training", "validation", "held_out")
        for part in [getattr(seasonal, name)]
    }
    assert all(len(rows) == len(set(rows)) for rows in scored.values())
    assert not set(scored["training"]) & set(scored["validation"])
    kept = set(scored["held_out"])
    assert kept
    for name in ("training", "validation"):
        part = getattr(seasonal, name)
        assert not kept & set(part.x[..., 0][part.valid].tolist())
        assert (part.given >= 24 + 2).all()
    assert seasonal.held_out is not None
    assert problem.held_out is not None
    assert (seasonal.held_out.given >= 24).all()
    usual = set(problem.held_out.x[..., 0][problem.held_out.scored].tolist())
    assert kept <= usual


def test_without_a_season_there_is_no_such_problem():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (600, 1)).astype(float)
    assert from_lists([x], [x % 3], ("x",), ("y",), 0).seasonal is None
