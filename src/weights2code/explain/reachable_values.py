"""Which values occur together: every situation that a network of fixed offsets can come to.

What such a network gives depends on the last inputs and on its own last outputs. From the start, every input
is tried in every situation, until no new one turns up. Then nothing else can occur, at any length, and a
table of what did occur has every row that it needs.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from weights2code.data import Problem
from weights2code.explain.possible_values import BORDER, needed_nodes
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode

#: Situations, each with every input, up to which a network is explored.
MOST_SITUATIONS = 60_000
#: What lies before the start.
NOTHING = np.inf


def reachable_values(graph: DiscreteGraph, problem: Problem) -> np.ndarray | None:
    """The nodes' values (situations, nodes) in the user's units, every situation once with every input.

    None if the network is of another kind, or if there are too many. Of operators the values are those of
    float64, of all other nodes they are exact.
    """
    inputs = _inputs(graph, problem)
    return None if inputs is None else _Exploration(graph, inputs).run()


def _inputs(graph: DiscreteGraph, problem: Problem) -> np.ndarray | None:
    """Every input (inputs, columns), if they are finite and the network is one of fixed offsets."""
    live, columns = needed_nodes(graph), len(graph.inputs)
    powers_of_two = np.frexp(graph.units())[0] == 0.5
    if graph.layout.name == "concat" or not powers_of_two.all():
        return None
    for index in live:
        if columns <= index < graph.layout.channels and not problem.integer_outputs:
            return None
        node = graph.nodes[index]
        if isinstance(node, RouterNode):
            computed = isinstance(graph.nodes[node.reads["value"]], OperatorNode)
            if node.kind != "location" or computed:
                return None
    count = 1
    for column, domain in enumerate(problem.domains):
        count *= 1 if column not in live else domain.size if domain.discrete else MOST_SITUATIONS + 1
    if count > MOST_SITUATIONS:
        return None
    values = [d.values() if column in live else [0.0] for column, d in enumerate(problem.domains)]
    return np.array(list(product(*values)), float)


class _Exploration:
    """The situations of one graph: what some nodes held some steps ago, and the past outputs."""

    def __init__(self, graph: DiscreteGraph, inputs: np.ndarray) -> None:
        self.graph, self.live, self.units = graph, needed_nodes(graph), graph.units()
        self.inputs = inputs / self.units[: inputs.shape[1]]
        depths: dict[int, int] = {}
        for index in self.live:
            node = graph.nodes[index]
            if isinstance(node, RouterNode) and node.offset:
                source = node.reads["value"]
                depths[source] = max(depths.get(source, 0), node.offset)
        self.history = {
            pair: place
            for place, pair in enumerate((s, back) for s in depths for back in range(1, depths[s] + 1))
        }
        past = range(inputs.shape[1], graph.layout.channels)
        self.past = [index for index in past if index in self.live]

    def run(self) -> np.ndarray | None:
        starts = [node.start for i in self.past if isinstance(node := self.graph.nodes[i], ChannelNode)]
        frontier = np.array([[NOTHING] * len(self.history) + starts]) + 0.0
        seen = {frontier[0].tobytes()}
        found, count = [], 0
        while len(frontier):
            count += len(frontier) * len(self.inputs)
            if count > MOST_SITUATIONS:
                return None
            situations = np.repeat(frontier, len(self.inputs), axis=0)
            values = self._values(situations, np.tile(self.inputs, (len(frontier), 1)))
            after = self._after(situations, values)
            if after is None:
                return None
            found.append(values * self.units)
            fresh = []
            for row in np.unique(after, axis=0):
                if row.tobytes() not in seen:
                    seen.add(row.tobytes())
                    fresh.append(row)
            frontier = np.array(fresh)
        return np.concatenate(found)

    def _values(self, situations: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """The stream (rows, nodes), scaled."""
        values = np.zeros((1, len(inputs), len(self.graph.nodes)))
        stream = values[0]
        stream[:, : inputs.shape[1]] = inputs
        stream[:, self.past] = situations[:, len(self.history) :]
        for index in self.live:
            node = self.graph.nodes[index]
            if isinstance(node, OperatorNode):
                stream[:, index] = node.compute(values)[0]
            elif isinstance(node, RouterNode):
                source = node.reads["value"]
                if node.offset is None:
                    stream[:, index] = node.start
                elif node.offset == 0:
                    stream[:, index] = stream[:, source]
                else:
                    held = situations[:, self.history[source, node.offset]]
                    stream[:, index] = np.where(np.isinf(held), node.start, held)
        return stream + 0.0

    def _after(self, situations: np.ndarray, values: np.ndarray) -> np.ndarray | None:
        """The situations one step on; None where an output is no number, or may be rounded either way."""
        after = np.empty_like(situations)
        for (source, back), place in self.history.items():
            newer = self.history.get((source, back - 1))
            after[:, place] = values[:, source] if newer is None else situations[:, newer]
        scales, first = np.array(self.graph.layout.output_scales), self.inputs.shape[1]
        for place, index in enumerate(self.past, len(self.history)):
            row = self.graph.head[index - first]
            output = (values @ row[:-1] + row[-1]) * scales[index - first]
            if not np.isfinite(output).all() or (np.abs(output % 1 - 0.5) < BORDER).any():
                return None
            after[:, place] = np.round(output) / scales[index - first]
        return after + 0.0
