"""Small machines whose contexts can be counted by hand, and what shortest counterexamples are."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.effort import Effort
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import HeadKind
from weights2code.language import Expr, Recurrence, Start, Step, Var, integers, maximum, op, reals, where
from weights2code.network.contexts.exploration import Explored, Narrow, explore
from weights2code.network.contexts.pointing import window_of
from weights2code.network.contexts.view import Unsuited, View

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)


def machine(formula: Expr, *before: Step, **starts: Start) -> Recurrence:
    return Recurrence(("x",), (*before, Step("y", formula)), ("y",), starts)


def network(*nodes: Node, head: list[float], past: bool = False) -> DiscreteGraph:
    """Channels are x, and with `past` y[t-1]; the last number of the head is the intercept."""
    layout = Layout("autoregressive" if past else "tagging", (1.0,), (1.0,))
    channels = [ChannelNode(f"V{i}", name) for i, name in enumerate(layout.channel_names(("x",), ("y",)))]
    return DiscreteGraph((*channels, *nodes), np.array([head]), layout, ("x",), ("y",), 6)


def location(value: int, offset: int | None, start: float = 0.0) -> RouterNode:
    return RouterNode("head", "location", {"value": value}, offset, start)


def over_all(kind: HeadKind, value: int) -> RouterNode:
    return RouterNode("head", kind, {"value": value})


#: a + b - 2 relu(a + b - 1), exclusive or of bits.
EITHER = OperatorNode(
    "or", (0, 1), np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.0, -1.0]), np.array([1.0, -2.0]), 0.0
)


def explored(
    graph: DiscreteGraph,
    program: Recurrence,
    high: int = 1,
    effort: float = 5.0,
    windows: dict[int, int] | None = None,
) -> Explored:
    return explore(View.of(graph, windows), program, (integers(0, high),), Effort(effort))


def test_one_input_is_one_level() -> None:
    found = explored(network(head=[1.0, 0.0]), machine(x * 1), high=4)
    assert (found.closed, found.wrong, found.error) == (True, 0, 0.0)
    # the first position, and once more after it, since nothing is remembered
    assert (found.contexts, found.length) == (10, 2)
    assert 0.49 < found.margin < 0.5


def test_parity_has_two_states_and_a_start() -> None:
    graph = network(EITHER, head=[0.0, 0.0, 1.0, 0.0], past=True)
    found = explored(graph, machine(op("ne", x, y1) * 1))
    assert found.closed
    assert found.wrong == 0
    assert found.contexts == 2 + 2 * 2  # before the start, and after each output


def test_a_window_has_all_its_contexts() -> None:
    graph = network(location(0, 1), location(0, 2), head=[1.0, 1.0, 1.0, 0.0])
    found = explored(graph, machine(x + x1 + Var("x", 2)), high=2)
    assert found.closed
    assert found.contexts == 3 + 3 * 3 + 9 * 3  # the first two positions, then every window with every input


@pytest.mark.parametrize("kind", ["max", "min"])
def test_extrema_close(kind: HeadKind) -> None:
    graph = network(over_all(kind, 0), head=[0.0, 1.0, 0.0])
    start = -np.inf if kind == "max" else np.inf
    found = explored(graph, machine(op(kind, x, y1), y=start), high=9)
    assert found.closed
    assert found.wrong == 0
    assert found.contexts == 10 + 10 * 10


def test_sums_do_not_close_and_cover_a_length() -> None:
    graph = network(over_all("sum", 0), head=[0.0, 1.0, 0.0])
    found = explored(graph, machine(x + y1), effort=0.05)
    assert not found.closed
    assert found.wrong == 0
    assert found.length > 5


def test_a_counterexample_is_a_shortest_one() -> None:
    """Three ones in a row are the first to tell."""
    graph = network(head=[1.0, 0.0])
    rare = op("and", x.equals(1), op("and", x1.equals(1), Var("x", 2).equals(1)))
    found = explored(graph, machine(x + where(rare, 1, 0)))
    assert found.counterexample == ((1.0,), (1.0,), (1.0,))
    assert found.worst[0] in (((1.0,), (1.0,), (1.0,)), ((0.0,), (1.0,), (1.0,), (1.0,)))
    assert found.error == 1.0


def test_late_differences_are_found() -> None:
    clock = Step("n", op("min", Var("n", 1) + 1, 30))
    found = explored(network(head=[1.0, 0.0]), machine(x + where(Var("n").equals(30), 1, 0), clock))
    assert found.counterexample is not None
    assert len(found.counterexample) == 30


def test_only_the_first_position_differs() -> None:
    graph = network(location(0, 1, start=1.0), head=[0.0, 1.0, 0.0])
    assert explored(graph, machine(x1 * 1)).counterexample == ((0.0,),)
    assert explored(graph, machine(x1 * 1, x=1.0)).closed
    repeated = explored(graph, machine(x1 * 1, x="first"))
    assert repeated.counterexample == ((0.0,),)


def test_first_and_infinite_starts() -> None:
    graph = network(location(0, 1), head=[1.0, 0.0, 0.0])
    both = machine(where(x1 > x, x, x), x="first")
    assert explored(graph, both, high=3).wrong == 0
    lowest = machine(x * 1, Step("m", op("min", x, Var("m", 1))), m=np.inf)
    assert explored(graph, lowest, high=3).closed


def test_a_start_that_is_stacked() -> None:
    """A head on a head: its start lies two positions back."""
    graph = network(location(0, 1, start=2.0), location(1, 1, start=3.0), head=[0.0, 0.0, 1.0, 0.0])
    clock = Step("n", op("min", Var("n", 1) + 1, 3))
    right = where(Var("n").equals(1), 3, where(Var("n").equals(2), 2, Var("x", 2)))
    found = explored(graph, machine(right, clock), high=4)
    assert found.closed
    assert found.wrong == 0
    wrong = where(Var("n").equals(1), 3, Var("x", 2))
    assert explored(graph, machine(wrong, clock), high=4).counterexample == ((0.0,), (0.0,))


def test_what_cannot_be_explored_is_refused() -> None:
    graph = network(head=[1.0, 0.0])
    with pytest.raises(Unsuited, match="no whole number"):
        explored(graph, machine(x * 0.4))
    with pytest.raises(Unsuited, match="reals"):
        explore(View.of(graph), machine(x * 1), (reals(0.0, 1.0),), Effort(1.0))
    above = network(over_all("max", 0), over_all("min", 1), head=[0.0, 0.0, 1.0, 0.0])
    with pytest.raises(Unsuited, match="another one"):
        explored(above, machine(maximum(x, y1)))


def test_an_output_on_the_border_is_not_right() -> None:
    found = explored(network(head=[1.0, 0.5]), machine(x * 1))
    assert found.wrong == found.contexts
    nearly = explored(network(head=[1.0, 0.5 - 2e-16]), machine(x * 1))
    assert nearly.wrong > 0
    clearly = explored(network(head=[1.0, 0.5 - 1e-12]), machine(x * 1))
    assert clearly.wrong == 0
    assert 0 < clearly.margin < 1e-11


# -- heads that point by content -----------------------------------------------------------------------------


def pointer(
    bias: list[float], keys: list[float], queries: list[float] | None = None, null: float = -100.0
) -> RouterNode:
    """On x from 0 to as many values as there are keys: the score is query times key, plus the bias."""
    queries = [1.0] * len(keys) if queries is None else queries
    return RouterNode(
        "pointer", "pointer", {"query": 0, "key": 0, "value": 0},
        query_table=np.array(queries)[:, None], key_table=np.array(keys)[:, None],
        relative_bias=np.array(bias), null_score=null, value_range=(0.0, len(keys) - 1.0),
    )  # fmt: skip


def exact(*values: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array(values), np.zeros(len(values))


def test_windows() -> None:
    near = pointer([0.0, -50.0, -50.0], [0.0, 10.0])
    assert window_of(near, exact(0.0, 1.0), exact(0.0, 1.0)) == 0
    further = pointer([0.0, 0.0, -50.0], [0.0, 10.0])
    assert window_of(further, exact(0.0, 1.0), exact(0.0, 1.0)) == 1
    anywhere = pointer([0.0, 0.0, -5.0], [0.0, 10.0])
    assert window_of(anywhere, exact(0.0, 1.0), exact(0.0, 1.0)) is None
    assert window_of(anywhere, exact(0.0, 1.0), exact(0.0)) == 1  # no key is worth that much
    nothing = pointer([-5.0, -5.0, -5.0], [0.0, 1.0], null=0.0)
    assert window_of(nothing, exact(0.0), exact(0.0)) == 0  # the null slot is
    tie = pointer([0.0, 0.0, 0.0], [0.0, 0.0])
    assert window_of(tie, exact(0.0), exact(0.0)) is None
    barely = pointer([1e-8, 0.0, 0.0], [1.0, 1.0])
    assert window_of(barely, exact(0.0), exact(0.0)) is None  # not in float32


def test_a_pointer_that_takes_the_larger_of_two() -> None:
    graph = network(pointer([0.0, -0.5, -50.0], [0.0, 1.0, 2.0, 3.0]), head=[0.0, 1.0, 0.0])
    found = explored(graph, machine(maximum(x, x1)), high=3, windows={1: 1})
    assert found.closed
    assert found.wrong == 0
    with pytest.raises(Narrow) as narrow:
        explored(graph, machine(maximum(x, x1)), high=3, windows={1: 0})
    assert (narrow.value.index, narrow.value.window) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["max", "min"])
def test_a_pointer_below_an_extremum_is_held_to_its_window(kind: HeadKind) -> None:
    """A query and a key that meet only once in many sequences look further back."""
    keys, queries = [0.0] * 9, [0.0] * 9
    keys[7], queries[8] = 10.0, 10.0
    graph = network(
        pointer([0.0, -50.0, -50.0, -500.0], keys, queries), over_all(kind, 1), head=[0.0, 0.0, 1.0, 0.0]
    )
    start = -np.inf if kind == "max" else np.inf
    with pytest.raises(Narrow):
        explored(graph, machine(op(kind, x, y1), y=start), high=8, windows={1: 0})
    found = explored(graph, machine(op(kind, x, y1), y=start), high=8, windows={1: 2})
    example = {"max": ((7.0,), (8.0,)), "min": None}[kind]
    assert found.counterexample == example


def test_a_tie_below_an_extremum_is_no_proof() -> None:
    graph = network(pointer([0.0, 1e-12, -500.0], [0.0, 0.0]), over_all("max", 1), head=[0.0, 0.0, 1.0, 0.0])
    found = explored(graph, machine(maximum(x, y1), y=-np.inf), windows={1: 1})
    assert found.wrong > 0
