"""Own data with mistakes: majorities, the values they need, and whole runs that end with the rule."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code import pipeline
from weights2code.data import from_lists
from weights2code.rules.inexact import left_out_errors, majorities, needed
from weights2code.settings import Settings


def rows_of(rule, columns: int, share: float, rows: int = 1200):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (rows, columns)).astype(float)
    y = np.array([rule(*row) for row in x], float)
    return x, np.where(rng.random(rows) < share, 1 - y, y)


def test_majorities_are_the_rule():
    x, y = rows_of(lambda p, q: p * q, 2, 0.1)
    combinations, majority, covered = majorities(x, y)
    assert covered == 1.0
    assert np.array_equal(majority, combinations[:, 0] * combinations[:, 1])


def test_combinations_without_a_majority_do_not_count():
    x, _ = rows_of(lambda p: p, 1, 0.0)
    y = np.random.default_rng(0).integers(0, 2, len(x)).astype(float)
    assert majorities(x, y)[2] < 0.5


def test_values_that_say_nothing_are_dropped():
    x, y = rows_of(lambda p, q, r, s: max(p, 1 - r), 4, 0.05)
    assert needed(x, y, [1.0, 1.1, 1.2, 1.3]) == [0, 2]


def test_rows_are_judged_without_themselves():
    x = np.arange(20.0)[:, None]  # every row has a value of its own: nothing can be said about any
    assert left_out_errors(x, np.tile([0.0, 1.0], 10)) == 20
    assert left_out_errors(np.zeros((20, 1)), np.ones(20)) == 0


@pytest.mark.slow
def test_a_latch_with_mistakes_is_found():
    rng = np.random.default_rng(1)
    xs, ys = [], []
    for _ in range(120):
        x = (rng.random((20, 2)) < 0.4).astype(float)
        state, out = 0.0, []
        for on, off in x:
            state = 1.0 if on else 0.0 if off else state
            out.append(state)
        wrong = rng.random(20) < 0.02
        xs.append(x)
        ys.append(np.where(wrong, 1 - np.array(out), out)[:, None])
    problem = from_lists(xs, ys, ("on", "off"), ("q",), seed=0)
    outcome = pipeline.search(problem, Settings(time_limit=60))
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "tested"
    assert any("mistakes in the data" in note for note in outcome.certificate.notes)
    assert outcome.program is not None
    x = (np.random.default_rng(2).random((20, 80, 2)) < 0.4).astype(float)
    right = np.zeros((20, 80))
    for t in range(80):
        before = right[:, t - 1] if t else np.zeros(20)
        right[:, t] = np.where(x[:, t, 0] == 1, 1, np.where(x[:, t, 1] == 1, 0, before))
    assert np.array_equal(outcome.program.recurrence.run(x)[..., 0], right)
