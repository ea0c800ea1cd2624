"""Rows in place of sequences, where positions stand for themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Encoded
from weights2code.training.distinct import distinct_rows, sees_only_the_present, with_all_rows
from weights2code.training.ladder import FAST_LADDER, PRESENT, window_sizes


def test_every_row_that_is_scored_is_there_once():
    rng = np.random.default_rng(0)
    channels = rng.integers(0, 2, (2, 5, 30)).astype(float)
    targets = channels[:1] + channels[1:]
    scored = rng.random((5, 30)) < 0.8
    channels[:, ~scored] = 9.0
    part = Encoded(channels, targets, scored)
    rows = distinct_rows(part, part)
    assert rows.channels.shape == (2, 1, 4)
    assert (rows.targets == rows.channels.sum(0)).all()
    assert rows.scored.all()


def test_heads_see_more_than_the_present():
    alone = replace(PRESENT, sizes={**PRESENT.sizes, **window_sizes(3, 0)})
    window = replace(PRESENT, sizes={**PRESENT.sizes, **window_sizes(3, 1)})
    assert sees_only_the_present(alone)
    assert not sees_only_the_present(window)
    assert not any(sees_only_the_present(rung) for rung in FAST_LADDER if rung.name in ("linear", "prefix"))


def test_a_batch_holds_all_rows():
    rows = Encoded(np.zeros((2, 1, 100)), np.zeros((1, 1, 100)), np.ones((1, 100), bool))
    assert with_all_rows(PRESENT, rows).recipe.batch == 100
