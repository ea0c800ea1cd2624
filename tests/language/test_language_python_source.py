"""`program.py`: texts that were reviewed; that a text is its recurrence stands in `test_properties`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from case_table import PROGRAMS, loaded, rule, x, y1
from weights2code.language import BITS, Recurrence, Step, Var, integers, op, where
from weights2code.program import body_lines, identifier, python_source

GOLDEN = Path(__file__).parent / "golden"
REVIEWED = list(PROGRAMS)[:10]


@pytest.mark.parametrize("name", REVIEWED)
def test_text_is_the_reviewed_one(name: str):
    program = PROGRAMS[name]
    text = program.with_verdict("proved for every length").source()
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert body_lines(text) <= (12 if len(program.domains) == 3 else 10)


def test_what_is_known_of_the_network_has_a_line_of_its_own():
    text = python_source(rule(y=x), (BITS,), "same", verdict="proved.\nNetwork: proved equal, too")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("Verdict: proved.") + 1] == "Network: proved equal, too."


@pytest.mark.parametrize(
    ("name", "wrong"), [("parity", np.zeros((3, 2))), ("parity", np.zeros(())), ("bit_addition", np.zeros(4))]
)
def test_wrong_shapes_are_refused_with_a_sentence(name: str, wrong: np.ndarray):
    with pytest.raises(ValueError, match="expected shape"):
        loaded(PROGRAMS[name].source())(wrong)
    assert loaded(PROGRAMS["bit_addition"].source())([]).shape == (0,)  # no rows of two columns


@pytest.mark.parametrize(
    "column",
    ["class", "t", "T", "np", "max", "Force (N)", "1st", 'a"""b', "new\nline", "ü", "back\\slash", "program"],
)
def test_any_column_name_gives_a_text_that_runs(column: str):
    recurrence = Recurrence((column,), (Step("y", Var(column) + Var(column, 1)),), ("y",))
    function = loaded(python_source(recurrence, (integers(0, 9),), "program"))
    assert np.array_equal(function([1, 2, 3]), [1, 3, 5])


def test_colliding_names_stay_apart():
    for one, other in (("u", "u_"), ("a b", "a-b")):
        recurrence = Recurrence((one, other), (Step("y", Var(one) - Var(other)),), ("y",))
        function = loaded(python_source(recurrence, (BITS, BITS), "f"))
        assert np.array_equal(function([[3, 1], [1, 5]]), [2, -4])


def test_long_formulas_are_folded_and_long_choices_are_several_lines():
    for name in ("long_sum", "long_choice"):
        body = PROGRAMS[name].source()
        assert max(map(len, body[body.index("for t in range(T)") :].splitlines())) <= 100
    assert "        elif y[t-1] == 5:" in PROGRAMS["long_choice"].source().splitlines()


def test_conditions_read_like_sentences():
    recurrence = rule(y=where(op("and", x > 1, op("not", y1)), y1 + 1, 0))
    assert "y[t] = y[t-1] + 1 if x[t] > 1 and not y[t-1] else 0\n" in python_source(recurrence, (BITS,), "f")


def test_identifiers():
    told = {"Sum Last-2.csv": "Sum_Last_2_csv", "3rd": "_3rd", "lambda": "lambda_", "???": "program"}
    assert {name: identifier(name) for name in told} == told
