"""The table of operators: one entry is enough for everything that the package does with an operator."""

from fractions import Fraction

import numpy as np
import pytest

from weights2code.language import (
    BITS,
    OPERATORS,
    Const,
    Op,
    Recurrence,
    Step,
    Var,
    evaluate,
    evaluate_exact,
    formula,
    from_dict,
    op,
    python_text,
    to_dict,
)
from weights2code.language.interval import Interval
from weights2code.language.kinds import kinds_of
from weights2code.language.latex import latex
from weights2code.language.operators import Form, Written, function
from weights2code.language.sympy_form import to_sympy
from weights2code.program.listing import recurrence_source
from weights2code.report import javascript, mathml
from weights2code.simplify import cost
from weights2code.symbolic.engine import preference
from weights2code.verify import certify

x = Var("x")
SIGN = function(
    "sign",
    np.sign,
    lambda a: (a > 0) - (a < 0),
    z3=lambda t, a: t.choose(t.relation("gt", a, 0), 1, t.choose(t.relation("lt", a, 0), -1, 0)),
    latex=Form(r"\operatorname{{sgn}}\left({0}\right)"),
    cost=1.2,
    whole=True,
    interval=lambda a: Interval(-1, 1),
)
INVERSE = function("arccos", np.arccos, np.arccos, sympy="acos", defined=lambda a: abs(a) <= 1)


@pytest.fixture
def table(monkeypatch):
    for entry in (SIGN, INVERSE):
        monkeypatch.setitem(OPERATORS, entry.name, entry)


@pytest.mark.usefixtures("table")
def test_a_new_operator_is_one_entry():
    sign = op("sign", x - 2)
    np.testing.assert_array_equal(evaluate(sign, {x: np.array([1.0, 2.0, 5.0])}), [-1, 0, 1])
    assert evaluate_exact(sign, {x: Fraction(7, 3)}) == 1
    assert from_dict(to_dict(sign)) == sign
    assert formula(sign) == "sign(x[t] - 2)"
    assert python_text(sign, lambda v: v.name) == "np.sign(x - 2)"
    assert latex(sign) == r"\operatorname{sgn}\left(x_{t} - 2\right)"
    assert "<mi>sign</mi>" in mathml.equation("y", sign)
    assert "const v1 = Math.sign((v0 - 2.0));" in javascript.running(
        Recurrence(("x",), (Step("y", sign),), ("y",)), (BITS,)
    )
    assert str(to_sympy(sign)) == "sign(x_t - 2)"
    assert cost(sign) == pytest.approx(1.2 + cost(x - 2))
    assert preference(sign) < preference(op("sign", sign))


@pytest.mark.usefixtures("table")
def test_a_new_operator_is_listed_analysed_and_proved():
    steps = (Step("V1_MLP", op("sign", x + 1)), Step("y.raw", Var("V1_MLP")), Step("y", Var("y.raw")))
    listing = recurrence_source(Recurrence(("x",), steps, ("y",)), "p", {})
    assert "V1 = np.sign(input_arr[:, 0] + 1)" in listing
    machine = Recurrence(("x",), (Step("y", op("sign", x) + Var("y", 1)),), ("y",))
    assert "y" in kinds_of(machine, (BITS,)).integers
    other = Recurrence(("x",), (Step("y", (x > 0) + Var("y", 1)),), ("y",))
    found = certify(machine, reference=other, domains=(BITS,), length=6, integer_outputs=True)
    assert (found.verdict, "induction" in found.method) == ("proved", True)


@pytest.mark.parametrize("name", OPERATORS)
def test_mirrors_and_opposites_mean_what_they_say(name):
    entry = OPERATORS[name]
    values = np.array([-2.0, 0.0, 1.0, 3.0])
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    if entry.mirror:
        np.testing.assert_array_equal(entry.numpy(a, b), OPERATORS[entry.mirror].numpy(b, a))
    if entry.opposite:
        np.testing.assert_array_equal(entry.numpy(a, b), 1 - OPERATORS[entry.opposite].numpy(a, b))


@pytest.mark.parametrize("name", [name for name, entry in OPERATORS.items() if entry.defined])
def test_operators_are_defined_where_numpy_has_a_value(name):
    entry = OPERATORS[name]
    assert entry.defined is not None
    values = np.array([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    grids = [grid.ravel() for grid in np.meshgrid(*[values] * entry.arity)]
    arguments = tuple(Var("a", lag) for lag in range(entry.arity))
    env = dict(zip(arguments, grids, strict=True))
    with np.errstate(all="ignore"):
        result, defined = (evaluate(part, env) for part in (Op(name, arguments), entry.defined(*arguments)))
    np.testing.assert_array_equal(np.broadcast_to(defined != 0, result.shape), np.isfinite(result))


@pytest.mark.parametrize("name", [name for name, entry in OPERATORS.items() if "whole" in entry.keeps])
def test_what_keeps_whole_numbers_does(name):
    entry = OPERATORS[name]
    grids = [grid.ravel() for grid in np.meshgrid(*[np.arange(1.0, 6.0)] * entry.arity)]
    result = entry.numpy(*grids)
    np.testing.assert_array_equal(result, np.round(result))


def test_decimals_are_what_they_say():
    assert evaluate_exact(Const(0.1) + Const(0.2), {}) == Fraction(3, 10)
    assert evaluate_exact(op("where", x, 1, 1 / x), {x: 5}) == 1
    with pytest.raises(ArithmeticError):
        evaluate_exact(op("where", x, 1, 1 / x), {x: 0})


def test_brackets_appear_where_a_template_asks_for_them():
    loose = Written("a + b", OPERATORS["add"].text.binding)
    assert OPERATORS["mul"].text.template.format(loose, Written("c")) == "(a + b)*c"
    assert OPERATORS["add"].text.template.format(loose, Written("c")) == "a + b + c"
