"""Regression up to a gauge: formulas come back from values that only stand for theirs."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import (
    BITS,
    Domain,
    Expr,
    Var,
    compile_numpy,
    integers,
    op,
    reals,
    uniform,
    where,
)
from weights2code.symbolic.gauge import forms

a, b, c = Var("a"), Var("b"), Var("c")
DIGITS, SIGNED, UNIT = integers(0, 9), integers(-9, 9), reals(-1, 1)


def rows(domains: tuple[Domain, ...], count: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Distinct operand rows, and how often each occurs."""
    drawn = uniform(np.random.default_rng(1), domains, count, 1)[:, 0]
    return np.unique(drawn, axis=0, return_counts=True)


def values(expr: Expr, variables: tuple[Var, ...], X: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.asarray(compile_numpy(expr, variables)(*X.T), dtype=float), (len(X),))


def search(
    X: np.ndarray,
    v: np.ndarray,
    weights: np.ndarray,
    domains: tuple[Domain, ...],
    tolerance: float | None = 0.04,
) -> list[Expr]:
    """Forms of numbers that are known to a share of their span, or of levels."""
    return forms(
        X,
        v,
        variables=(a, b, c)[: len(domains)],
        domains=domains,
        tolerance=None if tolerance is None else tolerance * float(np.ptp(v)),
        weights=weights,
        effort=1.0,
    )


def noisy(v: np.ndarray, share: float = 0.02) -> np.ndarray:
    noise = np.random.default_rng(2).uniform(-share, share, len(v))
    return v + noise * np.ptp(v)


AFFINE = [
    (a - b, (SIGNED, SIGNED)),
    (op("clip", a + b, -2, 3), (reals(-5, 5), reals(-5, 5))),
    (where(a, b, -b), (BITS, DIGITS)),
    (where(a > 0.3, b, 1), (UNIT, UNIT)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("true", "domains"), AFFINE, ids=lambda case: str(case)[:40])
def test_an_affine_gauge_comes_off(true: Expr, domains: tuple[Domain, ...]) -> None:
    X, weights = rows(domains)
    variables = (a, b, c)[: len(domains)]
    e = values(true, variables, X)
    numbers = len(np.unique(e)) > 64
    found = search(
        X, noisy(1.7 - 0.3 * e) if numbers else 1.7 - 0.3 * e, weights, domains, 0.04 if numbers else None
    )
    # the same function up to a scale, an offset and a last digit
    best = values(found[0], variables, X)
    assert abs(np.corrcoef(best, e)[0, 1]) > 0.9995, str(found[0])


LEVELS = [
    ((a + b) % 7, (SIGNED, SIGNED)),
    (op("min", a, b) % 4, (DIGITS, DIGITS)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("true", "domains"), LEVELS, ids=lambda case: str(case)[:40])
def test_levels_in_wild_order_are_told_apart(true: Expr, domains: tuple[Domain, ...]) -> None:
    X, weights = rows(domains)
    variables = (a, b, c)[: len(domains)]
    e = values(true, variables, X)
    levels, places = np.unique(e, return_inverse=True)
    wild = np.random.default_rng(4).permutation(len(levels)).astype(float)
    found = search(X, wild[places], weights, domains, None)
    parts = np.unique(values(found[0], variables, X), return_inverse=True)[1]
    assert len(np.unique(parts)) == len(levels)
    assert len(set(zip(parts.tolist(), places.tolist(), strict=True))) == len(levels), str(found[0])


TESTS = [
    (a + b > c, (SIGNED, SIGNED, SIGNED)),
    (op("and", a >= b, b >= c), (DIGITS, DIGITS, DIGITS)),
    (where(a, b > -0.3, b > 0.4), (BITS, UNIT)),
    (op("and", a >= -0.4, a < 0.3), (UNIT,)),
]


@pytest.mark.parametrize(("true", "domains"), TESTS, ids=lambda case: str(case)[:40])
def test_two_values_are_a_test(true: Expr, domains: tuple[Domain, ...]) -> None:
    X, weights = rows(domains)
    variables = (a, b, c)[: len(domains)]
    e = values(true, variables, X)
    found = search(X, 2.0 - e, weights, domains, None)
    best = values(found[0], variables, X)
    right = float(np.mean(best == e))
    assert max(right, 1 - right) > 0.995, str(found[0])


@pytest.mark.slow
def test_merged_levels_leave_the_finer_formula() -> None:
    X, weights = rows((DIGITS, DIGITS))
    e = values((a + b) % 7, (a, b), X)
    v = np.array([0.0, 3.0, 1.0, 1.0, 5.0, 4.0, 2.0])[e.astype(int)]  # 2 and 3 share a value
    assert str(search(X, v, weights, (DIGITS, DIGITS), None)[0]) == "(a[t] + b[t]) % 7"


def test_rows_that_are_off_are_few() -> None:
    X, weights = rows((SIGNED, SIGNED))
    v = noisy(X[:, 0] - X[:, 1])
    v[7] += 30  # one row of 361
    assert str(search(X, v, weights, (SIGNED, SIGNED))[0]) == "a[t] - b[t]"
    v[::10] += 30
    assert not any(str(form) == "a[t] - b[t]" for form in search(X, v, weights, (SIGNED, SIGNED)))


def test_noise_has_no_form() -> None:
    X, weights = rows((SIGNED, SIGNED))
    v = np.random.default_rng(3).normal(size=len(X))
    assert search(X, v, weights, (SIGNED, SIGNED)) == []


def test_a_constant_has_no_form() -> None:
    X, weights = rows((BITS, BITS))
    found = forms(
        X,
        np.full(len(X), 0.5),
        variables=(a, b),
        domains=(BITS, BITS),
        tolerance=0.01,
        weights=weights,
        effort=1.0,
    )
    assert found == []
