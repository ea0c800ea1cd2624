"""A network that is the rule: every operator of a program as hidden units, every memory as a head.

Sums, extrema, comparisons of whole numbers and logic are linear between corners, so a few units are exact for
numbers of any size, where a network that was trained is right in the range that it has seen. Steps that add
up, or keep an extremum, become heads over everything so far, and counts are heads of their own. Remainders
and products, and whatever else is a function of one whole number between bounds, have a unit for each number.
What is no such rule (comparisons and products of reals, lookups) has no such network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from weights2code.data import Problem
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.graph.graph import channel_scales
from weights2code.graph.to_model import laid_out
from weights2code.heads import COUNTS, HEADS, HeadKind
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
#: How far infinity lies, in largest outputs.
FAR = 10.0

#: Operators that are linear between corners, or made of such; products are differences of squares.
CORNERS = {"add", "sub", "neg", "mul", "relu", "abs", "max", "min", "clip"}
_U = Var("u")

#: A weighted sum of nodes, in the user's units; None is the constant.
Sum = dict[int | None, float]


class Unwired(Exception):
    """A rule that no such network has."""


def compiled(program: Recurrence, graph: DiscreteGraph, problem: Problem) -> DiscreteGraph | None:
    """The network of a rule, in the layout of another; None if there is none."""
    if graph.layout.name == "concat":
        return None
    try:
        loose = _Compiler(program, graph, problem).network()
    except (Unwired, KeyError):
        return None
    return laid_out(loose)


def _added(one: Sum, other: Sum, factor: float = 1.0) -> Sum:
    total = dict(one)
    for node, weight in other.items():
        total[node] = total.get(node, 0.0) + factor * weight
    return {node: weight for node, weight in total.items() if weight}


def _number(value: float) -> Sum:
    return {None: float(value)} if value else {}


@dataclass(slots=True)
class _Compiler:
    program: Recurrence
    graph: DiscreteGraph
    problem: Problem
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Sum] = field(default_factory=dict)
    kinds: Kinds = field(init=False)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def network(self) -> DiscreteGraph:
        graph, program = self.graph, self.program
        domains = self.problem.domains
        whole = whole_names(program, domains, infinities=True)  # which are only read by heads
        self.kinds = replace(kinds_of(program, domains), integers=whole)
        for index in range(graph.layout.channels):
            node = graph.nodes[index]
            assert isinstance(node, ChannelNode)
            self.nodes.append(replace(node, start=0.0))
        for place, name in enumerate(program.inputs):
            self.values[name] = {place: channel_scales(graph.layout)[place]}
        for step in program.steps:
            self.values[step.name] = self._step(step.name, step.definition)
        head = np.zeros((len(program.outputs), len(self.nodes) + 1))
        for row, name in enumerate(program.outputs):
            scale = graph.layout.output_scales[row]
            for node, weight in self.values[name].items():
                head[row, -1 if node is None else node] = weight / scale
        return replace(graph, nodes=tuple(self.nodes), head=head)

    # -- steps -----------------------------------------------------------------------------------------------

    def _step(self, name: str, definition: Definition) -> Sum:
        if isinstance(definition, Retrieval | Selection):
            raise Unwired
        if isinstance(definition, Count):
            kind: HeadKind = next(kind for kind in COUNTS if HEADS[kind].relation == definition.relation)
            key, query = self.values[definition.key], self.value(definition.query)
            return {self._head(kind, key=self._node(key), value=self._node(query)): 1.0}
        if Var(name, 1) not in definition.variables() or name in self.program.outputs:
            return self.value(definition)
        start = self.program.start_of(name)
        if isinstance(start, str):
            raise Unwired
        if isinstance(definition, Op) and definition.name in ("max", "min"):
            parts = [part for part in _flat(definition.name, definition) if part != Var(name, 1)]
            return self._extremum(name, "max" if definition.name == "max" else "min", parts, float(start))
        rest = self.value(definition.substitute({Var(name, 1): Const(0)}))
        once = definition.substitute({Var(name, 1): Const(1)})
        if any(v.name == name for v in once.variables()) or not _adds(definition, Var(name, 1)):
            raise Unwired
        return _added({self._head("sum", value=self._node(rest)): 1.0}, _number(float(start)))

    def _extremum(self, name: str, kind: HeadKind, parts: list[Expr], start: float) -> Sum:
        if not parts or any(v.name == name for part in parts for v in part.variables()):
            raise Unwired
        best = self.value(parts[0])
        combine = self._greater if kind == "max" else self._lesser
        for part in parts[1:]:
            best = combine(best, self.value(part))
        found: Sum = {self._head(kind, value=self._node(best)): 1.0}
        return combine(found, _number(start)) if np.isfinite(start) else found

    # -- formulas --------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Sum:
        if isinstance(expr, Const):
            if not np.isfinite(float(expr.value)):
                raise Unwired
            return _number(float(expr.value))
        if isinstance(expr, Var):
            return self._read(expr)
        assert isinstance(expr, Op)
        name, args = expr.name, expr.args
        entry = OPERATORS[name]
        if name == "where":
            return self._choice(*args)
        if name in ("and", "or", "not"):
            bits = [self._truth(part) for part in args]
            if name == "not":
                return _added(_number(1), bits[0], -1)
            both = _added(bits[0], bits[1])
            if name == "and":
                return self._units(_added(both, _number(-1)), ((0, 1),))
            return _added(_number(1), self._units(_added(_number(1), both, -1), ((0, 1),)), -1)
        if entry.compares:
            return self._compared(name, args)
        if order_of(name) is None and name not in CORNERS:
            core, formula = self._core(expr)
            return self._of_one(core, lambda u: evaluate(formula, {_U: u}))
        parts = [self.value(part) for part in args]
        constant = [set(part) <= {None} for part in parts]
        if (order := order_of(name)) is not None:
            return ordered(parts, order[0], self._lesser, self._greater)
        if name in ("add", "sub"):
            return _added(parts[0], parts[1], 1 if name == "add" else -1)
        if name == "neg":
            return _added({}, parts[0], -1)
        if name == "mul" and any(constant):
            number, other = parts if constant[0] else parts[::-1]
            return _added({}, other, number.get(None, 0.0))
        if name == "mul":  # u*v = ((u + v)**2 - (u - v)**2) / 4
            squares = [self._of_one(op(sign, *args), lambda u: u * u / 4) for sign in ("add", "sub")]
            return _added(squares[0], squares[1], -1)
        if name == "relu":
            return self._units(parts[0], ((0, 1),))
        if name == "abs":
            return _added(_added({}, parts[0], -1), self._units(parts[0], ((0, 1),)), 2)
        if name == "max":
            return self._greater(*parts)
        if name == "min":
            return self._lesser(*parts)
        return self._lesser(self._greater(parts[0], parts[1]), parts[2])  # clip

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
        first = _added(_number(values[0] - slopes[0] * at[0]), value, float(slopes[0]))
        bends = [(-float(u), float(b)) for u, b in zip(at[1:-1], np.diff(slopes), strict=True) if b]
        return _added(first, self._units(value, tuple(bends))) if bends else first

    def _compared(self, name: str, args: tuple[Expr, ...]) -> Sum:
        """Of whole numbers: ramps of width one."""
        if not all(self.kinds.is_integer(part) for part in args):
            raise Unwired
        minus = _added(self.value(args[0]), self.value(args[1]), -1)
        if name in ("lt", "le"):
            minus, name = _added({}, minus, -1), {"lt": "gt", "le": "ge"}[name]
        if name == "gt":
            return self._units(minus, ((0, 1), (-1, -1)))
        if name == "ge":
            return self._units(minus, ((1, 1), (0, -1)))
        same = self._units(minus, ((1, 1), (0, -2), (-1, 1)))
        return same if name == "eq" else _added(_number(1), same, -1)

    def _truth(self, expr: Expr) -> Sum:
        return self.value(expr) if self.kinds.is_bit(expr) else self._compared("ne", (expr, Const(0)))

    def _choice(self, condition: Expr, yes: Expr, no: Expr) -> Sum:
        truth, other = self._truth(condition), self.value(no)
        apart = _added(self.value(yes), other, -1)
        if set(apart) <= {None}:
            return _added(other, truth, apart.get(None, 0.0))
        most = float(self._bounds(yes).size + self._bounds(no).size)
        off = _added(_number(-most), truth, most)  # 0 where the condition holds, else far below
        above = self._units(_added(apart, off), ((0, 1),))
        below = self._units(_added(off, apart, -1), ((0, 1),))
        return _added(_added(other, above), below, -1)

    def _bounds(self, expr: Expr) -> Interval:
        """Between what a value lies, for every length."""
        steps = (*self.program.steps, Step("chosen value", expr))
        whole = Recurrence(self.program.inputs, steps, ("chosen value",), self.program.start)
        found = bounds_of(whole, self.problem.domains).get("chosen value")
        if found is None or not found.finite:
            raise Unwired
        return found

    def _greater(self, one: Sum, other: Sum) -> Sum:
        return _added(other, self._units(_added(one, other, -1), ((0, 1),)))

    def _lesser(self, one: Sum, other: Sum) -> Sum:
        return _added(one, self._units(_added(one, other, -1), ((0, 1),)), -1)

    # -- nodes -----------------------------------------------------------------------------------------------

    def _read(self, variable: Var) -> Sum:
        name, lag = variable.name, variable.lag
        outputs = self.program.outputs
        if not lag:
            return self.values[name]
        start = start_of(self.program, self.problem, name)
        if start is None:
            raise Unwired
        if name in outputs and self.graph.layout.name == "autoregressive":
            channel = len(self.program.inputs) + outputs.index(name)
            scale = channel_scales(self.graph.layout)[channel]
            node = self.nodes[channel]
            assert isinstance(node, ChannelNode)
            self.nodes[channel] = replace(node, start=start / scale)
            return {self._back(channel, lag - 1, start / scale): scale} if lag > 1 else {channel: scale}
        if name in outputs and name not in self.values:
            raise Unwired
        source = self.values[name]
        if len(source) == 1 and None not in source:
            ((node, unit),) = source.items()
            assert node is not None
        else:
            node, unit = self._node(source), 1.0
        return {self._back(node, lag, start / unit): unit}

    def _back(self, node: int, lag: int, start: float) -> int:
        return self._add(("back", node, lag, start), RouterNode("", "location", {"value": node}, lag, start))

    def _head(self, kind: HeadKind, **reads: int) -> int:
        return self._add((kind, *sorted(reads.items())), RouterNode("", kind, reads))

    def _node(self, value: Sum) -> int:
        """A node that holds a sum in the user's units."""
        if set(value) - {None} and len(value) == 1 and next(iter(value.values())) == 1:
            (node,) = value
            assert node is not None
            return node
        return next(node for node in self._units(value, ((0, 1), (0, -1)), (1, -1)) if node is not None)

    def _units(self, value: Sum, hinges: tuple[tuple[float, float], ...], signs: tuple[int, ...] = ()) -> Sum:
        """The sum of weight * relu(value + shift) over hinges (shift, weight); with signs, of +-value."""
        operands = [node for node in value if node is not None]
        if len(operands) > MOST_OPERANDS:
            raise Unwired
        if not operands:
            constant = value.get(None, 0.0)
            if signs:
                operands, value = [0], {0: 0.0, None: constant}
            else:
                return _number(sum(weight * max(constant + shift, 0.0) for shift, weight in hinges))
        turns = np.array(signs or (1,) * len(hinges), float)
        row = np.array([value[node] for node in operands])
        bias = turns * value.get(None, 0.0) + np.array([shift for shift, _ in hinges])
        weights = np.array([weight for _, weight in hinges], float)
        node = OperatorNode("", tuple(operands), turns[:, None] * row, bias, weights, 0.0)
        key = (tuple(operands), tuple(row), tuple(bias), tuple(weights), tuple(turns))
        return {self._add(key, node): 1.0}

    def _add(self, key: tuple[object, ...], node: Node) -> int:
        if key not in self._known:
            if len(self.nodes) >= MOST_NODES:
                raise Unwired
            self.nodes.append(node)
            self._known[key] = len(self.nodes) - 1
        return self._known[key]


def start_of(program: Recurrence, problem: Problem, name: str) -> float | None:
    """What lies before the start, as a number of a network: infinity is far from all that was seen. None if
    that depends on the sequence."""
    start = program.start_of(name)
    if isinstance(start, str):
        return None
    return float(np.clip(start, -(far := FAR * (1.0 + np.abs(problem.validation.y).max(initial=0.0))), far))


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
