"""MathML: well-formed for whatever the language can say, and it says the right thing."""

import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from weights2code import tasks
from weights2code.language import OPERATORS, Const, Op, Recurrence, Step, Var, op, where
from weights2code.report import mathml

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)


def words(markup):
    """The text of the formula, without spaces."""
    return re.sub(r"\s", "", "".join(ElementTree.fromstring(markup.replace("&#160;", " ")).itertext()))


def said(expr):
    return words(mathml.equation("v", expr)).removeprefix("v=")


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_written_and_well_formed(name):
    arguments = tuple(Var(f"v{i}", i) for i in range(OPERATORS[name].arity))
    for argument in arguments:
        assert argument.name in said(Op(name, arguments))


@pytest.mark.parametrize("task", [task.name for task in tasks.all_tasks("all")])
def test_every_reference_machine_is_well_formed(task):
    machine = tasks.get(task).machine
    text = words(mathml.rule(machine))
    assert all(step.name in text for step in machine.steps)


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
    text = words(mathml.rule(Recurrence(("x",), (Step("y", op("min", x1, y1)),), ("y",), start)))
    assert "ys=∞fors<0" in text
    assert "xs=x0fors<0" in text


def test_names_cannot_become_mark_up():
    name = '</mi><script>alert("1")</script>&'
    markup = mathml.rule(Recurrence((name,), (Step("y", Var(name)),), ("y",)))
    assert "<script" not in markup
    assert name in "".join(ElementTree.fromstring(markup).itertext())
