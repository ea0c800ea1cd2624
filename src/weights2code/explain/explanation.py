"""The explained graph: every live node with what it does and the evidence for it (paper, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.errors import NotExtracted, Reason
from weights2code.explain.operators import OperatorFit, explain_operator
from weights2code.explain.routing import Evidence, Hypothesis, attended, compare_hypotheses, match
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode


@dataclass(frozen=True, slots=True, eq=False)
class RouterMatch:
    """A head and the hypothesis that it matched; None is an unmatched head.

    `runner_up` is the best of the hypotheses that were not taken. Of an unmatched head it is known at least
    which offsets it selects, `attended`.
    """

    hypothesis: Hypothesis | None
    evidence: Evidence | None
    runner_up: str = ""
    attended: tuple[int, ...] = ()


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
    first = first_positions(graph)
    for index in graph.live():
        node = graph.nodes[index]
        if isinstance(node, RouterNode):
            ranked = compare_hypotheses(node, values, first[index])
            best = match(node, values, first[index])
            other = ranked[1:2] if best else ranked[:1]
            text = "".join(f"{hypothesis.describe()} ({found.agreement:.3f})" for hypothesis, found in other)
            offsets = () if best else attended(node, values, first[index])
            matches[index] = RouterMatch(*(best or (None, None)), text, offsets)
    return matches


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


def unmatched(graph: DiscreteGraph, matches: dict[int, RouterMatch]) -> str:
    """What is to be said of the first live head that matches nothing; empty if there is none."""
    for index, found in matches.items():
        if found.hypothesis is None:
            name = graph.nodes[index].name
            return f"the live head {name} matches no routing hypothesis (best: {found.runner_up})"
    return ""


def require_matches(graph: DiscreteGraph, matches: dict[int, RouterMatch]) -> None:
    """A live head that matches nothing is an honest failure, with the node named."""
    problem = unmatched(graph, matches)
    if problem:
        raise NotExtracted(f"{problem}.", Reason.UNMATCHED)


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

    Works on any graph; on one that was not pruned it shows what pruning would remove. Heads are judged
    where they have an effect, as `match_routers` does.
    """
    values = stream_values(graph, sequences)
    live, first = set(graph.live()), first_positions(graph)
    found = []
    for index, node in enumerate(graph.nodes):
        if isinstance(node, RouterNode) and match(node, values, first[index]) is None:
            hypothesis, evidence = compare_hypotheses(node, values, first[index])[0]
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
