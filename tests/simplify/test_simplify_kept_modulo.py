"""Totals that are read modulo a number, and comparisons at the end of what a state can be."""

from __future__ import annotations

import numpy as np

from weights2code.language import Recurrence, Step, Var, integers, op
from weights2code.simplify.ends import equal_at_ends
from weights2code.simplify.kept_modulo import kept_modulo

X, T, DOMAINS = Var("x"), Var("t"), (integers(-3, 9),)
TOTAL = Step("t", Var("t", 1) + X)


def same(one: Recurrence, other: Recurrence) -> bool:
    x = np.random.default_rng(0).integers(-3, 10, (20, 50, 1)).astype(float)
    return np.array_equal(one.run(x), other.run(x))


def test_a_total_that_is_read_modulo_a_number_is_kept_modulo_it():
    rule = Recurrence(("x",), (TOTAL, Step("y", ((T % 5) + (2 * T - X) % 5).equals(3))), ("y",), {"t": 7.0})
    kept = kept_modulo(rule, DOMAINS)
    assert kept.steps[0].definition == (Var("t", 1) + X) % 5
    assert kept.start["t"] == 2.0
    assert same(rule, kept)


def test_a_total_that_is_read_otherwise_stays():
    for read in (T % 5 + T, (T % 5) + (T % 3), op("abs", T) % 5, (T // 2) % 5):
        rule = Recurrence(("x",), (TOTAL, Step("y", read)), ("y",))
        assert kept_modulo(rule, DOMAINS) == rule
    doubled = Recurrence(("x",), (Step("t", op("max", Var("t", 1) + X, 0)), Step("y", T % 5)), ("y",))
    assert kept_modulo(doubled, DOMAINS) == doubled  # no sum: what is cut off is lost


def test_a_comparison_with_the_least_of_a_state_is_an_equality():
    level = Step("s", op("clip", Var("s", 1) + X, 0, 4))
    for comparison, plain in ((Var("s") <= 0, Var("s").equals(0)), (Var("s") > 3, Var("s").equals(4))):
        rule = Recurrence(("x",), (level, Step("y", comparison)), ("y",))
        found = equal_at_ends(rule, DOMAINS)
        assert found.steps[1].definition == plain
        assert same(rule, found)
    between = Recurrence(("x",), (level, Step("y", Var("s") <= 1)), ("y",))
    assert equal_at_ends(between, DOMAINS) == between
