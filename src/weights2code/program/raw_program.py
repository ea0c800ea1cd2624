"""The explained graph as the paper lists it: one variable a live node, then the output head."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce

import numpy as np

from weights2code.data import Problem
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.operators import node_variable
from weights2code.explain.routing import (
    EqualityRetrieval,
    FixedOffset,
    Nothing,
    OffsetExtremum,
    PrefixAggregate,
    WindowedExtremum,
)
from weights2code.graph import ChannelNode, OperatorNode, RouterNode
from weights2code.language import Const, Expr, Var, op
from weights2code.program.raw_nodes import RawNode, RawProgram
from weights2code.program.raw_source import raw_source
from weights2code.rules.assembly import equality_factor


def raw_program(explained: ExplainedGraph, problem: Problem) -> RawProgram:
    """Raw nodes in the user's units; integer outputs are rounded before they are fed back."""
    graph = explained.graph
    units = graph.units()
    if graph.layout.name == "concat":
        tokens = _Tokens(explained)
        live_head = np.flatnonzero(np.any(graph.head[:, :-1] != 0, axis=0))
        names = {int(index): tokens.name(int(index), 0) for index in live_head}
        nodes = tokens.nodes
    else:
        own = [node.name for node in graph.nodes]
        nodes = [node for index in _needed(explained) for node in _raw_nodes(explained, index, own)]
        names = dict(enumerate(own))
    scales = graph.layout.output_scales
    head = tuple(
        {names[int(index)]: float(row[index] * scale / units[index]) for index in np.flatnonzero(row[:-1])}
        for row, scale in zip(graph.head, scales, strict=True)
    )
    bias = tuple(float(row[-1] * scale) for row, scale in zip(graph.head, scales, strict=True))
    return RawProgram(problem.name, tuple(nodes), head, bias, problem.integer_outputs)


def raw_program_source(explained: ExplainedGraph, problem: Problem) -> str:
    """The text of `program_raw.py`."""
    return raw_source(raw_program(explained, problem))


def _needed(explained: ExplainedGraph) -> list[int]:
    """Live nodes, and all input columns, so that the listing reads the whole sequence."""
    return sorted({*range(len(explained.graph.inputs)), *explained.live})


def _raw_nodes(explained: ExplainedGraph, index: int, names: list[str]) -> list[RawNode]:
    """A node, and what it needs before it: the values of several offsets; the query of a lookup in the unit
    of its keys."""
    graph, node = explained.graph, explained.graph.nodes[index]
    if isinstance(node, RouterNode):
        hypothesis = explained.routers[index].hypothesis
        if isinstance(hypothesis, OffsetExtremum):
            return _compared(node.name, names[node.reads["value"]], hypothesis)
    raw = _raw_node(explained, index, names)
    if raw.kind != "retrieval" or not isinstance(node, RouterNode) or equality_factor(graph, node) == 1:
        return [raw]
    key, value, query = raw.reads
    scaled = RawNode(f"query{index}", "formula", formula=Var(query) * equality_factor(graph, node))
    return [scaled, replace(raw, reads=(key, value, scaled.name))]


def _compared(name: str, value: str, hypothesis: OffsetExtremum) -> list[RawNode]:
    nothing = -math.inf if hypothesis.largest else math.inf
    parts = [
        RawNode(f"{name}_{offset}", "offset", (value,), offset=offset, start=nothing)
        for offset in hypothesis.offsets
    ]
    best = _best([part.name for part in parts], hypothesis.largest)
    return [*parts, RawNode(name, "formula", formula=best, comment=hypothesis.describe())]


def _best(names: list[str], largest: bool) -> Expr:
    values: list[Expr] = [Var(name) for name in names]
    return reduce(lambda one, other: op("max" if largest else "min", one, other), values)


def _raw_node(explained: ExplainedGraph, index: int, names: list[str]) -> RawNode:
    graph = explained.graph
    node, unit = graph.nodes[index], float(graph.units()[index])
    if isinstance(node, ChannelNode):
        past = index - len(graph.inputs)
        if past < 0:
            return RawNode(node.name, "input", column=index, comment=node.label)
        return RawNode(node.name, "input", output=past, start=node.start * unit, comment=node.label)
    if isinstance(node, OperatorNode):
        fit = explained.operators[index]
        formula = fit.formula.substitute({node_variable(o): Var(names[o]) for o in fit.operands})
        comment = "" if fit.kind == "formula" else f"faithful {fit.kind}, not a formula"
        return RawNode(node.name, "formula", formula=formula, comment=comment)
    hypothesis, value = explained.routers[index].hypothesis, names[node.reads["value"]]
    if isinstance(hypothesis, FixedOffset):
        start = hypothesis.start * unit
        return RawNode(node.name, "offset", (value,), offset=hypothesis.offset, start=start)
    if isinstance(hypothesis, WindowedExtremum):
        window, largest, padded = hypothesis.window, hypothesis.largest, hypothesis.zero_before
        return RawNode(node.name, "extremum", (value,), window=window, largest=largest, padded=padded)
    if isinstance(hypothesis, PrefixAggregate):
        return RawNode(node.name, "mean" if hypothesis.mean else "sum", (value,))
    if isinstance(hypothesis, EqualityRetrieval):
        reads = (names[node.reads["key"]], value, names[node.reads["query"]])
        return RawNode(node.name, "retrieval", reads, offset=hypothesis.gap)
    return RawNode(node.name, "formula", formula=Const(node.start * unit), comment="Nothing (null slot)")


class _Tokens:
    """The listing of one sequence of inputs and outputs, re-indexed, so that it runs free at any length.

    A channel holds y[t-1] at the place where y[t] is computed, and the inputs lie a whole length further
    back: what a token is depends on how far back it lies, so lags are followed down to the channels.
    """

    def __init__(self, explained: ExplainedGraph) -> None:
        self.explained = explained
        graph = explained.graph
        self.nodes = [
            RawNode(f"V{column}_input", "input", column=column, comment=name)
            for column, name in enumerate(graph.inputs)
        ]
        self.nodes += [
            RawNode(f"V{output}_output", "input", output=output, comment=f"{name}[t-1]")
            for output, name in enumerate(graph.outputs)
        ]

    def name(self, index: int, offset: int) -> str:
        """The name of a node's value `offset` tokens back; what it needs is listed before."""
        graph = self.explained.graph
        node = graph.nodes[index]
        own = f"{node.name}_{offset}" if offset else node.name
        if isinstance(node, ChannelNode):
            return self._channel(index, offset)
        if isinstance(node, OperatorNode):
            fit = self.explained.operators[index]
            reads = {node_variable(o): Var(self.name(o, offset)) for o in fit.operands}
            comment = "" if fit.kind == "formula" else f"faithful {fit.kind}, not a formula"
            return self._add(RawNode(own, "formula", formula=fit.formula.substitute(reads), comment=comment))
        hypothesis, source = self.explained.routers[index].hypothesis, node.reads["value"]
        if isinstance(hypothesis, FixedOffset):
            place = offset + hypothesis.offset
            if isinstance(graph.nodes[source], ChannelNode) and (token := self._token(source, place)):
                base, lag = token
                return self._add(RawNode(own, "offset", (base,), offset=lag))
            found = self.name(source, place)
            return self._add(RawNode(own, "formula", formula=Var(found), comment=hypothesis.describe()))
        if isinstance(hypothesis, WindowedExtremum | OffsetExtremum) and hypothesis.offsets is not None:
            best = _best(
                [self.name(source, offset + step) for step in hypothesis.offsets], hypothesis.largest
            )
            return self._add(RawNode(own, "formula", formula=best, comment=hypothesis.describe()))
        if isinstance(hypothesis, Nothing):
            start = Const(hypothesis.start * float(graph.units()[index]))
            return self._add(RawNode(own, "formula", formula=start, comment=hypothesis.describe()))
        raise NotExtracted(f"{node.name} goes over tokens of inputs and outputs alike.")

    def _token(self, channel: int, offset: int) -> tuple[str, int] | None:
        """The input or output that a token is, and its lag; None for the part of a token that is zero."""
        graph = self.explained.graph
        lag = offset - (graph.length - 1)
        place, count = ("input", len(graph.inputs)) if lag >= 0 else ("output", len(graph.outputs))
        # a token is as wide as the wider of both, the rest of it is zero
        return (f"V{channel}_{place}", lag if lag >= 0 else offset) if channel < count else None

    def _channel(self, channel: int, offset: int) -> str:
        token = self._token(channel, offset)
        if token is None:
            return self._add(RawNode(f"V{channel}_nothing", "formula", formula=Const(0)))
        base, lag = token
        if not lag:
            return base
        return self._add(RawNode(f"{base}_{lag}", "offset", (base,), offset=lag))

    def _add(self, node: RawNode) -> str:
        if all(other.name != node.name for other in self.nodes):
            self.nodes.append(node)
        return node.name
