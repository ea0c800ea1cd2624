"""`program.tex`: equations, escaped names, start values."""

from weights2code.language import BITS, Recurrence, Retrieval, Step, Var, integers, minimum, where
from weights2code.language.latex import escape, latex_lines
from weights2code.program import latex_source

x, y1 = Var("x"), Var("y", 1)


def test_one_equation_a_step_and_the_start():
    recurrence = Recurrence(("x",), (Step("y", minimum(x, y1)),), ("y",), {"y": float("inf")})
    assert latex_lines(recurrence) == [
        r"y_{t} &= \min\left(x_{t}, y_{t-1}\right)",
        r"y_{s} &= \infty \quad (s < 0)",
    ]


def test_first_value_repeated():
    recurrence = Recurrence(("x",), (Step("y", x - Var("x", 1)),), ("y",), {"x": "first"})
    assert latex_lines(recurrence)[1] == r"x_{s} &= x_{0} \quad (s < 0)"


def test_cases_and_remainders():
    recurrence = Recurrence(("x",), (Step("y", where(x > 1, (x + y1) % 3, 0)),), ("y",))
    line = latex_lines(recurrence)[0]
    assert r"\begin{cases}" in line
    assert r"\bmod 3" in line


def test_retrieval_is_a_case_distinction():
    recurrence = Recurrence(("k", "v"), (Step("y", Retrieval("k", "v", Var("k"), 1)),), ("y",))
    assert r"k_{s} = k_{t}" in latex_lines(recurrence)[0]


def test_file_is_a_document_with_nothing_unescaped():
    name = r"a_b%$#{}\~^&"
    recurrence = Recurrence((name,), (Step("y", Var(name) * 2),), ("y",))
    text = latex_source(recurrence, (integers(0, 9),), "f_1", verdict="tested\n\\input{secret}")
    assert text.startswith("% f_1: tested \\input{secret}\n")
    assert text.count(r"\begin{document}") == text.count(r"\end{document}") == 1
    assert r"a\_b\%\$\#\{\}\textbackslash{}\textasciitilde{}\textasciicircum{}\&" in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_escape_leaves_words_alone():
    assert escape(str(BITS)) == "bits"
