"""The largest difference of network and program holds at every point, and is reached somewhere."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from weights2code.data import Layout, from_arrays
from weights2code.effort import Effort
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.language import (
    Const,
    Expr,
    Recurrence,
    Step,
    Var,
    evaluate,
    evaluate_exact,
    integers,
    maximum,
    op,
)
from weights2code.network.bounds import pieces
from weights2code.network.bounds.box import Box, box_around
from weights2code.network.bounds.difference import difference_of
from weights2code.network.bounds.leaves import leaf_of, leaves_of, rounding_at, values_at
from weights2code.network.bounds.limits import limit_of_values
from weights2code.network.bounds.many_boxes import upper_bound
from weights2code.network.bounds.pieces import Largest, largest_difference, largest_of
from weights2code.network.bounds.polytope import largest_value, tightened

A, B, Y = Var("a"), Var("a", 1), Var("y", 1)
LAYOUT = Layout("autoregressive", (2.0,), (4.0,))


def graph_of(
    nodes: list[Node], head: dict[int, float], intercept: float = 0.0, **facts: Any
) -> DiscreteGraph:
    """Channels a[t] and y[t-1], further nodes, and a head in the scales of the layout."""
    layout = facts.get("layout", LAYOUT)
    inputs = facts.get("inputs", ("a",))
    names = (*inputs, "y[t-1]") if layout.name == "autoregressive" else inputs
    everything = (*(ChannelNode(name, name) for name in names), *nodes)
    row = np.zeros((1, len(everything) + 1))
    for index, weight in head.items():
        row[0, index] = weight
    row[0, -1] = intercept
    return DiscreteGraph(everything, row, layout, inputs, ("y",), 10)


def location(value: int, offset: int | None, start: float = 0.0) -> RouterNode:
    return RouterNode(f"lag{offset}", "location", {"value": value}, offset=offset, start=start)


def random_graph(rng: np.random.Generator, units: int = 4, *, deep: bool = False) -> DiscreteGraph:
    """A head over two channels, a lag and one operator, or two on top of each other."""

    def operator(nodes: int, arity: int) -> OperatorNode:
        operands = tuple(int(i) for i in rng.choice(nodes, arity))
        weight, bias = rng.normal(size=(units, arity)), 0.3 * rng.normal(size=units)
        return OperatorNode(f"o{nodes}", operands, weight, bias, rng.normal(size=units), float(rng.normal()))

    nodes: list[Node] = [location(int(rng.integers(2)), int(rng.integers(3))), operator(3, 2)]
    if deep:
        nodes += [location(3, 1), operator(5, 3)]
    head = {index: float(rng.normal()) for index in range(2 + len(nodes))}
    return graph_of(nodes, head, float(rng.normal()))


_ONE = ("abs", "relu", "neg", "not")
_TWO = ("add", "sub", "mul", "max", "min", "eq", "ne", "ge", "gt", "le", "lt", "and", "or")


def random_formula(rng: np.random.Generator, leaves: tuple[Var, ...], depth: int = 3) -> Expr:
    """Everything that is piecewise polynomial."""
    if not depth or rng.random() < 0.15:
        if rng.random() < 0.8:
            return leaves[int(rng.integers(len(leaves)))]
        return Const(float(np.round(3 * rng.normal(), 1)))

    def part() -> Expr:
        return random_formula(rng, leaves, depth - 1)

    kind = str(rng.choice([*_ONE, *_TWO, "clip", "where", "mod", "floor", "div", "pow"]))
    number = int(rng.integers(2, 6))
    if kind in _ONE:
        return op(kind, part())
    if kind in _TWO:
        return op(kind, part(), part())
    if kind == "clip":
        return op("clip", part(), -2, 3)
    if kind == "where":
        return op("where", part() >= 1, part(), part())
    if kind == "floor":
        return op("floor", part() / number)
    return op(kind, part(), min(number, 3) if kind == "pow" else number)


def exact_difference(graph: DiscreteGraph, formula: Expr, point: dict[Var, Fraction]) -> Fraction:
    """Network minus program at a point, without rounding; scales are powers of two."""

    def value(index: int, lag: int) -> Fraction:
        node = graph.nodes[index]
        if isinstance(node, ChannelNode):
            leaf = leaf_of(graph, index, lag)
            assert isinstance(leaf, Var)
            scales = graph.layout.input_scales + graph.layout.output_scales
            return point[leaf] / Fraction(scales[index])
        if isinstance(node, RouterNode):
            return (
                Fraction(node.start) if node.offset is None else value(node.reads["value"], lag + node.offset)
            )
        total = Fraction(node.output_bias)
        for weights, bias, weight in zip(
            node.hidden_weight, node.hidden_bias, node.output_weight, strict=True
        ):
            hidden = Fraction(float(bias))
            for operand, factor in zip(node.operands, weights, strict=True):
                hidden += Fraction(float(factor)) * value(operand, lag)
            total += Fraction(float(weight)) * max(hidden, Fraction(0))
        return total

    row = graph.head[0]
    network = Fraction(float(row[-1])) + sum(
        (Fraction(float(row[i])) * value(int(i), 0) for i in np.flatnonzero(row[:-1])), Fraction(0)
    )
    return network * Fraction(graph.layout.output_scales[0]) - Fraction(evaluate_exact(formula, point))


def box_of(leaves: tuple[Var, ...], low: float, high: float, *, whole: bool = False, **facts: Any) -> Box:
    count = len(leaves)
    return Box(leaves, np.full(count, low), np.full(count, high), np.full(count, whole), **facts)


def largest(graph: DiscreteGraph, formula: Expr, box: Box, effort: float = 5.0, **options: Any) -> Largest:
    found = largest_difference(graph, (formula,), box, Effort(effort), **options)
    assert found is not None
    return found[0]


def sampled(graph: DiscreteGraph, formula: Expr, box: Box, points: np.ndarray) -> np.ndarray:
    """Absolute differences at points (N, leaves) that lie in the region."""
    matrix, limit = box.half_spaces
    points = points[(points @ matrix.T <= limit).all(axis=1)]
    values = {leaf: points[:, i] for i, leaf in enumerate(box.leaves)}
    return np.abs(values_at(graph, values)[:, 0] - evaluate(formula, values))


# -- leaves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [False, True])
def test_a_network_is_a_function_of_its_leaves(deep: bool):
    rng = np.random.default_rng(0)
    for _ in range(10):
        graph = random_graph(rng, deep=deep)
        leaves = leaves_of(graph)
        assert leaves is not None
        data = from_arrays(rng.normal(size=(6, 10, 1)), rng.normal(size=(6, 10, 1)))
        depth = max(leaf.lag for leaf in leaves)
        columns = {"a": data.x[..., 0], "y": data.y[..., 0]}
        values = {leaf: columns[leaf.name][:, depth - leaf.lag : 10 - leaf.lag].ravel() for leaf in leaves}
        assert np.allclose(values_at(graph, values)[:, 0], graph.run(data)[:, depth:, 0].ravel(), atol=1e-12)


def test_leaves_of_one_sequence_of_inputs_and_outputs():
    layout = Layout("concat", (4.0,), (4.0,), first_scored=2)
    graph = graph_of([location(0, 9), location(0, 1)], {0: 1.0, 1: 2.0, 2: 3.0}, layout=layout)
    assert leaves_of(graph) == (Var("a"), Var("y", 1), Var("y", 2))
    too_far = graph_of([location(0, 5)], {1: 1.0}, layout=layout)
    assert leaves_of(too_far) is None  # an input or an output, depending on the length


def test_a_head_that_is_no_lag_has_no_leaves_unless_it_is_dead():
    mean = RouterNode("mean", "mean", {"value": 0})
    assert leaves_of(graph_of([mean], {0: 1.0, 2: 1.0})) is None
    assert leaves_of(graph_of([mean], {0: 1.0})) == (A,)
    assert leaves_of(graph_of([location(0, None, start=3.0)], {2: 1.0})) == ()


def test_rounding_covers_any_order_of_the_sums():
    rng = np.random.default_rng(1)
    for trial in range(6):
        graph = random_graph(rng, units=8, deep=trial % 2 == 0)
        leaves = leaves_of(graph)
        assert leaves is not None
        size = 10.0 ** int(rng.integers(0, 12))
        points = rng.uniform(-size, size, (20, len(leaves)))
        bound = rounding_at(graph, dict.fromkeys(leaves, size))[0]
        values = values_at(graph, {leaf: points[:, i] for i, leaf in enumerate(leaves)})[:, 0]
        for point, value in zip(points, values, strict=True):
            exact = exact_difference(
                graph, Const(0), {leaf: Fraction(x) for leaf, x in zip(leaves, point, strict=True)}
            )
            assert abs(Fraction(float(value)) - exact) <= bound
        assert bound < 1e-9 * size


# -- polytopes ----------------------------------------------------------------------------------------------


def test_the_largest_value_on_a_polytope():
    rng = np.random.default_rng(2)
    for _ in range(40):
        leaves, rows = int(rng.integers(1, 4)), int(rng.integers(0, 6))
        low, high = -rng.uniform(0, 3, leaves), rng.uniform(0, 3, leaves)
        matrix, limit = rng.normal(size=(rows, leaves)), rng.uniform(-0.5, 2, rows)
        slope, number = rng.normal(size=leaves), float(rng.normal())
        points = rng.uniform(low, high, (20000, leaves))
        points = points[(points @ matrix.T <= limit).all(axis=1)]
        bound, place = largest_value(slope, number, low, high, matrix, limit)
        assert bound >= (points @ slope + number).max(initial=-np.inf)
        if place is not None:
            assert slope @ place + number == pytest.approx(bound, abs=1e-6)
            assert (matrix @ place <= limit + 1e-6).all()
        smaller = tightened(low, high, matrix, limit, np.zeros(leaves, bool))
        if len(points):
            assert smaller is not None
            assert (points >= smaller[0]).all()
            assert (points <= smaller[1]).all()


def test_an_empty_polytope_has_no_value():
    low, high = np.full(2, -(2.0**10)), np.full(2, 2.0**10)
    matrix, limit = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([0.0, -0.5])
    assert largest_value(np.ones(2), 0.0, low, high, matrix, limit)[0] == -np.inf
    limit = np.array([0.0, 0.0])  # one line is left
    assert largest_value(np.array([1.0, 0.0]), 0.0, low, high, matrix, limit)[0] == pytest.approx(2.0**10)


# -- the largest difference ---------------------------------------------------------------------------------


def test_linear_networks_have_sharp_bounds_at_any_size():
    graph = graph_of([], {0: 0.5, 1: 1.0 + 1e-9})
    for power in (10, 20, 40):
        found = largest(
            graph,
            A + Y,
            Box((A, Y), np.array([0.0, -(2.0**power)]), np.array([9.0, 2.0**power]), np.ones(2, bool)),
        )
        assert found.finished
        assert found.upper == pytest.approx(1e-9 * 2**power, rel=1e-6)
        assert abs(found.at[Y]) == 2**power


def test_the_pieces_of_an_absolute_value():
    weights = np.array([[1.0, -1.0], [-1.0, 1.0]])
    distance = OperatorNode("distance", (0, 2), weights, np.array([0.0, 0.1]), np.array([2.0, 2.0]), 0.0)
    graph = graph_of([location(0, 1), distance], {3: 0.25})  # |a - b| with one ramp that begins too early
    found = largest(graph, abs(A - B), box_of((A, B), -100.0, 100.0))
    assert found.finished
    assert found.upper == pytest.approx(0.2, rel=1e-3)
    whole = largest(graph, abs(A - B), box_of((A, B), -(2.0**30), 2.0**30, whole=True))
    assert whole.upper == pytest.approx(0.2, rel=1e-3)


def test_correlated_leaves_make_the_bound_smaller():
    graph = graph_of([location(1, 1)], {0: 0.5, 1: 2.0, 2: -1.0})
    leaves = (A, Y, Var("y", 2))
    formula = A + 2 * Y - Var("y", 2) - A * (Y - Var("y", 2)) / 10
    matrix = np.array([[0.0, 1.0, -1.0], [0.0, -1.0, 1.0]])
    free = largest(graph, formula, box_of(leaves, -3.0, 3.0))
    bound = largest(graph, formula, box_of(leaves, -3.0, 3.0, matrix=matrix, limit=np.array([0.5, 0.5])))
    assert free.upper == pytest.approx(1.8, rel=1e-2)
    assert bound.upper == pytest.approx(0.15, rel=1e-2)
    assert free.finished
    assert bound.finished


@pytest.mark.parametrize(
    ("formula", "most"),
    [
        (A**2, 9.0),
        (A * B * abs(B), 27.0),
        (A**3 - B, 30.0),
        (op("exp", A / 3), float(np.e)),
        (A / (B + 4), 3.0),
    ],
)
def test_smooth_programs(formula: Expr, most: float):
    graph = graph_of([location(0, 1)], {2: 0.0})
    found = largest(graph, formula, box_of((A, B), -3.0, 3.0), gap=1e-2)
    assert found.finished
    assert most * 0.98 <= found.lower <= most * (1 + 1e-9)
    assert most <= found.upper <= most * 1.02


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_no_point_differs_by_more(seed: int):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, deep=seed % 2 == 0)
    leaves = leaves_of(graph)
    assert leaves is not None
    formula = random_formula(rng, leaves)
    box = box_of(leaves, -2.0, 3.0)
    if seed % 3 == 0 and len(leaves) > 1:
        row = np.zeros(len(leaves))
        row[:2] = 1.0, -1.0
        box = box_of(leaves, -2.0, 3.0, matrix=np.array([row, -row]), limit=np.array([0.5, 1.0]))
    found = largest(graph, formula, box, effort=0.2, gap=1e-2)
    seen = sampled(graph, formula, box, rng.uniform(-2, 3, (5000, len(leaves))))
    assert found.upper >= seen.max() - 1e-12
    assert found.lower <= found.upper


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whole_numbers_are_bounded_as_if_they_were_gone_through(seed: int, monkeypatch: pytest.MonkeyPatch):
    """With and without going through all points: the same largest difference, that of exact arithmetic."""
    rng = np.random.default_rng(100 + seed)
    graph = random_graph(rng)
    leaves = leaves_of(graph)
    assert leaves is not None
    formula = random_formula(rng, leaves, 2)
    box = box_of(leaves, -2.0, 2.0, whole=True)
    most = max(
        abs(exact_difference(graph, formula, dict(zip(leaves, map(Fraction, point), strict=True))))
        for point in product(range(-2, 3), repeat=len(leaves))
    )
    for points in (pieces.MOST_POINTS, 1):
        monkeypatch.setattr(pieces, "MOST_POINTS", points)
        monkeypatch.setattr(pieces, "FEW_POINTS", points)
        found = largest(graph, formula, box)
        assert found.finished
        assert most <= Fraction(found.upper)
        assert found.upper <= float(most) * 1.001 + 1e-9
        assert Fraction(found.lower) <= most


def test_large_weights_and_values_stay_sound():
    rng = np.random.default_rng(7)
    for _ in range(4):
        graph = random_graph(rng, units=8)
        graph.head[0] *= 1e8
        leaves = leaves_of(graph)
        assert leaves is not None
        formula = 12345.678 * random_formula(rng, leaves, 2) + 1e9 * leaves[0]
        box = box_of(leaves, -1e7, 1e7, whole=True)
        found = largest(graph, formula, box, effort=0.2)
        for point in rng.integers(-(10**7), 10**7, (200, len(leaves))).tolist():
            exact = exact_difference(graph, formula, dict(zip(leaves, map(Fraction, point), strict=True)))
            assert abs(exact) <= Fraction(found.upper)


def test_it_stops_where_the_question_is_decided():
    rng = np.random.default_rng(3)
    graph = random_graph(rng, units=12, deep=True)
    leaves = leaves_of(graph)
    assert leaves is not None
    box = box_of(leaves, -1.0, 1.0)
    whole_answer = largest(graph, Const(0), box)
    easy = largest(graph, Const(0), box, below=10 * whole_answer.upper)
    assert easy.upper < 10 * whole_answer.upper
    assert easy.cells < whole_answer.cells
    cut_short = largest(graph, Const(0), box, effort=0.005)
    assert not cut_short.finished
    assert cut_short.upper >= whole_answer.lower


def test_what_cannot_be_bounded_is_said():
    graph = graph_of([], {0: 0.5})
    box = box_of((A,), 1.0, 3.0)
    assert largest_difference(graph, (Var("other"),), box, Effort(1.0)) is None
    assert largest_difference(graph, (op("mod", Const(7), A),), box, Effort(1.0)) is None
    assert largest_difference(graph_of([], {1: 1.0}), (A,), box, Effort(1.0)) is None


def test_the_box_around_what_was_seen():
    values = {
        A: np.array([1.0, 5.0, 3.0]),
        Y: np.array([2.0, 8.0, 4.0]),
        Var("y", 2): np.array([1.0, 9.0, 4.0]),
    }
    box = box_around(values, {"a": integers(-3, 7)}, np.zeros(3, bool))
    assert box.low.tolist() == [-3.0, 2.0, 1.0]
    assert box.high.tolist() == [7.0, 8.0, 9.0]
    assert box.half_spaces[0].tolist() == [[0.0, 1.0, -1.0], [0.0, -1.0, 1.0]]
    assert box.half_spaces[1].tolist() == [1.0, 1.0]
    assert rounding_at(graph_of([], {1: 1.0}), box.size).max() < 1e-12


# -- up to which values -------------------------------------------------------------------------------------


def running_sum() -> Recurrence:
    return Recurrence(("a",), (Step("y", A + Y),), ("y",))


def test_weights_that_are_off_hold_up_to_a_limit():
    for error, power in ((1e-3, 8), (1e-9, 28), (-1e-6, 18)):
        graph = graph_of([], {0: 0.5, 1: 1 + error})
        found = limit_of_values(graph, running_sum(), (integers(0, 9),), Effort(2.0))
        assert found is not None
        assert found.value == 2.0**power
        assert found.error == pytest.approx(abs(error) * 2**power, rel=1e-3)
    far_off = graph_of([], {0: 0.7, 1: 1.0})
    assert limit_of_values(far_off, running_sum(), (integers(0, 9),), Effort(2.0)) is None
    exact = limit_of_values(graph_of([], {0: 0.5, 1: 1.0}), running_sum(), (integers(0, 9),), Effort(2.0))
    assert exact is not None
    assert exact.value >= 2.0**48  # what float64 itself is off by


def test_programs_with_bounds_have_no_limit():
    larger = Recurrence(("a",), (Step("y", maximum(A, B)),), ("y",))
    ramp = OperatorNode("ramp", (0, 2), np.array([[1.0, -1.0]]), np.zeros(1), np.ones(1), 0.0)
    graph = graph_of([location(0, 1), ramp], {2: 0.5 + 1e-4, 3: 0.5})
    found = limit_of_values(graph, larger, (integers(-50, 50),), Effort(2.0))
    assert found is not None
    assert found.value == np.inf
    assert limit_of_values(graph, larger, (integers(-50, 50),), Effort(2.0), margin=0.499) is None


def test_the_start_counts_too():
    """A lag that starts with a wrong number is right everywhere but at the first position."""
    before = Recurrence(("a",), (Step("y", B),), ("y",))
    domains = (integers(0, 9),)
    right = graph_of([location(0, 1)], {2: 0.5})
    assert limit_of_values(right, before, domains, Effort(2.0)) is not None
    wrong = graph_of([location(0, 1, start=1.0)], {2: 0.5})
    assert limit_of_values(wrong, before, domains, Effort(2.0)) is None


@pytest.mark.parametrize("seed", range(6))
def test_many_boxes_and_pieces_agree(seed: int):
    """Two ways to the same largest difference, one of them with half spaces."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    leaves = leaves_of(graph)
    assert leaves is not None
    formula = leaves[0] * leaves[-1] + abs(leaves[0])
    row = np.zeros(len(leaves))
    same = [place for place, leaf in enumerate(leaves) if leaf.name == leaves[-1].name]
    row[same[:2]] = (1.0, -1.0)[: len(same)]
    limits = {"matrix": np.array([row, -row]), "limit": np.array([1.0, 0.5])} if len(same) > 1 else {}
    box = box_of(leaves, -2.0, 3.0, **limits)
    difference = difference_of(graph, (formula,), leaves, box.whole)
    assert difference is not None
    upper, lower, near = upper_bound(difference, box, 0, Effort(3.0), 0.05)
    found = largest_of(difference, box, Effort(3.0), gap=0.01)[0]
    assert lower <= found.upper
    assert found.lower <= upper
    assert near
    assert upper <= 1.06 * found.upper


@pytest.mark.slow
@pytest.mark.parametrize("formula", [A * B, abs(A) * B, (A - B) ** 2, A * B**2 + maximum(A, B)])
@pytest.mark.parametrize("strip", [False, True])
def test_a_plane_cut_into_small_boxes(formula: Expr, strip: bool):
    """The same as by pieces, and no point differs by more; a third leaf that only adds is no obstacle."""
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(12, 2)), rng.normal(size=12)
    operator = OperatorNode("o", (0, 2), weight, bias, rng.normal(size=12), 0.0)
    graph = graph_of([location(0, 1), operator], {0: 0.3, 1: 0.01, 2: -0.2, 3: 0.5}, 0.1)
    leaves = (A, B, Y)
    row = np.array([1.0, -1.0, 0.0])
    facts: dict[str, Any] = {"matrix": np.array([row, -row]), "limit": np.array([0.5, 1.0])} if strip else {}
    box = box_of(leaves, -2.0, 3.0, **facts)
    difference = difference_of(graph, (formula,), leaves, box.whole)
    assert difference is not None
    upper, lower, near = upper_bound(difference, box, 0, Effort(6.0), 0.05)
    found = largest_of(difference, box, Effort(2.0), gap=0.02)[0]
    assert near
    assert lower <= upper <= 1.05 * lower + 1e-9
    assert lower <= found.upper
    assert found.lower <= upper
    assert sampled(graph, formula, box, rng.uniform(-2, 3, (20000, 3))).max() <= upper
