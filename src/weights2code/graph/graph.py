"""The discrete graph: a trained model with every choice settled, as a frozen value that needs no torch.

Nodes are the variables of the residual stream in order, named as in the paper (`V3_MLP_L0M0`): channels,
routers (attention heads) and operators (sub-MLPs). The graph evaluates by itself with NumPy and equals the
hard model. Values inside are scaled (see `data.layouts`); `units` says by how much.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float

from weights2code.data import Layout, Sequences
from weights2code.effort import charge
from weights2code.heads import EQUALITY_SHARPNESS, HEADS, HeadFacts, count_of
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import MOST_NODES, items, mapping, name, names, number, shown, whole
from weights2code.language.scores import Scores


def _row(data: Any, what: str) -> np.ndarray:
    """Finite numbers in a list."""
    return np.array([number(value, what) for value in items(data, what)], float)


def _rows(data: Any, what: str) -> np.ndarray:
    """Lists of finite numbers, each as long as the others."""
    rows = [_row(row, what) for row in items(data, what)]
    return np.stack(rows) if rows else np.zeros((0, 0))


def _range(data: Any, what: str) -> tuple[float, float]:
    low, high = _row(data, what)
    if not low < high:
        raise ValueError(f"{what} is empty: {shown(data)}")
    return float(low), float(high)


Name = Annotated[str, name]


@dataclass(frozen=True, slots=True)
class ChannelNode:
    """A channel of the layout; `start` is added at the first position (a learned past output)."""

    name: Name
    label: Name
    start: float = 0.0

    def sources(self) -> tuple[int, ...]:
        """The nodes that it reads."""
        return ()

    used = sources


@dataclass(frozen=True, slots=True, eq=False)
class RouterNode:
    """An attention head: `reads` maps roles (query, key, value) to earlier nodes.

    A location head has an `offset` (None is the null slot) and a `start`; pointer heads have tables, and
    equality heads tell keys apart as sharply as `sharpness` says.
    """

    name: Name
    kind: Name
    reads: Mapping[str, int]
    offset: int | None = None
    start: float = 0.0
    query_table: Annotated[Float[np.ndarray, "boundary width"], _rows] | None = None
    key_table: Annotated[Float[np.ndarray, "boundary width"], _rows] | None = None
    relative_bias: Annotated[Float[np.ndarray, " window"], _row] | None = None
    null_score: float = 0.0
    value_range: Annotated[tuple[float, float], _range] = (-1.0, 1.0)
    sharpness: float = EQUALITY_SHARPNESS

    @property
    def facts(self) -> HeadFacts:
        """What is known of its kind."""
        return HEADS[self.kind]

    def sources(self) -> tuple[int, ...]:
        """The nodes that it reads; a location head at the null slot reads nothing."""
        if self.kind == "location" and self.offset is None:
            return ()
        return tuple(self.reads.values())

    used = sources

    def compute(self, values: np.ndarray) -> np.ndarray:
        """The output (n, T) on the stream so far (n, T, nodes)."""
        value = values[..., self.reads["value"]]
        if self.facts.aggregate:
            return self.facts.aggregate(value)
        if self.facts.relation:
            return count_of(self.facts.relation, values[..., self.reads["key"]], value)
        if self.kind == "location":
            return shifted(value, self.offset, self.start)
        place = self.selection(values)
        picked = np.take_along_axis(value, np.maximum(place, 0), 1)
        return np.where(place >= 0, picked, 0.0)

    def selection(self, values: np.ndarray) -> np.ndarray:
        """The position that a pointer or equality head selects (n, T); -1 is the null slot."""
        scores, query, key = self.scores(), values[..., self.reads["query"]], values[..., self.reads["key"]]
        return np.stack([scores.best(query[:, t], key[:, : t + 1]) for t in range(key.shape[1])], axis=1)

    def scores(self) -> Scores:
        """How a pointer or equality head scores positions."""
        assert self.relative_bias is not None
        bias, null = tuple(self.relative_bias.tolist()), float(self.null_score)
        if self.query_table is None or self.key_table is None:
            return Scores(bias, null, self.sharpness)
        tables = (tuple(map(tuple, table.tolist())) for table in (self.query_table, self.key_table))
        return Scores(bias, null, 0.0, *tables, value_range=self.value_range)

    def check(self) -> None:
        """Raise ValueError if the node cannot run."""
        facts = HEADS.get(self.kind)
        if facts is None or not isinstance(self.reads, dict) or set(self.reads) != set(facts.reads):
            raise ValueError(f"{self.name} is no head of the kind {self.kind}")
        if any(getattr(self, name) is None for name in facts.weights):
            raise ValueError(f"{self.name} has no {' and '.join(facts.weights)}")
        tables = [table for table in (self.query_table, self.key_table) if table is not None]
        if any(len(table) < 2 or table.shape != tables[0].shape or not table.size for table in tables):
            raise ValueError(f"the tables of {self.name} do not fit together")
        if self.relative_bias is not None and not len(self.relative_bias):
            raise ValueError(f"{self.name} has no relative_bias")


@dataclass(frozen=True, slots=True, eq=False)
class OperatorNode:
    """A sub-MLP: W2 relu(W1 u + b1) + b2 of the operands u."""

    name: Name
    operands: tuple[int, ...]
    hidden_weight: Annotated[Float[np.ndarray, "hidden operand"], _rows]
    hidden_bias: Annotated[Float[np.ndarray, " hidden"], _row]
    output_weight: Annotated[Float[np.ndarray, " hidden"], _row]
    output_bias: float

    def apply(self, u: Float[np.ndarray, "*shape operand"]) -> Float[np.ndarray, "*shape"]:
        """Values for operands."""
        charge(4e-9 * u[..., 0].size * len(self.hidden_bias))
        return (
            np.maximum(u @ self.hidden_weight.T + self.hidden_bias, 0.0) @ self.output_weight
            + self.output_bias
        )

    def compute(self, values: np.ndarray) -> np.ndarray:
        return self.apply(values[..., list(self.operands)])

    def sources(self) -> tuple[int, ...]:
        return self.operands

    def used(self) -> tuple[int, ...]:
        """The operands that matter, each once: those whose weights were pruned do not."""
        kept = (o for slot, o in enumerate(self.operands) if self.hidden_weight[:, slot].any())
        return tuple(dict.fromkeys(kept))

    def check(self) -> None:
        hidden = len(self.hidden_bias)
        shapes = (self.hidden_weight.shape, self.hidden_bias.shape, self.output_weight.shape)
        if shapes != ((hidden, len(self.operands)), (hidden,), (hidden,)):
            raise ValueError(f"the weights of {self.name} have the shapes {shapes}")


Node = ChannelNode | RouterNode | OperatorNode
_TYPES: dict[str, type[Node]] = {"channel": ChannelNode, "router": RouterNode, "operator": OperatorNode}


@dataclass(frozen=True, slots=True, eq=False)
class DiscreteGraph:
    """Nodes in stream order and the linear head: one row an output, the intercept last."""

    nodes: tuple[Node, ...]
    head: Annotated[Float[np.ndarray, "output variable_and_one"], _rows]
    layout: Layout
    inputs: Annotated[tuple[str, ...], names]
    outputs: Annotated[tuple[str, ...], names]
    length: Annotated[int, partial(whole, least=1)]

    def __repr__(self) -> str:
        columns = f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"
        return f"DiscreteGraph({columns}; {len(self.live())} of {len(self.nodes)} nodes matter)"

    def stream(
        self,
        channels: Float[np.ndarray, "sequence pos channel"],
        instead: Mapping[int, Callable[[np.ndarray], np.ndarray]] | None = None,
    ) -> Float[np.ndarray, "sequence pos variable"]:
        """Every node's values from scaled channels; `instead` gives those of some nodes, of the stream so
        far."""
        instead = instead or {}
        n, length, _ = channels.shape
        values = np.zeros((n, length, len(self.nodes)))
        values[..., : channels.shape[2]] = channels
        for index, node in enumerate(self.nodes):
            if isinstance(node, ChannelNode):
                values[:, 0, index] += node.start
            else:
                values[..., index] = instead.get(index, node.compute)(values)
        return values

    def encode(self, sequences: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Channels and targets (n, T, width), scaled, and the scored positions (n, T)."""
        encoded, order = self.layout.encode(sequences, np.float64), (2, 1, 0)
        return encoded.channels.transpose(order), encoded.targets.transpose(order), encoded.scored.T

    def predict(
        self, channels: Float[np.ndarray, "sequence pos channel"]
    ) -> Float[np.ndarray, "sequence pos output"]:
        """Scaled outputs."""
        return self.stream(channels) @ self.head[:, :-1].T + self.head[:, -1]

    def run(self, sequences: Sequences) -> Float[np.ndarray, "sequence pos output"]:
        """Outputs in the user's units, past outputs teacher-forced."""
        out = self.predict(self.encode(sequences)[0]) * np.array(self.layout.output_scales)
        return out[:, -sequences.x.shape[1] :]  # in `concat` the first positions predict inputs

    def units(self) -> Float[np.ndarray, " variable"]:
        """What one unit of each node means in the user's units; operators and counts are pure numbers."""
        units = np.ones(len(self.nodes))
        scales = channel_scales(self.layout)
        units[: len(scales)] = scales
        for index, node in enumerate(self.nodes):
            if isinstance(node, RouterNode) and not node.facts.relation:
                units[index] = units[node.reads["value"]]
        return units

    def output_weights(self) -> list[tuple[dict[int, float], float]]:
        """For each output the weight of every node that it reads, and the intercept, in the user's units."""
        units, rows = self.units(), zip(self.head, self.layout.output_scales, strict=True)
        return [
            (
                {int(i): float(row[i] * scale / units[i]) for i in np.flatnonzero(row[:-1])},
                float(row[-1] * scale),
            )
            for row, scale in rows
        ]

    def live(self) -> tuple[int, ...]:
        """Nodes that the head reaches, found by backward traversal."""
        pending = {int(i) for i in np.flatnonzero(np.any(self.head[:, :-1] != 0, axis=0))}
        reached: set[int] = set()
        while pending:
            index = pending.pop()
            reached.add(index)
            pending |= {i for i in self.nodes[index].sources() if i not in reached}
        return tuple(sorted(reached))


def channel_scales(layout: Layout) -> tuple[float, ...]:
    """The scale of each channel."""
    if layout.name == "concat":
        return (layout.input_scales[0],) * layout.channels
    return layout.input_scales + (layout.output_scales if layout.name == "autoregressive" else ())


def shifted(value: np.ndarray, offset: int | None, start: float) -> np.ndarray:
    """What values (n, T) were `offset` positions back, else `start`; None is the null slot."""
    out = np.full(value.shape, start)
    if offset is not None and offset < value.shape[1]:
        out[:, offset:] = value[:, : value.shape[1] - offset]
    return out


def to_dict(graph: DiscreteGraph) -> dict[str, Any]:
    """JSON form of a graph; lists and numbers only."""
    kinds = {made: kind for kind, made in _TYPES.items()}
    return to_fields(graph, nodes=[{"type": kinds[type(node)], **to_fields(node)} for node in graph.nodes])


def from_dict(data: dict[str, Any]) -> DiscreteGraph:
    """Inverse of `to_dict`; what is no graph raises KeyError, TypeError or ValueError."""
    nodes = items(mapping(data, "a graph")["nodes"], "the nodes", MOST_NODES)
    graph = from_fields(DiscreteGraph, data, "a graph", nodes=tuple(map(_node, nodes)))
    _refuse_nonsense(graph)
    return graph


def _node(data: Any) -> Node:
    kind = _TYPES[str(mapping(data, "a node")["type"])]
    known = tuple(own.name for own in fields(kind))
    if not set(data) <= {"type", *known}:
        raise ValueError(f"a node has other fields than {', '.join(known)}")
    return from_fields(kind, data, "a node", known)


def _refuse_nonsense(graph: DiscreteGraph) -> None:
    """A graph that was read must be one that can run."""
    if graph.head.shape != (len(graph.outputs), len(graph.nodes) + 1):
        raise ValueError(f"the head has shape {graph.head.shape}")
    scales = (len(graph.layout.input_scales), len(graph.layout.output_scales))
    if scales != (len(graph.inputs), len(graph.outputs)):
        raise ValueError(f"the layout scales {scales} columns and outputs, not those of the graph")
    for index, node in enumerate(graph.nodes):
        if isinstance(node, ChannelNode) != (index < graph.layout.channels):
            raise ValueError(f"{node.name} is no channel of the layout, or takes the place of one")
        if not isinstance(node, ChannelNode):
            node.check()
        reads = node.reads.values() if isinstance(node, RouterNode) else node.sources()
        if not all(isinstance(source, int) and 0 <= source < index for source in reads):
            raise ValueError(f"{node.name} reads what is not computed before it")
