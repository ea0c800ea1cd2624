"""A discrete network is a recurrence: one step a live node, in one fixed order of float64 operations.

Location heads are lags, sub-MLPs are sums of `relu`, aggregates are carried from step to step, counts and
selections go over everything so far, and an output is floor(o + 1/2) of what the head adds up where outputs
are whole numbers. What `machine_of(graph, ...).run` gives *is* what the network computes: the graph's own
matrix products agree with it up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from jaxtyping import Float

from weights2code.errors import NotExtracted
from weights2code.graph.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.language import (
    Const,
    Count,
    Definition,
    Expr,
    Recurrence,
    Selection,
    Step,
    Var,
    definition_variables,
    maximum,
    minimum,
    op,
    where,
)

#: Terms of one sum; more are added up in steps of their own, so that no formula is nested too deeply.
MOST_TERMS = 50
#: The column of a token machine that says whether a token is an output.
OWN = "own?"


_EXTREMA = {"max": maximum, "min": minimum}
#: A formula of a node in the names of nodes, and what lies before the start of what it reads back.
Written = tuple[Expr, float]


def machine_of(
    graph: DiscreteGraph, *, whole: bool, formulas: Mapping[int, Written] | None = None
) -> Recurrence:
    """The network as a recurrence in the user's units; outputs are rounded if they are `whole`.

    Steps have the names of their nodes, then `y.raw` and `y` for every output y. What a node needs beside
    itself has its name and a dot: `V3_Attn_L0H1.sum`. Where it is known to be the same, a formula may stand
    for a node.

    Raises
    ------
    NotExtracted
        In the layout `concat`, where one sequence holds inputs and then outputs: what lies a number of tokens
        back is now the one and now the other, so there is no recurrence (but one of tokens: `free_running`).
    """
    if graph.layout.name == "concat":
        raise NotExtracted("a network that reads inputs and outputs as one sequence is no recurrence.")
    return _of_nodes(graph, graph.inputs, whole, formulas or {})


def rounded(values: np.ndarray) -> np.ndarray:
    """The nearest whole numbers, floor(y + 1/2): halves go up."""
    return np.floor(values + 0.5)


def free_running(
    graph: DiscreteGraph, x: Float[np.ndarray, "sequence pos input"], *, whole: bool
) -> Float[np.ndarray, "sequence pos output"]:
    """Outputs of the network by itself, on its own past outputs, in the user's units; with `whole` they are
    rounded, and so is what is fed back.

    What grows beyond all numbers is infinite or none.
    """
    length = x.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if graph.layout.name != "concat":
            return machine_of(graph, whole=whole).run(x)
        # a recurrence of tokens, each with whether it is one's own last output, so that columns do not count:
        # all inputs come first, and the last of them gives the first output
        tokens = np.zeros((len(x), max(2 * length - 1, 0), x.shape[2] + 1))
        tokens[:, :length, :-1], tokens[:, length:, -1] = x, 1.0
        return _of_nodes(graph, (*graph.inputs, OWN), whole, {}).run(tokens)[:, -length:]


def _of_nodes(
    graph: DiscreteGraph, inputs: tuple[str, ...], whole: bool, formulas: Mapping[int, Written]
) -> Recurrence:
    machine = Machine(graph)
    for index in graph.live():
        machine.node(index, formulas.get(index))
    return machine.recurrence(inputs, machine.names.__getitem__, whole)


class Machine:
    """The steps so far, by which name each node goes, and what lies before the start of a name."""

    def __init__(self, graph: DiscreteGraph) -> None:
        self.graph = graph
        self.taken = {*graph.inputs, *graph.outputs, OWN, *(f"{name}.raw" for name in graph.outputs)}
        self.names = [self.free(node.name) for node in graph.nodes]
        self.steps: list[Step] = []
        self.start: dict[str, float] = {}
        self.shared: dict[str, str] = {}

    def free(self, name: str) -> str:
        """The name, or one like it that nothing has."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def step(self, name: str, definition: Definition) -> Expr:
        """One more step."""
        self.steps.append(Step(name, definition))
        return Var(name)

    def _running(self, name: str, definition: Expr, start: float) -> Expr:
        """A step that reads itself one step back."""
        self.start[name] = start
        return self.step(name, definition)

    def node(self, index: int, formula: Written | None = None) -> None:
        """The step of a node, and those that it needs."""
        node, name = self.graph.nodes[index], self.names[index]
        if formula is not None:
            definition: Definition = self._formula(*formula)
        elif isinstance(node, ChannelNode):
            definition = self._channel(index, node)
        elif isinstance(node, OperatorNode):
            definition = self.operator(node, name, self.names.__getitem__)
        else:
            definition = self._router(node, name)
        self.step(name, definition)

    def recurrence(self, inputs: tuple[str, ...], name_of: Callable[[int], str], whole: bool) -> Recurrence:
        """All steps, and those of the output head, which reads nodes by these names."""
        graph = self.graph
        for row, scale, name in zip(graph.head, graph.layout.output_scales, graph.outputs, strict=True):
            terms = [(weight, Var(name_of(i))) for i, weight in enumerate(row[:-1].tolist()) if weight]
            raw = self.step(f"{name}.raw", _times(scale, self._sum(f"{name}.raw", row[-1], terms)))
            self.step(name, op("floor", raw + 0.5) if whole else raw)
        start = {name: float(value) for name, value in self.start.items() if value}
        return Recurrence(inputs, tuple(self.steps), graph.outputs, start).live()

    # -- nodes -----------------------------------------------------------------------------------------------

    def _formula(self, formula: Expr, start: float) -> Expr:
        names = {node.name: name for node, name in zip(self.graph.nodes, self.names, strict=True)}
        table: dict[Var, Expr] = {}
        for variable in formula.variables():
            name = names[variable.name]
            table[variable] = Var(self._before(name, start) if variable.lag else name, variable.lag)
        return formula.substitute(table)

    def _channel(self, index: int, node: ChannelNode) -> Expr:
        graph, past = self.graph, index - len(self.graph.inputs)
        value: Expr = Const(0)
        if past < 0:
            value = over(Var(graph.inputs[index]), graph.layout.input_scales[index])
        if graph.layout.name == "concat":  # a token is as wide as the wider of both, the rest of it is zero
            own: Expr = Const(0)
            if index < len(graph.outputs):
                own = over(Var(graph.outputs[index], 1), graph.layout.output_scales[index])
            value = where(Var(OWN), own, value)
        if past < 0 or graph.layout.name == "concat":
            return value + where(self._age(), 0, node.start) if node.start else value
        name, scale = graph.outputs[past], graph.layout.output_scales[past]
        before = node.start * scale
        last = over(Var(name, 1), scale)
        if before / scale != node.start:
            return where(self._age(), last, node.start)
        self.start[name] = before
        return last

    def operator(self, node: OperatorNode, name: str, name_of: Callable[[int], str]) -> Expr:
        """A sub-MLP that reads nodes by these names."""
        units = zip(node.hidden_weight, node.hidden_bias, node.output_weight.tolist(), strict=True)
        terms = []
        for place, (weights, bias, factor) in enumerate(units):
            if factor:
                operands = zip(weights.tolist(), node.operands, strict=True)
                inside = [(weight, Var(name_of(read))) for weight, read in operands if weight]
                terms.append((factor, op("relu", self._sum(f"{name}.unit{place}", bias, inside))))
        return self._sum(name, node.output_bias, terms)

    def _router(self, node: RouterNode, name: str) -> Definition:
        read = {role: self.names[source] for role, source in node.reads.items()}
        value = Var(read["value"])
        if node.kind == "location":
            if node.offset is None:
                return Const(float(node.start))
            return Var(self._before(value.name, node.start), node.offset) if node.offset else value
        if node.facts.relation:
            return Count(read["key"], value, node.facts.relation)
        if node.facts.seeks:
            return Selection(read["key"], value.name, Var(read["query"]), node.scores())
        if node.kind == "mean":
            total = self.free(f"{name}.sum")
            return self._running(total, Var(total, 1) + value, 0.0) / self._count()
        self.start[name] = float(node.facts.start)
        return (node.facts.step or _EXTREMA[node.kind])(Var(name, 1), value)

    # -- what nodes need beside themselves -------------------------------------------------------------------

    def _before(self, source: str, start: float) -> str:
        """A name that holds what another does, and this before the start: itself, or a copy if something else
        lies before its own."""
        if self.start.setdefault(source, start) == start:
            return source
        key = f"{source} {start!r}"
        if key not in self.shared:
            number = sum(other.startswith(f"{source} ") for other in self.shared) + 1
            self.shared[key] = self.free(f"{source}.before{number}")
            self.start[self.shared[key]] = start
            self.step(self.shared[key], Var(source))
        return self.shared[key]

    def _age(self) -> Expr:
        """0 at the first position, 1 after it."""
        if "age" not in self.shared:
            name = self.shared["age"] = self.free("age")
            self._running(name, op("min", Var(name, 1) + 1, 1), -1.0)
        return Var(self.shared["age"])

    def _count(self) -> Expr:
        """How many positions there are so far."""
        if "count" not in self.shared:
            name = self.shared["count"] = self.free("count")
            self._running(name, Var(name, 1) + 1, 0.0)
        return Var(self.shared["count"])

    def _sum(self, name: str, constant: float, terms: Iterable[tuple[float, Expr]]) -> Expr:
        """((constant + w0 * u0) + w1 * u1) + ...; a constant of 0 and weights of 1 are not written."""
        total: Expr | None = Const(float(constant)) if constant else None
        for place, (weight, part) in enumerate(terms, 1):
            term = _times(weight, part)
            total = term if total is None else total + term
            if not place % MOST_TERMS:
                total = self.step(self.free(f"{name}.{place}"), total)
        return Const(0) if total is None else total


def _times(weight: float, value: Expr) -> Expr:
    return value if weight == 1 else Const(float(weight)) * value


def over(value: Expr, scale: float) -> Expr:
    """A value in the units of the stream."""
    return value if scale == 1 else value / scale


def reach(machine: Recurrence) -> int:
    """How many positions back rows and outputs lie that an output of a network depends on; those of heads
    that go over everything so far do not count."""
    depths = dict.fromkeys((*machine.inputs, *machine.outputs), 0)
    for step in machine.steps:
        read = [
            v.lag + depths.get(v.name, 0)
            for v in definition_variables(step.definition)
            if v.name != step.name
        ]
        if step.name not in depths:
            depths[step.name] = max(read, default=0)
    return max(depths.values())
