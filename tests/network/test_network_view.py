"""A network on contexts is the network: every position of every sequence, with rounding bounded."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Layout, Sequences
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.heads import HeadKind
from weights2code.language import Var
from weights2code.network.contexts.rounding import sensitivity
from weights2code.network.contexts.scoring import SINGLE, scores, uncertainty
from weights2code.network.contexts.view import Unsuited, View

LENGTH, COUNT = 7, 40
DOUBLE = 2.0**-53


def drawn_graph(seed: int, *, pointers: bool = False, overall: bool = False) -> DiscreteGraph:
    """Two layers of location heads and sub-MLPs, with heads of other kinds below if wished."""
    rng = np.random.default_rng(seed)
    layout = Layout("autoregressive", (2.0, 1.0), (4.0, 1.0))
    nodes: list[ChannelNode | RouterNode | OperatorNode] = [
        ChannelNode(f"V{i}", label, float(rng.normal()) if i >= 2 else 0.0)
        for i, label in enumerate(layout.channel_names(("a", "b"), ("y", "z")))
    ]

    def some() -> int:
        return int(rng.integers(len(nodes)))

    if pointers:
        for kind in ("pointer", "equality"):
            nodes.append(
                RouterNode(
                    f"V{len(nodes)}", kind, {"query": some(), "key": some(), "value": some()},
                    query_table=rng.normal(size=(4, 2)), key_table=rng.normal(size=(4, 2)),
                    relative_bias=np.array([0.3, 0.1, -500.0]), null_score=float(rng.normal() - 3),
                    value_range=(-3.0, 3.0), sharpness=2.0,
                )
            )  # fmt: skip
    for _ in range(2):
        for offset in (0, 1, 2, None):
            reads = {"value": some()}
            nodes.append(RouterNode(f"V{len(nodes)}", "location", reads, offset, float(rng.normal())))
        operands = (some(), some(), some())
        hidden, bias, out = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=5)
        nodes.append(OperatorNode(f"V{len(nodes)}", operands, hidden, bias, out, float(rng.normal())))
    kinds: tuple[HeadKind, ...] = ("mean", "sum", "max", "min")
    for kind in kinds if overall else ():
        nodes.append(RouterNode(f"V{len(nodes)}", kind, {"value": some()}))
    head = np.zeros((2, len(nodes) + 1))
    head[:, rng.integers(0, len(nodes), 4)] = rng.normal(size=(2, 4))
    head[:, len(nodes) - 1] = 1.0
    head[:, -1] = rng.normal(size=2)
    return DiscreteGraph(tuple(nodes), head, layout, ("a", "b"), ("y", "z"), LENGTH)


def drawn_sequences(seed: int) -> Sequences:
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-2, 3, (COUNT, LENGTH, 2)).astype(float) for _ in range(2))
    return Sequences(x, y, np.full(COUNT, LENGTH))


def on_contexts(graph: DiscreteGraph, data: Sequences, windows: dict[int, int] | None = None):
    """The view at every position of some sequences; what lies before the start is a number that shows up."""
    view = View.of(graph, windows)
    assert not view.over_all
    strange, age = 12345.0, np.tile(np.arange(LENGTH), COUNT)
    leaves = {}
    for leaf in view.leaves:
        values = data.x if leaf.name in graph.inputs else data.y
        column = (graph.inputs if leaf.name in graph.inputs else graph.outputs).index(leaf.name)
        padded = np.concatenate([np.full((COUNT, leaf.lag), strange), values[..., column]], 1)
        leaves[leaf] = padded[:, :LENGTH].reshape(-1)
    return view.on(leaves, np.minimum(age, view.depth), {})


@pytest.mark.parametrize("seed", range(12))
def test_contexts_give_what_sequences_give(seed: int) -> None:
    graph, data = drawn_graph(seed), drawn_sequences(seed)
    answer, _ = on_contexts(graph, data).outputs()
    expected = graph.run(data).reshape(-1, 2)
    assert np.abs(expected).max() > 0.1
    assert np.allclose(answer, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_pointers_inside_their_window(seed: int) -> None:
    """The third offset and all beyond are never chosen."""
    graph, data = drawn_graph(seed, pointers=True), drawn_sequences(seed)
    network = on_contexts(graph, data, {4: 1, 5: 1})
    answer, _ = network.outputs()
    expected = graph.run(data).reshape(-1, 2)
    clear = ~network.unclear
    assert clear.mean() > 0.2
    assert np.allclose(answer[clear], expected[clear], rtol=1e-12, atol=1e-12)


def test_an_input_may_have_a_start() -> None:
    nodes = (ChannelNode("V0", "x", 5.0), RouterNode("V1", "location", {"value": 0}, 1, 0.5))
    graph = DiscreteGraph(
        nodes, np.array([[1.0, 1.0, 0.0]]), Layout("tagging", (1.0,), (1.0,)), ("x",), ("y",), 4
    )
    view = View.of(graph)
    leaves = {Var("x"): np.ones(3), Var("x", 1): np.full(3, 2.0)}
    answer, _ = view.on(leaves, np.array([0.0, 1.0, 2.0]), {}).outputs()
    assert view.depth == 2
    assert answer[:, 0].tolist() == [6.5, 8.0, 3.0]
    x = np.array([[[1.0], [1.0], [1.0]]])
    assert graph.run(Sequences(x, 0 * x, np.array([3])))[0, :2, 0].tolist() == [6.5, 7.0]


def test_what_is_no_function_of_contexts_is_refused() -> None:
    graph = drawn_graph(0, pointers=True)
    with pytest.raises(Unsuited, match="how far back"):
        View.of(graph)
    late = DiscreteGraph(
        (
            ChannelNode("V0", "x"),
            RouterNode("V1", "mean", {"value": 0}),
            RouterNode("V2", "location", {"value": 1}, 1),
        ),
        np.array([[0.0, 0.0, 1.0, 0.0]]), Layout("tagging", (1.0,), (1.0,)), ("x",), ("y",), 4,
    )  # fmt: skip
    with pytest.raises(Unsuited, match="1 positions back"):
        View.of(late)


def in_single(graph: DiscreteGraph, data: Sequences) -> np.ndarray:
    """The outputs in float32, node by node."""
    channels = graph.encode(data)[0].astype(np.float32)
    values = np.zeros((COUNT, LENGTH, len(graph.nodes)), np.float32)
    values[..., : channels.shape[2]] = channels
    for index, node in enumerate(graph.nodes):
        if isinstance(node, ChannelNode):
            values[:, 0, index] += np.float32(node.start)
        elif isinstance(node, OperatorNode):
            weight, bias, out = (
                part.astype(np.float32) for part in (node.hidden_weight, node.hidden_bias, node.output_weight)
            )
            hidden = np.maximum(values[..., list(node.operands)] @ weight.T + bias, np.float32(0))
            values[..., index] = hidden @ out + np.float32(node.output_bias)
        elif node.kind in ("mean", "sum"):
            total = np.cumsum(values[..., node.reads["value"]], 1, dtype=np.float32)
            count = np.arange(1, LENGTH + 1, dtype=np.float32)
            values[..., index] = total / count if node.kind == "mean" else total
        else:
            values[..., index] = node.compute(values)
    head = graph.head.astype(np.float32)
    return (values @ head[:, :-1].T + head[:, -1]) * np.array(graph.layout.output_scales, np.float32)


@pytest.mark.parametrize("seed", range(8))
def test_rounding_is_bounded(seed: int) -> None:
    """Weights of very different sizes, some of which cancel."""
    graph, data = drawn_graph(seed), drawn_sequences(seed)
    rng = np.random.default_rng(seed)
    large = 10.0 ** rng.uniform(0, 5)
    for node in graph.nodes:
        if isinstance(node, OperatorNode):
            node.hidden_bias[:2] += large
            node.output_weight[1] = -node.output_weight[0]
    exact = graph.run(data).reshape(-1, 2)
    answer, sensitive = on_contexts(graph, data).outputs()
    again = sensitivity(graph, data).reshape(-1, 2)
    off = np.abs(in_single(graph, data).reshape(-1, 2) - exact)
    assert np.all(off <= 1.01 * SINGLE * sensitive)
    assert np.all(off <= 1.01 * SINGLE * again)
    assert off.max() > 1e-3 * SINGLE * sensitive.max()
    assert np.all(np.abs(answer - exact) <= 2.02 * DOUBLE * sensitive)
    assert np.allclose(sensitive, again, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_of_means_sums_and_extrema_is_bounded(seed: int) -> None:
    graph, data = drawn_graph(seed, overall=True), drawn_sequences(seed)
    off = np.abs(in_single(graph, data) - graph.run(data))
    bound = 1.01 * SINGLE * sensitivity(graph, data)
    assert np.all(off <= bound)
    assert np.isfinite(bound).all()


def test_equal_operands_with_weights_that_cancel_are_sensitive() -> None:
    large = 1e16
    operator = OperatorNode("V1", (0, 0), np.array([[large, 2 - large]]), np.zeros(1), np.ones(1), 0.0)
    layout = Layout("tagging", (1.0,), (1.0,))
    graph = DiscreteGraph(
        (ChannelNode("V0", "x"), operator), np.array([[0.0, 0.5, 0.0]]), layout, ("x",), ("y",), 4
    )
    view = View.of(graph)
    answer, sensitive = view.on({Var("x"): np.array([7.0])}, np.zeros(1), {}).outputs()
    run = graph.run(Sequences(np.array([[[7.0]]]), np.zeros((1, 1, 1)), np.array([1])))
    assert abs(answer[0, 0] - 7.0) < 1e-9
    assert np.all(np.abs(run - answer) <= DOUBLE * sensitive)
    assert DOUBLE * sensitive[0, 0] > 0.5


@pytest.mark.parametrize("kind", ["pointer", "equality"])
def test_scores_move_no_further_than_said(kind: HeadKind) -> None:
    rng = np.random.default_rng(3)
    node = RouterNode(
        "V1", kind, {"query": 0, "key": 0, "value": 0},
        query_table=rng.normal(size=(6, 3)), key_table=rng.normal(size=(6, 3)),
        relative_bias=rng.normal(size=4), value_range=(-2.0, 2.0), sharpness=50.0,
    )  # fmt: skip
    query, key = rng.uniform(-2.5, 2.5, (2, 4000))
    exact, none = scores(node, query, key, 2), np.zeros(4000)
    bound = uncertainty(node, (query, none + 10), (key, none + 10), 2)
    for _ in range(5):
        asked, held = (part + SINGLE * 10 * rng.uniform(-1, 1, 4000) for part in (query, key))
        single = scores(node, asked.astype(np.float32), held.astype(np.float32), 2)
        assert np.all(np.abs(single - exact) <= bound)
    assert np.median(bound) < 1e-2
