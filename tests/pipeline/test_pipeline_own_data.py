"""Own data through the whole pipeline: rules since the start of a long sequence, unusual starts, rounding."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code import pipeline
from weights2code.data import from_lists
from weights2code.program import Program
from weights2code.results import Outcome
from weights2code.settings import Settings


def fitted(x: list[np.ndarray], y: list[np.ndarray], seconds: float = 60.0) -> tuple[Program, Outcome]:
    columns = tuple(f"x{i}" for i in range(x[0].shape[1]))
    outcome = pipeline.search(from_lists(x, y, columns, ("y",), seed=0), Settings(time_limit=seconds))
    assert outcome.exit_code == 0
    assert outcome.program is not None
    return outcome.program, outcome


@pytest.mark.slow
def test_an_average_since_the_start_of_one_long_sequence():
    x = np.random.default_rng(0).integers(0, 10, (1200, 1)).astype(float)
    program, _ = fitted([x], [np.cumsum(x, 0) / np.arange(1, 1201)[:, None]])
    fresh = np.random.default_rng(1).integers(0, 10, (3, 200, 1)).astype(float)
    answers = program.recurrence.run(fresh)
    assert np.allclose(answers, np.cumsum(fresh, 1) / np.arange(1, 201)[None, :, None])


@pytest.mark.slow
def test_a_balance_begins_at_what_was_in_the_account():
    rng = np.random.default_rng(0)
    xs, ys = [], []
    for _ in range(40):
        x = rng.integers(0, 50, (15, 1)).astype(float)
        balance, out = 730.0, []
        for value in x[:, 0]:
            balance = 1.02 * balance - value
            out.append(balance)
        xs.append(x)
        ys.append(np.array(out)[:, None])
    program, _ = fitted(xs, ys)
    assert program.recurrence.start == {"y": 730.0}


@pytest.mark.slow
def test_rounded_readings_do_not_wait_for_the_whole_ladder():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, (1500, 1)).astype(float)
    level, out = 0.0, []
    for value in x[:, 0]:
        level = 0.8 * level + 0.5 * value
        out.append(round(level))
    program, outcome = fitted([x], [np.array(out, float)[:, None]])
    assert program.formula() == "y[t] = 0.5*x0[t] + 0.8*y[t-1]"
    assert all(attempt.member is None for attempt in outcome.attempts)  # no network was trained
