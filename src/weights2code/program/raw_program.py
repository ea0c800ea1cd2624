"""The explained graph as the paper lists it: one variable a live node, then the output head."""

from __future__ import annotations

from dataclasses import replace

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
from weights2code.graph import ChannelNode, OperatorNode, RouterNode
from weights2code.language import Const, Var
from weights2code.program.assembly import equality_factor
from weights2code.program.raw_nodes import RawNode, RawProgram
from weights2code.program.raw_source import raw_source


def raw_program(explained: ExplainedGraph, problem: Problem) -> RawProgram:
    """Raw nodes in the user's units; integer outputs are rounded before they are fed back."""
    graph = explained.graph
    units = graph.units()
    names = [node.name for node in graph.nodes]
    nodes: list[RawNode] = []
    if graph.layout.name == "concat":
        nodes, names = _tokens(explained, names)
    nodes += [
        _raw_node(explained, index, names)
        for index in _needed(explained)
        if graph.layout.name != "concat" or not isinstance(graph.nodes[index], ChannelNode)
    ]
    scales = graph.layout.output_scales
    head = tuple(
        {names[index]: float(row[index] * scale / units[index]) for index in np.flatnonzero(row[:-1])}
        for row, scale in zip(graph.head, scales, strict=True)
    )
    bias = tuple(float(row[-1] * scale) for row, scale in zip(graph.head, scales, strict=True))
    return RawProgram(problem.name, tuple(nodes), head, bias, problem.integer_outputs)


def _tokens(explained: ExplainedGraph, names: list[str]) -> tuple[list[RawNode], list[str]]:
    """In one sequence of inputs and outputs a channel holds y[t-1] at the place where y[t] is computed, and
    the inputs lie a whole length further back: two nodes for each channel."""
    graph = explained.graph
    nodes = [
        RawNode(f"V{column}_input", "input", column=column, comment=name)
        for column, name in enumerate(graph.inputs)
    ]
    names = list(names)
    for output, name in enumerate(graph.outputs):
        names[output] = f"V{output}_output"
        nodes.append(RawNode(names[output], "input", output=output, comment=f"{name}[t-1]"))
    return nodes, names


def raw_program_source(explained: ExplainedGraph, problem: Problem) -> str:
    """The text of `program_raw.py`."""
    return raw_source(raw_program(explained, problem))


def _needed(explained: ExplainedGraph) -> list[int]:
    """Live nodes, and all input columns, so that the listing reads the whole sequence."""
    graph = explained.graph
    columns = graph.layout.channels if graph.layout.name == "concat" else len(graph.inputs)
    return sorted({*range(columns), *explained.live})


def _raw_nodes(explained: ExplainedGraph, index: int, names: list[str]) -> list[RawNode]:
    """A node, and before a lookup whose query has another unit than its keys the query in theirs."""
    graph, raw = explained.graph, _raw_node(explained, index, names)
    node = graph.nodes[index]
    if raw.kind != "retrieval" or not isinstance(node, RouterNode) or equality_factor(graph, node) == 1:
        return [raw]
    key, value, query = raw.reads
    scaled = RawNode(f"query{index}", "formula", formula=Var(query) * equality_factor(graph, node))
    return [scaled, replace(raw, reads=(key, value, scaled.name))]


def _raw_node(explained: ExplainedGraph, index: int, names: list[str]) -> RawNode:
    graph = explained.graph
    node, unit = graph.nodes[index], float(graph.units()[index])
    if isinstance(node, ChannelNode):
        past = index - len(graph.inputs)
        if past < 0 or graph.layout.name == "concat":  # in `concat` the sequence is the tokens themselves
            return RawNode(node.name, "input", column=index, comment=node.label)
        return RawNode(node.name, "input", output=past, start=node.start * unit, comment=node.label)
    if isinstance(node, OperatorNode):
        fit = explained.operators[index]
        formula = fit.formula.substitute({node_variable(o): Var(names[o]) for o in fit.operands})
        comment = "" if fit.kind == "formula" else f"faithful {fit.kind}, not a formula"
        return RawNode(node.name, "formula", formula=formula, comment=comment)
    hypothesis, value = explained.routers[index].hypothesis, names[node.reads["value"]]
    if isinstance(hypothesis, FixedOffset):
        start, offset = hypothesis.start * unit, hypothesis.offset
        if graph.layout.name == "concat" and offset >= graph.length - 1:
            offset -= graph.length - 1
            value = f"V{node.reads['value']}_input"
        return RawNode(node.name, "offset", (value,), offset=offset, start=start)
    if isinstance(hypothesis, WindowedExtremum):
        window, largest = hypothesis.window, hypothesis.largest
        return RawNode(node.name, "extremum", (value,), window=window, largest=largest)
    if isinstance(hypothesis, PrefixAggregate):
        return RawNode(node.name, "mean" if hypothesis.mean else "sum", (value,))
    if isinstance(hypothesis, EqualityRetrieval):
        reads = (names[node.reads["key"]], value, names[node.reads["query"]])
        return RawNode(node.name, "retrieval", reads, offset=hypothesis.gap)
    return RawNode(node.name, "formula", formula=Const(node.start * unit), comment="Nothing (null slot)")
