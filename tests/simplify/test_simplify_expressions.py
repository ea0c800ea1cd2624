"""Simplification: known forms are found, values never change, costs never rise."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.effort import within
from weights2code.language import (
    BITS,
    OPERATORS,
    Const,
    Domain,
    Expr,
    Op,
    Var,
    evaluate,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.simplify import cost, simplify
from weights2code.simplify.equality import check_set
from weights2code.simplify.expressions import places
from weights2code.simplify.forms import collect

x, y, z = Var("x"), Var("y", 1), Var("z")
FORM_VARIABLES: tuple[Var, ...] = (x, y, z)
WIDE, SMALL, REAL = integers(-100, 99), integers(0, 2), reals(-5, 5)


def relu(expr):
    return op("relu", expr)


def floor(expr):
    return op("floor", expr)


FOUND = [
    # a choice among numbers that is compared
    (where(x > 0.5, where(y > z, 2, 1), 0) > 1, REAL, "[y[t-1] > z[t] and x[t] > 0.5]"),
    (op("lt", where(x > 0.5, 2, where(y > z, 3, 0)), 1), REAL, "[y[t-1] <= z[t] and x[t] <= 0.5]"),
    # neutral elements, like terms, signs
    (1 * x + 0 + y * 1, WIDE, "x[t] + y[t-1]"),
    (-1 * x + y, REAL, "y[t-1] - x[t]"),
    (x + -2 * y, REAL, "x[t] - 2*y[t-1]"),
    (0.3 * x + 0.7 * y + 0.0 * z, REAL, "0.3*x[t] + 0.7*y[t-1]"),
    (0.25 * (x - y) + 1.6 * y + 0.1 * y, REAL, "0.25*x[t] + 1.45*y[t-1]"),
    (Const(Fraction(3, 10)) * x + Const(Fraction(7, 10)) * y, REAL, "0.3*x[t] + 0.7*y[t-1]"),
    (Const(Fraction(1, 3)) * x + y, REAL, "x[t]/3 + y[t-1]"),
    (2 * x + 2 * y, REAL, "2*(x[t] + y[t-1])"),
    ((x + 1) * (x - 1) + 1, REAL, "x[t]**2"),
    (4.9 * x * x, REAL, "4.9*x[t]**2"),
    # maxima, minima, absolute values, clips
    (relu(x - y) + y, WIDE, "max(x[t], y[t-1])"),
    (y - relu(y - x), WIDE, "min(x[t], y[t-1])"),
    (relu(x - y) + relu(y - x), WIDE, "abs(x[t] - y[t-1])"),
    (0.5 * (x + y) + 0.5 * abs(x - y), REAL, "max(x[t], y[t-1])"),
    (minimum(maximum(x, 0), 3), WIDE, "clip(x[t], 0, 3)"),
    (relu(x) - relu(x - 4), REAL, "clip(x[t], 0, 4)"),
    (maximum(x + 1, y + 1), REAL, "max(x[t], y[t-1]) + 1"),
    (minimum(x, 5) + relu(x - 5), WIDE, "x[t]"),
    (abs(y - x), WIDE, "abs(x[t] - y[t-1])"),
    (where(x >= 0, x, -x), WIDE, "abs(x[t])"),
    (where(x > y, x, y), WIDE, "max(x[t], y[t-1])"),
    # truth values
    (where(x > y, 1, 0), WIDE, "[x[t] > y[t-1]]"),
    (1 - (x > y), WIDE, "[x[t] <= y[t-1]]"),
    (op("not", x > y), WIDE, "[x[t] <= y[t-1]]"),
    (x - y > 0.5, WIDE, "[x[t] > y[t-1]]"),
    (op("gt", 0, x), WIDE, "[x[t] < 0]"),
    # remainders
    (x + y - 3 * floor((x + y) / 3), SMALL, "(x[t] + y[t-1]) % 3"),
    ((x % 3 + y % 3) % 3, WIDE, "(x[t] + y[t-1]) % 3"),
    ((x + 3 * y) % 2, WIDE, "(x[t] + y[t-1]) % 2"),
    (floor(x + 2), WIDE, "x[t] + 2"),
    # bits: the order of preference
    (x + y - 2 * x * y, BITS, "[x[t] != y[t-1]]"),
    ((x + y) % 2, BITS, "[x[t] != y[t-1]]"),
    (1 - (x + y - 2 * x * y), BITS, "[x[t] == y[t-1]]"),
    (x + y - x * y, BITS, "[x[t] or y[t-1]]"),
    (x + y >= 2, BITS, "x[t]*y[t-1]"),
    ((x > 0.5) * 1, BITS, "x[t]"),
    (op("clip", x + y - z, 0, 1), BITS, "[x[t] + y[t-1] > z[t]]"),
    (op("ne", op("ne", x, y), z), BITS, "(x[t] + z[t] + y[t-1]) % 2"),
    (where(x.equals(0), 1 - y, y), BITS, "[x[t] == y[t-1]]"),
]


@pytest.mark.parametrize(("expr", "domain", "expected"), FOUND, ids=[str(row[0]) for row in FOUND])
def test_known_forms(expr: Expr, domain: Domain, expected: str):
    assert str(simplify(expr, dict.fromkeys(FORM_VARIABLES, domain))) == expected


def test_the_domain_decides():
    form = maximum(x, 0)
    assert simplify(form, {x: integers(0, 9)}) == x
    assert simplify(form, {x: integers(-1, 9)}) != x


def test_a_rare_value_is_not_overlooked_on_a_complete_domain():
    form = x + x.equals(99) * 0.5
    short = simplify(form, {x: integers(0, 99)})
    assert evaluate(short, {x: 99.0}) == 99.5


def test_missing_domain_is_said():
    with pytest.raises(ValueError, match=r"no domain is given for y\[t-1\]"):
        simplify(x + y, {x: BITS})


def test_order_of_preference_on_bits():
    forms = [op("ne", x, y), abs(x - y), (x + y) % 2, x + y - 2 * x * y]
    assert sorted(forms, key=cost) == forms
    forms = [x * y, op("and", x, y), minimum(x, y)]
    assert sorted(forms, key=cost) == forms
    assert cost(1 - x) < cost(op("not", x)) + 1


def test_decimal_constants_mean_what_they_print():
    check = check_set({x: REAL})
    assert check.equal(0.1 * x + 0.2 * x, 0.3 * x)
    assert not check.equal(0.1 * x + 0.2 * x, 0.3000001 * x)


def test_undefined_points_do_not_decide():
    check = check_set({x: integers(-2, 2)})
    assert check.equal((x * x) / x, (x * x) / x)
    assert not check.equal(x, (x * x) / x)


def test_ties_are_among_the_points():
    check = check_set({x: reals(-5, 5), y: reals(-5, 5)})
    assert not check.complete
    assert not check.equal(x > y, x >= y)


def test_places_put_back():
    form = (x + y) * (z - 1)
    for node, put in places(form):
        assert put(node) == form
    assert {node for node, _ in places(form)} == {form, x + y, z - 1, x, y, z, Const(1)}


def test_collecting_keeps_infinities():
    form = minimum(x, float("inf"))
    assert collect(form + 0) == form


NAMES = sorted(set(OPERATORS) - {"div", "pow", "mod", "exp", "log", "sqrt", "sin", "cos", "clip", "floor"})
leaves = st.one_of(st.sampled_from([x, y, z]), st.builds(Const, st.sampled_from([0, 1, 2, -1, 3, 0.5])))


def extend(children):
    return st.one_of(
        st.builds(
            lambda name, p: Op(name, p[: OPERATORS[name].arity]),
            st.sampled_from(NAMES),
            st.tuples(children, children, children),
        ),
        st.builds(lambda e, m: op("mod", e, m), children, st.sampled_from([2, 3])),
        st.builds(lambda e, m: floor(e / m), children, st.sampled_from([2, 3])),
        st.builds(lambda e: op("clip", e, -1, 2), children),
    )


trees = st.recursive(leaves, extend, max_leaves=7)
domains = st.sampled_from([BITS, integers(-2, 2), integers(0, 5), reals(-3, 3)])


@settings(max_examples=40)
@given(trees, domains, domains)
def test_values_never_change_and_costs_never_rise(expr, first, second):
    table = {x: first, y: second, z: BITS}
    short = simplify(expr, table)
    rng = np.random.default_rng(5)
    values = {
        v: rng.integers(int(d.low), int(d.high) + 1, 500).astype(float)
        if d.discrete
        else np.round(rng.uniform(d.low, d.high, 500), 3)
        for v, d in table.items()
    }
    assert np.allclose(evaluate(expr, values), evaluate(short, values), rtol=1e-9, atol=1e-9)
    assert cost(short) <= cost(expr) + 0.5


def test_when_the_time_is_up_a_formula_stays_as_it_is() -> None:
    formula = x + z - 2 * x * z
    with within(-1.0):
        assert simplify(formula, {x: BITS, z: BITS}) == formula
    assert simplify(formula, {x: BITS, z: BITS}) != formula


def test_what_differs_at_a_few_points_is_not_equal() -> None:
    check = check_set({x: WIDE, z: WIDE})
    assert check.may_equal(maximum(x, z), relu(x - z) + z)
    assert not check.may_equal(maximum(x, z), x)
