"""What an expression is worth: on arrays, and on exact numbers, which are what they say.

Exact numbers are integers and fractions of any size. A decimal is taken as what it prints as (0.1 is a
tenth), here and everywhere: simplification, proofs and machines that outgrow float64 share this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from weights2code.language.expression import Const, Expr, Op, Var
from weights2code.language.operators import OPERATORS


def evaluate(expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The value under NumPy semantics; `values` maps each variable to a number or an array."""
    if isinstance(expr, Const):
        return float(expr.value)
    if isinstance(expr, Var):
        return values[expr]
    assert isinstance(expr, Op)
    return OPERATORS[expr.name].numpy(*(evaluate(argument, values) for argument in expr.args))


def compile_numpy(expr: Expr, variables: tuple[Var, ...]) -> Callable[..., Any]:
    """A function of arrays in the order of `variables`; shared sub-trees are computed once.

    Sub-trees are told apart once, here: hashing whole trees at every call is what long formulas would cost.
    """
    places: dict[Any, int] = {variable: place for place, variable in enumerate(variables)}
    constants: list[float] = []
    steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []

    for number in dict.fromkeys(repr(float(node.value)) for node in expr.walk() if isinstance(node, Const)):
        places[number] = len(places)  # as text, which tells 0 from -0
        constants.append(float(number))

    def place_of(node: Expr) -> int:
        if isinstance(node, Var):
            return places[node]
        if isinstance(node, Const):
            return places[repr(float(node.value))]
        assert isinstance(node, Op), node
        arguments = tuple(place_of(argument) for argument in node.args)
        key = (node.name, arguments)
        if key not in places:
            places[key] = len(places)
            steps.append((OPERATORS[node.name].numpy, arguments))
        return places[key]

    result = place_of(expr)

    def call(*arrays: Any) -> Any:
        values = [*arrays, *constants]
        for function, arguments in steps:
            if len(arguments) == 2:  # most of them: no list for so few
                values.append(function(values[arguments[0]], values[arguments[1]]))
            else:
                values.append(function(*[values[place] for place in arguments]))
        return values[result]

    return call


def exact_number(value: Any) -> Any:
    """An int or Fraction; a float is the decimal that it prints as, infinities stay floats."""
    if isinstance(value, int):
        return value
    if not isinstance(value, Fraction):
        value = float(value)
        if not isfinite(value):
            return value
        value = Fraction(repr(value))
    return int(value) if value.denominator == 1 else value


def nearest(value: Any) -> float:
    """The float64 number next to an exact one."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def evaluate_exact(expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The value on exact numbers; only the branch that `where` takes is computed, as in Python text.

    Roots and the like have no exact value and become floats, which whoever reads them can tell apart.

    Raises
    ------
    ArithmeticError
        If there is no value: a division by zero, infinity minus infinity.
    """
    if isinstance(expr, Const):
        return exact_number(expr.value)
    if isinstance(expr, Var):
        return values[expr]
    assert isinstance(expr, Op)
    if expr.name == "where":
        condition, yes, no = expr.args
        return evaluate_exact(yes if evaluate_exact(condition, values) else no, values)
    return apply_exact(expr.name, [evaluate_exact(argument, values) for argument in expr.args])


def apply_exact(name: str, values: list[Any]) -> Any:
    """An operator on exact numbers."""
    result = OPERATORS[name].exact(*values)
    if result != result:
        raise ArithmeticError(f"{name} has no value")
    return result.numerator if isinstance(result, Fraction) and result.denominator == 1 else result
