"""Which leaves determine a target: on tables where the answer is known, and on any table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.data.sufficiency import LEAST_REPEATS, determines, needed


def bits(columns: int, rows: int = 400, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (rows, columns)).astype(float)


def test_equal_rows_with_unequal_targets_determine_nothing():
    columns = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert determines(columns, np.array([1.0, 2.0, 1.0])) == (True, 0.5)
    assert determines(columns, np.array([1.0, 2.0, 3.0])) == (False, 0.5)
    assert determines(columns[:2], np.array([1.0, 2.0])) == (True, 0.0)


def test_no_columns_determine_a_constant_only():
    assert determines(np.zeros((3, 0)), np.ones(3)) == (True, 1.0)
    assert determines(np.zeros((3, 0)), np.arange(3.0))[0] is False


def test_keys_of_many_wide_columns_do_not_collide():
    columns = np.random.default_rng(0).normal(size=(500, 40))
    columns = np.vstack([columns, columns])
    target = np.concatenate([np.arange(500.0), np.arange(500.0)])
    assert determines(columns, target) == (True, pytest.approx(500 / 999))
    target[-1] += 1
    assert determines(columns, target)[0] is False


@pytest.mark.parametrize("used", [[], [2], [0, 3], [1, 2, 4]])
def test_needed_leaves_are_found(used: list[int]):
    columns = bits(5)
    target = columns[:, used].sum(1) % 2 if used else np.ones(len(columns))
    assert sorted(needed(columns, target, [1.0] * 5)) == used


def test_the_dearest_of_equivalent_leaves_goes_first():
    columns = bits(3)
    columns[:, 2] = columns[:, 0]  # the same values twice
    target = columns[:, 0]
    assert needed(columns, target, [1.0, 1.0, 3.0]) == [0]
    assert needed(columns, target, [3.0, 1.0, 1.0]) == [2]


def test_few_leaves_among_many_that_never_repeat():
    rng = np.random.default_rng(0)
    columns = np.column_stack([bits(2), rng.integers(0, 10**6, (400, 4))]).astype(float)
    target = columns[:, 0] * 2 + columns[:, 1]
    assert determines(columns, target)[1] < LEAST_REPEATS
    assert sorted(needed(columns, target, [1.0] * 6)) == [0, 1]


def test_without_repeats_everything_is_kept():
    values = np.random.default_rng(0).permutation(900).reshape(300, 3).astype(float)
    assert needed(values, values.sum(1), [1.0] * 3) == [0, 1, 2]


@settings(max_examples=80)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(2, 200),
    st.sampled_from([2, 3, 1000]),
    st.booleans(),
)
def test_what_is_kept_determines_the_target_whenever_everything_does(seed, width, rows, values, noisy):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, values, (rows, width)).astype(float)
    weights = rng.integers(0, 3, width)
    target = (columns @ weights) % 5
    if noisy:
        target[rng.integers(0, rows)] += 1
    kept = needed(columns, target, rng.uniform(1, 3, width).tolist())
    assert sorted(set(kept)) == sorted(kept)
    if determines(columns, target)[0]:
        assert determines(columns[:, kept], target)[0]
    else:
        assert kept == list(range(width))
