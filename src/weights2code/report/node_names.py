"""How nodes are called: `x[t-1]` where a node is a plain delay of a column, else its number, `V5`."""

from __future__ import annotations

from weights2code.explain.explanation import RouterMatch
from weights2code.explain.operators import OperatorFit, node_variable
from weights2code.explain.routing import FixedOffset
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode, sources
from weights2code.language import Const, Expr, Var


def variable_of(graph: DiscreteGraph, routers: dict[int, RouterMatch], index: int) -> Var:
    """The column and lag that a node holds, or a variable of its own."""
    at, lag = index, 0
    while (offset := _offset(graph, routers, at)) is not None:
        node = graph.nodes[at]
        assert isinstance(node, RouterNode)
        at, lag = node.reads["value"], lag + offset
    if isinstance(graph.nodes[at], ChannelNode) and graph.layout.name != "concat":
        past = at - len(graph.inputs)
        return Var(graph.inputs[at], lag) if past < 0 else Var(graph.outputs[past], lag + 1)
    return node_variable(index)


def short_name(graph: DiscreteGraph, routers: dict[int, RouterMatch], index: int) -> str:
    """The same as text."""
    variable = variable_of(graph, routers, index)
    if variable == node_variable(index):
        return variable.name
    return f"{variable.name}[t-{variable.lag}]" if variable.lag else f"{variable.name}[t]"


def readable(graph: DiscreteGraph, routers: dict[int, RouterMatch], fit: OperatorFit, digits: int) -> Expr:
    """The formula of an operator in the names of what it reads, its constants rounded."""
    named = fit.formula.substitute({node_variable(o): variable_of(graph, routers, o) for o in fit.operands})
    return named.transform(lambda node: _rounded(node, digits) if isinstance(node, Const) else node)


def _rounded(constant: Const, digits: int) -> Const:
    value = constant.value
    return Const(float(f"{value:.{digits}g}")) if isinstance(value, float) else constant


def used_operands(graph: DiscreteGraph, index: int) -> tuple[int, ...]:
    """What a live node really reads: operands whose weights were pruned do not count."""
    node = graph.nodes[index]
    if isinstance(node, OperatorNode):
        kept = (o for slot, o in enumerate(node.operands) if node.hidden_weight[:, slot].any())
        return tuple(dict.fromkeys(kept))
    return tuple(dict.fromkeys(sources(node)))


def _offset(graph: DiscreteGraph, routers: dict[int, RouterMatch], index: int) -> int | None:
    """How far back a head reads, if that is all it does."""
    node, found = graph.nodes[index], routers.get(index)
    if found is not None and isinstance(found.hypothesis, FixedOffset):
        return found.hypothesis.offset
    return node.offset if isinstance(node, RouterNode) and node.kind == "location" else None
