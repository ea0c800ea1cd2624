"""How nodes are called: `x[t-1]` where a node is a plain delay of a column, else its number, `V5`."""

from __future__ import annotations

from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.operators import OperatorFit, node_variable
from weights2code.graph import ChannelNode, RouterNode
from weights2code.language import Const, Expr, Var
from weights2code.program.listing import hypothesis_of


def variable_of(explained: ExplainedGraph, index: int) -> Var:
    """The column and lag that a node holds, or a variable of its own."""
    graph, at, lag = explained.graph, index, 0
    node = graph.nodes[at]
    while isinstance(node, RouterNode):
        found = hypothesis_of(explained, at)
        back = found.lag() if found else None
        if back is None:
            return node_variable(index)
        at, lag = node.reads["value"], lag + back
        node = graph.nodes[at]
    if isinstance(node, ChannelNode) and graph.layout.name != "concat":
        past = at - len(graph.inputs)
        return Var(graph.inputs[at], lag) if past < 0 else Var(graph.outputs[past], lag + 1)
    return node_variable(index)


def short_name(explained: ExplainedGraph, index: int) -> str:
    """The same as text."""
    variable = variable_of(explained, index)
    return variable.name if variable == node_variable(index) else str(variable)


def readable(explained: ExplainedGraph, fit: OperatorFit, digits: int) -> Expr:
    """The formula of an operator in the names of what it reads, its constants rounded."""
    named = fit.formula.substitute({node_variable(o): variable_of(explained, o) for o in fit.operands})
    return named.transform(lambda node: _rounded(node, digits) if isinstance(node, Const) else node)


def _rounded(constant: Const, digits: int) -> Const:
    value = constant.value
    return Const(float(f"{value:.{digits}g}")) if isinstance(value, float) else constant
