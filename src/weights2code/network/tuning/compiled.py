"""A network that is the rule: every operator of a program as hidden units, every memory as a head.

Sums, extrema, comparisons of whole numbers and logic are linear between corners, so a few units are exact for
numbers of any size, where a network that was trained is right in the range that it has seen. Steps that add
up, or keep an extremum, become heads over everything so far, and counts are heads of their own. Remainders
and products, and whatever else is a function of one whole number between bounds, have a unit for each number.
A choice of what grows without end is right up to a limit.
What is no such rule (comparisons and products of reals, lookups) has no such network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from weights2code.data import Problem
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.graph.graph import channel_scales
from weights2code.graph.to_model import laid_out
from weights2code.heads import COUNTS, FORBIDDEN, HEADS, HeadKind
from weights2code.language import (
    OPERATORS,
    Const,
    Count,
    Definition,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Selection,
    Step,
    Var,
    evaluate,
    op,
)
from weights2code.language.interval import Interval
from weights2code.language.kinds import Kinds, kinds_of, whole_names
from weights2code.language.operators import order_of, ordered
from weights2code.language.ranges import bounds_of

#: Nodes that a network has at most, and operands of one of its sub-MLPs.
MOST_NODES, MOST_OPERANDS = 60, 12
#: Whole numbers that a unit is given each, for what is not linear between corners.
MOST_VALUES = 256
#: How far infinity lies, in largest outputs, and how far values without a bound are followed.
FAR, WITHIN = 10.0, 2.0**24

#: The score of no position at all: below that of an equal key, and far above that of another.
NONE_FOUND = -100.0

_U = Var("u")
#: Units of a ramp, (shift, weight) each, and of comparisons of whole numbers by how much one side is larger.
RAMP = ((0, 1),)
ABOVE = {"gt": ((0, 1), (-1, -1)), "ge": ((1, 1), (0, -1)), "eq": ((1, 1), (0, -2), (-1, 1))}
TURNED = {"lt": "gt", "le": "ge"}


class Unwired(Exception):
    """A rule that no such network has."""


class Sum(dict[int | None, float]):
    """A weighted sum of nodes, in the user's units; None is the constant."""

    @staticmethod
    def of(value: float) -> Sum:
        return Sum({None: float(value)} if value else {})

    def __add__(self, other: Sum) -> Sum:
        total = Sum(self)
        for node, weight in other.items():
            total[node] = total.get(node, 0.0) + weight
        return total * 1.0

    def __mul__(self, factor: float) -> Sum:
        return Sum({node: factor * weight for node, weight in self.items() if factor * weight})

    def __neg__(self) -> Sum:
        return self * -1.0

    def __sub__(self, other: Sum) -> Sum:
        return self + -other

    @property
    def constant(self) -> bool:
        return set(self) <= {None}


ONE = Sum.of(1)
#: What is linear between corners, or made of such; `c` is the compiler.
CORNERS: dict[str, Callable[..., Sum]] = {
    "add": lambda c, a, b: a + b,
    "sub": lambda c, a, b: a - b,
    "neg": lambda c, a: -a,
    "relu": lambda c, a: c.units(a, RAMP),
    "abs": lambda c, a: -a + c.units(a, RAMP) * 2,
    "max": lambda c, a, b: c.greater(a, b),
    "min": lambda c, a, b: c.lesser(a, b),
    "clip": lambda c, a, low, high: c.lesser(c.greater(a, low), high),
    "not": lambda c, p: ONE - p,
    "and": lambda c, p, q: c.units(p + q - ONE, RAMP),
    "or": lambda c, p, q: ONE - c.units(ONE - (p + q), RAMP),
}


def compiled(program: Recurrence, graph: DiscreteGraph, problem: Problem) -> DiscreteGraph | None:
    """The network of a rule, in the layout of another; None if there is none."""
    if graph.layout.name == "concat":
        return None
    try:
        loose = Compiler(program, graph, problem).network()
    except (Unwired, KeyError):
        return None
    return laid_out(loose)


@dataclass
class Compiler:
    """The nodes so far, and what each name of a program is as a sum of them."""

    program: Recurrence
    graph: DiscreteGraph
    problem: Problem
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Sum] = field(default_factory=dict)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.graph.nodes[: self.graph.layout.channels]:
            assert isinstance(node, ChannelNode)
            self.nodes.append(replace(node, start=0.0))
        for place, name in enumerate(self.program.inputs):
            self.values[name] = Sum({place: self.scales[place]})

    @cached_property
    def kinds(self) -> Kinds:
        """What is known of values; infinities are only read by heads."""
        domains = self.problem.domains
        whole = whole_names(self.program, domains, infinities=True)
        return replace(kinds_of(self.program, domains), integers=whole)

    def network(self) -> DiscreteGraph:
        """The network of the whole program, its nodes in any order that computes them."""
        for step in self.program.steps:
            self.values[step.name] = self._step(step.name, step.definition)
        if len(self.nodes) > MOST_NODES:
            raise Unwired
        head = np.zeros((len(self.program.outputs), len(self.nodes) + 1))
        for row, name in enumerate(self.program.outputs):
            scale = self.graph.layout.output_scales[row]
            for node, weight in self.values[name].items():
                head[row, -1 if node is None else node] = weight / scale
        return replace(self.graph, nodes=tuple(self.nodes), head=head)

    # -- steps -----------------------------------------------------------------------------------------------

    def _step(self, name: str, definition: Definition) -> Sum:
        if isinstance(definition, Retrieval):
            return self._lookup(definition)
        if isinstance(definition, Selection):
            raise Unwired
        if isinstance(definition, Count):
            kind: HeadKind = next(kind for kind in COUNTS if HEADS[kind].relation == definition.relation)
            key, query = self.values[definition.key], self.value(definition.query)
            return self._head(kind, key=self._node(key), value=self._node(query))
        if Var(name, 1) not in definition.variables() or name in self.program.outputs:
            return self.value(definition)
        start = self.program.start_of(name)
        if isinstance(start, str):
            raise Unwired
        if isinstance(definition, Op) and definition.name in ("max", "min"):
            parts = [part for part in _flat(definition.name, definition) if part != Var(name, 1)]
            return self._extremum(name, definition.name, parts, float(start))
        rest = self.value(definition.substitute({Var(name, 1): Const(0)}))
        once = definition.substitute({Var(name, 1): Const(1)})
        if any(v.name == name for v in once.variables()) or not _adds(definition, Var(name, 1)):
            raise Unwired
        return self._head("sum", value=self._node(rest)) + Sum.of(start)

    def _lookup(self, definition: Retrieval) -> Sum:
        """The value at the last position with a key: a head that compares keys; outputs are a step late."""
        if definition.default:
            raise Unwired
        late = definition.value in self.program.outputs
        value, key = Var(definition.value, int(late)), Var(definition.key, int(late))
        if late and not definition.gap:
            raise Unwired
        query, key, value = (self._node(self.value(part)) for part in (definition.query, key, value))
        bias = (-FORBIDDEN,) * (definition.gap - late) + (0.0,)
        reads = {"query": query, "key": key, "value": value}
        head = RouterNode("", "equality", reads, relative_bias=np.array(bias), null_score=NONE_FOUND)
        scale = 1.0 if value >= len(self.scales) else self.scales[value]
        return Sum({self._add(("equality", query, key, value, bias), head): scale})

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """What a channel is to be multiplied by to be in the user's units."""
        return channel_scales(self.graph.layout)

    def _mean(self, expr: Op) -> Sum | None:
        """A running total over how many there were, as a head that averages; None if it is none."""
        total, count = (self._steps.get(part.name) if isinstance(part, Var) else None for part in expr.args)
        if not (isinstance(total, Expr) and isinstance(count, Expr)):
            return None
        own = [part for part in expr.args if isinstance(part, Var) and not part.lag]
        if len(own) < 2 or any(self.program.start_of(part.name) != 0 for part in own):
            return None
        last, counted = (Var(part.name, 1) for part in own)
        rest = total.substitute({last: Const(0)})
        again = own[0].name in {v.name for v in rest.variables()}
        if again or count != counted + 1 or not _adds(total, last):
            return None
        return self._head("mean", value=self._node(self.value(rest)))

    @cached_property
    def _steps(self) -> dict[str, Definition]:
        return {step.name: step.definition for step in self.program.steps}

    def _extremum(self, name: str, kind: HeadKind, parts: list[Expr], start: float) -> Sum:
        if not parts or any(v.name == name for part in parts for v in part.variables()):
            raise Unwired
        best = self.value(parts[0])
        combine = self.greater if kind == "max" else self.lesser
        for part in parts[1:]:
            best = combine(best, self.value(part))
        found = self._head(kind, value=self._node(best))
        return combine(found, Sum.of(start)) if np.isfinite(start) else found

    # -- formulas --------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Sum:
        """A formula as a sum of nodes."""
        if isinstance(expr, Const):
            if not np.isfinite(float(expr.value)):
                raise Unwired
            return Sum.of(float(expr.value))
        if isinstance(expr, Var):
            return self.read(expr)
        assert isinstance(expr, Op)
        name, args, order = expr.name, expr.args, order_of(expr.name)
        if name == "where":
            return self._choice(*args)
        if name == "div" and (mean := self._mean(expr)) is not None:
            return mean
        if OPERATORS[name].compares:
            return self._compared(name, args)
        if order is None and name not in CORNERS and name != "mul":
            core, formula = self._core(expr)
            return self._of_one(core, lambda u: evaluate(formula, {_U: u}))
        logic = name in ("and", "or", "not")
        parts = [self._truth(part) if logic else self.value(part) for part in args]
        if order is not None:
            return ordered(parts, order[0], self.lesser, self.greater)
        if name != "mul":
            return CORNERS[name](self, *parts)
        for number, other in (parts, parts[::-1]):
            if number.constant:
                return other * number.get(None, 0.0)
        # u*v = ((u + v)**2 - (u - v)**2) / 4
        squares = [self._of_one(op(sign, *args), lambda u: u * u / 4) for sign in ("add", "sub")]
        return squares[0] - squares[1]

    def _core(self, expr: Expr) -> tuple[Expr, Expr]:
        """The one whole number that decides a value, and how."""
        parts = [part for part in (expr.args if isinstance(expr, Op) else ()) if part.variables()]
        if len(parts) != 1:
            raise Unwired
        core, inner = (parts[0], _U) if self.kinds.is_integer(parts[0]) else self._core(parts[0])
        assert isinstance(expr, Op)
        return core, Op(expr.name, tuple(inner if part is parts[0] else part for part in expr.args))

    def _of_one(self, expr: Expr, function: Callable[[np.ndarray], np.ndarray]) -> Sum:
        """A function of one whole number between bounds: straight from each to the next."""
        bounds = self._bounds(expr)
        if not self.kinds.is_integer(expr) or bounds.high - bounds.low > MOST_VALUES:
            raise Unwired
        at = np.arange(float(bounds.low), float(bounds.high) + 2)
        with np.errstate(all="ignore"):
            values = np.broadcast_to(function(at), len(at)).astype(float)
        if not np.isfinite(values).all():
            raise Unwired
        slopes, value = np.diff(values), self.value(expr)
        first = Sum.of(values[0] - slopes[0] * at[0]) + value * float(slopes[0])
        bends = [(-float(u), float(b)) for u, b in zip(at[1:-1], np.diff(slopes), strict=True) if b]
        return first + self.units(value, tuple(bends)) if bends else first

    def _compared(self, name: str, args: tuple[Expr, ...]) -> Sum:
        """Of whole numbers: ramps of width one."""
        if not all(self.kinds.is_integer(part) for part in args):
            raise Unwired
        apart = self.value(args[0]) - self.value(args[1])
        if name in TURNED:
            apart, name = -apart, TURNED[name]
        return ONE - self.units(apart, ABOVE["eq"]) if name == "ne" else self.units(apart, ABOVE[name])

    def _truth(self, expr: Expr) -> Sum:
        return self.value(expr) if self.kinds.is_bit(expr) else self._compared("ne", (expr, Const(0)))

    def _choice(self, condition: Expr, yes: Expr, no: Expr) -> Sum:
        truth, other = self._truth(condition), self.value(no)
        apart = self.value(yes) - other
        if apart.constant:
            return other + truth * apart.get(None, 0.0)
        most = self._size(yes) + self._size(no)
        off = Sum.of(-most) + truth * most  # 0 where the condition holds, else far below
        return other + self.units(apart + off, RAMP) - self.units(off - apart, RAMP)

    def _size(self, expr: Expr) -> float:
        """How large a value gets. What grows without end is taken to stay within a limit: the verdict on the
        network says how far that goes."""
        try:
            return float(self._bounds(expr).size)
        except Unwired:
            return WITHIN

    def _bounds(self, expr: Expr) -> Interval:
        """Between what a value lies, for every length."""
        steps = (*self.program.steps, Step("chosen value", expr))
        whole = Recurrence(self.program.inputs, steps, ("chosen value",), self.program.start)
        found = bounds_of(whole, self.problem.domains).get("chosen value")
        if found is None or not found.finite:
            raise Unwired
        return found

    def greater(self, one: Sum, other: Sum) -> Sum:
        return other + self.units(one - other, RAMP)

    def lesser(self, one: Sum, other: Sum) -> Sum:
        return one - self.units(one - other, RAMP)

    # -- nodes -----------------------------------------------------------------------------------------------

    def read(self, variable: Var) -> Sum:
        """A value now or at a lag, as a sum of nodes; at a lag it is one node."""
        name, lag, outputs = variable.name, variable.lag, self.program.outputs
        if not lag:
            return self.values[name]
        before = self.program.start_of(name)
        if isinstance(before, str):  # that depends on the sequence
            raise Unwired
        far = FAR * (1.0 + float(np.abs(self.problem.validation.y).max(initial=0.0)))
        start = float(before if np.isfinite(before) else np.clip(before, -far, far))
        if name in outputs and self.graph.layout.name == "autoregressive":
            node = len(self.program.inputs) + outputs.index(name)
            unit, lag = self.scales[node], lag - 1
            self.nodes[node] = replace(self.nodes[node], start=start / unit)
        else:
            source = self.values[name]
            node, unit = next(iter(source.items()), (None, 1.0))
            if len(source) != 1 or node is None:
                node, unit = self._node(source), 1.0
        if lag:
            key = ("back", node, lag, start / unit)
            node = self._add(key, RouterNode("", "location", {"value": node}, lag, start / unit))
        return Sum({node: unit})

    def _head(self, kind: HeadKind, **reads: int) -> Sum:
        return Sum({self._add((kind, *sorted(reads.items())), RouterNode("", kind, reads)): 1.0})

    def _node(self, value: Sum) -> int:
        """A node that holds a sum in the user's units."""
        if not value.constant and list(value.values()) == [1]:
            return next(node for node in value if node is not None)
        return next(node for node in self.units(value, ((0, 1), (0, -1)), (1, -1)) if node is not None)

    def units(self, value: Sum, hinges: tuple[tuple[float, float], ...], signs: tuple[int, ...] = ()) -> Sum:
        """The sum of weight * relu(value + shift) over hinges (shift, weight); with signs, of +-value."""
        constant = value.get(None, 0.0)
        if value.constant and not signs:
            return Sum.of(sum(weight * max(constant + shift, 0.0) for shift, weight in hinges))
        operands = [node for node in value if node is not None] or [0]
        if len(operands) > MOST_OPERANDS:
            raise Unwired
        turns = np.array(signs or (1,) * len(hinges), float)
        row = np.array([value.get(node, 0.0) for node in operands])
        bias = turns * constant + np.array([shift for shift, _ in hinges])
        weights = np.array([weight for _, weight in hinges], float)
        key = (tuple(operands), tuple(row), tuple(bias), tuple(weights), tuple(turns))
        node = OperatorNode("", tuple(operands), turns[:, None] * row, bias, weights, 0.0)
        return Sum({self._add(key, node): 1.0})

    def _add(self, key: tuple[object, ...], node: Node) -> int:
        if key not in self._known:
            self.nodes.append(node)
            self._known[key] = len(self.nodes) - 1
        return self._known[key]


def _flat(name: str, expr: Expr) -> list[Expr]:
    """The arguments of nested extrema of one kind."""
    if isinstance(expr, Op) and expr.name == name:
        return [part for argument in expr.args for part in _flat(name, argument)]
    return [expr]


def _adds(expr: Expr, last: Var) -> bool:
    """Whether the last value is only added, once."""
    if expr == last:
        return True
    if not isinstance(expr, Op) or expr.name not in ("add", "sub"):
        return False
    left, right = expr.args
    within = [last in part.variables() for part in (left, right)]
    if within == [True, False]:
        return _adds(left, last)
    return within == [False, True] and expr.name == "add" and _adds(right, last)
