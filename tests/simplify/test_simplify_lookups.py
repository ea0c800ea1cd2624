"""Lookups of delayed copies are lookups of what was copied."""

from __future__ import annotations

from weights2code.language import Recurrence, Retrieval, Step, Var, integers
from weights2code.simplify import simplify_recurrence
from weights2code.simplify.lookups import of_one_value, without_delay

X, SEEN = Var("x"), Var("v")
DELAYED = (Step("k", Var("x", 1)), Step("w", Var("y", 1) + 1))


def test_a_count_of_equal_keys_is_looked_up_where_it_was():
    lookup = Step("v", Retrieval("k", "w", X, 0))
    late = Recurrence(("x",), (*DELAYED, lookup, Step("y", SEEN)), ("y",), {"x": -1.0})
    found = simplify_recurrence(late, (integers(0, 3),))
    first, last = found.steps
    assert first.definition == Retrieval("x", "y", X, 1, -1.0)
    assert last.definition in (Var(first.name) + 1, 1 + Var(first.name))
    assert not found.start


def test_what_matches_before_the_start_stays():
    lookup = Step("v", Retrieval("k", "w", X, 0))
    late = Recurrence(("x",), (*DELAYED, lookup, Step("y", SEEN)), ("y",))  # 0 was there before the start
    found = simplify_recurrence(late, (integers(0, 3),))
    x = [[[0.0], [0.0], [1.0], [0.0]]]
    assert found.run(x).tolist() == late.run(x).tolist()


def test_a_key_and_a_value_of_different_delays_stay():
    lookup = Step("y", Retrieval("k", "x", X, 1))
    one_later = Recurrence(("x",), (Step("k", Var("x", 1)), lookup), ("y",), {"x": -1.0})
    assert without_delay(one_later) == one_later


def test_what_is_made_of_several_lookups_at_one_place_is_looked_up_itself():
    last = Step("w", Var("x", 1))
    found = (Step("u", Retrieval("x", "x", X, 1)), Step("v", Retrieval("x", "w", X, 1)))
    both = Recurrence(("x",), (last, *found, Step("y", Var("u") - Var("v") + 2)), ("y",))
    short = simplify_recurrence(both, (integers(0, 3),))
    made, lookup = short.steps
    assert isinstance(lookup.definition, Retrieval)
    assert (lookup.definition.value, lookup.definition.default) == (made.name, 2.0)
    x = [[[1.0], [3.0], [1.0], [1.0], [3.0]]]
    assert short.run(x).tolist() == both.run(x).tolist()


def test_lookups_at_different_places_stay():
    found = (Step("u", Retrieval("x", "x", X, 1)), Step("v", Retrieval("x", "x", X, 2)))
    both = Recurrence(("x",), (*found, Step("y", Var("u") - Var("v"))), ("y",))
    assert of_one_value(both) == both
