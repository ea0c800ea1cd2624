"""`Program`: one value with its views, length and verdict; programs of texts; which texts are the same."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import weights2code.program.program as module
from case_table import PROGRAMS, given_to, loaded, rule
from weights2code.errors import InputError
from weights2code.language import BITS, Retrieval, Var, integers, reals, where
from weights2code.language.latex import escape
from weights2code.program import Program, body_lines, latex_source, run_program, total_lines
from weights2code.program.same_text import first_difference

x, y1, event, state = Var("x"), Var("y", 1), Var("event"), Var("state", 1)
PARITY = Program("parity", PROGRAMS["parity"].recurrence, (BITS,), True, "by hand")
TWO = Program(
    "two columns",
    rule({"s": 3.0}, "a b", "s d", s=Var("s", 1) + Var("a"), d=Var("s") - Var("b")),
    (integers(0, 9), integers(-5, 5)),
)


def test_what_is_printed_and_written():
    assert str(PARITY).startswith("y[t] = x[t] + y[t-1] - 2*x[t]*y[t-1]\n\nimport numpy")
    assert str(PARITY).endswith(PARITY.source())
    assert TWO.formula().splitlines() == [
        "s[t] = s[t-1] + a[t]",
        "d[t] = s[t] - b[t]",
        "before the start s = 3",
    ]
    proved = PARITY.with_verdict("proved for every length and the whole domain")
    assert "Verdict: proved for every length and the whole domain.\n" in proved.source()
    assert "proved for every length" in proved.latex()
    assert "Origin: by hand." in proved.source()
    assert "whole numbers" in proved.source()
    assert (PARITY.verdict, TWO.name) == ("not verified", "two_columns")
    assert doctest.testmod(module).failed == 0


def test_run_takes_one_sequence_or_a_batch():
    assert np.array_equal(PARITY.run([1, 0, 1]), [1, 1, 0])
    assert PARITY.run(np.ones((4, 1))).shape == (4,)
    assert PARITY.run(np.ones((5, 4, 1))).shape == (5, 4, 1)
    assert np.array_equal(TWO.run([[1, 2], [3, 4]]), [[4, 2], [7, 3]])
    assert TWO.run(np.zeros((0, 2))).shape == (0, 2)
    for shape in ((3,), (3, 1), (3, 3), (), (1, 2, 3, 2)):
        with pytest.raises(ValueError, match="shape"):
            TWO.run(np.zeros(shape))
    with pytest.raises(ValueError, match="one domain an input"):
        Program("f", PARITY.recurrence, ())


def test_length_counts_lines_and_operators():
    assert PARITY.lines == total_lines(PARITY.source()) == len(PARITY.source().splitlines())
    assert PARITY.body == body_lines(PARITY.source()) == 9
    assert PARITY.operations == 4
    assert Program("f", rule(inputs="k v", y=Retrieval("k", "v", Var("k") + 1)), (BITS, BITS)).operations == 2
    commented = 'def f(x):\n    """Doc."""\n    # why\n\n    y = (\n        x\n    )\n    return y\n'
    assert body_lines(commented) == 4


# -- LaTeX ---------------------------------------------------------------------------------------------------


def test_the_file_is_a_document_with_nothing_unescaped():
    name = r"a_b%$#{}\~^&"
    text = latex_source(
        rule(inputs=name, y=Var(name) * 2), (integers(0, 9),), "f_1", verdict="tested\n\\input{secret}"
    )
    assert text.startswith("% f_1: tested \\input{secret}\n")
    assert text.count(r"\begin{document}") == text.count(r"\end{document}") == 1
    assert r"a\_b\%\$\#\{\}\textbackslash{}\textasciitilde{}\textasciicircum{}\&" in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert escape(str(BITS)) == "bits"


# -- texts and truth values ----------------------------------------------------------------------------------


def test_texts_go_in_and_come_out():
    program = PROGRAMS["door"]
    sequence = np.array(
        [['open "wide"', 1], ["push {hard}", 2], ['open "wide"', 3], ['open "wide"', 4]], dtype=object
    )
    expected = [["open", 0.0], ["closed", 2.0], ["open", 2.0], ["open", 6.0]]
    assert program.run(sequence).tolist() == expected
    assert run_program(program.source(), [sequence, sequence[:1]])[0].tolist() == expected
    source = program.source()
    assert 'state: "closed" or "open"; total' in source
    assert "before the start state = " in source
    assert 'event[t-1] == "open' in source.replace("\\", "")
    assert '"closed" if event[t] in ("close", "push {hard}")' in program.formula()


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [("door", ["psh", 1], r"event: 'psh' is none of \('close'"), ("tariff", [8], "is none of")],
)
def test_an_unknown_text_is_an_error_that_names_the_known_ones(name: str, row: list, words: str):
    with pytest.raises(InputError, match=words):
        run_program(PROGRAMS[name].source(), [np.array([row], dtype=object)])
    with pytest.raises(ValueError, match=words.partition("(")[0].rstrip("\\")):
        PROGRAMS[name].run(np.array([row], dtype=object))


def test_texts_from_numbers_alone():
    heater = rule(outputs="state", state=where(x > 22, 1, where(x < 18, 2, state)))
    program = Program("heater", heater, (reals(10, 30),), output_categories={"state": ("off", "on")})
    answers = [None, "on", "on", "off", "off"]
    for run in (program.run, loaded(program.source())):
        assert run(np.array([20.0, 17.0, 20.0, 23.0, 20.0])).tolist() == answers
    assert "Every text before the start is None." in program.source()
    assert PROGRAMS["tariff"].formula() == "price[t] = 40 if zone[t] == 12 else 3".replace("price", "y")


def test_truth_values_stay_truth_values():
    for name, shape in (("truths", (9,)), ("both", (9, 2))):
        program = PROGRAMS[name]
        answer = program.run(given_to(program, 9))
        assert answer.shape == shape
        assert all(isinstance(row if name == "truths" else row[0], bool) for row in answer.tolist())
        assert "y: True or False" in program.source()
    numbers = given_to(PROGRAMS["truths"], 9).astype(float)  # a program in the sandbox takes those too
    assert run_program(PROGRAMS["truths"].source(), [numbers])[0].tolist() == [
        bool(v) for v in PROGRAMS["truths"].run(given_to(PROGRAMS["truths"], 9))
    ]


# -- the same text -------------------------------------------------------------------------------------------

TEXT = '''"""About it."""
import numpy as np


def f(x):
    """Twice."""
    y = x * 2.0
    return y + 0.0
'''


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("Twice", "Three times", None),
        ('"""About it."""\n', "", None),
        ('    """Twice."""\n', "", None),
        ("x * 2.0", "(x*2.0)  # twice", None),
        ("2.0", "2", 7),
        ("* 2.0", "+ 2.0", 7),
        ("+ 0.0", "+ -0.0", 8),
        ("return y", "if x > 9:\n        y = 1\n    return y", 8),
        ("    y = x * 2.0\n", "    y = x * 2.0\n    y = y\n", 8),
        ("def f(x)", "def f(x, z=1)", 5),
        ("import numpy as np", "import numpy", 2),
        ("y + 0.0\n", "y + 0.0\n\n\ndef g(x):\n    return x\n", 11),
    ],
)
def test_words_and_layout_do_not_count_and_everything_else_does(old: str, new: str, line: int | None):
    changed = TEXT.replace(old, new)
    assert changed != TEXT
    assert first_difference(changed, TEXT) == line
    assert (first_difference(TEXT, changed) is None) == (line is None)


def test_long_sums_are_compared():
    long = "def f(x):\n    return " + " + ".join(["x"] * 300) + "\n"
    assert first_difference(long, long) is None
    assert first_difference(long, long.replace("x + x", "x - x", 1)) == 2
