"""Expressions: the formulas that reference machines, explanations and programs are written in.

An expression is a frozen tree of three node kinds: `Const`, `Var` (a named sequence read `lag` steps
back) and `Op` (an operator of the table `OPERATORS` applied to arguments). Comparisons give 0 or 1, so
logic is arithmetic. Everything else in the package (NumPy, Python text, LaTeX, SymPy, z3) is a walk over
these trees; a new operator is one entry in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

Number = int | float | Fraction


class Expr:
    """Base of the three node kinds; carries the operator overloads that make declarations readable."""

    __slots__ = ()

    def __add__(self, other: Expr | Number) -> Expr:
        return Op("add", (self, as_expr(other)))

    def __radd__(self, other: Number) -> Expr:
        return Op("add", (as_expr(other), self))

    def __sub__(self, other: Expr | Number) -> Expr:
        return Op("sub", (self, as_expr(other)))

    def __rsub__(self, other: Number) -> Expr:
        return Op("sub", (as_expr(other), self))

    def __mul__(self, other: Expr | Number) -> Expr:
        return Op("mul", (self, as_expr(other)))

    def __rmul__(self, other: Number) -> Expr:
        return Op("mul", (as_expr(other), self))

    def __truediv__(self, other: Expr | Number) -> Expr:
        return Op("div", (self, as_expr(other)))

    def __rtruediv__(self, other: Number) -> Expr:
        return Op("div", (as_expr(other), self))

    def __mod__(self, other: Expr | Number) -> Expr:
        return Op("mod", (self, as_expr(other)))

    def __floordiv__(self, other: Expr | Number) -> Expr:
        return Op("floor", (Op("div", (self, as_expr(other))),))

    def __pow__(self, other: Number) -> Expr:
        return Op("pow", (self, as_expr(other)))

    def __neg__(self) -> Expr:
        return Op("neg", (self,))

    def __abs__(self) -> Expr:
        return Op("abs", (self,))

    def __ge__(self, other: Expr | Number) -> Expr:
        return Op("ge", (self, as_expr(other)))

    def __gt__(self, other: Expr | Number) -> Expr:
        return Op("gt", (self, as_expr(other)))

    def __le__(self, other: Expr | Number) -> Expr:
        return Op("le", (self, as_expr(other)))

    def __lt__(self, other: Expr | Number) -> Expr:
        return Op("lt", (self, as_expr(other)))

    def equals(self, other: Expr | Number) -> Expr:
        """The 0/1 expression `self == other` (`==` itself compares trees)."""
        return Op("eq", (self, as_expr(other)))

    def walk(self) -> Iterator[Expr]:
        """This node and everything below it, outermost first."""
        waiting: list[Expr] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(getattr(node, "args", ()))

    def variables(self) -> tuple[Var, ...]:
        """The distinct variables in order of first appearance."""
        return tuple(dict.fromkeys(node for node in self.walk() if isinstance(node, Var)))

    def size(self) -> int:
        """Number of nodes: the complexity that candidate formulas are compared by."""
        return sum(1 for _ in self.walk())

    def operations(self) -> int:
        """Number of operators, the second measure of program length."""
        return sum(1 for node in self.walk() if isinstance(node, Op))

    def substitute(self, replacement: Mapping[Var, Expr]) -> Expr:
        """The same tree with variables replaced."""
        return self.transform(lambda node: replacement.get(node, node) if isinstance(node, Var) else node)

    def transform(self, rule: Callable[[Expr], Expr]) -> Expr:
        """Rebuild bottom-up, applying `rule` to every node."""
        if isinstance(self, Op):
            return rule(Op(self.name, tuple(argument.transform(rule) for argument in self.args)))
        return rule(self)

    def shift(self, steps: int) -> Expr:
        """The same formula `steps` earlier in time."""
        return self.substitute({v: Var(v.name, v.lag + steps) for v in self.variables()})

    def __str__(self) -> str:
        from weights2code.language.text import formula

        return formula(self)


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A number. Integers and fractions stay exact; floats are what the data support."""

    value: Number

    def __post_init__(self) -> None:
        value = self.value
        whole = isinstance(value, (bool, np.integer))
        if whole or (isinstance(value, Fraction) and value.denominator == 1):
            object.__setattr__(self, "value", int(value))
        elif isinstance(value, (float, np.floating)):
            plain = float(value)
            whole = plain.is_integer() and abs(plain) < 2**53
            object.__setattr__(self, "value", int(plain) if whole else plain)


@dataclass(frozen=True, slots=True)
class Var(Expr):
    """The sequence `name`, read `lag` steps back (0 is the present)."""

    name: str
    lag: int = 0


@dataclass(frozen=True, slots=True)
class Op(Expr):
    """The operator `name` of the table `OPERATORS`, applied to `args`."""

    name: str
    args: tuple[Expr, ...]


def as_expr(value: Expr | Number) -> Expr:
    """A number becomes a `Const`; an expression stays itself."""
    return value if isinstance(value, Expr) else Const(value)
