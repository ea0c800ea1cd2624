"""Rules of reals in several steps: what is lost by a choice of quantities, steps in a row, curves alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import Domain, Expr, Var, compile_numpy, infer
from weights2code.symbolic.engines.native import NativeEngine
from weights2code.symbolic.notation import flattened
from weights2code.symbolic.reals.first_steps import descent, reductions
from weights2code.symbolic.reals.neighbours import Neighbours, surely_lossy
from weights2code.symbolic.search.rows import prepare

A, B, C = Var("a"), Var("b"), Var("c")


def window(name: str, count: int) -> tuple[Var, ...]:
    return tuple(Var(name, lag) for lag in range(count))


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


def test_a_step_stands_at_every_lag() -> None:
    names = (*window("x", 4), Var("y", 1))
    parts = [set(map(str, reduction.parts.values())) for reduction in reductions(names, "step")]
    assert {"max(max(x[t], x[t-1]), x[t-2])", "max(max(x[t-1], x[t-2]), x[t-3])"} in parts
    assert all(len(reduction) < len(names) for reduction in reductions(names, "step"))


def test_an_input_and_the_output_so_far_meet_but_once() -> None:
    names = (*window("x", 4), Var("y", 1), Var("y", 2))
    for reduction in reductions(names, "step"):
        if {v.name for v in reduction.step.variables()} == {"x", "y"}:
            assert len(reduction.parts) == 1


@pytest.mark.slow
def test_steps_in_a_row_and_what_does_not_matter() -> None:
    names = (*window("a", 4), *window("b", 4))
    X = rows(4000, 8)
    y = np.max(X[:, :3] * X[:, 4:7], axis=1)
    problem = prepare(X, y, variables=names, domains=tuple(map(infer, X.T)), tolerance=1e-6, effort=10.0)
    last = descent(problem)[-1]
    (expr,) = last.meaning.values()
    values = compile_numpy(expr, names)(*X.T)
    np.testing.assert_allclose(values, y)


STEPS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int, str]] = {
    "thresholds of a range": (
        lambda x: (np.ptp(x, axis=1) > 3.05) * 1.0 + (np.ptp(x, axis=1) > 6.05),
        3,
        "[max(max(x[t], x[t-1]), x[t-2]) - min(min(x[t], x[t-1]), x[t-2]) > 3.05]"
        " + [max(max(x[t], x[t-1]), x[t-2]) - min(min(x[t], x[t-1]), x[t-2]) > 6.05]",
    ),
    "the sign of a dead zone": (
        lambda x: np.sign(x.max(1) - np.clip(x.max(1), 7.05, 8.45)),
        3,
        "[max(max(x[t], x[t-1]), x[t-2]) >= 8.5] - [max(max(x[t], x[t-1]), x[t-2]) <= 7]",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_steps_of_readings_with_one_digit(name: str) -> None:
    rule, width, expected = STEPS[name]
    X = rows(5000, width, digits=1)
    assert found(X, rule(X), window("x", width)) == expected


CURVES: dict[str, tuple[Callable[..., np.ndarray], str]] = {
    "one curve at three lags": (
        lambda a, b, c: sum(w * (v - np.clip(v, 2, 7)) for w, v in ((1, a), (-2, b), (1, c))),  # type: ignore[return-value]
        "x[t] + x[t-2] - clip(x[t], 2, 7) - clip(x[t-2], 2, 7) - 2*(x[t-1] - clip(x[t-1], 2, 7))",
    ),
    "a jump beside a bend": (
        lambda a, b, c: 3 * (a > 4.2) + np.minimum(b, 6.1) - 2 * c,
        "3*[x[t] > 4.2] + min(x[t-1], 6.1) - 2*x[t-2]",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVES)
def test_curves_that_are_added(name: str) -> None:
    rule, expected = CURVES[name]
    X = rows(4000, 3)
    assert found(X, rule(*X.T), window("x", 3)) == expected


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


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (A - (B - C), "a[t] + c[t] - b[t]"),
        (A + (B + A), "2*a[t] + b[t]"),
        ((A - 1) - (B - 3), "a[t] + 2 - b[t]"),
        (A - B, "a[t] - b[t]"),
    ],
)
def test_sums_without_brackets(expr: Expr, expected: str) -> None:
    assert str(flattened(expr)) == expected
