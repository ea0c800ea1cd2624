"""Formulas that compute with the numbers of texts, said without."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import Recurrence, Step, Var, integers, op, texts, where
from weights2code.language.categories import speaks
from weights2code.rules.unordered import unordered

KINDS, STATES = ("a", "b", "c"), ("p", "q", "r")
kind, state, n = Var("kind"), Var("y", 1), Var("n")
DOMAINS = (texts(KINDS), integers(0, 9))


@pytest.mark.parametrize(
    ("definition", "answers"),
    [
        (where(kind > 1, 2, 1), STATES),
        ((kind + state) % 3 + 1, STATES),
        (op("max", kind, state), STATES),
        (where(kind + n > 5, 1, 2), STATES),
        (2 * kind + n, ()),
        (kind * n, ()),
        (where(kind >= 2, n, -n), ()),
    ],
)
def test_the_same_without_order(definition, answers):
    rule = Recurrence(("kind", "n"), (Step("y", definition),), ("y",), {"y": 1.0})
    known = {"kind": KINDS} | ({"y": answers} if answers else {})
    assert not speaks(rule, known)
    found = unordered(rule, DOMAINS, known)
    assert found is not None
    assert speaks(found, known)
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(1, 4, (50, 20)), rng.integers(0, 10, (50, 20))], -1).astype(float)
    assert np.array_equal(found.run(x), rule.run(x))


def test_what_gives_no_text_is_refused_and_what_is_right_stays():
    rule = Recurrence(("kind", "n"), (Step("y", kind + 0.5),), ("y",))
    assert unordered(rule, DOMAINS, {"kind": KINDS, "y": STATES}) is None
    rule = Recurrence(("kind", "n"), (Step("y", where(kind.equals(1), 1, state)),), ("y",), {"y": 2.0})
    assert unordered(rule, DOMAINS, {"kind": KINDS, "y": STATES}) is rule


def test_a_counter_that_texts_move_stays_one():
    """A list of all numbers that it can have would be longer than what each text does to it."""
    rule = Recurrence(("kind",), (Step("s", (Var("s", 1) + kind + 4) % 6), Step("y", Var("s"))), ("y",))
    found = unordered(rule, DOMAINS[:1], {"kind": KINDS})
    assert found is not None
    assert speaks(found, {"kind": KINDS})
    assert len(str(found.steps[0].definition)) < 90
    x = np.random.default_rng(0).integers(1, 4, (20, 30, 1)).astype(float)
    assert np.array_equal(found.run(x), rule.run(x))
