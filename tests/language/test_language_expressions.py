"""Expressions and operators one by one; that every back end means the same stands in `test_properties`."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_table import rule
from weights2code.language import (
    BITS,
    OPERATORS,
    Const,
    Expr,
    Op,
    Var,
    evaluate,
    evaluate_exact,
    formula,
    from_dict,
    integers,
    maximum,
    number_text,
    op,
    python_text,
    reals,
    to_dict,
    uniform,
    where,
)
from weights2code.language.formula_reading import read_formula
from weights2code.language.interval import Interval
from weights2code.language.kinds import kinds_of
from weights2code.language.latex import latex
from weights2code.language.operators import MOST_ORDERED, Form, function, order_name, order_of
from weights2code.language.sympy_form import symbol, to_sympy
from weights2code.program.listing import recurrence_source
from weights2code.report import javascript, mathml
from weights2code.simplify import cost
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.engine import preference
from weights2code.verify import certify

x, x1, y, y1 = Var("x"), Var("x", 1), Var("y"), Var("y", 1)

# -- trees ---------------------------------------------------------------------------------------------------


def test_operators_build_the_tree_they_look_like():
    assert 2 * x - y1 == Op("sub", (Op("mul", (Const(2), x)), y1))
    assert [(x >= 3), x.equals(0), maximum(x, 0)] == [
        Op("ge", (x, Const(3))),
        Op("eq", (x, Const(0))),
        Op("max", (x, Const(0))),
    ]
    assert abs(-x) == Op("abs", (Op("neg", (x,)),))
    assert x // 3 == Op("floor", (Op("div", (x, Const(3))),))
    assert (y1 + x * y1).variables() == (y1, x)  # in the order of their appearance
    with pytest.raises(ValueError, match="max takes 2 arguments, got 1"):
        op("max", 1)


@given(st.one_of(st.fractions(), st.floats(allow_nan=False, allow_infinity=False), st.integers()))
def test_numbers_keep_their_kind(value):
    again = from_dict(to_dict(Const(value)))
    assert again == Const(value)
    assert isinstance(again, Const)
    assert type(again.value) is type(Const(value).value)


def test_numbers_are_what_they_say():
    assert Const(3.0) == Const(3) == Const(Fraction(6, 2))
    assert type(Const(3.0).value) is type(Const(True).value) is int
    assert (Const(0.5).value, Const(2.0**60).value) == (0.5, 2.0**60)
    assert evaluate_exact(Const(0.1) + Const(0.2), {}) == Fraction(3, 10)
    assert evaluate_exact(x / 3 * 3, {x: 7}) == 7
    assert evaluate_exact(x / 3, {x: 7}) == Fraction(7, 3)
    assert [evaluate_exact(x % m, {x: v}) for v, m in ((-1, 3), (7, 3), (-7, 2))] == [2, 1, 1]
    assert evaluate(where(x, 1, 2), {x: np.array([-3.0, 0.0, 0.5])}).tolist() == [1, 2, 1]
    assert evaluate_exact(where(x, 1, 1 / x), {x: 5}) == 1
    with pytest.raises(ArithmeticError):
        evaluate_exact(where(x, 1, 1 / x), {x: 0})


@pytest.mark.parametrize(
    "data",
    [
        None, True, "x", [], ["fraction", 1], {}, {"var": "x"}, {"op": "system", "args": []},
        {"op": "add", "args": [1]}, {"op": "add", "args": [1, {"op": "eval", "args": [2]}]},
        {"op": "add", "args": [1, 2], "extra": 3}, {"op": "order_3_of_16", "args": [0] * 16},
    ],
)  # fmt: skip
def test_malformed_json_is_refused(data):
    with pytest.raises(ValueError, match=r"not an expression|takes"):
        from_dict(data)


# -- texts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (x + y1 - 2 * x * y1, "x[t] + y[t-1] - 2*x[t]*y[t-1]"),
        ((x + y1) % 3, "(x[t] + y[t-1]) % 3"),
        (x - (x1 - y1), "x[t] - (x[t-1] - y[t-1])"),
        (x + (-2) * y1, "x[t] - 2*y[t-1]"),
        ((x + 1) * (x1 + 1), "(x[t] + 1)*(x[t-1] + 1)"),
        (2 * x + x1 >= 3, "[2*x[t] + x[t-1] >= 3]"),
        (maximum(x, x1), "max(x[t], x[t-1])"),
        ((-x) ** 2, "(-x[t])**2"),
        (Fraction(3, 10) * x, "3/10*x[t]"),
    ],
)
def test_formulas_read_as_written_by_hand(expr: Expr, text: str):
    assert formula(expr) == str(expr) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (x + y - 2 * x * x1, r"x_{t} + y_{t} - 2 \, x_{t} \, x_{t-1}"),
        (x - (y - x1), r"x_{t} - \left(y_{t} - x_{t-1}\right)"),
        ((x + y) % 3, r"\left(x_{t} + y_{t}\right) \bmod 3"),
        (op("and", x > 1, y < 2), r"\left[x_{t} > 1 \land y_{t} < 2\right]"),
        (Const(Fraction(-1, 3)) * x, r"-\frac{1}{3} \, x_{t}"),
        (abs(Var("carry", 1)), r"\left|\mathrm{carry}_{t-1}\right|"),
        (op("not", op("or", x, y)), r"\left[\lnot \left(x_{t} \lor y_{t}\right)\right]"),
        (op("and", x > 1, op("or", x, y)), r"\left[x_{t} > 1 \land \left(x_{t} \lor y_{t}\right)\right]"),
        (x + (-2) * y, r"x_{t} - 2 \, y_{t}"),
        (where(x > 1, x, 0),
         r"\begin{cases} x_{t} & \text{if } x_{t} > 1 \\ 0 & \text{otherwise} \end{cases}"),
    ],
)  # fmt: skip
def test_latex(expr: Expr, text: str):
    assert latex(expr) == text


def test_names_and_numbers_in_texts():
    import sympy

    assert formula(x + y1, lambda v: v.name * (v.lag + 1)) == "x + yy"
    assert [symbol(v).name for v in (x, x1)] == ["x_t", "x_{t-1}"]
    assert to_sympy(0.1 * x + 0.2 * x - 0.3 * x) == 0  # decimals are exact
    a = sympy.Symbol("a", integer=True)
    assert to_sympy(x + 1, {x: a}) == a + 1
    for value in (1, -3, 0.1, 1e-20, 1 / 3, 123456.75):
        assert float(number_text(value)) == value
    assert number_text(Fraction(1, 3)) == "1/3"
    for text in ("median(x[t], x[t-1], x[t-2])", "largest_2(x[t], x[t-1], x[t-2], x[t-3])"):
        assert str(read_formula(text)) == text


# -- the table of operators ----------------------------------------------------------------------------------

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


def test_a_new_operator_is_one_entry(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(OPERATORS, "sign", SIGN)
    sign = op("sign", x - 2)
    assert evaluate(sign, {x: np.array([1.0, 2.0, 5.0])}).tolist() == [-1, 0, 1]
    assert evaluate_exact(sign, {x: Fraction(7, 3)}) == 1
    assert from_dict(to_dict(sign)) == sign
    assert formula(sign) == "sign(x[t] - 2)"
    assert python_text(sign, lambda v: v.name) == "np.sign(x - 2)"
    assert latex(sign) == r"\operatorname{sgn}\left(x_{t} - 2\right)"
    assert "<mi>sign</mi>" in mathml.equation("y", sign)
    assert "const v1 = Math.sign((v0 - 2.0));" in javascript.running(rule(y=sign), (BITS,))
    assert str(to_sympy(sign)) == "sign(x_t - 2)"
    assert cost(sign) == pytest.approx(1.2 + cost(x - 2))
    assert preference(sign) < preference(op("sign", sign))
    listed = rule(**{"V1_MLP": op("sign", x + 1), "y.raw": Var("V1_MLP"), "y": Var("y.raw")})
    assert "V1 = np.sign(input_arr[:, 0] + 1)" in recurrence_source(listed, "p", {})
    machine = rule(y=op("sign", x) + y1)
    assert "y" in kinds_of(machine, (BITS,)).integers
    found = certify(machine, reference=rule(y=(x > 0) + y1), domains=(BITS,), length=6, integer_outputs=True)
    assert (found.verdict, "induction" in found.method) == ("proved", True)


@pytest.mark.parametrize("name", OPERATORS)
def test_what_an_entry_says_of_itself_is_so(name: str):
    entry = OPERATORS[name]
    values = np.array([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    grids = [grid.ravel() for grid in np.meshgrid(*[values] * entry.arity)]
    arguments = tuple(Var("a", lag) for lag in range(entry.arity))
    env = dict(zip(arguments, grids, strict=True))
    with np.errstate(all="ignore"):
        found = np.broadcast_to(evaluate(Op(name, arguments), env), grids[0].shape)
        if entry.defined is not None:
            defined = np.broadcast_to(evaluate(entry.defined(*arguments), env), found.shape)
            np.testing.assert_array_equal(defined != 0, np.isfinite(found))
        if entry.mirror:
            np.testing.assert_array_equal(found, OPERATORS[entry.mirror].numpy(*grids[::-1]))
        if entry.commutative:
            np.testing.assert_array_equal(found, entry.numpy(*grids[::-1]))
        if entry.opposite:
            np.testing.assert_array_equal(found, 1 - OPERATORS[entry.opposite].numpy(*grids))
        if entry.boolean:
            assert set(np.unique(found)) <= {0, 1}
        if "whole" in entry.keeps:
            whole = entry.numpy(*[grid.ravel() for grid in np.meshgrid(*[np.arange(1.0, 6.0)] * entry.arity)])
            np.testing.assert_array_equal(whole, np.round(whole))


# -- order statistics, which are entries made when they are asked for ----------------------------------------

WINDOW = tuple(Var("x", lag) for lag in range(5))


def test_names_of_order_statistics():
    assert order_of(order_name(2, 7)) == (2, 7)
    for name in ("order_1_of_3", "order_3_of_3", "order_2_of_99", "order_02_of_x", "add", None):
        assert order_of(name) is None
    assert order_name(2, MOST_ORDERED) in OPERATORS
    assert order_name(2, MOST_ORDERED + 1) not in OPERATORS
    with pytest.raises(KeyError):
        OPERATORS["order_2_of_2"]
    assert not any(order_of(name) for name in OPERATORS)  # they are not listed


@pytest.mark.parametrize(("place", "count"), [(2, 3), (2, 4), (3, 4), (3, 5), (5, 6)])
def test_every_meaning_of_an_order_is_the_same(place: int, count: int):
    entry = OPERATORS[order_name(place, count)]
    for values in product(range(3), repeat=count):
        right = sorted(values)[place - 1]
        assert entry.exact(*values) == entry.numpy(*map(np.array, values)) == right
        assert eval(entry.python.template.format(*values)) == right
    expr = to_sympy(Op(entry.name, tuple(Var(f"v{i}") for i in range(count))))
    symbols = sorted(expr.free_symbols, key=str)
    assert expr.subs(dict(zip(symbols, range(count), strict=True))) == place - 1


def test_a_median_is_the_middle_of_three_by_bounds():
    """And the proof by z3 does not hold where it is not."""
    options = {"domains": (integers(-(10**6), 10**6),), "length": 8, "integer_outputs": True}
    a, b, c = WINDOW[:3]
    meant, median = rule(y=op("clip", a, op("min", b, c), op("max", b, c))), op(order_name(2, 3), a, b, c)
    assert certify(rule(y=median), reference=meant, **options).verdict == "proved"
    assert certify(rule(y=median + (a > 999_998)), reference=meant, **options).verdict != "proved"


@pytest.mark.parametrize(
    ("found", "text", "whole"),
    [
        (lambda s, x: s[:, 2], "median(x[t], x[t-1], x[t-2], x[t-3], x[t-4])", False),
        (lambda s, x: s[:, 3], "largest_2(x[t], x[t-1], x[t-2], x[t-3], x[t-4])", True),
        (lambda s, x: x[:, 0] - s[:, 2], "x[t] - median(x[t], x[t-1], x[t-2], x[t-3], x[t-4])", True),
        (lambda s, x: x[:, 1] > s[:, 2], "[x[t-1] > median(x[t], x[t-1], x[t-2], x[t-3], x[t-4])]", False),
    ],
)
def test_orders_are_found(found, text: str, whole: bool):
    domains = (integers(0, 19) if whole else reals(-5.0, 5.0),) * 5
    values = uniform(np.random.default_rng(0), domains, 1500, 1)[:, 0]
    right = found(np.sort(values, axis=1), values).astype(float)
    front = NativeEngine().search(values, right, variables=WINDOW, domains=domains)
    assert str(front[-1].expr) in (text, re.sub(r"\[(\S+) > (.*)\]", r"[\2 < \1]", text))
    assert front[-1].exact
    assert np.allclose(evaluate(front[-1].expr, dict(zip(WINDOW, values.T, strict=True))), right)
