"""Rules as people read them: MathML is well-formed for whatever there is, and LaTeX says the same."""

import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from case_table import FORMULAS, PROGRAMS
from weights2code import tasks
from weights2code.language import OPERATORS, Const, Op, Recurrence, Step, Var, op, where
from weights2code.language.latex import latex, latex_lines
from weights2code.report import mathml

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)
#: What commands of LaTeX say; all others are for the eye, or say their own name.
SAID = {"land": "∧", "lor": "∨", "lnot": "¬", "ne": "≠", "ge": "≥", "le": "≤", "cdot": "⋅", "infty": "∞",
        "lfloor": "⌊", "rfloor": "⌋", "bmod": "mod", "begin": "{", "quad": ""}  # fmt: skip
SILENT = r"\\(left|right|text|mathrm|operatorname|frac|sqrt|end|,|\\)(?![a-z])|cases"


def words(markup):
    """The text of a formula, without spaces."""
    return re.sub(r"\s", "", "".join(ElementTree.fromstring(markup.replace("&#160;", " ")).itertext()))


def words_of(text):
    """The same of LaTeX."""
    kept = re.sub(SILENT, "", text).replace("{", "").replace("}", "")
    told = re.sub(r"\\([a-z]+)", lambda found: SAID.get(found[1], found[1]), kept)
    return re.sub(r"[\s&_^\\]", "", told.replace("-", "−"))


def said(expr):
    """What both notations say."""
    told = words(mathml.equation("v", expr)).removeprefix("v=")
    assert words_of(latex(expr)) == told.replace("_", "")
    return told


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_written(name):
    arguments = tuple(Var(f"v{i}", i) for i in range(OPERATORS[name].arity))
    told = said(Op(name, arguments))
    assert all(argument.name in told for argument in arguments)


@pytest.mark.parametrize("expr", FORMULAS, ids=str)
def test_both_notations_say_the_same_of_every_formula(expr):
    assert said(expr)


RULES = [task.machine for task in tasks.all_tasks()] + [made.recurrence for made in PROGRAMS.values()]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.steps[-1].name)
def test_every_rule_is_well_formed_and_names_its_steps(rule):
    text = words(mathml.rule(rule))
    assert all(step.name in text for step in rule.steps)
    assert len(latex_lines(rule)) == mathml.rule(rule).count("</mtd><mtd><mo>=</mo></mtd><mtd>")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x + y1 - 2 * x * y1, "xt+yt−1−2xtyt−1"),
        (x - (x1 - y1), "xt−(xt−1−yt−1)"),
        (x - (-2) * y1, "xt+2yt−1"),
        ((x + 1) * y1, "(xt+1)yt−1"),
        (x * x, "xt2"),
        ((x + x1) % 3, "(xt+xt−1)mod3"),
        (2 * (x % 3), "2(xtmod3)"),
        (op("ne", x, x1), "[xt≠xt−1]"),
        (op("and", x > 0, op("or", y1, x1)), "[xt>0∧(yt−1∨xt−1)]"),
        (op("not", x > 0), "[¬(xt>0)]"),
        (Const(Fraction(-1, 3)) * x, "−13xt"),
        (where(x > 1, 2, where(x > 0, 1, 0)), "{2ifxt>11ifxt>00otherwise"),
        (Const(1e-9) + x, "1⋅10−9+xt"),
        (op("relu", x), "max(xt,0)"),
    ],
)
def test_formulas_read_as_they_should(expr, expected):
    assert said(expr) == expected


def test_start_values_are_said():
    start = {"y": float("inf"), "x": "first"}
    rule = Recurrence(("x",), (Step("y", op("min", x1, y1)),), ("y",), start)
    assert "ys=∞fors<0" in words(mathml.rule(rule))
    assert "xs=x0fors<0" in words(mathml.rule(rule))
    assert [words_of(line) for line in latex_lines(rule)[1:]] == ["xs=x0(s<0)", "ys=∞(s<0)"]
