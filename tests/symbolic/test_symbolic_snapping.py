"""Snapping: the number that was meant, never at the cost of the fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.language import Const, Expr, Var, evaluate, op
from weights2code.symbolic.snapping import refit, simplest, snap, snap_linear, with_free_constants

x, y = Var("x"), Var("y")
U = np.linspace(-2, 3, 40)
COLUMNS = np.stack([U, np.cos(5 * U), np.ones_like(U)], axis=1)


@pytest.mark.parametrize(
    ("value", "band", "error", "meant"),
    [
        (0.7000000001, 1e-6, 0.0, 0.7),
        (1 / 3 + 1e-9, 1e-6, 0.0, Fraction(1, 3)),
        (1.0031, 0.01, 0.002, 1),
        (0.098, 0.01, 0.0, 0.098),
        (0.0973, 0.01, 0.002, 0.1),
        (-0.85, 0.01, 0.0, -0.85),
        (100.002, 1, 0.01, 100),
        (1e-17, 1e-9, 1e-10, 0),
        (123.456789, 1e-12, 0.0, 123.456789),
    ],
)
def test_simplest(value: float, band: float, error: float, meant: float) -> None:
    assert simplest(value, band, error) == meant


@given(st.floats(-1e6, 1e6, allow_nan=False), st.floats(1e-9, 1.0), st.floats(0, 0.1))
def test_simplest_stays_in_the_band(value: float, band: float, error: float) -> None:
    assert abs(float(simplest(value, band, error)) - value) <= max(band, 1e-12 * abs(value)) * (1 + 1e-9)


@given(
    st.builds(
        lambda mantissa, places: Fraction(mantissa, 10**places), st.integers(-999, 999), st.integers(0, 3)
    )
    | st.builds(Fraction, st.integers(1, 12), st.integers(2, 12))
)
def test_short_decimals_and_fractions_are_recovered(meant: Fraction) -> None:
    assert float(simplest(float(meant) * (1 + 1e-13), 1e-7)) == pytest.approx(float(meant), abs=1e-14)


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(*[st.integers(-50, 50).map(lambda v: v / 10)] * 3),
    st.sampled_from([0.0, 1e-4]),
    st.integers(0, 5),
)
def test_linear_coefficients_are_recovered(meant: tuple[float, ...], noise: float, seed: int) -> None:
    data = COLUMNS @ np.array(meant) + noise * np.random.default_rng(seed).normal(size=len(U))
    found = snap_linear(COLUMNS, data, max(5 * noise, 1e-8))
    assert [float(v) for v in found] == pytest.approx(list(meant), abs=1e-12 if noise == 0 else 3e-4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.floats(1e-6, 0.3))
def test_snapping_never_leaves_the_tolerance(constants: list[float], tolerance: float) -> None:
    data = COLUMNS @ np.array(constants)
    found = np.array([float(v) for v in snap_linear(COLUMNS, data, tolerance)])
    assert np.max(np.abs(COLUMNS @ found - data)) <= tolerance * (1 + 1e-6) + 1e-9


def test_joint_snap_of_a_nonlinear_formula() -> None:
    start: Expr = Const(2.2) * op("exp", Const(1.3) * x) + Const(0.8)
    found = snap(start, {x: U}, 1.5 * np.exp(0.7 * U) + 1 / 3, 1e-6)
    values = [node.value for node in found.walk() if isinstance(node, Const)]
    assert sorted(values, key=float) == [Fraction(1, 3), 0.7, 1.5]


def test_refit_reaches_the_least_squares_solution() -> None:
    found = refit(Const(0.1) * x + Const(5.5), {x: U}, 2.25 * U - 0.75)
    np.testing.assert_allclose(evaluate(found, {x: U}), 2.25 * U - 0.75, atol=1e-8)


@pytest.mark.parametrize(
    ("expr", "data"),
    [
        (2 * x + 3 * y, 9 * U),  # whole numbers stay
        (op("sqrt", x) * Const(1.5) + Const(0.25), np.ones_like(U)),  # undefined on some rows
    ],
)
def test_what_stays_as_it_is(expr: Expr, data: np.ndarray) -> None:
    assert snap(expr, {x: U, y: COLUMNS[:, 1]}, data, 1e-6) == expr


def test_a_formula_whose_squares_overflow_stays() -> None:
    formula = Const(2.5e-200) * op("exp", Const(460.123) * x)
    with np.errstate(all="ignore"):
        found = refit(formula, {x: np.linspace(1.0, 1.4, 40)}, np.ones(40))
    assert with_free_constants(found)[1].tolist() == with_free_constants(formula)[1].tolist()
