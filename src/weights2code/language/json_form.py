"""Expressions as plain data: what run folders keep, and what is read back without executing anything."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from weights2code.language.expression import Const, Expr, Op, Var
from weights2code.language.operators import OPERATORS, op


def to_dict(expr: Expr) -> Any:
    """JSON form; fractions become ["fraction", numerator, denominator]."""
    if isinstance(expr, Const):
        value = expr.value
        return ["fraction", value.numerator, value.denominator] if isinstance(value, Fraction) else value
    if isinstance(expr, Var):
        return {"var": expr.name, "lag": expr.lag}
    assert isinstance(expr, Op)
    return {"op": expr.name, "args": [to_dict(argument) for argument in expr.args]}


def from_dict(data: Any) -> Expr:
    """Inverse of `to_dict`; unknown operators and shapes are refused."""
    if isinstance(data, bool) or data is None:
        raise ValueError(f"not an expression: {data!r}")
    if isinstance(data, (int, float)):
        return Const(data)
    if isinstance(data, list) and len(data) == 3 and data[0] == "fraction":
        return Const(Fraction(int(data[1]), int(data[2])))
    if isinstance(data, dict) and set(data) == {"var", "lag"}:
        return Var(str(data["var"]), int(data["lag"]))
    if isinstance(data, dict) and set(data) == {"op", "args"} and data["op"] in OPERATORS:
        return op(data["op"], *(from_dict(argument) for argument in data["args"]))
    raise ValueError(f"not an expression: {data!r}")
