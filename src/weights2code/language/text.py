"""Expressions as text: the formula that people read, and the Python that machines run.

Both are one walk with another way to write a variable; parentheses appear only where they are needed. In a
formula that means where the mathematics needs them; in Python text also where leaving them out would
change the order of floating-point operations, so that the text computes what the tree computes, bit for
bit. Signs are pulled to the front of a term (`a - 2*b`, never `a + -2*b`), which rounds the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

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
    return Writer(read=variable).value(expr).text


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
    writer = _Python(column="python", read=variable, is_bit=is_bit, is_integer=is_integer)
    return writer.value(expr).text


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One walk over expressions for every text that people read, from its column of the table of operators;
    here it is the formula, and what other texts write otherwise are methods of theirs."""

    column: str = "text"
    read: Callable[[Var], str] | None = None

    def value(self, expr: Expr) -> Written:
        """The text and how tightly it binds."""
        if isinstance(expr, Label):
            return self.written(self.label(expr))
        if isinstance(expr, Const):
            return self.number(expr.value)
        if isinstance(expr, Var):
            return self.written(self.variable(expr))
        assert isinstance(expr, Op)
        if is_boolean(expr):
            return self.truth(expr)
        opposite = positive_part(expr)
        if opposite is not None:
            return self.operator(Op("neg", (opposite,)))
        opposite = positive_part(expr.args[1]) if expr.name in ("add", "sub") else None
        if opposite is not None:
            expr = Op("sub" if expr.name == "add" else "add", (expr.args[0], opposite))
        return self.special(expr) or self.operator(expr)

    def operator(self, expr: Op) -> Written:
        """The template of the table, filled in."""
        entry = OPERATORS[expr.name]
        conditions = [self.condition(argument) for argument in expr.args[: entry.truths]]
        values = [self.value(argument) for argument in expr.args[entry.truths :]]
        template, binding = getattr(entry, self.column)
        return self.written(template.format(*conditions, *values), binding)

    def condition(self, expr: Expr) -> Written:
        """The text where only being zero or not counts: no brackets, no casts."""
        chosen = one_of(expr)
        if chosen is not None and len(chosen[1]) > 1:
            listed = ", ".join(map(str, chosen[1]))
            return Written(f"{self.variable(chosen[0])} in ({listed})", Binding.COMPARE)
        return self.operator(expr) if is_boolean(expr) else self.value(expr)

    def written(self, text: str, binding: Binding = Binding.ATOM) -> Written:
        return Written(text, binding)

    def variable(self, variable: Var) -> str:
        return self.read(variable) if self.read else self.at_time(variable)

    def at_time(self, variable: Var) -> str:
        return f"{variable.name}[t-{variable.lag}]" if variable.lag else f"{variable.name}[t]"

    def label(self, label: Label) -> str:
        return str(label)

    def number(self, value: Number) -> Written:
        text = number_text(value)
        negative = text.startswith("-")
        return Written(text, Binding.SUM if negative else Binding.PRODUCT if "/" in text else Binding.ATOM)

    def truth(self, expr: Op) -> Written:
        """A test that is read as a number."""
        return Written(f"[{self.condition(expr)}]")

    def special(self, expr: Op) -> Written | None:
        """What is not written as the table says."""
        if expr.name == "floor" and (parts := self.divided(expr.args[0])):
            left, right = map(self.value, parts)
            return Written(f"{left:unary} // {right:unary}", Binding.REMAINDER)
        if expr.name == "add" and self.column == "text":
            left, right = map(self.value, expr.args)
            if right.text.startswith("-"):  # a + (-b + c)
                return Written(f"{left:sum} - {right.text[1:]}", Binding.SUM)
            return Written(f"{left:sum} + {right:sum}", Binding.SUM)
        return None

    def divided(self, inner: Expr) -> tuple[Expr, ...]:
        """What is divided by what, if `floor(inner)` may be written `//`."""
        return inner.args if isinstance(inner, Op) and inner.name == "div" else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Python(Writer):
    is_bit: Callable[[Expr], bool]
    is_integer: Callable[[Expr], bool]

    def number(self, value: Number) -> Written:
        # numbers of Python's own would go on exactly where everything else computes in float64
        large = isinstance(value, int) and abs(value) >= EXACT
        text, *binding = Writer.number(self, float(value) if large else value)[:2]
        return Written(re.sub("inf|nan", r"np.\g<0>", text), *binding)

    def truth(self, expr: Op) -> Written:
        text = self.condition(expr).text
        return Written(f"int({text})" if self.is_truth(expr) else f"int(bool({text}))")

    def is_truth(self, expr: Expr) -> bool:
        """Whether the Python value of the condition's text is already True, False, 0 or 1."""
        if isinstance(expr, Op) and expr.name in ("and", "or"):  # these give one of their sides
            return all(self.is_truth(argument) for argument in expr.args)
        return is_boolean(expr) or self.is_bit(expr)

    def divided(self, inner: Expr) -> tuple[Expr, ...]:
        parts = Writer.divided(self, inner)  # fractions are rounded otherwise
        return parts if all(map(self.is_integer, parts)) else ()
