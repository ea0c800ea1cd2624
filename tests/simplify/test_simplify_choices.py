"""Sums of products of bits as choices, and what holds for all numbers."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import (
    BITS,
    Expr,
    Recurrence,
    Start,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.simplify import simplify, simplify_recurrence
from weights2code.simplify.forms import tidy
from weights2code.simplify.sums import has_decimals

x, a, b, c = (Var(name) for name in "xabc")


def rule(inputs: str, start: dict[str, Start] | None = None, **steps: Expr) -> Recurrence:
    made = tuple(Step(name, definition) for name, definition in steps.items())
    return Recurrence(tuple(inputs), made, ("y",), start or {})


def definitions(recurrence: Recurrence, *domains) -> list[str]:
    short = simplify_recurrence(recurrence, domains)
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.integers(d.low, d.high + 1, (50, 20)) for d in domains], axis=-1)
    assert np.allclose(short.run(drawn), recurrence.run(drawn))
    return [str(step.definition) for step in short.steps]


# -- choices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "shorter"),
    [
        (b - 2 * a * b, "-b[t] if a[t] else b[t]"),
        (c + a * b - a * c, "b[t] if a[t] else c[t]"),
        ((x > 0) * x, "max(x[t], 0)"),
        (where(x > 0, x, 0), "max(x[t], 0)"),
        (where(x > 0, x, -x), "abs(x[t])"),
        ((x > 1) * 2 - 1, "1 if x[t] > 1 else -1"),
        ((x > 1) * (b + 1) - 1, "b[t] if x[t] > 1 else -1"),
        (b * op("ne", x, 2) + c * x.equals(2), "c[t] if x[t] == 2 else b[t]"),
        ((x > 1) * (c > b), "[c[t] > b[t] and x[t] > 1]"),
        ((x > 1) + (c > b) - (x > 1) * (c > b), "[c[t] > b[t] or x[t] > 1]"),
        (minimum(maximum(x, -1), 3), "clip(x[t], -1, 3)"),
    ],
    ids=str,
)
def test_products_of_bits_are_choices(formula, shorter):
    domains = {a: BITS, b: integers(-5, 5), c: reals(-5, 5), x: integers(-4, 4)}
    assert str(simplify(formula, domains)) == shorter


def test_bits_that_differ():
    assert str(simplify(a + b - 2 * a * b, {a: BITS, b: BITS})) == "[a[t] != b[t]]"


# -- what holds for all numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "shorter"),
    [
        (2 * a - 3 > 2 * b - 3, "[a[t] > b[t]]"),
        (3 - 2 * a > 3 - 2 * b, "[b[t] > a[t]]"),
        (maximum(3 - 2 * a, 3 - 2 * b), "3 - 2*min(a[t], b[t])"),
        (where(a > b, 0, 1), "[a[t] <= b[t]]"),
        (minimum(x, 4.9) * 2, "2*min(x[t], 4.9)"),
    ],
    ids=str,
)
def test_one_node_is_tidied(formula, shorter):
    assert str(tidy(formula, has_decimals(formula))) == shorter


# -- lines of their own --------------------------------------------------------------------------------------


def test_outputs_and_what_lookups_search_keep_their_numbers():
    disguised = rule("x", y=3 - 2 * maximum(x, Var("y", 1)))
    assert definitions(disguised, integers(0, 4)) == ["3 - 2*max(x[t], y[t-1])"]


@pytest.mark.slow
def test_what_is_read_at_several_lags_keeps_its_line():
    s = Var("s")
    several = rule("ab", s=a + b, y=s - 2 * Var("s", 1) + Var("s", 2))
    assert len(simplify_recurrence(several, (BITS, BITS)).steps) == 2
    assert len(simplify_recurrence(rule("ab", s=a + b, y=s * Var("a", 1)), (BITS, BITS)).steps) == 1
