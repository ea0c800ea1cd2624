"""Text: Python source computes what the tree computes, with parentheses only where they are needed."""

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
    evaluate,
    evaluate_exact,
    formula,
    maximum,
    number_text,
    op,
    python_text,
    where,
)

VARIABLES = (Var("x"), Var("x", 1), Var("y", 1))
NAMES = {Var("x"): "x", Var("x", 1): "x1", Var("y", 1): "y1"}
TOTAL = sorted(set(OPERATORS) - {"div", "pow", "mod", "clip", "sqrt", "exp", "log"})
numbers = st.one_of(
    st.integers(-9, 9),
    st.fractions(-3, 3, max_denominator=9),
    st.floats(-9, 9, allow_subnormal=False).map(lambda value: round(value, 3)),
)
positive = st.sampled_from([1, 2, 3, 0.5, Fraction(1, 3)])
leaves: st.SearchStrategy[Expr] = st.one_of(st.sampled_from(VARIABLES), st.builds(Const, numbers))


def _extend(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    def plain(name: str) -> st.SearchStrategy[Expr]:
        return st.tuples(*[children] * OPERATORS[name].arity).map(lambda args: Op(name, args))

    return st.one_of(
        st.sampled_from(TOTAL).flatmap(plain),
        st.builds(lambda a, m: a % m, children, positive),
        st.builds(lambda a, m: a / m, children, positive),
        st.builds(lambda a, m: a // m, children, positive),
        st.builds(lambda a, k: a**k, children, st.integers(0, 3)),
        st.builds(
            lambda a, low, high: op("clip", a, min(low, high), max(low, high)), children, numbers, numbers
        ),
    )


expressions = st.recursive(leaves, _extend, max_leaves=12)


def run(text, values):
    scope = {NAMES[variable]: value for variable, value in values.items()}
    return eval(text, {"np": np}, scope)


def write(expr, **known):
    return python_text(expr, NAMES.__getitem__, **known)


@settings(max_examples=120)
@given(expressions, st.fixed_dictionaries({v: st.floats(-9, 9, allow_subnormal=False) for v in VARIABLES}))
def test_python_text_computes_what_the_tree_computes(expr, values):
    with np.errstate(all="ignore"):
        wanted = evaluate(expr, values)
    assume(np.isfinite(wanted) and abs(wanted) < 1e100)
    assert run(write(expr), values) == wanted


@settings(max_examples=120)
@given(expressions, st.fixed_dictionaries({v: st.integers(-9, 9) for v in VARIABLES}))
def test_python_text_may_use_that_values_are_whole(expr, values):
    whole = expr.transform(lambda node: Const(round(node.value)) if isinstance(node, Const) else node)
    assume(not any(isinstance(node, Op) and node.name in ("sin", "cos") for node in whole.walk()))
    try:
        parts = {node: evaluate_exact(node, values) for node in whole.walk()}
    except ZeroDivisionError:
        assume(False)
        raise
    assume(all(abs(value) < 2**52 for value in parts.values()))
    text = write(
        whole,
        is_bit=lambda node: parts.get(node) in (0, 1),
        is_integer=lambda node: all(isinstance(parts.get(part, 0), int) for part in node.walk()),
    )
    assert run(text, values) == pytest.approx(float(parts[whole]), rel=1e-12, abs=1e-12)


x, x1, y1 = VARIABLES


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
def test_formulas_read_as_written_by_hand(expr, text):
    assert formula(expr) == str(expr) == text


def test_variables_can_be_written_otherwise():
    assert formula(x + y1, lambda v: v.name * (v.lag + 1)) == "x + yy"


@pytest.mark.parametrize("value", [1, -3, 0.1, 1e-20, 1 / 3, 123456.75])
def test_number_text_reads_back(value):
    assert float(number_text(value)) == value
    assert number_text(Fraction(1, 3)) == "1/3"


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_infinity_can_be_written(value):
    assert run(write(maximum(x, Const(value)) if value < 0 else where(x > 0, Const(value), x)), {x: 1.0}) in (
        1.0,
        value,
    )
