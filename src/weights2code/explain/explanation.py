"""The explained graph: every live node with what it does and the evidence for it (paper, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.errors import NotExtracted
from weights2code.explain.operators import OperatorFit, explain_operator
from weights2code.explain.routing import Evidence, Hypothesis, compare_hypotheses, match
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode


@dataclass(frozen=True, slots=True, eq=False)
class RouterMatch:
    """A head and the hypothesis that it matched; None is an unmatched head.

    `runner_up` is the best of the hypotheses that were not taken.
    """

    hypothesis: Hypothesis | None
    evidence: Evidence | None
    runner_up: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedGraph:
    """A pruned graph, its live nodes, and for each of them a match or a formula."""

    graph: DiscreteGraph
    live: tuple[int, ...]
    routers: dict[int, RouterMatch]
    operators: dict[int, OperatorFit]


def match_routers(graph: DiscreteGraph, sequences: Sequences) -> dict[int, RouterMatch]:
    """Test the hypotheses on every live head."""
    values = stream_values(graph, sequences)
    matches: dict[int, RouterMatch] = {}
    for index in graph.live():
        node = graph.nodes[index]
        if isinstance(node, RouterNode):
            ranked = compare_hypotheses(node, values)
            best = match(node, values)
            other = ranked[1:2] if best else ranked[:1]
            text = "".join(f"{hypothesis.describe()} ({found.agreement:.3f})" for hypothesis, found in other)
            matches[index] = RouterMatch(*(best or (None, None)), text)
    return matches


def require_matches(graph: DiscreteGraph, matches: dict[int, RouterMatch]) -> None:
    """A live head that matches nothing is an honest failure, with the node named."""
    for index, found in matches.items():
        if found.hypothesis is None:
            name = graph.nodes[index].name
            raise NotExtracted(
                f"the live head {name} matches no routing hypothesis (best: {found.runner_up})."
            )


def explain(
    graph: DiscreteGraph,
    problem: Problem,
    sequences: Sequences,
    matches: dict[int, RouterMatch],
    budget: float,
) -> ExplainedGraph:
    """Formulas for every live operator, within `budget` seconds in all."""
    live = graph.live()
    values = stream_values(graph, sequences)
    operators = [index for index in live if isinstance(graph.nodes[index], OperatorNode)]
    fits = {
        index: explain_operator(graph, index, values, problem, budget / max(len(operators), 1))
        for index in operators
    }
    return ExplainedGraph(graph, live, matches, fits)


def stream_values(graph: DiscreteGraph, sequences: Sequences) -> np.ndarray:
    """The stream (n, T, nodes) on sequences, scaled."""
    channels = graph.layout.encode(sequences, np.float64).channels
    return graph.stream(channels.transpose(2, 1, 0))


@dataclass(frozen=True, slots=True)
class UnmatchedHead:
    """A head without a hypothesis, and why it does or does not matter (paper, appendix "Unmatched Heads")."""

    name: str
    best: str
    agreement: float
    magnitude: float
    readers: tuple[str, ...]
    head_weight: float
    live: bool


def unmatched_heads(graph: DiscreteGraph, sequences: Sequences) -> tuple[UnmatchedHead, ...]:
    """The paper's analysis: which heads match nothing, how large their output is, and who reads it.

    Works on any graph; on one that was not pruned it shows what pruning would remove.
    """
    values = stream_values(graph, sequences)
    live = set(graph.live())
    found = []
    for index, node in enumerate(graph.nodes):
        if isinstance(node, RouterNode) and match(node, values) is None:
            hypothesis, evidence = compare_hypotheses(node, values)[0]
            readers = tuple(
                other.name
                for other in graph.nodes
                if not isinstance(other, ChannelNode)
                and index in (other.operands if isinstance(other, OperatorNode) else other.reads.values())
            )
            found.append(
                UnmatchedHead(
                    node.name,
                    hypothesis.describe(),
                    evidence.agreement,
                    float(np.abs(values[..., index]).mean()),
                    readers,
                    float(np.abs(graph.head[:, index]).max()),
                    index in live,
                )
            )
    return tuple(found)
