"""The baseline: symbolic regression on lagged variables."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from weights2code import tasks
from weights2code.experiments.baselines import regress_task
from weights2code.experiments.judging import solves
from weights2code.experiments.lagged import lagged, native, of_expression, operon, run_free, variables
from weights2code.language import Var


def test_lagged_values_are_zero_before_the_start() -> None:
    x = np.arange(1.0, 5.0).reshape(1, 4, 1)
    y = 10 * x
    rows = lagged(x, y, 2)
    names = [str(v) for v in variables(("x",), ("y",), 2)]
    assert names == ["x[t]", "x[t-1]", "x[t-2]", "y[t-1]", "y[t-2]"]
    np.testing.assert_array_equal(rows[0, 0], [1, 0, 0, 0, 0])
    np.testing.assert_array_equal(rows[0, 3], [4, 3, 2, 30, 20])
    np.testing.assert_array_equal(lagged(x[:, 1:], y[:, 1:], 2)[:, -1], rows[:, 3])


def test_formulas_run_free_on_their_own_outputs() -> None:
    features = variables(("x",), ("y",), 1)
    running = of_expression(Var("x", 0) + Var("y", 1), features)
    x = np.array([[[1.0], [2.0], [3.4]]])
    np.testing.assert_allclose(run_free([running], x, 1, whole=False)[0, :, 0], [1, 3, 6.4])
    np.testing.assert_allclose(run_free([running], x, 1, whole=True)[0, :, 0], [1, 3, 6])
    broken = of_expression(Var("x", 0) / 0, features)
    assert np.isfinite(run_free([broken], x, 1, whole=False)).all()


def test_the_native_engine_finds_a_recurrence_without_a_network() -> None:
    task = tasks.get("sum")
    x, y = task.sample(100, seed=0)
    features = variables(task.columns, task.outputs, 2)
    formula = native(lagged(x, y, 2).reshape(-1, len(features)), y.ravel(), features, 2.0)
    assert solves(lambda x: run_free([formula], x, 2, whole=True), task, seed=1)
    wrong = of_expression(Var(task.columns[0], 0), features)
    assert not solves(lambda x: run_free([wrong], x, 2, whole=True), task, seed=1)
    assert formula.size == 3


def test_a_job_of_the_baseline_says_what_it_found(tmp_path: Path) -> None:
    label = {"task": "parity_last2", "way": "native, lags to 3"}
    asked = {"task": "parity_last2", "engine": "native", "lags": 3, "seed": 0, "seconds": 2.0, "label": label}
    row = regress_task(asked, tmp_path)
    assert row["solved"]
    assert row["way"] == "native, lags to 3"
    assert row["formula"] == "[x[t] != x[t-1]]"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pyoperon") is None, reason="pyoperon is not installed (extra: operon)")
def test_operon_on_a_sum() -> None:
    x, y = tasks.get("sum_last2").sample(50, seed=0)
    features = variables(("x",), ("y",), 1)
    formula = operon(lagged(x, y, 1).reshape(-1, 3), y.ravel(), 1.0, 0, ["a", "b", "c"])
    assert formula.size >= 3
    assert "a" in formula.text
    rows = np.array([[1.0, 2.0, 0.0]])
    np.testing.assert_allclose(formula.predict(rows), [3.0], atol=0.05)
    assert len(features) == 3
