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
from typing import TypeGuard

from weights2code.language.categories import Label
from weights2code.language.domain import EXACT
from weights2code.language.expression import Const, Expr, Number, Op, Var
from weights2code.language.operators import OPERATORS, Binding, Written, is_boolean


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
    return _Writer(write, python=False).value(expr).text


def python_text(
    expr: Expr,
    variable: Callable[[Var], str],
    *,
    is_bit: Callable[[Expr], bool] = lambda expr: False,
    is_integer: Callable[[Expr], bool] = lambda expr: False,
) -> str:
    """Python source of the value; it needs `numpy as np` for floor, sqrt, exp, log, sin and cos.

    What is known about values makes the text shorter: where `is_bit` holds a truth value needs no cast,
    where `is_integer` holds `floor(a/b)` may become `a // b`.
    """
    return _Writer(variable, python=True, is_bit=is_bit, is_integer=is_integer).value(expr).text


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


def one_of(expr: Expr) -> tuple[Var, tuple[Label, ...]] | None:
    """The variable and the texts, if the formula says that it is one of several texts."""
    if not isinstance(expr, Op):
        return None
    if expr.name == "eq" and isinstance(expr.args[0], Var) and isinstance(expr.args[1], Label):
        return expr.args[0], (expr.args[1],)
    parts = [one_of(argument) for argument in expr.args] if expr.name == "or" else [None]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts) or len({variable for variable, _ in found}) > 1:
        return None
    labels = tuple(item for _, some in found for item in some)
    return found[0][0], labels


@dataclass(frozen=True, slots=True)
class _Writer:
    variable: Callable[[Var], str]
    python: bool
    is_bit: Callable[[Expr], bool] = lambda expr: False
    is_integer: Callable[[Expr], bool] = lambda expr: False

    def value(self, expr: Expr) -> Written:
        """The text and how tightly it binds."""
        if isinstance(expr, Label):
            return Written(str(expr))
        if isinstance(expr, Const):
            return self.number(expr.value)
        if isinstance(expr, Var):
            return Written(self.variable(expr))
        if is_boolean(expr):
            return self.truth(expr)
        assert isinstance(expr, Op)
        match expr.name:
            case "add" | "sub":
                return self.sum(expr)
            case "mul" | "div":
                return self.product(expr)
            case "floor" if self.divides(expr.args[0]):
                left, right = (format(self.value(argument), "unary") for argument in expr.args[0].args)
                return Written(f"{left} // {right}", Binding.REMAINDER)
        return self.operator(expr)

    def operator(self, expr: Op) -> Written:
        """The template of the table, filled in."""
        entry = OPERATORS[expr.name]
        form = entry.python if self.python else entry.text
        conditions = [self.condition(argument) for argument in expr.args[: entry.truths]]
        values = [self.value(argument) for argument in expr.args[entry.truths :]]
        return Written(form.template.format(*conditions, *values), form.binding)

    def number(self, value: Number) -> Written:
        # numbers of Python's own would go on exactly where everything else computes in float64
        large = self.python and isinstance(value, int) and abs(value) >= EXACT
        text = number_text(float(value) if large else value)
        sign = Binding.SUM if text.startswith("-") else Binding.ATOM
        if text in ("inf", "-inf", "nan") and self.python:
            return Written(text.replace("inf", "np.inf").replace("nan", "np.nan"), sign)
        return Written(text, Binding.PRODUCT if "/" in text and sign == Binding.ATOM else sign)

    def sum(self, expr: Op) -> Written:
        left, right = expr.args
        minus = expr.name == "sub"
        opposite = positive_part(right)
        if opposite is not None:
            right, minus = opposite, not minus
        # a + (b - c) may lose its parentheses where nobody computes with the text
        regroups = not minus and not self.python
        text = format(self.value(right), "sum" if regroups else "remainder")
        if text.startswith("-"):
            text, minus = text[1:], True
        form = OPERATORS["sub" if minus else "add"].text
        return Written(form.template.format(self.value(left), Written(text)), form.binding)

    def product(self, expr: Op) -> Written:
        left, right = expr.args
        form = OPERATORS[expr.name].text
        if expr.name == "mul" and left == Const(-1):
            return self.operator(Op("neg", (right,)))
        # a leading minus needs no parentheses on the left of a product or quotient
        leads = isinstance(left, Const) or (isinstance(left, Op) and left.name in ("mul", "div"))
        first = self.value(left)
        first = Written(format(first, "sum")) if leads else first
        second = self.value(right)
        if self.python:
            second = Written(format(second, "unary"))
        binding = form.binding if positive_part(left) is None else Binding.SUM
        return Written(form.template.format(first, second), binding)

    def truth(self, expr: Op) -> Written:
        text = self.condition(expr).text
        if not self.python:
            return Written(f"[{text}]")
        return Written(f"int({text})" if self.is_truth(expr) else f"int(bool({text}))")

    def is_truth(self, expr: Expr) -> bool:
        """Whether the Python value of the condition's text is already True, False, 0 or 1."""
        if isinstance(expr, Op) and expr.name in ("and", "or"):  # these give one of their sides
            return all(self.is_truth(argument) for argument in expr.args)
        return is_boolean(expr) or self.is_bit(expr)

    def condition(self, expr: Expr) -> Written:
        """The text where only being zero or not counts: no brackets, no casts."""
        chosen = one_of(expr)
        if chosen is not None and len(chosen[1]) > 1:
            variable, labels = chosen
            listed = ", ".join(str(item) for item in labels)
            return Written(f"{self.variable(variable)} in ({listed})", Binding.COMPARE)
        if is_boolean(expr):
            return self.operator(expr)
        return self.value(expr)

    def divides(self, inner: Expr) -> TypeGuard[Op]:
        """Whether `floor(inner)` may be written `//`, which rounds otherwise on fractions."""
        if not (isinstance(inner, Op) and inner.name == "div"):
            return False
        return not self.python or all(self.is_integer(argument) for argument in inner.args)
