"""Borders between regions of reals, and finite values of their cells."""

from __future__ import annotations

import numpy as np

from weights2code.language import Domain, Var, compile_numpy, infer
from weights2code.symbolic.reals.borders import borders
from weights2code.symbolic.reals.directions import directions
from weights2code.symbolic.search.rows import Problem, prepare

A, B, C, PAST = Var("a"), Var("b"), Var("c"), Var("y", 1)


def rows(count: int, columns: int, low: float = 0.0, high: float = 10.0) -> np.ndarray:
    return np.random.default_rng(6).uniform(low, high, (count, columns))


def problem_of(
    X: np.ndarray, y: np.ndarray, variables: tuple[Var, ...], domains: tuple[Domain, ...] | None = None
) -> Problem:
    domains = domains or tuple(infer(column) for column in X.T)
    return prepare(X, y, variables=variables, domains=domains, tolerance=1e-6, effort=10.0)


def borders_of(problem: Problem) -> set[str] | None:
    found = borders(problem, np.unique(problem.y, return_inverse=True)[1].reshape(-1))
    return None if found is None else {str(border.test()) for border in found}


def test_directions_are_told_once_and_written_shortly() -> None:
    known = directions((True, True))
    forms = {tuple(np.sign(row[np.flatnonzero(row)[0]]) * row) for row in known.weights}
    assert len(forms) == len(known.weights)
    X = rows(20, 2)
    for index in range(len(known.weights)):
        expr = known.expr(index, (A, B))
        assert np.allclose(compile_numpy(expr, (A, B))(*X.T), known.values(X, np.array([index]))[0])
    assert "a[t]*(2*a[t] - b[t])" in {str(known.expr(i, (A, B))) for i in range(len(known.weights))}


def test_means_are_directions() -> None:
    known = directions((True, False, True), divisors=(1,))
    written = {str(known.expr(i, (A, B, C))) for i in range(len(known.weights))}
    assert written & {"a[t]/b[t] + c[t]", "c[t] + a[t]/b[t]"}


def test_borders_of_a_clip() -> None:
    X = rows(12_000, 2)
    y = (X[:, 1] > np.clip(X[:, 0], 2, 7.4)) * 1.0
    assert borders_of(problem_of(X, y, (A, B))) == {"[a[t] > b[t]]", "[b[t] > 7.4]", "[b[t] > 2]"}


def test_borders_under_a_past_value() -> None:
    X = rows(12_000, 2, -1, 1)
    past = np.random.default_rng(7).integers(0, 7, len(X)).astype(float)
    y = (2 * past + (X[:, 0] > X[:, 1]) * (X[:, 1] > -0.4)) % 7
    problem = problem_of(np.column_stack([X, past]), y, (A, B, PAST))
    assert borders_of(problem) == {"[a[t] > b[t]]", "[b[t] > -0.4]"}


def test_no_borders_where_labels_are_noise() -> None:
    X = rows(6000, 2)
    y = np.random.default_rng(8).integers(0, 2, len(X)).astype(float)
    assert borders_of(problem_of(X, y, (A, B))) is None
