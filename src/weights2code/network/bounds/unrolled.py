"""A network of location heads at one position: every value of the past that it reads has a node of its own.

Away from the start of a sequence that changes nothing but the form. At an early position, where `age` others
lie before, what would lie before the start is the number that the network puts in its place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.language import Const, Expr, Recurrence, Var


def unrolled(graph: DiscreteGraph, age: int | None = None) -> DiscreteGraph | None:
    """The network at a position with so many before it, None being all that it asks for; None if a live head
    is no location head."""
    given = graph.nodes[: len(graph.inputs)]
    if graph.layout.name == "concat" or any(isinstance(node, ChannelNode) and node.start for node in given):
        return None
    writing = _Writing(graph, age)
    try:
        places = {int(i): writing.place(int(i), 0) for i in np.flatnonzero(graph.head[:, :-1].any(axis=0))}
    except ValueError:
        return None
    head = np.zeros((len(graph.head), len(writing.nodes) + 1))
    head[:, -1] = graph.head[:, -1]
    for index, place in places.items():
        head[:, place] += graph.head[:, index]
    return replace(graph, nodes=tuple(writing.nodes), head=head)


class _Writing:
    """The nodes so far, and where the value of a node so many positions back stands among them."""

    def __init__(self, graph: DiscreteGraph, age: int | None) -> None:
        self.graph, self.age = graph, age
        self.nodes: list[Node] = [
            replace(node, start=0.0) for node in graph.nodes if isinstance(node, ChannelNode)
        ]
        self.known: dict[tuple[int, int], int] = {}

    def place(self, index: int, lag: int) -> int:
        if (index, lag) not in self.known:
            self.known[index, lag] = self._place(index, lag)
        return self.known[index, lag]

    def _place(self, index: int, lag: int) -> int:
        node, age = self.graph.nodes[index], self.age
        if isinstance(node, ChannelNode):
            if age is not None and lag >= age and index >= len(self.graph.inputs):
                return self._add(RouterNode("", "location", {"value": index}, None, node.start))
            return self._add(RouterNode("", "location", {"value": index}, lag)) if lag else index
        if isinstance(node, OperatorNode):
            used = set(node.used())
            operands = tuple(self.place(o, lag) if o in used else 0 for o in node.operands)
            return self._add(replace(node, operands=operands))
        if node.kind != "location":
            raise ValueError(f"{node.name} is no location head")
        source = node.reads["value"]
        if node.offset is None or (age is not None and lag + node.offset > age):
            return self._add(RouterNode("", "location", {"value": 0}, None, node.start))
        return self.place(source, lag + node.offset)

    def _add(self, node: Node) -> int:
        self.nodes.append(replace(node, name=f"V{len(self.nodes)}_unrolled"))
        return len(self.nodes) - 1


def at_age(formula: Expr, program: Recurrence, age: int) -> Expr:
    """A formula of the present and the past, where so many positions lie before the present."""
    table: dict[Var, Expr] = {}
    for variable in formula.variables():
        if variable.lag > age:
            start = program.start_of(variable.name)
            table[variable] = Var(variable.name, age) if start == "first" else Const(float(start))
    return formula.substitute(table) if table else formula
