"""Expressions as text: the formula that people read, and the Python that machines run.

Both are one walk with another way to write a variable; parentheses appear only where they are needed. In a
formula that means where the mathematics needs them; in Python text also where leaving them out would
change the order of floating-point operations, so that the text computes what the tree computes, bit for
bit. Signs are pulled to the front of a term (`a - 2*b`, never `a + -2*b`), which rounds the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from weights2code.language.expression import OPERATORS, Const, Expr, Number, Op, Var

# How tightly a text binds. Remainders bind looser than products here, although Python ranks them alike:
# nobody should have to know how `x % 3*2` is read.
_WHERE, _OR, _AND, _NOT, _COMPARE, _SUM, _REMAINDER, _PRODUCT, _UNARY, _POWER, _ATOM = range(11)

_COMPARISONS = {"eq": "==", "ne": "!=", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_CONNECTIVES = {"or": (_OR, "or"), "and": (_AND, "and")}


def number_text(value: Number) -> str:
    """Shortest text that reads back as the same number; fractions as quotients."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return repr(value)


def formula(expr: Expr, variable: Callable[[Var], str] | None = None) -> str:
    """Infix text such as `x[t] + y[t-1] - 2*x[t]*y[t-1]`; `[a > b]` is 1 where it holds, else 0.

    `variable` writes one variable; by default `name[t-lag]`.
    """
    write = variable or (lambda v: f"{v.name}[t-{v.lag}]" if v.lag else f"{v.name}[t]")
    return _Writer(write, python=False).value(expr)[0]


def python_text(
    expr: Expr,
    variable: Callable[[Var], str],
    *,
    is_bit: Callable[[Expr], bool] = lambda expr: False,
    is_integer: Callable[[Expr], bool] = lambda expr: False,
) -> str:
    """Python source of the value; it needs `numpy as np` for floor, sqrt, exp, log, sin and cos.

    What is known about values makes the text shorter: where `is_bit` holds a truth value needs no cast,
    where `is_integer` holds sums may drop parentheses and `floor(a/b)` may become `a // b`.
    """
    return _Writer(variable, python=True, is_bit=is_bit, is_integer=is_integer).value(expr)[0]


def positive_part(expr: Expr) -> Expr | None:
    """The term that `expr` is the exact negative of, if its text would begin with a minus sign."""
    if isinstance(expr, Const):
        return Const(-expr.value) if expr.value < 0 else None
    if isinstance(expr, Op) and expr.name == "neg":
        return expr.args[0]
    if isinstance(expr, Op) and expr.name in ("mul", "div"):
        if expr.name == "mul" and expr.args[0] == Const(-1):
            return expr.args[1]
        first = positive_part(expr.args[0])
        if first is not None:
            return Op(expr.name, (first, *expr.args[1:]))
    return None


@dataclass(frozen=True, slots=True)
class _Writer:
    variable: Callable[[Var], str]
    python: bool
    is_bit: Callable[[Expr], bool] = lambda expr: False
    is_integer: Callable[[Expr], bool] = lambda expr: False

    def value(self, expr: Expr) -> tuple[str, int]:
        """The text and how tightly it binds."""
        if isinstance(expr, Const):
            return self.number(expr.value)
        if isinstance(expr, Var):
            return self.variable(expr), _ATOM
        assert isinstance(expr, Op)
        if OPERATORS[expr.name].boolean:
            return self.truth(expr)
        match expr.name:
            case "add" | "sub":
                return self.sum(expr), _SUM
            case "mul":
                return self.product(expr)
            case "div":
                binding = _PRODUCT if positive_part(expr.args[0]) is None else _SUM
                return f"{self.factor(expr.args[0])}/{self.child(expr.args[1], _UNARY)}", binding
            case "mod":
                left, right = (self.child(argument, _UNARY) for argument in expr.args)
                return f"{left} % {right}", _REMAINDER
            case "pow":
                return f"{self.child(expr.args[0], _ATOM)}**{self.child(expr.args[1], _ATOM)}", _POWER
            case "neg":
                return f"-{self.child(expr.args[0], _PRODUCT)}", _SUM
            case "where":
                yes, no = self.child(expr.args[1], _OR), self.child(expr.args[2], _WHERE)
                condition, binding = self.condition(expr.args[0])
                return f"{yes} if {condition if binding > _WHERE else f'({condition})'} else {no}", _WHERE
        return self.call(expr)

    def number(self, value: Number) -> tuple[str, int]:
        text = number_text(value)
        if text in ("inf", "-inf", "nan") and self.python:
            return text.replace("inf", "np.inf").replace("nan", "np.nan"), _ATOM if value > 0 else _SUM
        if text.startswith("-"):
            return text, _SUM
        return text, _PRODUCT if "/" in text else _ATOM

    def child(self, expr: Expr, at_least: int) -> str:
        text, binding = self.value(expr)
        return text if binding >= at_least else f"({text})"

    def sum(self, expr: Op) -> str:
        left, right = expr.args
        minus = expr.name == "sub"
        opposite = positive_part(right)
        if opposite is not None:
            right, minus = opposite, not minus
        # a + (b - c) may lose its parentheses where regrouping cannot change the value
        regroups = not minus and (not self.python or self.is_integer(expr))
        text = self.child(right, _SUM if regroups else _REMAINDER)
        if text.startswith("-"):
            text, minus = text[1:], True
        return f"{self.child(left, _SUM)} {'-' if minus else '+'} {text}"

    def product(self, expr: Op) -> tuple[str, int]:
        left, right = expr.args
        if left == Const(-1):
            return f"-{self.child(right, _PRODUCT)}", _SUM
        regroups = not self.python or self.is_integer(expr)
        binding = _PRODUCT if positive_part(left) is None else _SUM
        return f"{self.factor(left)}*{self.child(right, _PRODUCT if regroups else _UNARY)}", binding

    def factor(self, expr: Expr) -> str:
        """The left side of a product or quotient, where a leading minus needs no parentheses."""
        leading = isinstance(expr, (Const, Op)) and getattr(expr, "name", "") in ("", "mul", "div")
        return self.child(expr, _SUM if leading else _PRODUCT)

    def truth(self, expr: Op) -> tuple[str, int]:
        text = self.condition(expr)[0]
        if not self.python:
            return f"[{text}]", _ATOM
        return (f"int({text})" if self.is_truth(expr) else f"int(bool({text}))"), _ATOM

    def is_truth(self, expr: Expr) -> bool:
        """Whether the Python value of the condition's text is already True, False, 0 or 1."""
        if isinstance(expr, Op) and expr.name in _CONNECTIVES:
            return all(self.is_truth(argument) for argument in expr.args)
        return (isinstance(expr, Op) and OPERATORS[expr.name].boolean) or self.is_bit(expr)

    def condition(self, expr: Expr) -> tuple[str, int]:
        """The text where only being zero or not counts: no brackets, no casts."""
        if not isinstance(expr, Op):
            return self.value(expr)
        if expr.name in _COMPARISONS:
            left, right = (self.child(argument, _SUM) for argument in expr.args)
            return f"{left} {_COMPARISONS[expr.name]} {right}", _COMPARE
        if expr.name in _CONNECTIVES:
            binding, word = _CONNECTIVES[expr.name]
            texts = [self.condition(argument) for argument in expr.args]
            return f" {word} ".join(t if b >= binding else f"({t})" for t, b in texts), binding
        if expr.name == "not":
            text, binding = self.condition(expr.args[0])
            return f"not {text if binding >= _NOT else f'({text})'}", _NOT
        return self.value(expr)

    def call(self, expr: Op) -> tuple[str, int]:
        if expr.name == "floor":
            quotient = self.quotient(expr.args[0])
            if quotient is not None:
                left, right = (self.child(argument, _UNARY) for argument in quotient)
                return f"{left} // {right}", _REMAINDER
        arguments = [self.value(argument)[0] for argument in expr.args]
        if expr.name == "relu":
            return f"max({arguments[0]}, 0)", _ATOM
        if self.python and expr.name == "clip":
            return f"min(max({arguments[0]}, {arguments[1]}), {arguments[2]})", _ATOM
        prefix = "np." if self.python and expr.name not in ("abs", "max", "min") else ""
        return f"{prefix}{expr.name}({', '.join(arguments)})", _ATOM

    def quotient(self, inner: Expr) -> tuple[Expr, ...] | None:
        """The two sides if `floor(inner)` may be written `//`, which rounds otherwise on fractions."""
        if not (isinstance(inner, Op) and inner.name == "div"):
            return None
        exact = not self.python or all(self.is_integer(argument) for argument in inner.args)
        return inner.args if exact else None
