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
from typing import Any

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
        yield self
        for argument in getattr(self, "args", ()):
            yield from argument.walk()

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


def _floored_mod(a: Any, b: Any) -> Any:
    return np.mod(a, b)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(np.asarray(condition) != 0, yes, no)


def _number(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: np.asarray(compare(*values)).astype(float)


@dataclass(frozen=True, slots=True)
class Operator:
    """One row of the operator table.

    numpy: the vectorised meaning.  exact: the meaning on Python ints and Fractions.
    boolean: the result is always 0 or 1.  commutative: the arguments may be swapped.
    """

    numpy: Callable[..., Any]
    exact: Callable[..., Any]
    arity: int
    boolean: bool = False
    commutative: bool = False


def _exact_divide(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return Fraction(a) / Fraction(b)


def _exact_floor(a: Any) -> Any:
    return int(a // 1)


def _via_float(function: Callable[[float], float]) -> Callable[[Any], float]:
    return lambda a: float(function(float(a)))


OPERATORS: dict[str, Operator] = {
    "add": Operator(np.add, lambda a, b: a + b, 2, commutative=True),
    "sub": Operator(np.subtract, lambda a, b: a - b, 2),
    "mul": Operator(np.multiply, lambda a, b: a * b, 2, commutative=True),
    "div": Operator(np.divide, _exact_divide, 2),
    "neg": Operator(np.negative, lambda a: -a, 1),
    "pow": Operator(np.power, lambda a, b: a**b, 2),
    "abs": Operator(np.abs, abs, 1),
    "relu": Operator(lambda a: np.maximum(a, 0), lambda a: max(a, 0), 1),
    "max": Operator(np.maximum, max, 2, commutative=True),
    "min": Operator(np.minimum, min, 2, commutative=True),
    "clip": Operator(np.clip, lambda a, low, high: min(max(a, low), high), 3),
    "mod": Operator(_floored_mod, lambda a, b: a % b, 2),
    "floor": Operator(np.floor, _exact_floor, 1),
    "eq": Operator(_number(np.equal), lambda a, b: int(a == b), 2, boolean=True, commutative=True),
    "ne": Operator(_number(np.not_equal), lambda a, b: int(a != b), 2, boolean=True, commutative=True),
    "ge": Operator(_number(np.greater_equal), lambda a, b: int(a >= b), 2, boolean=True),
    "gt": Operator(_number(np.greater), lambda a, b: int(a > b), 2, boolean=True),
    "le": Operator(_number(np.less_equal), lambda a, b: int(a <= b), 2, boolean=True),
    "lt": Operator(_number(np.less), lambda a, b: int(a < b), 2, boolean=True),
    "and": Operator(
        _number(np.logical_and), lambda a, b: int(bool(a) and bool(b)), 2, boolean=True, commutative=True
    ),
    "or": Operator(
        _number(np.logical_or), lambda a, b: int(bool(a) or bool(b)), 2, boolean=True, commutative=True
    ),
    "not": Operator(_number(np.logical_not), lambda a: int(not a), 1, boolean=True),
    "where": Operator(_where, lambda c, yes, no: yes if c else no, 3),
    "sqrt": Operator(np.sqrt, _via_float(np.sqrt), 1),
    "exp": Operator(np.exp, _via_float(np.exp), 1),
    "log": Operator(np.log, _via_float(np.log), 1),
    "sin": Operator(np.sin, _via_float(np.sin), 1),
    "cos": Operator(np.cos, _via_float(np.cos), 1),
}


def as_expr(value: Expr | Number) -> Expr:
    """A number becomes a `Const`; an expression stays itself."""
    return value if isinstance(value, Expr) else Const(value)


def op(name: str, *args: Expr | Number) -> Expr:
    """`Op` with its arguments coerced and its arity checked."""
    if len(args) != OPERATORS[name].arity:
        raise ValueError(f"{name} takes {OPERATORS[name].arity} arguments, got {len(args)}")
    return Op(name, tuple(as_expr(a) for a in args))


def maximum(a: Expr | Number, b: Expr | Number) -> Expr:
    return op("max", a, b)


def minimum(a: Expr | Number, b: Expr | Number) -> Expr:
    return op("min", a, b)


def where(condition: Expr, yes: Expr | Number, no: Expr | Number) -> Expr:
    return op("where", condition, yes, no)


def evaluate(expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The value under NumPy semantics; `values` maps each variable to a number or an array."""
    if isinstance(expr, Const):
        return float(expr.value)
    if isinstance(expr, Var):
        return values[expr]
    assert isinstance(expr, Op)
    return OPERATORS[expr.name].numpy(*(evaluate(argument, values) for argument in expr.args))


def evaluate_exact(expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The value on Python ints and Fractions; floats in the formula make the result a float."""
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Var):
        return values[expr]
    assert isinstance(expr, Op)
    return OPERATORS[expr.name].exact(*(evaluate_exact(argument, values) for argument in expr.args))


def compile_numpy(expr: Expr, variables: tuple[Var, ...]) -> Callable[..., Any]:
    """A function of arrays in the order of `variables`; shared sub-trees are computed once."""

    def call(*arrays: Any) -> Any:
        cache: dict[Expr, Any] = dict(zip(variables, arrays, strict=True))

        def value(node: Expr) -> Any:
            if isinstance(node, Const):
                return float(node.value)
            if node not in cache:
                assert isinstance(node, Op), node
                cache[node] = OPERATORS[node.name].numpy(*(value(argument) for argument in node.args))
            return cache[node]

        return value(expr)

    return call


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
