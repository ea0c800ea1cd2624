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


def _infix(name: str) -> Callable[[Expr, Expr | Number], Expr]:
    return lambda self, other: Op(name, (self, as_expr(other)))


def _turned(name: str) -> Callable[[Expr, Number], Expr]:
    return lambda self, other: Op(name, (as_expr(other), self))


class Expr:
    """Base of the three node kinds; carries the operator overloads that make declarations readable."""

    __slots__ = ()

    __add__, __radd__ = _infix("add"), _turned("add")
    __sub__, __rsub__ = _infix("sub"), _turned("sub")
    __mul__, __rmul__ = _infix("mul"), _turned("mul")
    __truediv__, __rtruediv__ = _infix("div"), _turned("div")
    __mod__, __pow__ = _infix("mod"), _infix("pow")
    __ge__, __gt__, __le__, __lt__ = _infix("ge"), _infix("gt"), _infix("le"), _infix("lt")

    def __floordiv__(self, other: Expr | Number) -> Expr:
        return Op("floor", (Op("div", (self, as_expr(other))),))

    def __neg__(self) -> Expr:
        return Op("neg", (self,))

    def __abs__(self) -> Expr:
        return Op("abs", (self,))

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

    def depth(self) -> int:
        """Number of levels."""
        deepest, waiting = 0, [(self, 1)]
        while waiting:
            node, level = waiting.pop()
            deepest = max(deepest, level)
            waiting += [(arg, level + 1) for arg in node.args] if isinstance(node, Op) else []
        return deepest

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


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A number. Integers and fractions stay exact; floats are what the data support, so 0.5 is not 1/2."""

    value: Number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return False
        alike = isinstance(self.value, Fraction) == isinstance(other.value, Fraction)
        return alike and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

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
