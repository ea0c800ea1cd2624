"""Assembly: hand-built graphs of every layout become recurrences that compute what the graph computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from weights2code.data import Layout
from weights2code.errors import NotExtracted
from weights2code.language import BITS, Recurrence, Var, integers
from weights2code.program.listing import listing_machine, raw_outputs
from weights2code.rules.assembly import Assembly

CHANNELS = "a", "b"
READ = {Var("x"), Var("x", 1), Var("y", 2), Var("y", 1)}
TOKENS = Layout("concat", (4.0,), (4.0,), 3)


def tagging(*units: float, out: float = 1.0) -> Layout:
    return Layout("tagging", units or (1.0,), (out,))


def past(inputs: int, outputs: int = 1, scale: float = 1.0) -> Layout:
    return Layout("autoregressive", (scale,) * inputs, (2 * scale,) * outputs)


def one_step(recurrence: Recurrence, sequences) -> np.ndarray:
    """Outputs with the true past, as the graph sees it."""
    return recurrence.run(sequences.x, sequences.y, sequences.x.shape[1])


#: Of the nodes that a head adds up, one after the other.
WEIGHTS = 1.0, -2.0, 0.5, 3.0


class Case(NamedTuple):
    """What the head of a graph adds up, a list for each output, and what the recurrence must hold beside."""

    layout: Layout
    build: Callable[[Any], Any]
    holds: Callable[[Recurrence], bool] = lambda _: True
    inputs: tuple[str, ...] = ("x",)
    outputs: tuple[str, ...] = ("y",)
    low: int = 0
    high: int = 4


def biased(made, bias: np.ndarray, largest: bool, null: float = -1e5):
    """An extremum over other offsets than those of a window."""
    head = made.extremum(0, 2, largest)
    made.nodes[head] = replace(made.nodes[head], relative_bias=bias, null_score=null)
    return head, made.lag(0, 1)


TWO_OFFSETS = np.where(np.isin(np.arange(12), (0, 3)), 0.0, -1e6)
#: Of two ones the older is chosen, and the null slot comes before a single one.
ZERO_BEFORE = np.array([0.0, 10.0, *[-1e6] * 10])


def learned(made, start: float):
    made.start(1, 0.75)
    return 0, 1, made.lag(1, 1, start)


def distance_of_tokens(made):
    """|x[t] - y[t-1]| at its own place and at the one before, and a minimum."""
    operator = made.operator("distance", made.lag(0, 9), 0)
    return operator, made.lag(operator, 1), made.operator("minimum", 0, made.lag(0, 10))


CASES = {
    "lags": Case(tagging(4.0, out=2.0), lambda m: [0, m.lag(0, 1), m.lag(0, 3)],
                 lambda r: (r.depths(), r.start) == ({"x": 3}, {})),
    "starts": Case(tagging(), lambda m: [m.lag(0, 1, 5.0), m.lag(0, 2, 7.0), m.lag(0, 3, 5.0)],
                   lambda r: {*r.start.values()} == {5.0, 7.0} and len(r.steps) == 2),
    "the larger of two": Case(tagging(), lambda m: biased(m, TWO_OFFSETS, True), low=-9, high=10),
    "the smaller of two": Case(tagging(), lambda m: biased(m, TWO_OFFSETS, False), low=-9, high=10),
    "a zero before": Case(tagging(), lambda m: biased(m, ZERO_BEFORE, False, -15.0), high=2),
    **{f"window {size} {of}": Case(
        tagging(), lambda m, size=size, of=of: [m.extremum(0, size, of), m.lag(0, 1)], low=-9, high=10)
       for size in (2, 3, 5) for of in (True, False)},
    "an extremum of an operator": Case(
        tagging(), lambda m: [m.extremum(m.operator("distance", 0, m.lag(0, 1)), 3, False), 2],
        low=-9, high=10),
    "learned starts": Case(past(1, scale=2.0), lambda m: learned(m, 0.75),
                           lambda r: (r.depths(), r.start) == ({"y": 2}, {"y": 0.75 * 4})),
    "each other's past": Case(
        past(2, 2), lambda m: [(0, 2, m.lag(3, 1)), (1, 3, m.lag(2, 2), m.operator("minimum", 0, 2))],
        inputs=CHANNELS, outputs=("y", "z")),
    # tokens of inputs and outputs
    "tokens": Case(TOKENS, lambda m: [m.lag(0, 9), m.lag(0, 10), m.lag(0, 1), 0],
                   lambda r: {*r.steps[-1].definition.variables()} == READ),  # type: ignore[union-attr]
    "operators of tokens": Case(TOKENS, distance_of_tokens),
    "at the place of an input": Case(TOKENS, lambda m: [m.lag(m.operator("distance", 0, m.lag(0, 1)), 9)],
                                     lambda r: r.depths() == {"x": 1}),
    "an extremum of outputs": Case(TOKENS, lambda m: [m.extremum(0, 3)]),
    "wider inputs": Case(Layout("concat", (4.0, 4.0), (4.0,), 3), lambda m: [0, 1, m.lag(0, 9), m.lag(1, 9)],
                         inputs=CHANNELS),
    "wider outputs": Case(Layout("concat", (4.0,), (4.0, 4.0), 3), lambda m: [
        (0, 1, m.lag(0, 9), m.lag(1, 9)), (1, m.lag(0, 9))], outputs=("y", "z")),
}  # fmt: skip


def summed(nodes) -> dict[int, float]:
    return dict(zip(nodes, WEIGHTS, strict=False))


@pytest.mark.parametrize("name", CASES)
def test_a_graph_becomes_a_recurrence(name: str, builder, integers_of):
    case = CASES[name]
    made = builder(case.inputs, case.outputs, case.layout)
    nodes = case.build(made)
    for own in nodes if isinstance(nodes[0], tuple) else [nodes]:
        made.output(summed(own), 0.25)
    x, y = integers_of(len(case.inputs), low=case.low, high=case.high), integers_of(len(case.outputs), 1)
    sequences = made.sequences(x, None if case.layout.name == "tagging" else y)
    recurrence = made.assembly(sequences).compose()
    assert (recurrence.inputs, recurrence.outputs) == (case.inputs, case.outputs)
    first = case.layout.first_scored
    expected = made.graph().run(sequences)
    assert np.allclose(one_step(recurrence, sequences)[:, first:], expected[:, first:], atol=1e-9)
    assert case.holds(recurrence)


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (2.0, 4.0, 2.0), (1.0, 4.0, 2.0)])
def test_lookups(builder, integers_of, gap: int, scales: tuple[float, ...]):
    """Equality is what the stream holds, not what the columns hold."""
    made = builder(("key", "value", "query"), layout=tagging(*scales))
    made.output({made.lookup(2, 0, 1, gap): 1.0})
    x = integers_of(3)
    x[..., 2] *= scales[2] / scales[0]
    sequences = made.sequences(x)
    recurrence = made.assembly(sequences).compose()
    assert np.allclose(one_step(recurrence, sequences), made.graph().run(sequences), atol=1e-9)
    step: Any = recurrence.steps[0].definition
    assert (step.key, step.value, step.gap) == ("key", "value", gap)


# -- leaves --------------------------------------------------------------------------------------------------

LEAVES = {
    "tokens": (("x",), TOKENS, lambda m: [m.operator("distance", m.lag(0, 9), m.lag(0, 11)), m.lag(0, 2)],
               (Var("x"), Var("x", 2), Var("y", 3))),
    "through operators and lags": (
        CHANNELS, past(2), lambda m: [m.lag(m.operator("distance", 0, m.lag(1, 2)), 1), 2, m.lag(2, 2)],
        (Var("a", 1), Var("b", 3), Var("y", 1), Var("y", 3))),
    "without weight": (CHANNELS, tagging(1.0, 1.0), lambda m: [m.operator("opposite", 1, 0)], (Var("b"),)),
    "windows and aggregates": (
        ("x",), tagging(), lambda m: [m.extremum(0, 3), m.head("mean", 0), m.lag(0, None)],
        (Var("x"), Var("x", 1), Var("x", 2), Var("s2"), Var("n"))),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVES)
def test_leaves(name: str, builder, integers_of):
    inputs, layout, build, leaves = LEAVES[name]
    made = builder(inputs, layout=layout)
    made.output(summed(build(made)))
    sequences = made.sequences(integers_of(len(inputs), low=-9, high=10), integers_of(1))
    assert made.assembly(sequences).output_leaves(0) == leaves


@pytest.mark.parametrize(
    ("build", "said"),
    [
        # five tokens back from y[t-1] lies an output at some positions and an input at others
        (lambda m: [m.lag(0, 5)], r"V0_input is read 5 tokens back"),
        *((lambda m, kind=kind: [m.head(kind, 0)], "V1_Attn_L0H0") for kind in ("mean", "sum", "max")),
    ],
)
def test_what_is_an_input_here_and_an_output_there_is_refused(build, said: str, builder, integers_of):
    made = builder(layout=TOKENS)
    made.output(summed(build(made)))
    assembly = made.assembly(made.sequences(integers_of(1), integers_of(1, 1)))
    for ask in (assembly.compose, lambda: assembly.output_leaves(0)):
        with pytest.raises(NotExtracted, match=said):
            ask()


@pytest.mark.parametrize(
    ("domain", "names"),
    [
        (BITS, ("c0", "c1")),
        (integers(-1, 1), ("cm1", "c0", "c1")),
        (integers(0, 9), None),
        (integers(-(2**52), 2**52), None),  # more values than any list can hold
    ],
)
def test_aggregates_of_functions_of_few_values_become_counters(builder, integers_of, domain, names):
    made = builder()
    made.output({made.lag(made.head("mean", made.operator("opposite", 0, 0)), 1): 1.0})
    matches = made.assembly(made.sequences(integers_of(1, high=2))).matches
    assembly = Assembly(made.graph(), matches, dict(made.formulas), domains={"x": domain})
    leaves = assembly.output_leaves(0)
    if names is None:
        assert {leaf.name for leaf in leaves} == {"s2", "n"}
    else:
        assert leaves == tuple(Var(name, 1) for name in names)
        steps = {step.name: step.definition for step in assembly.steps}
        assert steps["c1"] == Var("c1", 1) + Var("x").equals(1)


# -- any graph -----------------------------------------------------------------------------------------------

KINDS = ("lag", "lag", "mean", "sum", "max", "min", "lookup", "distance", "minimum", "opposite", "both")
node_choices = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 99), st.integers(0, 99), st.integers(0, 3)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, phases=(Phase.generate,))
@given(choices=node_choices, starts=st.tuples(st.sampled_from([0, 1, -2]), st.sampled_from([0, 1])))
def test_any_graph_its_recurrence_and_its_listing_compute_the_same(choices, starts, builder, integers_of):
    """The recurrence one step ahead as the graph, and running free as the listing."""
    made = builder(CHANNELS, layout=past(2))
    made.start(2, float(starts[0]))
    for kind, first, second, offset in choices:
        one, other = first % len(made.nodes), second % len(made.nodes)
        if kind == "lag":
            made.lag(one, offset, float(starts[offset % 2]))
        elif kind == "lookup":
            made.lookup(one, other, first * second % len(made.nodes), offset % 2)
        elif kind in ("mean", "sum", "max", "min"):
            made.head(kind, one)
        else:
            made.operator(kind, one, other)
    last = len(made.nodes) - 1
    made.output({last: 1.0, 0: 0.5, max(last - 1, 1): 0.25}, 1.0)
    sequences = made.sequences(integers_of(2), integers_of(1, 1))
    recurrence = made.assembly(sequences).compose()
    assert np.allclose(one_step(recurrence, sequences), made.graph().run(sequences), atol=1e-6)
    few = integers_of(2, count=3)
    own = recurrence.run(few)
    problem = made.problem(integers_of(2), 0.5 * integers_of(1, 1))
    listed = raw_outputs(listing_machine(made.explained(sequences), problem), few)
    small = np.abs(own).max((1, 2)) < 1e6
    assert np.allclose(listed[small], own[small], atol=1e-6)
