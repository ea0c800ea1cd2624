"""`Program`: one value with its views, its length, and its verdict."""

import doctest
import json

import numpy as np
import pytest

import weights2code.program.program as module
from weights2code.language import BITS, Recurrence, Retrieval, Step, Var, integers
from weights2code.program import Program, body_lines, total_lines

x, y1 = Var("x"), Var("y", 1)
PARITY = Program(
    "parity", Recurrence(("x",), (Step("y", x + y1 - 2 * x * y1),), ("y",)), (BITS,), True, "by hand"
)
TWO = Program(
    "two columns",
    Recurrence(
        ("a", "b"),
        (Step("s", Var("s", 1) + Var("a")), Step("d", Var("s") - Var("b"))),
        ("s", "d"),
        {"s": 3.0},
    ),
    (integers(0, 9), integers(-5, 5)),
)


def test_printing_shows_the_formula_first_then_the_source():
    text = str(PARITY)
    assert text.startswith("y[t] = x[t] + y[t-1] - 2*x[t]*y[t-1]\n\nimport numpy")
    assert text.endswith(PARITY.source())


def test_formula_says_start_values_that_are_not_zero():
    assert TWO.formula().splitlines() == [
        "s[t] = s[t-1] + a[t]",
        "d[t] = s[t] - b[t]",
        "before the start s = 3",
    ]


def test_run_takes_one_sequence_or_a_batch():
    assert np.array_equal(PARITY.run([1, 0, 1]), [1, 1, 0])
    assert PARITY.run(np.ones((4, 1))).shape == (4,)
    assert PARITY.run(np.ones((5, 4, 1))).shape == (5, 4, 1)
    assert np.array_equal(TWO.run([[1, 2], [3, 4]]), [[4, 2], [7, 3]])
    assert TWO.run(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 3), (), (1, 2, 3, 2)])
def test_run_refuses_other_shapes(shape):
    with pytest.raises(ValueError, match="shape"):
        TWO.run(np.zeros(shape))


def test_verdict_appears_in_every_text():
    proved = PARITY.with_verdict("proved for every length and the whole domain")
    assert "Verdict: proved for every length and the whole domain.\n" in proved.source()
    assert "proved for every length" in proved.latex()
    assert "Origin: by hand." in proved.source()
    assert "whole numbers" in proved.source()
    assert PARITY.verdict == "not verified"


@pytest.mark.parametrize("program", [PARITY, TWO.with_verdict("tested")])
def test_json_and_back(program):
    assert Program.from_dict(json.loads(json.dumps(program.to_dict()))) == program


def test_name_becomes_an_identifier():
    assert TWO.name == "two_columns"


def test_length_counts_lines_and_operators():
    assert PARITY.lines == total_lines(PARITY.source()) == len(PARITY.source().splitlines())
    assert PARITY.body == body_lines(PARITY.source()) == 9
    assert PARITY.operations == 4
    lookup = Recurrence(("k", "v"), (Step("y", Retrieval("k", "v", Var("k") + 1)),), ("y",))
    assert Program("f", lookup, (BITS, BITS)).operations == 2


def test_body_leaves_out_comments_and_blank_lines():
    assert (
        body_lines('def f(x):\n    """Doc."""\n    # why\n\n    y = (\n        x\n    )\n    return y\n') == 4
    )


def test_a_domain_for_every_input():
    with pytest.raises(ValueError, match="one domain an input"):
        Program("f", PARITY.recurrence, ())


def test_examples_in_the_documentation():
    assert doctest.testmod(module).failed == 0
