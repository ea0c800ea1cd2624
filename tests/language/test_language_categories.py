"""Texts in formulas: what may be done with them, and how they are written."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.language import Domain, Expr, Recurrence, Retrieval, Step, Var, integers, op, texts, where
from weights2code.language.categories import decoded, encoded, in_words, speaks, spoken, with_locals
from weights2code.language.domain import quoted
from weights2code.language.latex import latex

EVENT, STATE = ("close", "open", "push"), ("closed", "open")
KNOWN = {"event": EVENT, "state": STATE}
event, state = Var("event"), Var("state", 1)


def machine(definition, *before: Step, start: float = 1.0) -> Recurrence:
    return Recurrence(("event", "n"), (*before, Step("state", definition)), ("state",), {"state": start})


def test_texts_stand_where_numbers_were():
    found, types = spoken(machine(where(event.equals(2), 2, where(event.equals(1), 1, state))), KNOWN)
    text = str(found.steps[0].definition)
    assert text == '"open" if event[t] == "open" else "closed" if event[t] == "close" else state[t-1]'
    assert types == KNOWN


def test_one_of_several_texts_is_said_so():
    either = op("or", event.equals(1), op("or", event.equals(3), event.equals(2)))
    found, _ = spoken(machine(where(either, 1, 2)), KNOWN)
    assert str(found.steps[0].definition) == '"closed" if event[t] in ("close", "push", "open") else "open"'


def test_nothing_lies_before_the_start():
    found, _ = spoken(machine(where(state.equals(0), 1, state)), KNOWN)
    assert str(found.steps[0].definition) == '"closed" if state[t-1] == None else state[t-1]'


@pytest.mark.parametrize(
    "definition",
    [
        event + 0,  # arithmetic
        where(event > 1, 1, 2),  # an order
        where(event, 1, 2),  # truth of a text
        where(event.equals(state), 1, 2),  # texts of different kinds
        where(event.equals(1), 3, 2),  # no such text
        where(event.equals(1), event, 2),
        where(event.equals(1.5), 1, 2),
    ],
)
def test_a_text_is_no_number(definition):
    assert not speaks(machine(definition), KNOWN)


def test_a_start_value_is_a_text_or_none():
    rule = where(event.equals(1), 1, state)
    assert speaks(machine(rule, start=0.0), KNOWN)
    assert not speaks(machine(rule, start=-1.0), KNOWN)


def test_what_steps_hold_is_found_out():
    chosen = Step("chosen", where(Var("n") > 3, 2, 1))
    rule = machine(where(event.equals(1), Var("chosen"), state), chosen)
    assert with_locals(rule, KNOWN)["chosen"] == STATE
    assert speaks(rule, KNOWN)
    found, _ = spoken(rule, KNOWN)
    assert str(found.steps[0].definition) == '"open" if n[t] > 3 else "closed"'
    looked_up = Recurrence(
        ("event", "state0"),
        (Step("found", Retrieval("event", "state0", Var("event"))), Step("y", Var("found").equals(1))),
        ("y",),
    )
    known = {"event": EVENT, "state0": STATE}
    assert with_locals(looked_up, known)["found"] == STATE
    assert speaks(looked_up, known)


def test_numbers_of_texts_and_back():
    column = np.array(["open", "closed", "else"], object)
    assert encoded(column, STATE).tolist() == [2, 1, -1]
    assert decoded(np.array([2.0, 1.0, 0.0, 7.0, np.nan]), STATE).tolist() == ["open", "closed", *[None] * 3]
    mixed = in_words(np.array([[1.0, 4.5]]), ("event", "n"), KNOWN)
    assert mixed.tolist() == [["close", 4.5]]
    assert encoded(np.array([3, 17.0], object), (3, 17)).tolist() == [1, 2]


def test_domains_of_texts_are_read_back():
    for domain in (texts(STATE), texts((3, 17))):
        assert Domain.from_dict(domain.to_dict()) == domain
    assert str(texts(STATE)) == '"closed" or "open"'
    assert str(texts([f"t{i}" for i in range(30)])).endswith("and 10 other texts")
    for wrong in (
        {"kind": "texts", "low": 1, "high": 2},
        {"kind": "texts", "low": 0, "high": 1, "categories": ["a", "b"]},
        {"kind": "integers", "low": 1, "high": 2, "categories": ["a", "b"]},
        {"kind": "texts", "low": 1, "high": 2, "categories": ["a", "a"]},
    ):
        with pytest.raises(ValueError, match="not a domain"):
            Domain.from_dict(wrong)
    assert "categories" not in integers(0, 3).to_dict()


def test_any_text_can_be_quoted():
    for text in ('say "so"', "back\\slash", "two\nlines", "\u2028", "naïve", "状态"):
        assert eval(quoted(text)) == text
    assert quoted(None) == "None"
    assert quoted(7) == "7"
    found, _ = spoken(machine(where(event.equals(1), 1, 2)), {**KNOWN, "state": ("50 % {off}", "open")})
    rule = found.steps[0].definition
    assert isinstance(rule, Expr)
    assert r"50 \% \{off\}" in latex(rule)
