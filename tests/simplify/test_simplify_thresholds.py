"""Thresholds: the roundest number of the gap, which tells all rows apart as before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weights2code.data import from_arrays
from weights2code.language import Const, Op, Recurrence, Step, Var
from weights2code.simplify.thresholds import Gap, digits, gaps, roundest, with_round_thresholds


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(98, 101, 100), (0.31, 0.46, 0.4), (-3, 8, 0), (12, 13, 12), (1430, 1580, 1500), (-101, -98, -100)],
)
def test_the_roundest_number_of_a_gap(low: float, high: float, found: float):
    assert roundest(low, high) in (found, high if found == low else found)
    assert digits(roundest(low, high)) <= digits(found)


@given(st.sampled_from(["gt", "ge", "lt", "le"]), st.lists(st.integers(-300, 300), min_size=2), st.data())
def test_every_row_is_told_apart_as_before(name: str, values: list[int], data: st.DataObject):
    border = data.draw(st.integers(min(values), max(values)))
    rule = Recurrence(("x",), (Step("y", Op(name, (Var("x"), Const(border)))),), ("y",))
    x = np.array(values, float)[None, :, None]
    y = rule.run(x)
    part = from_arrays(x, y)
    changed = with_round_thresholds(rule, [part])
    assert np.array_equal(changed.run(x), y)
    found = changed.steps[0].definition
    assert isinstance(found, Op)
    assert isinstance(found.args[1], Const)
    assert digits(float(found.args[1].value)) <= digits(border)


def test_what_was_meant_as_100_is_100():
    rule = Recurrence(("x",), (Step("y", Op("le", (Var("x"), Const(98)))),), ("y",))
    x = np.array([[[97.0], [98.0], [101.0], [150.0], [20.0]]])
    assert gaps(rule, [from_arrays(x, rule.run(x))]) == [Gap(rule.steps[0].definition, 98.0, 101.0)]  # type: ignore[arg-type]
    changed = with_round_thresholds(rule, [from_arrays(x, rule.run(x))])
    assert changed.steps[0].definition == Op("lt", (Var("x"), Const(100)))


def test_thresholds_of_what_a_program_remembers_are_seen_too():
    level = Var("level", 1) + Var("x")
    steps = (Step("level", level), Step("full", Op("ge", (Var("level"), Const(7)))))
    rule = Recurrence(("x",), steps, ("full",))
    x = np.full((1, 6, 1), 3.0)
    (gap,) = gaps(rule, [from_arrays(x, rule.run(x))])
    assert (gap.below, gap.above) == (6, 9)
