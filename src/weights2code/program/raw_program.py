"""The explained graph as the paper lists it: one variable a live node, then the output head."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem
from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.operators import node_variable
from weights2code.explain.routing import (
    EqualityRetrieval,
    FixedOffset,
    PrefixAggregate,
    WindowedExtremum,
)
from weights2code.graph import ChannelNode, OperatorNode
from weights2code.language import Const, Var
from weights2code.program.raw_nodes import RawNode, RawProgram
from weights2code.program.raw_source import raw_source


def raw_program(explained: ExplainedGraph, problem: Problem) -> RawProgram:
    """Raw nodes in the user's units; integer outputs are rounded before they are fed back."""
    graph = explained.graph
    units = graph.units()
    names = [node.name for node in graph.nodes]
    nodes = [_raw_node(explained, index, names) for index in _needed(explained)]
    scales = graph.layout.output_scales
    head = tuple(
        {names[index]: float(row[index] * scale / units[index]) for index in np.flatnonzero(row[:-1])}
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
        window, largest = hypothesis.window, hypothesis.largest
        return RawNode(node.name, "extremum", (value,), window=window, largest=largest)
    if isinstance(hypothesis, PrefixAggregate):
        return RawNode(node.name, "mean" if hypothesis.mean else "sum", (value,))
    if isinstance(hypothesis, EqualityRetrieval):
        reads = (names[node.reads["key"]], value, names[node.reads["query"]])
        return RawNode(node.name, "retrieval", reads, offset=hypothesis.gap)
    return RawNode(node.name, "formula", formula=Const(node.start * unit), comment="Nothing (null slot)")
