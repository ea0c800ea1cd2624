"""What values can occur: a listing may leave out only what no input and no past output can show.

Inputs hold what their domain says. Past outputs are what the network gives, rounded where they are whole
numbers: a set that no step leaves, whatever the inputs, is found by trying all combinations of what the nodes
below the operators can hold. What is not known to be bounded may be anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from weights2code.data import Problem
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode

#: A set of values is told one by one up to so many, and so many combinations of them are tried.
MOST_VALUES = 1000
MOST_COMBINATIONS = 100_000
#: Rounds in which the values of past outputs may still grow, and the values that they may have.
ROUNDS = 8
MOST_OUTPUTS = 60
#: An output so near to the border of two whole numbers may be rounded to either.
BORDER = 1e-6


@dataclass(frozen=True, slots=True)
class Possible:
    """What a value may be: between `low` and `high`, and one of `values` where they can be told."""

    low: float = -inf
    high: float = inf
    values: tuple[float, ...] | None = None

    @staticmethod
    def of(values: set[float]) -> Possible:
        values = {float(value) for value in values}
        return Possible(min(values), max(values), tuple(sorted(values)))

    def with_value(self, value: float) -> Possible:
        """The same, or this value."""
        low, high = min(self.low, value), max(self.high, value)
        if self.values is None or value in self.values:
            return Possible(low, high, self.values)
        return Possible(low, high, tuple(sorted({*self.values, value})))

    def hull(self) -> Possible:
        """Between the same bounds, and any value."""
        return Possible(self.low, self.high)

    def added_up(self) -> Possible:
        """What the sum of one or more of them may be."""
        return Possible(self.low if self.low >= 0 else -inf, self.high if self.high <= 0 else inf)


def combinations(values: list[tuple[float, ...]]) -> np.ndarray | None:
    """Every combination of so many sets of values, one a row; None if they are too many."""
    count = 1
    for some in values:
        count *= len(some)
    if count > MOST_COMBINATIONS:
        return None
    if not values:
        return np.zeros((1, 0))
    return np.stack(np.meshgrid(*values, indexing="ij"), -1).reshape(count, len(values)).astype(float)


def needed_nodes(graph: DiscreteGraph) -> tuple[int, ...]:
    """The live nodes, less those of which an operator reads nothing."""
    pending = {int(index) for index in np.flatnonzero(np.any(graph.head[:, :-1] != 0, axis=0))}
    needed: set[int] = set()
    while pending:
        index = pending.pop()
        needed.add(index)
        pending |= set(graph.nodes[index].used()) - needed
    return tuple(sorted(needed))


def possible_channels(
    graph: DiscreteGraph, problem: Problem, reached: np.ndarray | None = None
) -> list[Possible]:
    """What each channel may hold, in the user's units; `reached` are all values (rows, nodes) that occur.

    Reals of own data may lie outside of those that were seen. In `concat` a token is now an input and now
    an output, and nothing is known of it.
    """
    if graph.layout.name == "concat":
        return [Possible()] * graph.layout.channels
    channels = []
    for domain in problem.domains:
        if domain.discrete and domain.size <= MOST_VALUES:
            channels.append(Possible.of(set(domain.values().tolist())))
        elif domain.discrete or problem.reference is not None:
            channels.append(Possible(domain.low, domain.high))
        else:
            channels.append(Possible())
    past = graph.layout.channels - len(channels)
    if reached is not None:
        found = reached[:, len(channels) : graph.layout.channels].T
        return channels + [Possible.of(set(column.tolist())) for column in found]
    if past and problem.integer_outputs and _read_by_operators(graph, len(channels)):
        return channels + (_past_outputs(graph, channels, problem) or [Possible()] * past)
    return channels + [Possible()] * past


def _read_by_operators(graph: DiscreteGraph, first: int) -> bool:
    """Whether an operator depends on a past output: else nobody asks what it may be."""
    reached = set(range(first, graph.layout.channels))
    for index in needed_nodes(graph):
        node = graph.nodes[index]
        if not isinstance(node, ChannelNode) and reached & set(node.used()):
            reached.add(index)
    return any(isinstance(graph.nodes[index], OperatorNode) for index in reached)


def _past_outputs(graph: DiscreteGraph, inputs: list[Possible], problem: Problem) -> list[Possible] | None:
    """Sets of past outputs that no step leaves; None if none is found."""
    units = graph.units()
    sets: list[set[float]] = []
    for output, domain in enumerate(problem.output_domains):
        if domain.size > MOST_OUTPUTS:
            return None
        node = graph.nodes[len(inputs) + output]
        assert isinstance(node, ChannelNode)
        sets.append({*domain.values().tolist(), node.start * float(units[len(inputs) + output])})
    for _ in range(ROUNDS):
        outputs = _outputs(graph, [*inputs, *map(Possible.of, sets)])
        if outputs is None or not np.isfinite(outputs).all():
            return None
        grown = False
        for known, column in zip(sets, outputs.T, strict=True):
            rounded = set(np.round(np.concatenate([column - BORDER, column + BORDER])).tolist())
            grown = grown or not rounded <= known
            known |= rounded
        if not grown:
            return [Possible.of(known) for known in sets]
        if max(map(len, sets)) > MOST_OUTPUTS:
            return None
    return None


def _outputs(graph: DiscreteGraph, channels: list[Possible]) -> np.ndarray | None:
    """The outputs for every combination of what channels and heads can hold, (combinations, outputs).

    More than can occur together: heads are taken to hold anything that they can hold alone.
    """
    units, live = graph.units(), needed_nodes(graph)
    possible = dict(enumerate(channels))
    for index in live:
        node = graph.nodes[index]
        if not isinstance(node, RouterNode):
            continue
        source = possible.get(node.reads["value"])
        if source is None or node.kind in ("mean", "sum") or node.facts.relation or node.facts.own:
            return None
        unit = float(units[index])
        if node.kind == "location":
            start = node.start * unit
            null = node.offset is None
            possible[index] = Possible.of({start}) if null else source.with_value(start)
        else:
            possible[index] = source.with_value(0.0) if node.facts.seeks else source
    chosen = [index for index in live if index in possible]
    values = [possible[index].values for index in chosen]
    if any(some is None for some in values):
        return None
    rows = combinations([some for some in values if some is not None])
    if rows is None or not np.isfinite(rows).all():
        return None
    outputs = []
    for part in np.array_split(rows, len(rows) // 20_000 + 1):
        stream = np.zeros((1, len(part), len(graph.nodes)))
        stream[0][:, chosen] = part / units[chosen]
        for index in live:
            node = graph.nodes[index]
            if isinstance(node, OperatorNode):
                stream[..., index] = node.compute(stream)
        outputs.append(stream[0] @ graph.head[:, :-1].T + graph.head[:, -1])
    return np.concatenate(outputs) * np.array(graph.layout.output_scales)
