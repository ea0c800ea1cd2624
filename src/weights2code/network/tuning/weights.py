"""The weights of a graph as one vector, and what its outputs do when they change.

Choices are fixed. What may change are the weights of live sub-MLPs (those of pruned operands stay zero), the
entries of the head that are not zero, and, where asked for, what lies before the start. Derivatives go
forward, node by node: a router moves those of the value that it reads as it moves the value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode

#: What kinds of weights there are: of hidden units, of what is made of them, of the head, and starts.
Part = str
#: Which sub-MLPs may change: all that are live, those that feed the head and nothing else, or none.
Which = Literal["all", "direct", "none"]
#: Nodes that grow with the length, those together that hold the same value at different times.
Groups = tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What a graph is tuned on: streams (n, T, nodes) whose settled nodes hold their values, what is wanted
    (n, T, outputs), scaled, and at which positions (n, T)."""

    values: np.ndarray
    wanted: np.ndarray
    scored: np.ndarray

    def take(self, index: np.ndarray) -> Rows:
        return Rows(self.values[index], self.wanted[index], self.scored[index])


@dataclass(frozen=True, slots=True)
class Block:
    """Some weights in the vector: `first` to `last`, of one part of one node (None is the head)."""

    part: Part
    node: int | None
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Where each weight of a graph lies in the vector; `moving` are the nodes that depend on some of it."""

    graph: DiscreteGraph
    blocks: tuple[Block, ...]
    moving: frozenset[int]
    size: int
    growing: Groups = ()

    @staticmethod
    def of(
        graph: DiscreteGraph, operators: Which = "all", *, starts: bool = False, growing: Groups = ()
    ) -> Weights:
        """The weights of the head and of sub-MLPs: of all, of those that feed the head alone, or of none.

        Where nodes are `growing` together, what sub-MLPs that feed the head make of them must not change if
        the same is added to all of a group.
        """
        free = {"all": graph.live(), "direct": direct_operators(graph), "none": []}[operators]
        blocks: list[Block] = []
        moving: set[int] = set()
        place = 0

        def add(part: Part, node: int | None, count: int) -> None:
            nonlocal place
            blocks.append(Block(part, node, place, place + count))
            place += count

        past = past_channels(graph)
        for index in graph.live():
            node = graph.nodes[index]
            if isinstance(node, OperatorNode) and index in free:
                hidden, operands = len(node.hidden_bias), len(_slots(node))
                add("hidden", index, hidden * (operands + 1))
                add("output", index, hidden + 1)
                moving.add(index)
            elif starts and (index in past or (isinstance(node, RouterNode) and node.kind == "location")):
                add("start", index, 1)
                moving.add(index)
            elif any(source in moving for source in node.sources()):
                moving.add(index)
        add("head", None, int(_head_mask(graph).sum()))
        return Weights(graph, tuple(blocks), frozenset(moving), place, growing)

    def vector(self) -> np.ndarray:
        """The weights as they are."""
        parts: list[np.ndarray] = []
        for block in self.blocks:
            if block.node is None:
                parts.append(self.graph.head[_head_mask(self.graph)])
                continue
            node = self.graph.nodes[block.node]
            if isinstance(node, OperatorNode):
                if block.part == "hidden":
                    parts += [node.hidden_weight[:, _slots(node)].ravel(), node.hidden_bias]
                else:
                    parts += [node.output_weight, np.array([node.output_bias])]
            else:
                parts.append(np.array([node.start]))
        return np.concatenate(parts)

    def with_vector(self, vector: np.ndarray) -> DiscreteGraph:
        """The graph with other weights."""
        nodes: list[Node] = list(self.graph.nodes)
        head = self.graph.head.copy()
        for block in self.blocks:
            own = vector[block.first : block.last]
            if block.node is None:
                head[_head_mask(self.graph)] = own
                continue
            node = nodes[block.node]
            if not isinstance(node, OperatorNode):
                nodes[block.node] = replace(node, start=float(own[0]))
            elif block.part == "hidden":
                hidden = len(node.hidden_bias)
                weight = node.hidden_weight.copy()
                weight[:, _slots(node)] = own[:-hidden].reshape(hidden, -1)
                nodes[block.node] = replace(node, hidden_weight=weight, hidden_bias=own[-hidden:].copy())
            else:
                nodes[block.node] = replace(node, output_weight=own[:-1].copy(), output_bias=float(own[-1]))
        return replace(self.graph, nodes=tuple(nodes), head=head)

    def linear(self) -> np.ndarray:
        """Which weights the outputs are linear in, all at once: those of the head, except that where a
        sub-MLP feeds nothing else, its own output weights stand for its weight there."""
        chosen = np.zeros(self.size, bool)
        free = {block.node for block in self.blocks if block.part == "output"}
        direct = [index for index in direct_operators(self.graph) if index in free]
        for block in self.blocks:
            if block.part == "output" and block.node in direct:
                chosen[block.first : block.last] = True
            if block.node is None:
                columns = np.nonzero(_head_mask(self.graph))[1]
                chosen[block.first : block.last] = ~np.isin(columns, direct)
        return chosen

    def of_parts(self, *parts: Part) -> np.ndarray:
        """Which weights are of these parts."""
        chosen = np.zeros(self.size, bool)
        for block in self.blocks:
            if block.part in parts:
                chosen[block.first : block.last] = True
        return chosen

    # -- outputs and derivatives -----------------------------------------------------------------------------

    def outputs(self, vector: np.ndarray, rows: Rows) -> np.ndarray:
        """Scaled outputs (n, T, outputs)."""
        return self._run(vector, rows, None)[0]

    def stream(self, vector: np.ndarray, rows: Rows) -> np.ndarray:
        """The values of all nodes (n, T, nodes)."""
        return self._run(vector, rows, None)[2]

    def derivatives(self, vector: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Outputs, and what each weight does to each scored one: (scored * outputs, weights)."""
        jacobians: dict[int, np.ndarray] = {}
        outputs, graph, values = self._run(vector, rows, jacobians)
        scored = rows.scored
        count, width = int(scored.sum()), graph.head.shape[0]
        result = np.zeros((count, width, self.size))
        head = self.blocks[-1]
        row, column = np.nonzero(_head_mask(self.graph))
        features = np.concatenate([values[scored], np.ones((count, 1))], 1)
        for place, (output, variable) in enumerate(zip(row, column, strict=True), head.first):
            result[:, output, place] = features[:, variable]
        for index, jacobian in jacobians.items():
            for output in np.flatnonzero(graph.head[:, index]):
                result[:, output] += graph.head[output, index] * jacobian[scored]
        self._keep_steady(result)
        return outputs, result.reshape(count * width, self.size)

    def linear_derivatives(self, vector: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """The same for the weights that outputs are linear in, without the others, which cost more."""
        outputs, graph, values = self._run(vector, rows, None)
        seen, width = values[rows.scored], graph.head.shape[0]
        direct, columns = direct_operators(graph), []
        for block in self.blocks:
            if block.part == "output" and block.node in direct:
                node = graph.nodes[block.node]
                assert isinstance(node, OperatorNode)
                u = seen[:, list(node.operands)]
                hidden = np.maximum(u @ node.hidden_weight.T + node.hidden_bias, 0.0)
                features = np.column_stack([hidden, np.ones(len(seen))])
                columns.append(features[:, None, :] * graph.head[:, block.node, None])
        free = {block.node for block in self.blocks if block.part == "output"}
        features = np.column_stack([seen, np.ones(len(seen))])
        for output, variable in zip(*np.nonzero(_head_mask(self.graph)), strict=True):
            if variable not in direct or variable not in free:
                column = np.zeros((len(seen), width, 1))
                column[:, output, 0] = features[:, variable]
                columns.append(column)
        return outputs, np.concatenate(columns, 2).reshape(len(seen) * width, -1)

    def _keep_steady(self, derivatives: np.ndarray) -> None:
        """No step shall make a sub-MLP that feeds the head depend on what grows."""
        direct = direct_operators(self.graph) if self.growing else []
        for block in self.blocks:
            if block.part == "hidden" and block.node in direct:
                node = self.graph.nodes[block.node]
                assert isinstance(node, OperatorNode)
                slots, units = _slots(node), len(node.hidden_bias)
                own = slice(block.first, block.last - units)
                by_unit = derivatives[..., own].reshape(*derivatives.shape[:2], units, len(slots))
                kept = by_unit @ steady(node, self.growing)[np.ix_(slots, slots)]
                derivatives[..., own] = kept.reshape(*derivatives.shape[:2], units * len(slots))

    def _run(
        self, vector: np.ndarray, rows: Rows, jacobians: dict[int, np.ndarray] | None
    ) -> tuple[np.ndarray, DiscreteGraph, np.ndarray]:
        graph = self.with_vector(vector)
        values = rows.values.copy()
        places = {(block.part, block.node): block for block in self.blocks}
        for index in sorted(self.moving):
            node = graph.nodes[index]
            if isinstance(node, OperatorNode):
                moved = self._operator(graph, index, values, jacobians, places)
            elif isinstance(node, RouterNode):
                moved = self._router(node, index, values, jacobians, places)
            else:
                moved = self._channel(node, index, values, jacobians, places)
            if jacobians is not None and moved is not None:
                jacobians[index] = moved
        return values @ graph.head[:, :-1].T + graph.head[:, -1], graph, values

    def _operator(
        self,
        graph: DiscreteGraph,
        index: int,
        values: np.ndarray,
        jacobians: dict[int, np.ndarray] | None,
        places: dict[tuple[Part, int | None], Block],
    ) -> np.ndarray | None:
        node = graph.nodes[index]
        assert isinstance(node, OperatorNode)
        u = values[..., list(node.operands)]
        hidden = np.maximum(u @ node.hidden_weight.T + node.hidden_bias, 0.0)
        values[..., index] = hidden @ node.output_weight + node.output_bias
        if jacobians is None:
            return None
        result = np.zeros((*values.shape[:2], self.size))
        slope = (hidden > 0) * node.output_weight
        own, out = places.get(("hidden", index)), places.get(("output", index))
        if own is not None and out is not None:
            units, slots = len(node.hidden_bias), _slots(self.graph.nodes[index])  # type: ignore[arg-type]
            by_weight = slope[..., :, None] * u[..., None, slots]
            result[..., own.first : own.last - units] = by_weight.reshape(*values.shape[:2], -1)
            result[..., own.last - units : own.last] = slope
            result[..., out.first : out.last - 1] = hidden
            result[..., out.last - 1] = 1.0
        gradient = slope @ node.hidden_weight
        for slot, operand in enumerate(node.operands):
            if operand in jacobians:
                result += gradient[..., slot, None] * jacobians[operand]
        return result

    def _router(
        self,
        node: RouterNode,
        index: int,
        values: np.ndarray,
        jacobians: dict[int, np.ndarray] | None,
        places: dict[tuple[Part, int | None], Block],
    ) -> np.ndarray | None:
        values[..., index] = node.compute(values)
        if jacobians is None:
            return None
        read = jacobians.get(node.reads["value"])
        moved = None if read is None else _moved(node, values, read)
        start = places.get(("start", index))
        if start is not None:
            moved = np.zeros((*values.shape[:2], self.size)) if moved is None else moved
            before = values.shape[1] if node.offset is None else node.offset
            moved[:, :before, start.first] = 1.0
        return moved

    def _channel(
        self,
        node: ChannelNode,
        index: int,
        values: np.ndarray,
        jacobians: dict[int, np.ndarray] | None,
        places: dict[tuple[Part, int | None], Block],
    ) -> np.ndarray | None:
        values[:, 0, index] = node.start
        if jacobians is None:
            return None
        moved = np.zeros((*values.shape[:2], self.size))
        moved[:, 0, places["start", index].first] = 1.0
        return moved


def _moved(node: RouterNode, values: np.ndarray, read: np.ndarray) -> np.ndarray:
    """The derivatives of what a router gives, from those of the value that it reads."""
    length = values.shape[1]
    if node.kind == "location":
        result = np.zeros_like(read)
        if node.offset is not None and node.offset < length:
            result[:, node.offset :] = read[:, : length - node.offset]
        return result
    if node.facts.own:
        return np.zeros_like(read)  # what it reads is left as it is
    if node.kind in ("mean", "sum"):
        total = np.cumsum(read, 1)
        return total / np.arange(1, length + 1)[:, None] if node.kind == "mean" else total
    if node.facts.relation:
        return np.zeros_like(read)  # a count moves in steps
    if node.kind in ("max", "min"):
        value = values[..., node.reads["value"]] * (1 if node.kind == "max" else -1)
        highest = np.maximum.accumulate(value, axis=1)
        place = np.maximum.accumulate(np.where(value == highest, np.arange(length), 0), axis=1)
    else:
        place = node.selection(values)
    picked = np.take_along_axis(read, np.maximum(place, 0)[..., None], 1)
    return np.where(place[..., None] >= 0, picked, 0.0)


def past_channels(graph: DiscreteGraph) -> tuple[int, ...]:
    """The channels that hold past outputs."""
    layout = graph.layout
    return tuple(range(len(graph.inputs), layout.channels)) if layout.name == "autoregressive" else ()


def direct_operators(graph: DiscreteGraph) -> list[int]:
    """Live sub-MLPs that feed the head and nothing else."""
    live = graph.live()
    read = {source for index in live for source in graph.nodes[index].used()}
    fed = np.flatnonzero(np.any(graph.head[:, :-1] != 0, axis=0))
    return [int(i) for i in fed if isinstance(graph.nodes[i], OperatorNode) and i not in read]


def steady(node: OperatorNode, growing: Groups) -> np.ndarray:
    """The projection (operand, operand) on directions that do not change if the same is added to all
    operands of a group."""
    result = np.eye(len(node.operands))
    for group in growing:
        held = np.array(
            [float(o in group and node.hidden_weight[:, s].any()) for s, o in enumerate(node.operands)]
        )
        if held.any():
            result -= np.outer(held, held) / held.sum()
    return result


def _slots(node: OperatorNode) -> list[int]:
    """The operands that were not pruned."""
    return [slot for slot in range(len(node.operands)) if node.hidden_weight[:, slot].any()]


def _head_mask(graph: DiscreteGraph) -> np.ndarray:
    """Entries of the head that may change: those that are not zero, and the intercepts."""
    mask = graph.head != 0
    mask[:, -1] = True
    return mask
