"""The explained graph: every live node with what it does and the evidence for it (paper, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.errors import NotExtracted, Reason
from weights2code.explain.operators import OperatorFit, explain_operator
from weights2code.explain.routing import RouterMatch, match
from weights2code.graph import DiscreteGraph, OperatorNode, RouterNode


@dataclass(frozen=True, slots=True, eq=False)
class MatchedGraph:
    """A pruned graph and what its live heads do on some sequences; made once, by `match_heads`.

    `values` is the stream (n, T, nodes), scaled, that they were tested on.
    """

    graph: DiscreteGraph
    sequences: Sequences
    values: np.ndarray
    routers: dict[int, RouterMatch]

    @property
    def finite(self) -> bool:
        """Whether every live node gives numbers, and none that is infinite."""
        return bool(np.isfinite(self.values[..., list(self.graph.live())]).all())

    def unmatched(self) -> str:
        """What is to be said of the first live head that matches nothing; empty if there is none."""
        for index, found in self.routers.items():
            if found.hypothesis is None:
                name = self.graph.nodes[index].name
                return f"the live head {name} matches no routing hypothesis (best: {found.runner_up_words})"
        return ""

    def require(self) -> None:
        """A live head that matches nothing is an honest failure, with the node named."""
        if problem := self.unmatched():
            raise NotExtracted(f"{problem}.", Reason.UNMATCHED)

    def explain(self, problem: Problem, effort: float) -> ExplainedGraph:
        """Formulas for every live operator, with so much effort in all."""
        nodes = self.graph.nodes
        operators = [index for index in self.graph.live() if isinstance(nodes[index], OperatorNode)]
        share = effort / max(len(operators), 1)
        fits = {
            index: explain_operator(self.graph, index, self.values, problem, share) for index in operators
        }
        return ExplainedGraph(self.graph, self.routers, fits)


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedGraph:
    """A pruned graph, and for each of its live nodes a match or a formula."""

    graph: DiscreteGraph
    routers: dict[int, RouterMatch]
    operators: dict[int, OperatorFit]


def match_heads(graph: DiscreteGraph, sequences: Sequences, *, dead: bool = False) -> MatchedGraph:
    """Test the hypotheses on every live head, and on those that nobody needs if asked."""
    values, first = stream_values(graph, sequences), first_positions(graph)
    routers = {
        index: match(node, values, first[index])
        for index in (range(len(graph.nodes)) if dead else graph.live())
        if isinstance(node := graph.nodes[index], RouterNode)
    }
    return MatchedGraph(graph, sequences, values, routers)


def first_positions(graph: DiscreteGraph) -> dict[int, int]:
    """For every node the first position at which its value has an effect.

    In `concat` the outputs are read off the last positions only. What another head looks up may lie
    anywhere; everything else acts where it stands.
    """
    scored = graph.length - 1 + graph.layout.first_scored if graph.layout.name == "concat" else 0
    first = dict.fromkeys(range(len(graph.nodes)), scored)
    for index in reversed(graph.live()):
        node = graph.nodes[index]
        if isinstance(node, OperatorNode):
            for operand in node.operands:
                first[operand] = min(first[operand], first[index])
        elif isinstance(node, RouterNode):
            for role, source in node.reads.items():
                first[source] = min(first[source], first[index] if role == "query" else 0)
    return first


def stream_values(graph: DiscreteGraph, sequences: Sequences) -> np.ndarray:
    """The stream (n, T, nodes) on sequences, scaled."""
    return graph.stream(graph.encode(sequences)[0])
