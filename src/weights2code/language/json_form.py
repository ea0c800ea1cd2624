"""Expressions as plain data: what run folders keep, and what is read back without executing anything."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from weights2code.json_values import MOST_DEPTH, MOST_LAG, items, name, number, shown, whole
from weights2code.language.expression import Const, Expr, Op, Var
from weights2code.language.operators import MOST_ORDERED, OPERATORS, op


def to_dict(expr: Expr) -> Any:
    """JSON form; fractions become ["fraction", numerator, denominator]."""
    if isinstance(expr, Const):
        value = expr.value
        return ["fraction", value.numerator, value.denominator] if isinstance(value, Fraction) else value
    if isinstance(expr, Var):
        return {"var": expr.name, "lag": expr.lag}
    assert isinstance(expr, Op)
    return {"op": expr.name, "args": [to_dict(argument) for argument in expr.args]}


def from_dict(data: Any, deepest: int = MOST_DEPTH) -> Expr:
    """Inverse of `to_dict`; unknown operators and shapes, and what is nested too deeply, are refused."""
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        return Const(number(data, "a constant"))
    if isinstance(data, list) and len(data) == 3 and data[0] == "fraction":
        above, below = (number(part, "a part of a fraction") for part in data[1:])
        if not isinstance(above, int) or not isinstance(below, int) or below <= 0:
            raise ValueError(f"not a fraction: {shown(data)}")
        return Const(Fraction(above, below))
    if isinstance(data, dict) and set(data) == {"var", "lag"}:
        return Var(name(data["var"], "a variable"), whole(data["lag"], "a lag", most=MOST_LAG))
    if isinstance(data, dict) and set(data) == {"op", "args"} and data["op"] in OPERATORS:
        if deepest <= 1:
            raise ValueError(f"a formula is nested more than {MOST_DEPTH} deep")
        return op(
            data["op"],
            *(from_dict(part, deepest - 1) for part in items(data["args"], "arguments", MOST_ORDERED)),
        )
    raise ValueError(f"not an expression: {shown(data)}")
