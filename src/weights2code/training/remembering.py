"""Rungs with a memory that the data chose: heads over everything so far first, then layers as usual.

What a memory gives is known before training (`memories.py`), so it is one more column while the layers above
are trained. In the network that is kept the column is what it stands for, a head: it reads the columns, some
of them a few steps back or through a sub-MLP, and everything else comes in the layers above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from weights2code.data import Layout, Problem, Sequences, fit_layout
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.graph.from_model import graph_of
from weights2code.graph.graph import channel_scales
from weights2code.graph.to_model import model_of_all
from weights2code.heads import COUNTS, EQUALITY_SHARPNESS, FORBIDDEN, sharpness_for
from weights2code.language import infer
from weights2code.language.operators import order_of, ordered
from weights2code.model import DiscreteTransformer
from weights2code.training.delays import delayed
from weights2code.training.functions import operator, table
from weights2code.training.ladder import MOST_OPERANDS, Rung
from weights2code.training.memories import ONE, POSITION, TOTAL, Memory, Place, Quantity
from weights2code.training.neighbours import near_rows
from weights2code.training.orders import orders
from weights2code.training.remembered import Remembered
from weights2code.training.repeats import repeated_rows, windows_are_enough, without_outputs

#: Sets of memories that are trained with, at most.
MOST_TRIED = 3
#: Equality heads prefer the null slot to a key that differs by less than this score.
NULL_SCORE = -10.0


@dataclass(frozen=True, slots=True, eq=False)
class Above:
    """A rung over some memories, and the `problem` that it is trained on: memories are inputs there."""

    rung: Rung
    problem: Problem
    memories: tuple[Memory, ...]
    original: Problem

    @property
    def sums(self) -> bool:
        """Whether something is added up, without end."""
        return any(memory.kind in ("sum", "mean", *COUNTS) for memory in self.memories)

    def kept(self, model: DiscreteTransformer, layout: Layout) -> dict[str, Any]:
        """The model with heads in the place of the further inputs, and its layout."""
        own = outer_layout(self.original, layout)
        sharpness = sharpness_of(self.original, own, self.memories)
        graphs = [
            with_heads(
                graph_of(model, member, layout, self.problem), self.original, own, self.memories, sharpness
            )
            for member in range(model.members)
        ]
        whole = model_of_all(graphs, model.architecture.window, model.value_range, sharpness)
        return {"model": whole.to(model.head.device), "layout": own}


@dataclass(slots=True, eq=False)
class Memories:
    """The memories that the data of a problem ask for, found when they are needed: those that make up for
    what windows lack, or those that make up for past outputs."""

    problem: Problem
    past: bool = True
    _coming: Iterator[Remembered] | None = None
    _found: list[Remembered] = field(default_factory=list)

    def sets(self) -> Iterator[Remembered]:
        """No set twice, and no more than can be trained with."""
        yield from self._found
        if self._coming is None:
            asked = (orders, repeated_rows, near_rows) if self.past else (without_outputs,)
            nothing = self.past and windows_are_enough(self.problem)
            late = (delayed(self.problem, ask) for ask in asked if not nothing)
            self._coming = chain.from_iterable(chain(late, (ask(self.problem) for ask in asked)))
        for remembered in self._coming if len(self._found) < MOST_TRIED else ():
            known = any(remembered.memories == other.memories for other in self._found)
            if not known and len(remembered.leaves) <= MOST_OPERANDS:
                self._found.append(remembered)
                yield remembered
            if len(self._found) == MOST_TRIED:
                return

    def rungs(self, rung: Rung) -> Iterator[Above]:
        """What a rung of the ladder is with memories: a window on all that is needed, for each set of them.
        Nothing where nothing must be remembered."""
        layout = outer_layout(self.problem, Layout(rung.layout, (1.0,), (1.0,)))
        for remembered in self.sets():
            if not all(comparable(memory, layout) for memory in remembered.memories):
                continue
            wide = widened(self.problem, remembered.memories)
            window = window_on(remembered.leaves, wide, rung)
            yield Above(window, wide, remembered.memories, self.problem)


def window_on(leaves: tuple[Place, ...], problem: Problem, like: Rung) -> Rung:
    """A rung that reads these values of a widened problem, all of them together."""
    inputs = len(problem.inputs)
    read = tuple((column, lag - (column >= inputs)) for column, lag in leaves)
    sizes = {
        **like.sizes,
        "layers": 1,
        "location": sum(offset > 0 for _, offset in read),
        "arity": len(read),
        "submlps": len(problem.outputs),
    }
    return replace(like, sizes=sizes, leaves=read, kind="window")


def widened(problem: Problem, memories: tuple[Memory, ...]) -> Problem:
    """The problem with what is remembered as further inputs."""

    def wider(sequences: Sequences) -> Sequences:
        more = np.stack([memory.values(sequences) for memory in memories], axis=-1)
        more[~sequences.valid] = 0.0
        return replace(sequences, x=np.concatenate([sequences.x, more], 2))

    training, validation = wider(problem.training), wider(problem.validation)
    names = tuple(f"remembered{place}" for place in range(len(memories)))
    first = len(problem.inputs)
    domains = tuple(infer(training.x[..., first + place][training.valid]) for place in range(len(memories)))
    return replace(
        problem,
        inputs=(*problem.inputs, *names),
        domains=(*problem.domains, *domains),
        training=training,
        validation=validation,
        held_out=None,
        beginnings=None,
        rows=None,
    )


def outer_layout(problem: Problem, layout: Layout) -> Layout:
    """The layout of the network without the further inputs."""
    return fit_layout(layout.name, problem.training, layout.first_scored)


def comparable(memory: Memory, layout: Layout) -> bool:
    """Whether a head can compare what the memory compares: both must have the same unit."""
    if memory.key is None:
        return True
    scales = channel_scales(layout)
    return _unit(memory.key, scales) == _unit(memory.query or memory.value, scales)


def _unit(quantity: Quantity, scales: tuple[float, ...]) -> float:
    return 1.0 if quantity.computed else scales[quantity.places[0][0]]


def sharpness_of(problem: Problem, layout: Layout, memories: tuple[Memory, ...]) -> float:
    """How sharply equality heads must compare."""
    scales, found = channel_scales(layout), EQUALITY_SHARPNESS
    for memory in memories:
        for quantity in (memory.key, memory.query):
            if quantity is not None:
                for part in (problem.training, problem.validation):
                    values = quantity.values(part)[part.valid] / _unit(quantity, scales)
                    found = max(found, sharpness_for(values))
    return found


@dataclass(slots=True)
class _Nodes:
    """Nodes under construction, after the channels of a layout."""

    layout: Layout
    inputs: int
    window: int
    sharpness: float
    ranges: dict[int, tuple[float, float]]
    whole: frozenset[int]
    nodes: list[Node] = field(default_factory=list)
    _known: dict[Quantity, int] = field(default_factory=dict)

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def place(self, place: Place, before: float) -> int:
        column, lag = place
        offset = lag - (column >= self.inputs)
        if not offset:
            return column
        start = before / channel_scales(self.layout)[column]
        return self.add(RouterNode("", "location", {"value": column}, offset, start))

    def quantity(self, quantity: Quantity) -> int:
        if quantity not in self._known:
            if quantity.function in (POSITION, TOTAL):
                summed = self.quantity(
                    replace(quantity, function=ONE if quantity.function == POSITION else None)
                )
                self._known[quantity] = self.add(RouterNode("", "sum", {"value": summed}))
                return self._known[quantity]
            if quantity.beyond is not None:
                self._known[quantity] = self._beyond(quantity, *quantity.beyond)
                return self._known[quantity]
            places = [self.place(place, quantity.before) for place in quantity.places]
            scales = channel_scales(self.layout)
            units = [scales[column] for column, _ in quantity.places]
            ranges = [self.ranges[column] for column, _ in quantity.places]
            whole = all(column in self.whole for column, _ in quantity.places)
            if quantity.levels:
                self._known[quantity] = self.add(table(quantity.levels, tuple(places), units))
            elif quantity.function is None:
                self._known[quantity] = places[0]
            elif (order := order_of(quantity.function)) is not None:
                given = list(zip(places, units, strict=True))
                self._known[quantity] = ordered(given, order[0], self._lesser, self._greater)[0]
            else:
                node = operator(quantity.function, tuple(places), units, ranges, whole=whole)
                self._known[quantity] = self.add(node)
        return self._known[quantity]

    def _lesser(self, one: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
        return self._of_two("smaller", one, other)

    def _greater(self, one: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
        return self._of_two("larger", one, other)

    def _of_two(self, function: str, *given: tuple[int, float]) -> tuple[int, float]:
        """A node for a function of two nodes, each with what its unit is; its own is one."""
        nodes, units = zip(*given, strict=True)
        return self.add(operator(function, nodes, list(units), [])), 1.0

    def _beyond(self, quantity: Quantity, kind: str, count: int) -> int:
        """The last extremum of what is left, one step back, and what a new value leaves of it."""
        column = quantity.places[0][0]
        value, unit = self.place(quantity.places[0], quantity.before), channel_scales(self.layout)[column]
        for _ in range(count):
            best = self.add(RouterNode("", "max" if kind == "max" else "min", {"value": value}))
            last = self.add(RouterNode("", "location", {"value": best}, 1, quantity.before / unit))
            other = self._lesser if kind == "max" else self._greater
            value, unit = other((last, unit), (value, unit))
        return value

    def memory(self, memory: Memory) -> int:
        value = self.quantity(memory.value)
        if memory.kind in COUNTS and memory.key is not None:
            return self.add(RouterNode("", memory.kind, {"key": self.quantity(memory.key), "value": value}))
        if memory.kind == "location":
            return value
        if memory.key is None or memory.query is None:
            return self.add(RouterNode("", memory.kind, {"value": value}))
        bias = np.zeros(self.window)
        bias[: memory.gap] = -FORBIDDEN
        reads = {"query": self.quantity(memory.query), "key": self.quantity(memory.key), "value": value}
        return self.add(
            RouterNode(
                "",
                memory.kind,
                reads,
                relative_bias=bias,
                null_score=NULL_SCORE,
                sharpness=self.sharpness,
            )
        )


def with_heads(
    graph: DiscreteGraph, problem: Problem, layout: Layout, memories: tuple[Memory, ...], sharpness: float
) -> DiscreteGraph:
    """The network of a widened problem with heads in the place of the further inputs.

    Columns and memories may have other units in it; weights make up for that. Its nodes are not in layers
    yet (`graph.to_model`).
    """
    inputs, more, channels = len(problem.inputs), len(memories), graph.layout.channels
    window = max([2, *((node.offset or 0) + 1 for node in graph.nodes if isinstance(node, RouterNode))])
    values = np.concatenate([problem.training.x, problem.training.y], 2)[problem.training.valid]
    ranges = {
        column: (min(0.0, float(own.min())), max(0.0, float(own.max())))
        for column, own in enumerate(values.T)
    }
    domains = enumerate((*problem.domains, *problem.output_domains))
    whole = frozenset(column for column, domain in domains if domain.discrete)
    made = _Nodes(layout, inputs, window, sharpness, ranges, whole)
    moved: dict[int, int] = {}
    for index in (*range(inputs), *range(inputs + more, channels)):
        node = graph.nodes[index]
        assert isinstance(node, ChannelNode)
        moved[index] = made.add(replace(node, name=f"V{len(made.nodes)}_input"))
    for place, memory in enumerate(memories):
        moved[inputs + place] = made.memory(memory)
    factors = _factors(graph, made, moved)
    for index in range(channels, len(graph.nodes)):
        node = graph.nodes[index]
        if isinstance(node, RouterNode):
            source = node.reads["value"]
            factors[index] = factors[source]
            start = node.start / factors[source]
            moved[index] = made.add(replace(node, reads={"value": moved[source]}, start=start))
        else:
            assert isinstance(node, OperatorNode)
            factors[index] = 1.0
            weight = node.hidden_weight * np.array([factors[operand] for operand in node.operands])
            operands = tuple(moved[operand] for operand in node.operands)
            moved[index] = made.add(replace(node, operands=operands, hidden_weight=weight))
    head = np.zeros((len(graph.head), len(made.nodes) + 1))
    head[:, -1] = graph.head[:, -1]
    for index, place in moved.items():
        head[:, place] = graph.head[:, index] * factors[index]
    return DiscreteGraph(tuple(made.nodes), head, layout, problem.inputs, problem.outputs, graph.length)


def _factors(graph: DiscreteGraph, made: _Nodes, moved: dict[int, int]) -> dict[int, float]:
    """What the new values of channels and memories are multiplied by to be the old ones."""
    so_far = DiscreteGraph(
        tuple(made.nodes), np.zeros((0, len(made.nodes) + 1)), made.layout, (), (), graph.length
    )
    old, new = graph.units(), so_far.units()
    return {index: float(new[place] / old[index]) for index, place in moved.items()}
