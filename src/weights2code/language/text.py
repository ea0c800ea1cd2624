"""Expressions as text: the formula that people read, and the Python that machines run.

Both are the same walk with another way to write a variable; parentheses appear only where precedence
needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from weights2code.language.expression import Const, Expr, Number, Op, Var

_INFIX = {
    "or": (1, " or "),
    "and": (2, " and "),
    "eq": (4, " == "),
    "ne": (4, " != "),
    "ge": (4, " >= "),
    "gt": (4, " > "),
    "le": (4, " <= "),
    "lt": (4, " < "),
    "add": (5, " + "),
    "sub": (5, " - "),
    "mul": (6, "*"),
    "div": (6, "/"),
    "mod": (6, " % "),
    "pow": (8, "**"),
}
_ATOM = 9


def number_text(value: Number) -> str:
    """Shortest text that reads back as the same number; fractions as quotients."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return repr(value)


def formula(expr: Expr, variable: Callable[[Var], str] | None = None) -> str:
    """Infix text such as `x[t] + y[t-1] - 2*x[t]*y[t-1]`.

    `variable` writes one variable; by default `name[t-lag]`.
    """
    write = variable or (lambda v: f"{v.name}[t-{v.lag}]" if v.lag else f"{v.name}[t]")
    return _write(expr, write, python=False)[0]


def python_text(expr: Expr, variable: Callable[[Var], str]) -> str:
    """Python source of the value, with comparisons as `(a >= b) * 1`-free plain booleans cast by `int`."""
    return _write(expr, variable, python=True)[0]


def _write(expr: Expr, write: Callable[[Var], str], *, python: bool) -> tuple[str, int]:
    if isinstance(expr, Const):
        text = number_text(expr.value)
        if text in ("inf", "-inf", "nan"):
            return f"float('{text}')" if python else text, _ATOM
        if text.startswith("-"):
            return text, 7
        return text, 6 if "/" in text else _ATOM
    if isinstance(expr, Var):
        return write(expr), _ATOM
    assert isinstance(expr, Op)

    def child(index: int, at_least: int) -> str:
        text, precedence = _write(expr.args[index], write, python=python)
        return text if precedence >= at_least else f"({text})"

    if expr.name == "floor" and isinstance(expr.args[0], Op) and expr.args[0].name == "div":
        inner = expr.args[0]
        left, right = (_write(argument, write, python=python) for argument in inner.args)
        left_text = left[0] if left[1] >= 6 else f"({left[0]})"
        right_text = right[0] if right[1] >= 7 else f"({right[0]})"
        return f"{left_text} // {right_text}", 6
    if expr.name in _INFIX:
        precedence, symbol = _INFIX[expr.name]
        boolean = precedence <= 4
        if expr.name == "pow":
            text = child(0, _ATOM) + symbol + child(1, _ATOM)
        elif boolean:
            text = child(0, 5) + symbol + child(1, 5)
        else:
            commutes = expr.name in ("add", "mul")
            text = child(0, precedence) + symbol + child(1, precedence if commutes else precedence + 1)
        if boolean:
            return (f"int({text})", _ATOM) if python else (f"[{text}]", _ATOM)
        return text, precedence
    if expr.name == "neg":
        return "-" + child(0, 7), 5
    if expr.name == "not":
        return (f"int(not {child(0, 5)})", _ATOM) if python else (f"[not {child(0, 5)}]", _ATOM)
    if expr.name == "where":
        condition, yes, no = (_write(argument, write, python=python)[0] for argument in expr.args)
        if condition.startswith("int(") and python and isinstance(expr.args[0], Op):
            condition = condition[4:-1]
        elif condition.startswith("[") and not python:
            condition = condition[1:-1]
        return f"({yes} if {condition} else {no})", _ATOM
    arguments = [_write(argument, write, python=python)[0] for argument in expr.args]
    if python and expr.name == "clip":
        return f"min(max({arguments[0]}, {arguments[1]}), {arguments[2]})", _ATOM
    if expr.name == "relu":
        return f"max({arguments[0]}, 0)", _ATOM
    if python and expr.name in ("sqrt", "exp", "log", "sin", "cos", "floor"):
        return f"math.{expr.name}({arguments[0]})", _ATOM
    return f"{expr.name}({', '.join(arguments)})", _ATOM
