"""Thresholds: the roundest number of the gap, which tells all rows apart as before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weights2code.data import from_arrays, from_lists
from weights2code.extraction.judge import judged
from weights2code.language import Const, Op, Recurrence, Step, Var, op
from weights2code.program import Origin
from weights2code.simplify.cost import simplest_between
from weights2code.simplify.thresholds import digits, gaps, with_round_thresholds

X = Var("x")


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (98, 101, 100),
        (0.31, 0.46, 0.4),
        (-3, 8, 0),
        (12, 13, 12),
        (1430, 1580, 1500),
        (-101, -98, -100),
        (2.36, 2.43, 2.4),
        (-2.7001, -2.6999, -2.7),
        (7.25, 7.25, 7.25),
    ],
)
def test_the_roundest_number_of_a_gap(low: float, high: float, found: float):
    assert simplest_between(low, high) in (found, high if found == low else found)
    assert digits(simplest_between(low, high)) <= digits(found)


def test_what_was_meant_as_100_is_100():
    rule = Recurrence(("x",), (Step("y", Op("le", (X, Const(98)))),), ("y",))
    x = np.array([[[97.0], [98.0], [101.0], [150.0], [20.0]]])
    changed = with_round_thresholds(rule, [from_arrays(x, rule.run(x))])
    assert changed.steps[0].definition == Op("lt", (X, Const(100)))


@given(st.sampled_from(["gt", "ge", "lt", "le"]), st.lists(st.integers(-300, 300), min_size=2), st.data())
def test_every_row_is_told_apart_as_before(name: str, values: list[int], data: st.DataObject):
    border = data.draw(st.integers(min(values), max(values)))
    rule = Recurrence(("x",), (Step("y", Op(name, (X, Const(border)))),), ("y",))
    x = np.array(values, float)[None, :, None]
    y = rule.run(x)
    changed = with_round_thresholds(rule, [from_arrays(x, y)])
    assert np.array_equal(changed.run(x), y)
    found = changed.steps[0].definition
    assert isinstance(found, Op)
    assert isinstance(found.args[1], Const)
    assert digits(float(found.args[1].value)) <= digits(border)


def test_a_rule_of_own_data_is_said_with_round_thresholds_and_their_gaps():
    x = np.random.default_rng(0).permutation([*range(40, 99), *range(101, 160)] * 3).reshape(6, -1, 1)
    y = np.where(x >= 100, 5.0, 2.0)
    problem = from_lists(list(x), list(y), ("amount",), ("tier",), seed=0)
    rule = Recurrence(("amount",), (Step("tier", op("where", Var("amount") > 98, 5, 2)),), ("tier",))
    found = judged(rule, Origin.ROWS, problem, seed=0)
    assert found.program.formula() == "tier[t] = 5 if amount[t] >= 100 else 2"
    assert "amount[t] >= 100: the rows have 98 and 101 there, and nothing between" in found.certificate.notes


def test_thresholds_of_what_a_program_remembers_are_seen_too():
    steps = (Step("level", Var("level", 1) + X), Step("full", Op("ge", (Var("level"), Const(7)))))
    rule = Recurrence(("x",), steps, ("full",))
    x = np.full((1, 6, 1), 3.0)
    (gap,) = gaps(rule, [from_arrays(x, rule.run(x))])
    assert (gap.below, gap.above) == (6, 9)
