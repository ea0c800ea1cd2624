"""The discrete graph: a trained model with every choice settled, as a frozen value that needs no torch.

Nodes are the variables of the residual stream in order, named as in the paper (`V3_MLP_L0M0`): channels,
routers (attention heads) and operators (sub-MLPs). The graph evaluates by itself with NumPy and equals the
hard model. Values inside are scaled (see `data.layouts`); `units` says by how much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from weights2code.data import Layout, Sequences


@dataclass(frozen=True, slots=True)
class ChannelNode:
    """A channel of the layout; `start` is added at the first position (a learned past output)."""

    name: str
    label: str
    start: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class RouterNode:
    """An attention head: `reads` maps roles (query, key, value) to earlier nodes.

    A location head has an `offset` (None is the null slot) and a `start`; pointer heads have tables.
    """

    name: str
    kind: str
    reads: dict[str, int]
    offset: int | None = None
    start: float = 0.0
    query_table: Float[np.ndarray, "boundary width"] | None = None
    key_table: Float[np.ndarray, "boundary width"] | None = None
    relative_bias: Float[np.ndarray, " window"] | None = None
    null_score: float = 0.0
    value_range: tuple[float, float] = (-1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class OperatorNode:
    """A sub-MLP: W2 relu(W1 u + b1) + b2 of the operands u."""

    name: str
    operands: tuple[int, ...]
    hidden_weight: Float[np.ndarray, "hidden operand"]
    hidden_bias: Float[np.ndarray, " hidden"]
    output_weight: Float[np.ndarray, " hidden"]
    output_bias: float

    def apply(self, u: Float[np.ndarray, "*shape operand"]) -> Float[np.ndarray, "*shape"]:
        """Values for operands."""
        return (
            np.maximum(u @ self.hidden_weight.T + self.hidden_bias, 0.0) @ self.output_weight
            + self.output_bias
        )


Node = ChannelNode | RouterNode | OperatorNode


@dataclass(frozen=True, slots=True, eq=False)
class DiscreteGraph:
    """Nodes in stream order and the linear head: one row an output, the intercept last."""

    nodes: tuple[Node, ...]
    head: Float[np.ndarray, "output variable_and_one"]
    layout: Layout
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    length: int

    def stream(
        self, channels: Float[np.ndarray, "sequence pos channel"]
    ) -> Float[np.ndarray, "sequence pos variable"]:
        """Every node's values from scaled channels."""
        n, length, _ = channels.shape
        values = np.zeros((n, length, len(self.nodes)))
        for index, node in enumerate(self.nodes):
            if isinstance(node, ChannelNode):
                values[..., index] = channels[..., index]
                values[:, 0, index] += node.start
            elif isinstance(node, OperatorNode):
                values[..., index] = node.apply(values[..., list(node.operands)])
            else:
                values[..., index] = route(node, values)
        return values

    def predict(
        self, channels: Float[np.ndarray, "sequence pos channel"]
    ) -> Float[np.ndarray, "sequence pos output"]:
        """Scaled outputs."""
        return self.stream(channels) @ self.head[:, :-1].T + self.head[:, -1]

    def run(self, sequences: Sequences) -> Float[np.ndarray, "sequence pos output"]:
        """Outputs in the user's units, past outputs teacher-forced."""
        channels = self.layout.encode(sequences, np.float64).channels.transpose(2, 1, 0)
        out = self.predict(channels) * np.array(self.layout.output_scales)
        return out[:, -sequences.x.shape[1] :]  # in `concat` the first positions predict inputs

    def units(self) -> Float[np.ndarray, " variable"]:
        """What one unit of each node means in the user's units; operators are pure numbers."""
        units = np.ones(len(self.nodes))
        scales = channel_scales(self.layout)
        for index, node in enumerate(self.nodes):
            if isinstance(node, ChannelNode):
                units[index] = scales[index]
            elif isinstance(node, RouterNode):
                units[index] = units[node.reads["value"]]
        return units

    def live(self) -> tuple[int, ...]:
        """Nodes that the head reaches, found by backward traversal."""
        pending = {int(i) for i in np.flatnonzero(np.any(self.head[:, :-1] != 0, axis=0))}
        reached: set[int] = set()
        while pending:
            index = pending.pop()
            reached.add(index)
            pending |= {i for i in sources(self.nodes[index]) if i not in reached}
        return tuple(sorted(reached))


def sources(node: Node) -> tuple[int, ...]:
    """What a node reads; a location head at the null slot reads nothing."""
    if isinstance(node, OperatorNode):
        return node.operands
    if isinstance(node, RouterNode):
        if node.kind == "location" and node.offset is None:
            return ()
        return tuple(node.reads.values())
    return ()


def channel_scales(layout: Layout) -> tuple[float, ...]:
    """The scale of each channel."""
    if layout.name == "concat":
        return (layout.input_scales[0],) * layout.channels
    return layout.input_scales + (layout.output_scales if layout.name == "autoregressive" else ())


def selection(
    node: RouterNode, values: Float[np.ndarray, "sequence pos variable"]
) -> Int[np.ndarray, "sequence pos"]:
    """The position that a pointer or equality head selects; -1 is the null slot."""
    length = values.shape[1]
    query, key = values[..., node.reads["query"]], values[..., node.reads["key"]]
    position = np.arange(length)
    offset = position[:, None] - position[None, :]
    assert node.relative_bias is not None
    bias = node.relative_bias[np.clip(offset, 0, len(node.relative_bias) - 1)]
    if node.kind == "pointer":
        assert node.query_table is not None
        assert node.key_table is not None
        encoded_query = _encode(query, node.query_table, node.value_range)
        encoded_key = _encode(key, node.key_table, node.value_range)
        scores = encoded_query @ encoded_key.transpose(0, 2, 1) / np.sqrt(node.query_table.shape[1])
    else:
        distance = query[:, :, None] - key[:, None, :]
        scores = -EQUALITY_SHARPNESS * distance**2 - RECENCY * offset
    scores = np.where(offset >= 0, scores + bias, -np.inf)
    best = scores.argmax(-1)
    return np.where(np.take_along_axis(scores, best[..., None], -1)[..., 0] >= node.null_score, best, -1)


#: The kinds of heads.
KINDS = ("location", "pointer", "equality", "mean", "sum", "max", "min")
#: The constants of equality heads; equal to those of `model.attention` (a test compares them).
EQUALITY_SHARPNESS = 1e7
RECENCY = 1e-3


def route(
    node: RouterNode, values: Float[np.ndarray, "sequence pos variable"]
) -> Float[np.ndarray, "sequence pos"]:
    """The output of a router on the stream so far."""
    n, length, _ = values.shape
    value = values[..., node.reads["value"]]
    if node.kind == "location":
        out = np.full((n, length), node.start)
        if node.offset is not None and node.offset < length:
            out[:, node.offset :] = value[:, : length - node.offset]
        return out
    if node.kind in ("mean", "sum"):
        total = np.cumsum(value, 1)
        return total / np.arange(1, length + 1) if node.kind == "mean" else total
    if node.kind in ("max", "min"):
        return (np.maximum if node.kind == "max" else np.minimum).accumulate(value, axis=1)
    place = selection(node, values)
    picked = np.take_along_axis(value, np.maximum(place, 0), 1)
    return np.where(place >= 0, picked, 0.0)


def _encode(
    x: Float[np.ndarray, "*shape"],
    table: Float[np.ndarray, "boundary width"],
    value_range: tuple[float, float],
) -> Float[np.ndarray, "*shape width"]:
    bins = len(table) - 1
    low, high = value_range
    place = np.clip((x - low) / (high - low), 0.0, 1.0) * bins
    left = np.minimum(place.astype(int), bins - 1)
    share = (place - left)[..., None]
    return (1 - share) * table[left] + share * table[left + 1]


def to_dict(graph: DiscreteGraph) -> dict[str, Any]:
    """JSON form of a graph; lists and numbers only."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    nodes = []
    for node in graph.nodes:
        kind = {ChannelNode: "channel", RouterNode: "router", OperatorNode: "operator"}[type(node)]
        nodes.append({"type": kind, **{name: plain(getattr(node, name)) for name in node.__slots__}})
    return {
        "nodes": nodes,
        "head": graph.head.tolist(),
        "layout": graph.layout.to_dict(),
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "length": graph.length,
    }


def from_dict(data: dict[str, Any]) -> DiscreteGraph:
    """Inverse of `to_dict`; what is no graph raises KeyError, TypeError or ValueError."""
    types = {"channel": ChannelNode, "router": RouterNode, "operator": OperatorNode}
    arrays = {"query_table", "key_table", "relative_bias", "hidden_weight", "hidden_bias", "output_weight"}
    nodes = []
    for item in data["nodes"]:
        fields: dict[str, Any] = {
            name: np.array(value, float) if name in arrays and value is not None else value
            for name, value in dict(item).items()
            if name != "type"
        }
        for name in ("operands", "value_range"):
            if name in fields:
                fields[name] = tuple(fields[name])
        nodes.append(types[item["type"]](**fields))
    graph = DiscreteGraph(
        tuple(nodes),
        np.array(data["head"], float),
        Layout.from_dict(data["layout"]),
        tuple(data["inputs"]),
        tuple(data["outputs"]),
        int(data["length"]),
    )
    _refuse_nonsense(graph)
    return graph


def _refuse_nonsense(graph: DiscreteGraph) -> None:
    """A graph that was read must be one that can run."""
    if graph.head.shape != (len(graph.outputs), len(graph.nodes) + 1):
        raise ValueError(f"the head has shape {graph.head.shape}")
    for index, node in enumerate(graph.nodes):
        if isinstance(node, ChannelNode) != (index < graph.layout.channels):
            raise ValueError(f"{node.name} is no channel of the layout, or takes the place of one")
        if isinstance(node, RouterNode) and not isinstance(node.reads, dict):
            raise ValueError(f"{node.name} does not say what it reads")
        if not all(isinstance(source, int) and 0 <= source < index for source in _all_reads(node)):
            raise ValueError(f"{node.name} reads what is not computed before it")
        if isinstance(node, RouterNode):
            seeks = node.kind in ("pointer", "equality")
            roles = {"query", "key", "value"} if seeks else {"value"}
            needed = ["relative_bias"] * seeks + ["query_table", "key_table"] * (node.kind == "pointer")
            if set(node.reads) != roles or node.kind not in KINDS:
                raise ValueError(f"{node.name} is no head of the kind {node.kind}")
            if any(getattr(node, name) is None for name in needed):
                raise ValueError(f"{node.name} has no {' and '.join(needed)}")
        elif isinstance(node, OperatorNode):
            hidden = len(node.hidden_bias)
            shapes = (node.hidden_weight.shape, node.hidden_bias.shape, node.output_weight.shape)
            if shapes != ((hidden, len(node.operands)), (hidden,), (hidden,)):
                raise ValueError(f"the weights of {node.name} have the shapes {shapes}")


def _all_reads(node: Node) -> tuple[int, ...]:
    if isinstance(node, ChannelNode):
        return ()
    return node.operands if isinstance(node, OperatorNode) else tuple(node.reads.values())
