"""Expressions as LaTeX, in the notation of the tasks: subscripts for time, Iverson brackets for tests."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from weights2code.language.categories import Label
from weights2code.language.expression import Const, Expr, Op, Var
from weights2code.language.operators import OPERATORS, Binding, Written

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_BRACKETS = (r"\left(", r"\right)")


def latex_variable(variable: Var) -> str:
    """`x_{t-1}`."""
    return f"{latex_name(variable.name)}_{{t{f'-{variable.lag}' if variable.lag else ''}}}"


def latex_name(name: str) -> str:
    """Letters as they are; longer names are set upright."""
    return name if len(name) == 1 and name.isalpha() else rf"\mathrm{{{escape(name)}}}"


def escape(text: str) -> str:
    """Plain text, safe in LaTeX."""
    return "".join(_SPECIAL.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def latex(expr: Expr, variable: Callable[[Var], str] = latex_variable) -> str:
    r"""LaTeX text such as `x_{t} + y_{t-1} - 2 x_{t} y_{t-1}`; `variable` writes one variable."""
    return _write(expr, variable).text


def _write(expr: Expr, write: Callable[[Var], str]) -> Written:
    if isinstance(expr, Label):
        if isinstance(expr.text, int):
            return Written(str(expr.text))
        text = "nothing" if expr.text is None else f"``{escape(expr.text)}''"
        return Written(rf"\text{{{text}}}")
    if isinstance(expr, Const):
        return _number(expr)
    if isinstance(expr, Var):
        return Written(write(expr))
    assert isinstance(expr, Op)
    entry = OPERATORS[expr.name]
    template, binding = entry.latex
    if expr.name == "mul" and isinstance(expr.args[1], Const):  # two numbers side by side would read as one
        template = template.replace(r" \, ", r" \cdot ")
    parts = [_write(argument, write) for argument in expr.args]
    conditions = [_bare(part.text) for part in parts[: entry.truths]]
    return Written(template.format(*conditions, *parts[entry.truths :]), binding, _BRACKETS)


def _bare(test: str) -> str:
    """A test inside a case or a connective needs no brackets of its own when it is one bracket."""
    left, right = r"\left[", r"\right]"
    inner = test[len(left) : -len(right)]
    if test.startswith(left) and test.endswith(right) and left not in inner and right not in inner:
        return inner
    return test


def _number(expr: Const) -> Written:
    value = expr.value
    if isinstance(value, Fraction):
        sign = "-" if value < 0 else ""
        text = rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
        return Written(text, Binding.UNARY if sign else Binding.ATOM, _BRACKETS)
    text = repr(value).replace("inf", r"\infty")
    if "e" in text:
        mantissa, exponent = text.split("e")
        return Written(rf"{mantissa} \cdot 10^{{{int(exponent)}}}", Binding.PRODUCT, _BRACKETS)
    return Written(text, Binding.SUM if text.startswith("-") else Binding.ATOM, _BRACKETS)
