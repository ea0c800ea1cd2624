"""Denominators are cleared where that computes the same, and nowhere else."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Step, Var, op, where
from weights2code.simplify.denominators import clear_denominators

INF = math.inf
x, s, n, m = Var("x"), Var("s"), Var("n"), Var("m")


def rule(output: Expr, extremum: str = "max", start: float | None = None, **other: Expr) -> Recurrence:
    """y from the running extremum m of the mean s/n."""
    steps = {
        "s": Var("s", 1) + x,
        "n": Var("n", 1) + 1,
        "m": op(extremum, Var("m", 1), s / n),
        **other,
        "y": output,
    }
    nothing = -INF if extremum == "max" else INF
    starts = {"m": nothing if start is None else start}
    return Recurrence(("x",), tuple(Step(*item) for item in steps.items()), ("y",), starts)


def divides(recurrence: Recurrence) -> bool:
    return any(
        isinstance(node, Op) and node.name == "div"
        for step in recurrence.steps
        if isinstance(step.definition, Expr)
        for node in step.definition.walk()
    )


comparisons = st.sampled_from(["ge", "gt", "le", "lt", "eq", "ne"])
bounds = st.sampled_from([0, 1, -1, 0.5, 0.25, Fraction(1, 3), 1 / 3, -0.4, 2])


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), comparisons, bounds, st.sampled_from(["max", "min"]), st.integers(-2, 0))
def test_the_same_outputs_without_division(seed, comparison, bound, extremum, low):
    recurrence = rule(where(Op(comparison, (m, Const(bound))), x, s), extremum)
    cleared = clear_denominators(recurrence)
    assert not divides(cleared)
    sequences = np.random.default_rng(seed).integers(low, 3, (12, 15, 1)).astype(float)
    exact = cleared.run(sequences)
    fraction = Fraction(bound).limit_denominator(100)
    totals = np.cumsum(sequences[..., 0], 1).astype(int)
    for row, total in enumerate(totals):
        best = None
        for t, value in enumerate(total):
            mean = Fraction(int(value), t + 1)
            best = mean if best is None else max(best, mean) if extremum == "max" else min(best, mean)
            holds = OPERATORS[comparison].exact(best, fraction)
            assert exact[row, t, 0] == (sequences[row, t, 0] if holds else value)


def test_two_extrema_of_the_same_mean_are_cleared_apart():
    low = op("min", Var("low", 1), s / n)
    recurrence = rule(op("and", m <= Const(1.5), Var("low") >= Const(0.75)), low=low)
    recurrence = Recurrence(recurrence.inputs, recurrence.steps, ("y",), {"m": -INF, "low": INF})
    cleared = clear_denominators(recurrence)
    assert not divides(cleared)
    sequences = np.random.default_rng(0).integers(0, 3, (60, 20, 1)).astype(float)
    assert np.array_equal(cleared.run(sequences), recurrence.run(sequences))
    assert 0 < cleared.run(sequences).mean() < 1


def test_the_mean_itself_stays_where_others_read_it():
    recurrence = rule(where(m <= Const(0.5), s / n, 7))
    cleared = clear_denominators(recurrence)
    sequences = np.random.default_rng(0).integers(0, 2, (60, 20, 1)).astype(float)
    assert np.array_equal(cleared.run(sequences), recurrence.run(sequences))
    assert cleared.steps[2] != recurrence.steps[2]


OTHER = {
    "the extremum itself is wanted": rule(m),
    "wanted and compared": rule(m + (m <= Const(0.5))),
    "no number": rule(m <= x),
    "two bounds": rule(op("and", m <= Const(0.5), m >= Const(0.25))),
    "read in the past": rule(Var("m", 1) <= Const(0.5)),
    "something lies before the start": rule(m <= Const(0.5), start=0.0),
    "no simple ratio": rule(m < Const(0.1234567)),
    "an infinite bound": rule(m < Const(INF)),
    "not a count": rule(m <= Const(0.5), n=Var("n", 1) + 2),
    "no counter below": rule(m <= Const(0.5), m=op("max", Var("m", 1), s / x)),
    "no quotient": rule(m <= Const(0.5), m=op("max", Var("m", 1), s)),
}


@pytest.mark.parametrize("recurrence", OTHER.values(), ids=list(OTHER))
def test_other_patterns_are_left_alone(recurrence: Recurrence):
    assert clear_denominators(recurrence) == recurrence


def test_a_counter_that_does_not_start_at_zero_is_left_alone():
    recurrence = rule(m <= Const(0.5))
    later = Recurrence(recurrence.inputs, recurrence.steps, ("y",), {**recurrence.start, "n": 1.0})
    assert clear_denominators(later) == later


@pytest.mark.parametrize("comparison", ["ge", "gt", "le", "lt"])
@pytest.mark.parametrize("extremum", ["max", "min"])
@pytest.mark.parametrize("outer", ["max", "min"])
def test_an_extremum_with_others_is_compared_one_by_one(comparison, extremum, outer):
    recurrence = rule(Op(comparison, (op(outer, m, x - s), Const(0.5))), extremum)
    cleared = clear_denominators(recurrence)
    assert not divides(cleared)
    sequences = np.random.default_rng(5).integers(-1, 3, (60, 12, 1)).astype(float)
    np.testing.assert_array_equal(cleared.run(sequences), recurrence.run(sequences))
