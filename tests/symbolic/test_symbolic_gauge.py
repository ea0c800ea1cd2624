"""Regression up to a gauge: formulas come back from values that only stand for theirs."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import BITS, Domain, Expr, Var, compile_numpy, integers, op, reals, uniform, where
from weights2code.symbolic.gauge import forms

a, b, c = Var("a"), Var("b"), Var("c")
DIGITS, SIGNED, UNIT, WIDE = integers(0, 9), integers(-9, 9), reals(-1, 1), reals(-5, 5)


def rows(domains: tuple[Domain, ...], count: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Distinct operand rows, and how often each occurs."""
    drawn = uniform(np.random.default_rng(1), domains, count, 1)[:, 0]
    return np.unique(drawn, axis=0, return_counts=True)


def values(expr: Expr, X: np.ndarray) -> np.ndarray:
    variables = (a, b, c)[: X.shape[1]]
    return np.broadcast_to(np.asarray(compile_numpy(expr, variables)(*X.T), dtype=float), (len(X),))


def search(
    X: np.ndarray, v: np.ndarray, domains: tuple[Domain, ...], share: float | None = 0.04
) -> list[Expr]:
    """Forms of numbers that are known to a share of their span, or of levels."""
    return forms(
        X,
        v,
        variables=(a, b, c)[: len(domains)],
        domains=domains,
        tolerance=None if share is None else share * float(np.ptp(v)) + 0.01,
        weights=rows(domains)[1],
        effort=0.5,
    )


def noisy(v: np.ndarray) -> np.ndarray:
    return v + np.random.default_rng(2).uniform(-0.02, 0.02, len(v)) * np.ptp(v)


@pytest.mark.parametrize(
    ("true", "domains"),
    [
        (a - b, (SIGNED, SIGNED)),
        (op("clip", a + b, -2, 3), (WIDE, WIDE)),
        (where(a, b, -b), (BITS, DIGITS)),
        (where(a > 0.3, b, 1), (UNIT, UNIT)),
    ],
)
def test_an_affine_gauge_comes_off(true: Expr, domains: tuple[Domain, ...]) -> None:
    X, _ = rows(domains)
    e = values(true, X)
    kept = 1.7 - 0.3 * e
    found = search(X, noisy(kept), domains) if len(np.unique(e)) > 64 else search(X, kept, domains, None)
    # the same function up to a scale, an offset and a last digit
    assert abs(np.corrcoef(values(found[0], X), e)[0, 1]) > 0.9995, str(found[0])


@pytest.mark.parametrize(
    ("true", "domains"),
    [((a + b) % 7, (SIGNED, SIGNED)), (op("min", a, b) % 4, (DIGITS, DIGITS))],
)
def test_levels_in_wild_order_are_told_apart(true: Expr, domains: tuple[Domain, ...]) -> None:
    X, _ = rows(domains)
    levels, places = np.unique(values(true, X), return_inverse=True)
    wild = np.random.default_rng(4).permutation(len(levels)).astype(float)
    found = search(X, wild[places], domains, None)
    parts = np.unique(values(found[0], X), return_inverse=True)[1]
    assert len(np.unique(parts)) == len(levels)
    assert len(set(zip(parts.tolist(), places.tolist(), strict=True))) == len(levels), str(found[0])


@pytest.mark.parametrize(
    ("true", "domains"),
    [
        (a + b > c, (SIGNED, SIGNED, SIGNED)),
        (op("and", a >= b, b >= c), (DIGITS, DIGITS, DIGITS)),
        (where(a, b > -0.3, b > 0.4), (BITS, UNIT)),
        (op("and", a >= -0.4, a < 0.3), (UNIT,)),
    ],
)
def test_two_values_are_a_test(true: Expr, domains: tuple[Domain, ...]) -> None:
    X, _ = rows(domains)
    e = values(true, X)
    found = search(X, 2.0 - e, domains, None)
    right = float(np.mean(values(found[0], X) == e))
    assert max(right, 1 - right) > 0.995, str(found[0])


def test_merged_levels_leave_the_finer_formula() -> None:
    X, _ = rows((DIGITS, DIGITS))
    v = np.array([0.0, 3.0, 1.0, 1.0, 5.0, 4.0, 2.0])[
        values((a + b) % 7, X).astype(int)
    ]  # 2 and 3 share a value
    assert str(search(X, v, (DIGITS, DIGITS), None)[0]) == "(a[t] + b[t]) % 7"


def test_rows_that_are_off_are_few() -> None:
    X, _ = rows((SIGNED, SIGNED))
    v = noisy(X[:, 0] - X[:, 1])
    v[7] += 30  # one row of 361
    assert str(search(X, v, (SIGNED, SIGNED))[0]) == "a[t] - b[t]"
    v[::10] += 30
    assert not any(str(form) == "a[t] - b[t]" for form in search(X, v, (SIGNED, SIGNED)))


def test_noise_and_a_constant_have_no_form() -> None:
    X, _ = rows((SIGNED, SIGNED))
    assert search(X, np.random.default_rng(3).normal(size=len(X)), (SIGNED, SIGNED)) == []
    X, _ = rows((BITS, BITS))
    assert search(X, np.full(len(X), 0.5), (BITS, BITS)) == []
