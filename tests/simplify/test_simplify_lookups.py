"""Lookups of delayed copies are lookups of what was copied."""

from __future__ import annotations

from weights2code.language import Recurrence, Retrieval, Step, Var, integers
from weights2code.simplify import simplify_recurrence
from weights2code.simplify.passes import without_delay

X, SEEN = Var("x"), Var("v")
DELAYED = (Step("k", Var("x", 1)), Step("w", Var("y", 1)))


def test_a_count_of_equal_keys_is_looked_up_where_it_was():
    lookup = Step("v", Retrieval("k", "w", X, 0))
    late = Recurrence(("x",), (*DELAYED, lookup, Step("y", SEEN + 1)), ("y",), {"x": -1.0})
    found = simplify_recurrence(late, (integers(0, 3),))
    first, last = found.steps
    assert first.definition == Retrieval("x", "y", X, 1)
    assert last.definition in (Var(first.name) + 1, 1 + Var(first.name))
    assert not found.start


def test_what_matches_before_the_start_stays():
    lookup = Step("v", Retrieval("k", "w", X, 0))
    late = Recurrence(("x",), (*DELAYED, lookup, Step("y", SEEN + 1)), ("y",))  # 0 was there before the start
    found = simplify_recurrence(late, (integers(0, 3),))
    x = [[[0.0], [0.0], [1.0], [0.0]]]
    assert found.run(x).tolist() == late.run(x).tolist()


def test_a_key_and_a_value_of_different_delays_stay():
    lookup = Step("y", Retrieval("k", "x", X, 1))
    one_later = Recurrence(("x",), (Step("k", Var("x", 1)), lookup), ("y",), {"x": -1.0})
    assert not [*without_delay(one_later)]
