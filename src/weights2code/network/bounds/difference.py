"""Network minus program as one short list of simple steps, so that one walk bounds both sides together.

A step takes weighted sums of earlier symbols (`Rows`) through one function: a ramp (ReLU), a test, a floor, a
product. Extrema, absolute values, logic and remainders are written with these. Numbers of the program are
fractions until the end, where a sum is multiplied by its common denominator, so that tests and floors of
whole numbers compare whole numbers; the leaves that both sides weigh cancel exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isfinite

import numpy as np

from weights2code.graph import ChannelNode, DiscreteGraph, RouterNode
from weights2code.graph.graph import channel_scales
from weights2code.language import Const, Expr, Op, Var, exact_number, is_boolean
from weights2code.language.operators import order_of, ordered
from weights2code.network.bounds.leaves import leaf_of
from weights2code.network.bounds.sums import (
    ONE,
    Rows,
    Sum,
    Unwritten,
    added,
    combined,
    constant,
    rows_of,
    scaled,
)

#: Powers beyond this are not written as products.
_MOST_POWER = 16
#: Functions that are bounded by their values at the ends of an interval.
FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "reciprocal")


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Symbols from `first` on: `kind` of the rows. A product takes two rows, the others one each.

    The rows of all layers are numbered from `row` on; a floor divides by `divisor` before it rounds down.
    """

    kind: str
    rows: Rows
    first: int
    row: int
    divisor: float = 1.0

    @property
    def arguments(self) -> int:
        """How many rows there are."""
        return len(self.rows.constant)

    @property
    def results(self) -> int:
        """How many symbols it makes."""
        return self.arguments // 2 if self.kind == "product" else self.arguments


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The leaves are the first symbols; `outputs` are the rows that say network minus program."""

    leaves: tuple[Var, ...]
    whole: np.ndarray
    layers: tuple[Layer, ...]
    symbols: int
    rows: int
    outputs: Rows


def difference_of(
    graph: DiscreteGraph, program: tuple[Expr, ...], leaves: tuple[Var, ...], whole: np.ndarray
) -> Difference | None:
    """Network minus program, or None if one of them is no function of the leaves made of such steps."""
    writing = _Writing(leaves, [bool(item) for item in whole])
    try:
        outputs = [
            added(network, writing.formula(formula), Fraction(-1))
            for network, formula in zip(writing.network(graph), program, strict=True)
        ]
        rows = rows_of(outputs, writing.whole)
    except Unwritten:
        return None
    return Difference(
        leaves, np.array(whole, bool), tuple(writing.layers), len(writing.whole), writing.rows, rows
    )


@dataclass(slots=True)
class _Writing:
    """Symbols and layers under construction; `whole` says which symbols are whole numbers."""

    leaves: tuple[Var, ...]
    whole: list[bool]
    layers: list[Layer] = field(default_factory=list)
    rows: int = 0
    known: dict[object, Sum] = field(default_factory=dict)

    def leaf(self, variable: Var) -> Sum:
        if variable not in self.leaves:
            raise Unwritten(variable)
        return {self.leaves.index(variable): Fraction(1)}

    def add(self, kind: str, rows: Rows, whole: list[bool], divisor: float = 1.0) -> int:
        """A further layer; its first symbol."""
        layer = Layer(kind, rows, len(self.whole), self.rows, divisor)
        self.layers.append(layer)
        self.whole += whole
        self.rows += layer.arguments
        return layer.first

    # -- the network ----------------------------------------------------------------------------------------

    def network(self, graph: DiscreteGraph) -> list[Sum]:
        """Every output in the user's units."""
        outputs = []
        for row, scale in zip(graph.head, graph.layout.output_scales, strict=True):
            total: Sum = {ONE: Fraction(float(row[-1]))}
            for index in np.flatnonzero(row[:-1]):
                total = added(total, self.node(graph, int(index), 0), Fraction(float(row[index])))
            outputs.append(added({}, total, Fraction(scale)))
        return outputs

    def node(self, graph: DiscreteGraph, index: int, lag: int) -> Sum:
        """A node's value `lag` positions back, scaled as it is inside."""
        if ("node", index, lag) not in self.known:
            self.known["node", index, lag] = self._node(graph, index, lag)
        return self.known["node", index, lag]

    def _node(self, graph: DiscreteGraph, index: int, lag: int) -> Sum:
        node = graph.nodes[index]
        if isinstance(node, ChannelNode):
            leaf = leaf_of(graph, index, lag)
            if leaf is None:
                raise Unwritten(node.name)
            scale = Fraction(channel_scales(graph.layout)[index])
            return added({}, self.leaf(leaf), 1 / scale) if isinstance(leaf, Var) else {}
        if isinstance(node, RouterNode):
            if node.kind != "location":
                raise Unwritten(node.name)
            if node.offset is None:
                return {ONE: Fraction(node.start)}
            return self.node(graph, node.reads["value"], lag + node.offset)
        units = np.flatnonzero(node.output_weight)
        used = set(node.used())
        operands = [self.node(graph, o, lag) if o in used else {} for o in node.operands]
        sums = [
            combined({ONE: Fraction(float(node.hidden_bias[unit]))}, operands, node.hidden_weight[unit])
            for unit in units
        ]
        if not sums:
            return {ONE: Fraction(node.output_bias)}
        first = self.add("ramp", rows_of(sums, self.whole), [False] * len(sums))
        weights = {first + i: Fraction(float(node.output_weight[unit])) for i, unit in enumerate(units)}
        out = self.add("sum", rows_of([{**weights, ONE: Fraction(node.output_bias)}], self.whole), [False])
        return {out: Fraction(1)}

    # -- the program ----------------------------------------------------------------------------------------

    def formula(self, expr: Expr) -> Sum:
        """An expression as a weighted sum of symbols."""
        if isinstance(expr, Const):
            value = exact_number(expr.value)
            if not isfinite(value):
                raise Unwritten(expr)
            return {ONE: Fraction(value)}
        if isinstance(expr, Var):
            return self.leaf(expr)
        assert isinstance(expr, Op)
        if expr not in self.known:
            self.known[expr] = self._operator(expr.name, expr.args)
        return self.known[expr]

    def _operator(self, name: str, arguments: tuple[Expr, ...]) -> Sum:
        if name == "where":
            yes, no = self.formula(arguments[1]), self.formula(arguments[2])
            return added(no, self.product(self.truth(arguments[0]), added(yes, no, Fraction(-1))))
        if name in ("and", "or"):
            one, other = self.truth(arguments[0]), self.truth(arguments[1])
            both = self.ramp(added(added(one, other), {ONE: Fraction(-1)}))
            return both if name == "and" else added(added(one, other), both, Fraction(-1))
        if name == "not":
            return added({ONE: Fraction(1)}, self.truth(arguments[0]), Fraction(-1))
        a, *others = (self.formula(argument) for argument in arguments)
        if (order := order_of(name)) is not None:
            return ordered([a, *others], order[0], self.lesser, self.greater)
        b = others[0] if others else {}
        minus = added(a, b, Fraction(-1))
        if name == "add":
            return added(a, b)
        if name == "sub":
            return minus
        if name == "neg":
            return added({}, a, Fraction(-1))
        if name == "mul":
            return self.product(a, b)
        if name == "pow":
            power = constant(b)
            if power is None or power.denominator != 1 or not 0 <= power <= _MOST_POWER:
                raise Unwritten(name)
            return self.power(a, int(power))
        if name in ("div", "mod"):
            divisor = constant(b)
            if divisor == 0 or (divisor is None and name == "mod"):
                raise Unwritten(name)
            if divisor is None:
                return self.product(a, self.function("reciprocal", b))
            quotient = added({}, a, 1 / divisor)
            return quotient if name == "div" else added(a, self.floor(quotient), -divisor)
        if name == "relu":
            return self.ramp(a)
        if name == "abs":
            return added(added({}, a, Fraction(-1)), self.ramp(a), Fraction(2))
        if name == "max":
            return self.greater(a, b)
        if name == "min":
            return self.lesser(a, b)
        if name == "clip":
            raised = added(b, self.ramp(minus))
            return added(raised, self.ramp(added(raised, others[1], Fraction(-1))), Fraction(-1))
        if name == "floor":
            return self.floor(a)
        if name in _COMPARED:
            return self.compared(name, minus)
        if name in FUNCTIONS:
            return self.function(name, a)
        raise Unwritten(name)

    def greater(self, a: Sum, b: Sum) -> Sum:
        return added(b, self.ramp(added(a, b, Fraction(-1))))

    def lesser(self, a: Sum, b: Sum) -> Sum:
        return added(a, self.ramp(added(a, b, Fraction(-1))), Fraction(-1))

    def truth(self, expr: Expr) -> Sum:
        """1 where an expression is not zero, else 0."""
        return self.formula(expr) if is_boolean(expr) else self.compared("ne", self.formula(expr))

    def compared(self, name: str, minus: Sum) -> Sum:
        """A difference compared with zero."""
        above, below, number = _COMPARED[name]
        result: Sum = {ONE: Fraction(number)}
        for sign, weight in ((1, above), (-1, below)):
            if weight:
                signed, _ = scaled(added({}, minus, Fraction(sign)))
                result = added(result, self.made("test", (signed,), True), Fraction(weight))
        return result

    def ramp(self, a: Sum) -> Sum:
        inner, unit = scaled(a)
        return added({}, self.made("ramp", (inner,), self.is_whole(inner)), unit)

    def floor(self, a: Sum) -> Sum:
        """A sum times its denominator is divided by it when it is rounded down."""
        if self.is_whole(a):
            return a
        inner, unit = scaled(a)
        whole = {place: weight * unit.numerator for place, weight in inner.items()}
        return self.made("floor", (whole,), True, float(unit.denominator))

    def function(self, name: str, a: Sum) -> Sum:
        return self.made(name, (a,), False)

    def product(self, a: Sum, b: Sum) -> Sum:
        for one, other in ((a, b), (b, a)):
            factor = constant(one)
            if factor is not None:
                return added({}, other, factor)
        (one, first), (other, second) = scaled(a), scaled(b)
        whole = self.is_whole(one) and self.is_whole(other)
        pair = sorted((one, other), key=lambda item: sorted(item.items()))
        if one == other:
            return added({}, self.made("square", (one,), whole), first * second)
        return added({}, self.made("product", tuple(pair), whole), first * second)

    def power(self, a: Sum, power: int) -> Sum:
        if power <= 1:
            return a if power else {ONE: Fraction(1)}
        half = self.power(a, power // 2)
        square = self.product(half, half)
        return self.product(square, a) if power % 2 else square

    def made(self, kind: str, arguments: tuple[Sum, ...], whole: bool, divisor: float = 1.0) -> Sum:
        """The symbol that a function of sums is, made when it is first asked for."""
        number = constant(arguments[0])
        if number is not None and kind in _OF_NUMBERS:
            return added({}, {ONE: Fraction(_OF_NUMBERS[kind](number / Fraction(divisor)))})
        key = (kind, divisor, tuple(tuple(sorted(item.items())) for item in arguments))
        if key not in self.known:
            rows = rows_of(list(arguments), self.whole)
            self.known[key] = {self.add(kind, rows, [whole], divisor): Fraction(1)}
        return self.known[key]

    def is_whole(self, a: Sum) -> bool:
        return all(
            weight.denominator == 1 and (place == ONE or self.whole[place]) for place, weight in a.items()
        )


#: Steps of numbers are numbers.
_OF_NUMBERS: dict[str, Callable[[Fraction], Fraction | int]] = {
    "ramp": lambda number: max(number, Fraction(0)),
    "test": lambda number: int(number >= 0),
    "floor": floor,
}
#: A comparison as a sum of [difference >= 0], [difference <= 0] and a number.
_COMPARED = {
    "ge": (1, 0, 0),
    "le": (0, 1, 0),
    "gt": (0, -1, 1),
    "lt": (-1, 0, 1),
    "eq": (1, 1, -1),
    "ne": (-1, -1, 2),
}
