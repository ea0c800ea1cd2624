"""Rules of reals in several steps: what is lost by a choice of quantities, steps in a row, curves alone."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import Expr, Var
from weights2code.symbolic.notation import flattened
from weights2code.symbolic.reals.first_steps import reductions
from weights2code.symbolic.reals.neighbours import Neighbours, surely_lossy

A, B, C = Var("a"), Var("b"), Var("c")


def window(name: str, count: int) -> tuple[Var, ...]:
    return tuple(Var(name, lag) for lag in range(count))


def rows(count: int, columns: int, digits: int | None = None) -> np.ndarray:
    X = np.random.default_rng(5).uniform(0, 10, (count, columns))
    return X if digits is None else np.round(X, digits)


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
