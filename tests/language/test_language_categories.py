"""Texts in formulas: what may be done with them, and how they are written."""

from __future__ import annotations

import numpy as np
import pytest

from case_table import rule
from weights2code.language import Definition, Expr, Recurrence, Retrieval, Step, Var, op, where
from weights2code.language.categories import decoded, encoded, in_words, speaks, spoken, with_locals
from weights2code.language.domain import quoted
from weights2code.language.latex import latex

EVENT, STATE = ("close", "open", "push"), ("closed", "open")
KNOWN = {"event": EVENT, "state": STATE}
event, state = Var("event"), Var("state", 1)


def machine(definition: Definition, *before: Step, start: float = 1.0) -> Recurrence:
    return Recurrence(("event", "n"), (*before, Step("state", definition)), ("state",), {"state": start})


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (
            where(event.equals(2), 2, where(event.equals(1), 1, state)),
            '"open" if event[t] == "open" else "closed" if event[t] == "close" else state[t-1]',
        ),
        (
            where(op("or", event.equals(1), op("or", event.equals(3), event.equals(2))), 1, 2),
            '"closed" if event[t] in ("close", "push", "open") else "open"',
        ),
        (where(state.equals(0), 1, state), '"closed" if state[t-1] == None else state[t-1]'),
    ],
)
def test_texts_stand_where_numbers_were(definition: Expr, text: str):
    found, types = spoken(machine(definition), KNOWN)
    assert str(found.steps[0].definition) == text
    assert types == KNOWN


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
def test_a_text_is_no_number(definition: Expr):
    assert not speaks(machine(definition), KNOWN)


def test_a_start_value_is_a_text_or_none():
    definition = where(event.equals(1), 1, state)
    assert speaks(machine(definition, start=0.0), KNOWN)
    assert not speaks(machine(definition, start=-1.0), KNOWN)


def test_what_steps_hold_is_found_out():
    chosen = Step("chosen", where(Var("n") > 3, 2, 1))
    made = machine(where(event.equals(1), Var("chosen"), state), chosen)
    assert with_locals(made, KNOWN)["chosen"] == STATE
    assert speaks(made, KNOWN)
    assert str(spoken(made, KNOWN)[0].steps[0].definition) == '"open" if n[t] > 3 else "closed"'
    looked_up = rule(
        inputs="event state0", found=Retrieval("event", "state0", Var("event")), y=Var("found").equals(1)
    )
    known = {"event": EVENT, "state0": STATE}
    assert with_locals(looked_up, known)["found"] == STATE
    assert speaks(looked_up, known)


def test_numbers_of_texts_and_back():
    column = np.array(["open", "closed", "else"], object)
    assert encoded(column, STATE).tolist() == [2, 1, -1]
    assert decoded(np.array([2.0, 1.0, 0.0, 7.0, np.nan]), STATE).tolist() == ["open", "closed", *[None] * 3]
    assert in_words(np.array([[1.0, 4.5]]), ("event", "n"), KNOWN).tolist() == [["close", 4.5]]
    assert encoded(np.array([3, 17.0], object), (3, 17)).tolist() == [1, 2]


def test_any_text_can_be_quoted():
    for text in ('say "so"', "back\\slash", "two\nlines", "\u2028", "naïve", "状态"):
        assert eval(quoted(text)) == text
    assert (quoted(None), quoted(7)) == ("None", "7")
    found, _ = spoken(machine(where(event.equals(1), 1, 2)), {**KNOWN, "state": ("50 % {off}", "open")})
    definition = found.steps[0].definition
    assert isinstance(definition, Expr)
    assert r"50 \% \{off\}" in latex(definition)
