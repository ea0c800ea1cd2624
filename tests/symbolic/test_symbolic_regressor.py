"""The regressor's manners, and the engines behind it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code.errors import InputError
from weights2code.language import BITS, Const
from weights2code.symbolic import SymbolicRegressor
from weights2code.symbolic.engine import Candidate, pick
from weights2code.symbolic.engines.operon import OperonEngine, symbols_for
from weights2code.symbolic.engines.pysr import PySREngine

GRID = np.array([[i, j] for i in range(5) for j in range(5)], dtype=float)


class Frame:
    columns = ("height", "time")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return GRID


def test_fit_predict_score() -> None:
    y = abs(GRID[:, 0] - GRID[:, 1])
    model = SymbolicRegressor().fit(GRID, y)
    assert model.equation() == "abs(x0 - x1)"
    assert model.score(GRID, y) == 1.0
    np.testing.assert_array_equal(model.predict([[7, 2], [1, 4]]), [5, 3])
    assert str(model.sympy()) == "Abs(x0 - x1)"
    assert model.latex() == r"\left|x0 - x1\right|"
    assert model.n_features_in_ == 2
    assert SymbolicRegressor().fit(Frame(), GRID.sum(1)).equation() == "height + time"


def test_table_has_an_arrow_and_rows() -> None:
    model = SymbolicRegressor().fit(GRID, GRID.sum(1) % 3)
    arrows = [line for line in str(model.equations_).splitlines() if line.startswith(">>>")]
    assert len(arrows) == 1
    assert arrows[0].endswith("(x0 + x1) % 3")
    rows = model.equations_.rows()
    assert [row["pick"] for row in rows].count(True) == 1
    assert [row["complexity"] for row in rows] == sorted(row["complexity"] for row in rows)
    assert model.equation(0) == rows[0]["equation"]
    assert model.predict(GRID, index=0).shape == (25,)


def test_parameters_follow_scikit_learn() -> None:
    model = SymbolicRegressor(tolerance=0.1)
    assert model.get_params()["tolerance"] == 0.1
    assert model.set_params(time_limit=2.0) is model
    assert repr(model) == "SymbolicRegressor(tolerance=0.1, time_limit=2.0)"
    with pytest.raises(InputError, match="no parameter 'speed'"):
        model.set_params(speed=3)
    sklearn = pytest.importorskip("sklearn.base")
    assert sklearn.clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("change", "X", "y", "message"),
    [
        ({"engine": "julia"}, GRID, GRID[:, 0], "no engine 'julia'"),
        ({"operators": ["abz"]}, GRID, GRID[:, 0], "did you mean 'abs'"),
        ({"tolerance": -1}, GRID, GRID[:, 0], "tolerance"),
        ({"time_limit": 0}, GRID, GRID[:, 0], "time_limit"),
        ({"domains": [BITS]}, GRID, GRID[:, 0], "1 domains were given for 2 columns"),
        ({}, GRID[:, 0], GRID[:, 0], "reshape"),
        ({}, GRID, np.full(25, np.nan), "nan"),
        ({}, GRID, np.zeros(3), "shape"),
    ],
)
def test_what_is_wrong_is_refused_before_the_search(
    change: dict[str, Any], X: Any, y: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        SymbolicRegressor(**change).fit(X, y)


def test_what_cannot_be_predicted_is_refused() -> None:
    with pytest.raises(InputError, match="fit"):
        SymbolicRegressor().predict(GRID)
    with pytest.raises(InputError, match="3 columns"):
        SymbolicRegressor().fit(GRID, GRID[:, 0]).predict(np.zeros((2, 3)))


def test_package_import_stays_light() -> None:
    heavy = {"torch", "sympy", "scipy", "z3", "sklearn", "pyoperon"}
    code = f"import sys, weights2code.symbolic as s; s.NativeEngine; print({heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_operon_finds_a_kink() -> None:
    pytest.importorskip("pyoperon")
    X = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    y = 1.5 * abs(X[:, 0] - X[:, 1]) + 0.3
    model = SymbolicRegressor("operon", time_limit=3.0, tolerance=1e-3).fit(X, y)
    assert np.max(np.abs(model.predict(X) - y)) <= 1e-3
    assert model.candidate().exact


def test_operon_symbols_suit_the_domain() -> None:
    assert "exp" not in symbols_for((BITS,), None)
    assert "floor" in symbols_for((BITS,), None)
    assert symbols_for((BITS,), frozenset({"exp"})) == ["add", "sub", "mul", "constant", "variable", "exp"]
    assert OperonEngine().name == "operon"


STUB = """
import json, os
class PySRRegressor:
    def __init__(self, **options):
        assert options["deterministic"] and options["parallelism"] == "serial"
        assert options["random_state"] == 7
        self.options = options
    def fit(self, X, y, variable_names):
        assert variable_names == ["v0", "v1"] and X.shape[1] == 2
        if os.environ.get("STUB_FAILS"):
            raise RuntimeError("Julia is not here")
        self.equations_ = {"equation": ["0.5", "v0 + 1.0", "greater(v0, v1) + 0.30000001"]}
"""


def test_pysr_runs_in_a_subprocess_and_its_failures_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pysr.py").write_text(STUB)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    model = SymbolicRegressor("pysr", random_state=7, tolerance=1e-6).fit(X, (X[:, 0] > X[:, 1]) + 0.3)
    assert model.equation() == "[x0 > x1] + 0.3"
    assert "pysr" not in sys.modules
    monkeypatch.setenv("STUB_FAILS", "1")
    with pytest.raises(InputError, match="Julia is not here"):
        SymbolicRegressor("pysr", random_state=7).fit(GRID, GRID[:, 0])
    (tmp_path / "pysr.py").write_text("raise ModuleNotFoundError(\"No module named 'pysr'\")")
    with pytest.raises(InputError, match=r"weights2code\[pysr\]"):
        SymbolicRegressor("pysr").fit(GRID, GRID[:, 0])
    with pytest.raises(InputError, match="could not be started"):
        SymbolicRegressor(PySREngine(python=str(tmp_path / "nothing"))).fit(GRID, GRID[:, 0])


def test_any_engine_object_will_do() -> None:
    class Mean:
        name = "mean"

        def search(self, X: np.ndarray, y: np.ndarray, **options: Any) -> Any:
            return (Candidate(Const(float(y.mean())), 1, 1.0, 1.0),)

    model = SymbolicRegressor(Mean()).fit(GRID, GRID[:, 0])  # type: ignore[arg-type]
    assert model.predict(GRID)[0] == 2
    assert pick(model.equations_.candidates) is model.candidate()
