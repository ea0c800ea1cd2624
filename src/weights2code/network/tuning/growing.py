"""Values that grow with the length are added up by the head; sub-MLPs see differences of them only.

What a sub-MLP makes of a value is right in the range that was seen, at most. Past outputs and sums leave any
range. So they enter by the head's weights, and what a sub-MLP makes of them must not change if the same is
added to all copies of one value at different times.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Sequences
from weights2code.graph import DiscreteGraph, OperatorNode, RouterNode
from weights2code.network.tuning.tuned import Tuned
from weights2code.network.tuning.weights import Groups, direct_operators, past_channels, steady

#: A value grows if it is so much larger in the last third of a sequence than in the middle.
GROWTH = 1.2
#: A weight of the head that is to be solved for.
UNREAD = 1e-9


def growing_nodes(graph: DiscreteGraph, sequences: Sequences) -> Groups:
    """Past outputs and sums whose size grows with the position, each with its copies at other times.

    What a sub-MLP makes of them is right in the range that was seen at most. What grows should be added up by
    the head, and sub-MLPs should see differences only.
    """
    channels, _, scored = graph.encode(sequences)
    size = np.where(scored[..., None], np.abs(graph.stream(channels)), 0.0).max(axis=0, initial=0.0)
    third = len(size) // 3
    if not third or graph.layout.name == "concat":
        return ()
    grows = size[-third:].max(axis=0) > GROWTH * np.maximum(size[third : 2 * third].max(axis=0), 1e-300)
    groups: dict[int, set[int]] = {}
    for index, node in enumerate(graph.nodes):
        if isinstance(node, RouterNode) and node.kind == "location":
            base = node.reads["value"]
            if base in groups:
                groups[base].add(index)
        elif grows[index] and (
            index in past_channels(graph) or (isinstance(node, RouterNode) and node.kind == "sum")
        ):
            groups[index] = {index}
    return tuple(frozenset(group) for group in groups.values())


def depends_on_growing(graph: DiscreteGraph, growing: Groups) -> bool:
    """Whether a sub-MLP that feeds the head changes with what grows."""
    for index in direct_operators(graph):
        node = graph.nodes[index]
        assert isinstance(node, OperatorNode)
        changed = node.hidden_weight @ (np.eye(len(node.operands)) - steady(node, growing))
        if np.abs(changed).max(initial=0.0) > 1e-9 * np.abs(node.hidden_weight).max(initial=0.0):
            return True
    return False


def held_apart(tuned: Tuned, growing: Groups) -> Tuned:
    """The graph with what grows read by the head, and seen by its sub-MLPs in differences only."""
    graph = tuned.graph
    nodes, head, live = list(graph.nodes), graph.head.copy(), graph.live()
    for index in direct_operators(graph):
        node = nodes[index]
        assert isinstance(node, OperatorNode)
        kept, used = steady(node, growing), node.hidden_weight.any(0)
        weight = node.hidden_weight @ kept
        weight[np.abs(weight) <= 1e-12 * np.abs(weight).max(initial=0.0)] = 0.0
        lost = used & ~weight.any(0)
        weight[0] += kept @ np.where(
            lost, np.arange(1.0, weight.shape[1] + 1), 0.0
        )  # differences can be seen still
        nodes[index] = replace(node, hidden_weight=weight)
    read = [index for group in growing for index in group if index in live]
    head[:, read] = np.where(head[:, read] == 0, UNREAD, head[:, read])
    return replace(tuned.other(replace(graph, nodes=tuple(nodes), head=head)), growing=growing)
