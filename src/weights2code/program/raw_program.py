"""The explained graph as the paper lists it: one variable a live node, then the output head."""

from __future__ import annotations

from weights2code.data import Problem
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.hypotheses import Hypothesis, ListedHead
from weights2code.explain.operators import node_variable
from weights2code.graph import ChannelNode, OperatorNode, RouterNode
from weights2code.graph.raw_nodes import RawNode, RawProgram
from weights2code.language import Const, Var
from weights2code.program.raw_source import raw_source


def raw_program(explained: ExplainedGraph, problem: Problem) -> RawProgram:
    """Raw nodes in the user's units; integer outputs are rounded before they are fed back."""
    graph = explained.graph
    listing = (_Tokens if graph.layout.name == "concat" else _Listing)(explained)
    rows = graph.output_weights()
    head = tuple({listing.name(index): weight for index, weight in weights.items()} for weights, _ in rows)
    bias = tuple(bias for _, bias in rows)
    return RawProgram(problem.name, tuple(listing.nodes), head, bias, problem.integer_outputs)


def raw_program_source(explained: ExplainedGraph, problem: Problem) -> str:
    """The text of `program_raw.py`."""
    return raw_source(raw_program(explained, problem))


class _Listing:
    """The live nodes in their order, and all input columns, so that the listing reads the whole sequence."""

    def __init__(self, explained: ExplainedGraph) -> None:
        self.explained, self.graph, self.units = explained, explained.graph, explained.graph.units()
        self.nodes: list[RawNode] = []
        self.begin()

    def begin(self) -> None:
        for index in sorted({*range(len(self.graph.inputs)), *self.graph.live()}):
            self.name(index)

    def name(self, index: int, offset: int = 0) -> str:
        """The name of a node's value, in `concat` `offset` tokens back; what it needs is listed before."""
        node = self.graph.nodes[index]
        own = f"{node.name}_{offset}" if offset else node.name
        if isinstance(node, ChannelNode):
            return self.channel(index, node, offset)
        if isinstance(node, OperatorNode):
            fit = self.explained.operators[index]
            reads = {node_variable(o): Var(self.name(o, offset)) for o in fit.operands}
            comment = "" if fit.kind == "formula" else f"faithful {fit.kind}, not a formula"
            return self.add(RawNode(own, "formula", formula=fit.formula.substitute(reads), comment=comment))
        hypothesis = self.explained.routers[index].hypothesis
        if hypothesis is None:
            raise NotExtracted(f"the live head {node.name} matches no routing hypothesis.")
        return self.head(index, node, hypothesis, own, offset)

    def channel(self, index: int, node: ChannelNode, offset: int) -> str:
        past = index - len(self.graph.inputs)
        if past < 0:
            return self.add(RawNode(node.name, "input", column=index, comment=node.label))
        start = node.start * float(self.units[index])
        return self.add(RawNode(node.name, "input", output=past, start=start, comment=node.label))

    def head(self, index: int, node: RouterNode, hypothesis: Hypothesis, own: str, offset: int) -> str:
        names = {role: self.name(source) for role, source in node.reads.items()}
        units = {role: float(self.units[source]) for role, source in node.reads.items()}
        for raw in hypothesis.listed(ListedHead(index, own, names, units)):
            self.add(raw)
        return own

    def add(self, node: RawNode) -> str:
        if all(other.name != node.name for other in self.nodes):
            self.nodes.append(node)
        return node.name


class _Tokens(_Listing):
    """The listing of one sequence of inputs and outputs, re-indexed, so that it runs free at any length.

    A channel holds y[t-1] at the place where y[t] is computed, and the inputs lie a whole length further
    back: what a token is depends on how far back it lies, so lags are followed down to the channels.
    """

    def begin(self) -> None:
        for column, name in enumerate(self.graph.inputs):
            self.add(RawNode(f"V{column}_input", "input", column=column, comment=name))
        for output, name in enumerate(self.graph.outputs):
            self.add(RawNode(f"V{output}_output", "input", output=output, comment=f"{name}[t-1]"))

    def channel(self, index: int, node: ChannelNode, offset: int) -> str:
        token = self._token(index, offset)
        if token is None:
            return self.add(RawNode(f"V{index}_nothing", "formula", formula=Const(0)))
        base, lag = token
        return self.add(RawNode(f"{base}_{lag}", "offset", (base,), offset=lag)) if lag else base

    def head(self, index: int, node: RouterNode, hypothesis: Hypothesis, own: str, offset: int) -> str:
        source, lag, offsets = node.reads["value"], hypothesis.lag(), hypothesis.offsets()
        copied = isinstance(self.graph.nodes[source], ChannelNode)
        if copied and lag is not None and (token := self._token(source, offset + lag)):
            return self.add(RawNode(own, "offset", token[:1], offset=token[1]))
        if offsets is None:
            raise NotExtracted(f"{node.name} goes over tokens of inputs and outputs alike.")
        values = [Var(self.name(source, offset + step)) for step in offsets]
        formula = hypothesis.combine(values, float(self.units[index]))
        return self.add(RawNode(own, "formula", formula=formula, comment=hypothesis.describe()))

    def _token(self, channel: int, offset: int) -> tuple[str, int] | None:
        """The input or output that a token is, and its lag; None for the part of a token that is zero."""
        graph = self.graph
        lag = offset - (graph.length - 1)
        place, count = ("input", len(graph.inputs)) if lag >= 0 else ("output", len(graph.outputs))
        # a token is as wide as the wider of both, the rest of it is zero
        return (f"V{channel}_{place}", lag if lag >= 0 else offset) if channel < count else None
