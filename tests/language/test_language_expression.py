"""Expressions: one meaning under NumPy, on exact numbers, as JSON and under rewriting."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from weights2code.language import (
    OPERATORS,
    Const,
    Expr,
    Op,
    Var,
    compile_numpy,
    evaluate,
    evaluate_exact,
    from_dict,
    maximum,
    op,
    to_dict,
    where,
)

VARIABLES = (Var("x"), Var("x", 1), Var("y", 1), Var("y", 2))
INTEGER_OPERATORS = sorted(
    set(OPERATORS) - {"div", "pow", "mod", "floor", "clip", "sqrt", "exp", "log", "sin", "cos"}
)
numbers = st.integers(-9, 9)
leaves: st.SearchStrategy[Expr] = st.one_of(st.sampled_from(VARIABLES), st.builds(Const, numbers))


def _extend(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    positive = st.integers(1, 7)

    def plain(name: str) -> st.SearchStrategy[Expr]:
        return st.tuples(*[children] * OPERATORS[name].arity).map(lambda args: Op(name, args))

    return st.one_of(
        st.sampled_from(INTEGER_OPERATORS).flatmap(plain),
        st.builds(lambda a, m: a % m, children, positive),
        st.builds(lambda a, m: a // m, children, positive),
        st.builds(lambda a, k: a**k, children, st.integers(0, 3)),
        st.builds(lambda a, low, width: op("clip", a, low, low + width), children, numbers, positive),
    )


#: Formulas whose value is a whole number whenever their variables are.
integer_expressions = st.recursive(leaves, _extend, max_leaves=10)
assignments = st.fixed_dictionaries(dict.fromkeys(VARIABLES, numbers))


def _small(expr: Expr, values: dict[Var, int]) -> bool:
    """Whether double precision holds every intermediate value exactly."""
    return all(abs(evaluate_exact(node, values)) < 2**52 for node in expr.walk())


@given(integer_expressions, assignments)
def test_numpy_equals_exact_on_integers(expr, values):
    assume(_small(expr, values))
    exact = evaluate_exact(expr, values)
    assert isinstance(exact, int)
    floats = {variable: float(value) for variable, value in values.items()}
    assert evaluate(expr, floats) == exact


@given(integer_expressions, st.lists(assignments, min_size=1, max_size=5))
def test_compiled_equals_interpreted_on_arrays(expr, rows):
    assume(all(_small(expr, values) for values in rows))
    arrays = {variable: np.array([float(values[variable]) for values in rows]) for variable in VARIABLES}
    compiled = compile_numpy(expr, VARIABLES)(*arrays.values())
    np.testing.assert_array_equal(compiled, evaluate(expr, arrays))


@given(integer_expressions)
def test_json_round_trip(expr):
    assert from_dict(to_dict(expr)) == expr


@given(st.fractions(), st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_numbers_keep_their_kind_in_json(fraction, real, whole):
    for value in (fraction, real, whole):
        constant = Const(value)
        again = from_dict(to_dict(constant))
        assert again == constant
        assert isinstance(again, Const)
        assert type(again.value) is type(constant.value)


@given(integer_expressions, integer_expressions, assignments)
def test_substitution_is_composition(outer, inner, values):
    composed = outer.substitute({VARIABLES[0]: inner})
    assume(_small(inner, values) and _small(composed, values))
    inside = {**values, VARIABLES[0]: evaluate_exact(inner, values)}
    assert evaluate_exact(composed, values) == evaluate_exact(outer, inside)


@given(integer_expressions, st.integers(0, 3), st.integers(0, 3))
def test_shifts_add_up_and_can_be_undone(expr, first, second):
    assert expr.shift(first).shift(second) == expr.shift(first + second)
    assert expr.shift(first).shift(-first) == expr
    assert {v.lag - first for v in expr.shift(first).variables()} == {v.lag for v in expr.variables()}


@settings(max_examples=50)
@given(integer_expressions)
def test_sizes_count_nodes(expr):
    nodes = list(expr.walk())
    assert expr.size() == len(nodes)
    assert expr.operations() == sum(isinstance(node, Op) for node in nodes)
    assert expr.transform(lambda node: node) == expr


def test_operators_build_the_tree_they_look_like():
    x, y1 = Var("x"), Var("y", 1)
    assert 2 * x - y1 == Op("sub", (Op("mul", (Const(2), x)), y1))
    assert (x >= 3) == Op("ge", (x, Const(3)))
    assert x.equals(0) == Op("eq", (x, Const(0)))
    assert maximum(x, 0) == Op("max", (x, Const(0)))
    assert abs(-x) == Op("abs", (Op("neg", (x,)),))
    assert x // 3 == Op("floor", (Op("div", (x, Const(3))),))


def test_the_order_of_variables_is_that_of_appearance():
    x, y1 = Var("x"), Var("y", 1)
    assert (y1 + x * y1).variables() == (y1, x)


def test_whole_floats_and_fractions_are_integers():
    assert Const(3.0) == Const(3) == Const(Fraction(6, 2))
    assert type(Const(3.0).value) is type(Const(True).value) is int
    assert Const(0.5).value == 0.5
    assert Const(2.0**60).value == 2.0**60


def test_division_stays_exact_on_integers():
    x = Var("x")
    assert evaluate_exact(x / 3 * 3, {x: 7}) == 7
    assert evaluate_exact(x / 3, {x: 7}) == Fraction(7, 3)
    assert evaluate(x / 2, {x: 7.0}) == 3.5


@pytest.mark.parametrize(("value", "modulus", "expected"), [(-1, 3, 2), (7, 3, 1), (-7, 2, 1)])
def test_remainders_are_floored(value, modulus, expected):
    x = Var("x")
    assert evaluate(x % modulus, {x: float(value)}) == expected
    assert evaluate_exact(x % modulus, {x: value}) == expected


def test_a_condition_is_anything_but_zero():
    x = Var("x")
    choice = where(x, 1, 2)
    np.testing.assert_array_equal(evaluate(choice, {x: np.array([-3.0, 0.0, 0.5])}), [1, 2, 1])
    assert [evaluate_exact(choice, {x: value}) for value in (-3, 0)] == [1, 2]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_means_the_same_in_both_evaluations(name):
    arguments = (3, 2, 5)[: OPERATORS[name].arity]
    variables = tuple(Var("a", lag) for lag in range(len(arguments)))
    values = dict(zip(variables, arguments, strict=True))
    result = evaluate(op(name, *variables), {v: float(value) for v, value in values.items()})
    assert float(result) == pytest.approx(float(evaluate_exact(op(name, *variables), values)), rel=1e-15)
    if OPERATORS[name].boolean:
        assert result in (0, 1)
    if OPERATORS[name].commutative:
        swapped = evaluate(op(name, *reversed(variables)), {v: float(value) for v, value in values.items()})
        assert swapped == result


def test_a_wrong_number_of_arguments_is_refused():
    with pytest.raises(ValueError, match="max takes 2 arguments, got 1"):
        op("max", 1)


@pytest.mark.parametrize(
    "data",
    [
        None,
        True,
        "x",
        [],
        ["fraction", 1],
        {},
        {"var": "x"},
        {"op": "system", "args": []},
        {"op": "add", "args": [1]},
        {"op": "add", "args": [1, {"op": "eval", "args": [2]}]},
        {"op": "add", "args": [1, 2], "extra": 3},
    ],
)
def test_malformed_json_is_refused(data):
    with pytest.raises(ValueError, match=r"not an expression|takes"):
        from_dict(data)
