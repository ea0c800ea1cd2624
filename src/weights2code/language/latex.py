"""Expressions as LaTeX, in the notation of the tasks: subscripts for time, Iverson brackets for tests."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from weights2code.language.expression import Const, Expr, Op, Var

_RELATIONS = {"eq": "=", "ne": r"\ne", "ge": r"\ge", "gt": ">", "le": r"\le", "lt": "<"}
_NAMED = {"max": r"\max", "min": r"\min", "exp": r"\exp", "log": r"\log", "sin": r"\sin", "cos": r"\cos"}
_ATOM = 9


def latex(expr: Expr, variable: Callable[[Var], str] | None = None) -> str:
    r"""LaTeX text such as `x_{t} + y_{t-1} - 2 x_{t} y_{t-1}`; `variable` writes one variable."""
    return _write(expr, variable or latex_variable)[0]


def latex_variable(variable: Var) -> str:
    """`x_{t-1}`; longer names are set upright."""
    name = variable.name.replace("_", r"\_")
    head = name if len(name) == 1 else rf"\mathrm{{{name}}}"
    return f"{head}_{{t-{variable.lag}}}" if variable.lag else f"{head}_{{t}}"


def _write(expr: Expr, write: Callable[[Var], str]) -> tuple[str, int]:
    """The text and how tightly it binds (5 sum, 6 product, 7 sign, 8 power, 9 atom)."""
    if isinstance(expr, Const):
        return _number(expr)
    if isinstance(expr, Var):
        return write(expr), _ATOM
    assert isinstance(expr, Op)
    parts = [_write(argument, write) for argument in expr.args]
    plain = [text for text, _ in parts]

    def child(index: int, at_least: int) -> str:
        text, binding = parts[index]
        return text if binding >= at_least else rf"\left({text}\right)"

    name = expr.name
    if name == "add":
        return f"{child(0, 5)} + {child(1, 5)}", 5
    if name == "sub":
        return f"{child(0, 5)} - {child(1, 6)}", 5
    if name == "mul":
        both_numbers = isinstance(expr.args[1], Const)
        joiner = r" \cdot " if both_numbers else r" \, "
        return f"{child(0, 6)}{joiner}{child(1, 6)}", 6
    if name == "neg":
        return f"-{child(0, 6)}", 5
    if name == "mod":
        return rf"{child(0, 6)} \bmod {child(1, _ATOM)}", 5
    if name == "pow":
        return f"{child(0, _ATOM)}^{{{plain[1]}}}", 8
    if name in _RELATIONS:
        return rf"\left[{child(0, 5)} {_RELATIONS[name]} {child(1, 5)}\right]", _ATOM
    return _special(name, plain), _ATOM


def _special(name: str, plain: list[str]) -> str:
    if name == "div":
        return rf"\frac{{{plain[0]}}}{{{plain[1]}}}"
    if name == "abs":
        return rf"\left|{plain[0]}\right|"
    if name == "floor":
        return rf"\left\lfloor {plain[0]} \right\rfloor"
    if name == "sqrt":
        return rf"\sqrt{{{plain[0]}}}"
    if name == "relu":
        return rf"\max\left({plain[0]}, 0\right)"
    if name == "clip":
        return rf"\min\left(\max\left({plain[0]}, {plain[1]}\right), {plain[2]}\right)"
    if name == "where":
        test = _bare(plain[0])
        return (
            rf"\begin{{cases}} {plain[1]} & \text{{if }} {test} \\"
            rf" {plain[2]} & \text{{otherwise}} \end{{cases}}"
        )
    if name == "not":
        return rf"\left[\lnot {_bare(plain[0])}\right]"
    if name in ("and", "or"):
        joiner = r"\land" if name == "and" else r"\lor"
        return rf"\left[{_bare(plain[0])} {joiner} {_bare(plain[1])}\right]"
    return rf"{_NAMED[name]}\left({', '.join(plain)}\right)"


def _bare(test: str) -> str:
    """A test inside a case or a connective needs no brackets of its own when it is one bracket."""
    left, right = r"\left[", r"\right]"
    inner = test[len(left) : -len(right)]
    if test.startswith(left) and test.endswith(right) and left not in inner and right not in inner:
        return inner
    return test


def _number(expr: Const) -> tuple[str, int]:
    value = expr.value
    if isinstance(value, Fraction):
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}", 7 if sign else _ATOM
    text = repr(value)
    if "inf" in text:
        text = text.replace("inf", r"\infty")
    elif "e" in text:
        mantissa, exponent = text.split("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}", 6
    return text, 5 if text.startswith("-") else _ATOM
