"""Programs that take and return texts."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.errors import InputError
from weights2code.language import Recurrence, Retrieval, Step, Var, integers, op, reals, texts, where
from weights2code.program import Program, check_source, run_program

event, state, size = Var("event"), Var("state", 1), Var("größe 状")


def door() -> Program:
    rule = where(
        op("and", event.equals(2), state.equals(1)),
        2,
        where(op("or", event.equals(1), event.equals(3)), 1, state),
    )
    total = Var("total", 1) + size * Var("event", 1).equals(2)
    machine = Recurrence(
        ("event", "größe 状"), (Step("state", rule), Step("total", total)), ("state", "total"), {"state": 1.0}
    )
    domains = (texts(("close", 'open "wide"', "push {hard}")), integers(0, 9))
    return Program("door", machine, domains, True, output_categories={"state": ("closed", "open")})


SEQUENCE = np.array(
    [['open "wide"', 1], ["push {hard}", 2], ['open "wide"', 3], ['open "wide"', 4]], dtype=object
)


def test_texts_go_in_and_come_out():
    program = door()
    assert not check_source(program.source())
    expected = [["open", 0.0], ["closed", 2.0], ["open", 2.0], ["open", 6.0]]
    assert program.run(SEQUENCE).tolist() == expected
    assert run_program(program.source(), [SEQUENCE, SEQUENCE[:1]])[0].tolist() == expected
    assert Program.from_dict(program.to_dict()) == program


def test_the_text_names_the_texts():
    source = door().source()
    assert 'state: "closed" or "open"; total' in source
    assert "before the start state = " in source
    assert "größe_状" in source
    assert 'event[t-1] == "open' in source.replace("\\", "")
    assert '"closed" if event[t] in ("close", "push {hard}")' in door().formula()


def test_an_unknown_text_is_an_error_that_names_the_known_ones():
    program, wrong = door(), np.array([["psh", 1]], dtype=object)
    with pytest.raises(InputError, match=r"event: 'psh' is none of \('close'"):
        run_program(program.source(), [wrong])
    with pytest.raises(ValueError, match="event: 'psh' is none of"):
        program.run(wrong)


def test_texts_from_numbers_alone():
    rule = where(Var("x") > 22, 1, where(Var("x") < 18, 2, state))
    program = Program(
        "heater",
        Recurrence(("x",), (Step("state", rule),), ("state",)),
        (reals(10, 30),),
        output_categories={"state": ("off", "on")},
    )
    x = np.array([20.0, 17.0, 20.0, 23.0, 20.0])
    assert run_program(program.source(), [x])[0].tolist() == [None, "on", "on", "off", "off"]
    assert program.run(x).tolist() == [None, "on", "on", "off", "off"]
    assert "Every text before the start is None." in program.source()


def test_keys_are_looked_up_as_they_are():
    machine = Recurrence(
        ("person", "room"),
        (
            Step("found", Retrieval("person", "room", Var("person"))),
            Step("before", where(Var("found").equals(0), 3, Var("found"))),
        ),
        ("before",),
    )
    rooms = ("hall", "lab", "unknown")
    program = Program(
        "last", machine, (texts(("ann", "bob")), texts(rooms)), output_categories={"before": rooms}
    )
    x = np.array([["ann", "hall"], ["bob", "lab"], ["ann", "lab"], ["ann", "hall"]], dtype=object)
    assert run_program(program.source(), [x])[0].tolist() == ["unknown", "unknown", "hall", "lab"]
    assert "else None" in program.formula()
    assert r"\text{nothing}" in program.latex()


def test_numbers_that_stand_for_something_stay_numbers():
    machine = Recurrence(("zone",), (Step("price", where(Var("zone").equals(2), 40, 3)),), ("price",))
    program = Program("tariff", machine, (texts((7, 12, 300)),))
    assert program.formula() == "price[t] = 40 if zone[t] == 12 else 3"
    assert run_program(program.source(), [np.array([7, 12.0, 300], object)])[0].tolist() == [3, 40, 3]
    with pytest.raises(InputError, match="is none of"):
        run_program(program.source(), [np.array([8], object)])


def test_long_choices_are_statements():
    rule = state
    for code in range(1, 7):
        rule = where(op("and", event.equals(code), state.equals(code)), code % 6 + 1, rule)
    words = tuple(f"a word, else {i} + (one" for i in range(6))
    machine = Recurrence(("event",), (Step("state", rule),), ("state",), {"state": 1.0})
    program = Program("long", machine, (texts(words),), output_categories={"state": words})
    assert program.source().count("\n        elif ") == 5
    x = np.array([words[i % 6] for i in range(9)], object)
    assert run_program(program.source(), [x])[0].tolist() == program.run(x).tolist()
