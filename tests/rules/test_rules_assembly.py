"""Assembly: hand-built graphs of every layout become recurrences that compute what the graph computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from weights2code.data import Layout
from weights2code.errors import NotExtracted
from weights2code.explain import RouterMatch
from weights2code.language import BITS, Const, Recurrence, Retrieval, Var, integers
from weights2code.program.listing import listing_machine, raw_outputs
from weights2code.rules.assembly import Assembly

INF = float("inf")


def one_step(recurrence: Recurrence, sequences) -> np.ndarray:
    """Outputs with the true past, as the graph sees it."""
    return recurrence.run(sequences.x, sequences.y, sequences.x.shape[1])


def assert_composed(made, x: np.ndarray, y: np.ndarray | None = None, first: int = 0) -> Recurrence:
    sequences = made.sequences(x, y)
    recurrence = made.assembly(sequences).compose()
    expected = made.graph().run(sequences)
    assert np.allclose(one_step(recurrence, sequences)[:, first:], expected[:, first:], atol=1e-9)
    return recurrence


def past(inputs: int, outputs: int = 1, scale: float = 1.0) -> Layout:
    return Layout("autoregressive", (scale,) * inputs, (2 * scale,) * outputs)


# -- tagging -------------------------------------------------------------------------------------------------


def test_lags_of_inputs(builder, integers_of):
    made = builder(layout=Layout("tagging", (4.0,), (2.0,)))
    made.output({0: 0.5, made.lag(0, 1): 1.0, made.lag(0, 3): -2.0}, 0.25)
    recurrence = assert_composed(made, integers_of(1))
    assert recurrence.outputs == ("y",)
    assert recurrence.depths() == {"x": 3}
    assert recurrence.start == {}


def test_one_start_value_belongs_to_the_input_and_another_gets_a_step(builder, integers_of):
    made = builder()
    made.output({made.lag(0, 1, 5.0): 1.0, made.lag(0, 2, 7.0): 1.0, made.lag(0, 3, 5.0): 1.0})
    recurrence = assert_composed(made, integers_of(1))
    assert set(recurrence.start.values()) == {5.0, 7.0}
    assert len(recurrence.steps) == 2


def test_a_lag_of_a_lag(builder, integers_of):
    made = builder()
    made.output({made.lag(made.lag(0, 1), 2): 1.0})
    assert assert_composed(made, integers_of(1)).depths() == {"x": 3}
    apart = builder()
    apart.output({apart.lag(apart.lag(0, 1, 4.0), 2, 0.0): 1.0})
    assert_composed(apart, integers_of(1))


@pytest.mark.parametrize("kind", ["distance", "both", "minimum", "opposite", "constant"])
def test_operators(builder, integers_of, kind: str):
    made = builder(layout=Layout("tagging", (2.0,), (1.0,)))
    made.output({made.operator(kind, 0, made.lag(0, 1)): 3.0}, 1.0)
    assert_composed(made, integers_of(1))


def test_the_lag_of_an_operator_is_zero_before_the_start(builder, integers_of):
    """1 - x is 1 where x is 0, but a head gives 0 before the start all the same."""
    made = builder()
    made.output({made.lag(made.operator("opposite", 0, 0), 1): 1.0})
    recurrence = assert_composed(made, integers_of(1))
    assert recurrence.run(np.zeros((1, 3, 1)))[0, :, 0].tolist() == [0, 1, 1]


def test_a_delayed_constant_tells_the_first_positions_from_the_others(builder, integers_of):
    made = builder()
    constant = made.operator("constant", 0, 0)
    made.formulas[constant] = type(made.formulas[constant])((), Const(3), "formula", 0.0, 1e-9)
    made.output({made.lag(constant, 2): 1.0, made.lag(constant, 0): 1.0})
    recurrence = assert_composed(made, integers_of(1))
    assert recurrence.run(np.zeros((1, 4, 1)))[0, :, 0].tolist() == [3, 3, 6, 6]


def test_the_null_slot_is_its_start(builder, integers_of):
    made = builder(layout=Layout("tagging", (4.0,), (1.0,)))
    made.output({made.lag(0, None, 0.5): 1.0, 0: 1.0})
    assert_composed(made, integers_of(1))


@pytest.mark.parametrize("kind", ["mean", "sum", "max", "min"])
def test_aggregates_of_inputs_and_of_operators(builder, integers_of, kind: str):
    made = builder(layout=Layout("tagging", (2.0,), (1.0,)))
    operator = made.operator("distance", 0, made.lag(0, 1))
    made.output({made.head(kind, 0): 1.0, made.head(kind, operator): 0.5, 0: 1.0})
    assert_composed(made, integers_of(1))


def test_an_aggregate_of_an_aggregate_and_its_lag(builder, integers_of):
    made = builder()
    mean = made.head("mean", 0)
    highest = made.head("max", mean)
    made.output({made.lag(mean, 1): 1.0, highest: 1.0, made.lag(highest, 2): 1.0})
    recurrence = assert_composed(made, integers_of(1, low=-3))
    assert recurrence.start == {f"m{highest}": -INF}


@pytest.mark.parametrize("largest", [True, False])
def test_the_larger_of_two_offsets(builder, integers_of, largest: bool):
    made = builder()
    head = made.extremum(0, 2, largest)
    bias = np.where(np.isin(np.arange(12), (0, 3)), 0.0, -1e6)
    made.nodes[head] = replace(made.nodes[head], relative_bias=bias)
    made.output({head: 1.0, made.lag(0, 1): 1.0})
    assert_composed(made, integers_of(1, low=-9, high=10))


def test_an_extremum_with_a_zero_before_the_start(builder, integers_of):
    made = builder()
    head = made.extremum(0, 2, largest=False)
    bias = np.full(12, -1e6)
    bias[:2] = 0.0, 10.0  # of two ones the older is chosen, and the null slot comes before a single one
    made.nodes[head] = replace(made.nodes[head], relative_bias=bias, null_score=-15.0)
    made.output({head: 1.0, made.lag(0, 1): 1.0})
    assert_composed(made, integers_of(1, low=0, high=2))


@pytest.mark.parametrize("window", [2, 3, 5])
@pytest.mark.parametrize("largest", [True, False])
def test_windowed_extrema_shorten_at_the_start(builder, integers_of, window: int, largest: bool):
    made = builder()
    made.output({made.extremum(0, window, largest): 1.0, made.lag(0, 1): 1.0})
    assert_composed(made, integers_of(1, low=-9, high=10))


def test_an_extremum_of_an_operator(builder, integers_of):
    made = builder()
    operator = made.operator("distance", 0, made.lag(0, 1))
    made.output({made.extremum(operator, 3, False): 1.0, operator: 1.0})
    assert_composed(made, integers_of(1, low=-9, high=10))


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (2.0, 4.0, 2.0), (1.0, 4.0, 2.0)])
def test_lookups(builder, integers_of, gap: int, scales: tuple[float, ...]):
    made = builder(("key", "value", "query"), layout=Layout("tagging", scales, (1.0,)))
    made.output({made.lookup(2, 0, 1, gap): 1.0})
    x = integers_of(3)
    x[..., 2] *= scales[2] / scales[0]  # equality is what the stream holds, not what the columns hold
    recurrence = assert_composed(made, x)
    step = recurrence.steps[0].definition
    assert isinstance(step, Retrieval)
    assert (step.key, step.value, step.gap) == ("key", "value", gap)


def test_a_lookup_in_what_operators_computed(builder, integers_of):
    made = builder(("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    key = made.operator("distance", 0, 1)
    stored = made.lag(1, 1)
    made.output({made.lookup(0, key, stored): 1.0})
    recurrence = assert_composed(made, integers_of(2))
    assert recurrence.retrieves()


def test_names_of_columns_are_not_taken_for_steps(builder, integers_of):
    made = builder(("n", "s2", "v3"), ("m4",), Layout("tagging", (1.0,) * 3, (1.0,)))
    mean = made.head("mean", 0)  # V3
    operator = made.operator("distance", 1, 2)  # V4
    made.output({mean: 1.0, made.lag(operator, 1): 1.0, made.head("max", operator): 1.0})
    recurrence = assert_composed(made, integers_of(3))
    assert recurrence.inputs == ("n", "s2", "v3")
    assert recurrence.outputs == ("m4",)


# -- autoregressive ------------------------------------------------------------------------------------------


def test_past_outputs_and_their_learned_starts(builder, integers_of):
    made = builder(layout=past(1, scale=2.0))
    made.start(1, 0.75)
    made.output({0: 1.0, 1: 0.5, made.lag(1, 1, 0.75): -1.0})
    recurrence = assert_composed(made, integers_of(1), integers_of(1, 1))
    assert recurrence.depths() == {"y": 2}
    assert recurrence.start == {"y": 0.75 * 4}  # in the units of y


def test_a_head_that_starts_otherwise_than_the_output(builder, integers_of):
    made = builder(layout=past(1))
    made.start(1, 0.75)
    made.output({0: 1.0, 1: 0.5, made.lag(1, 1, -1.0): -1.0})
    recurrence = assert_composed(made, integers_of(1), integers_of(1, 1))
    assert set(recurrence.start.values()) == {1.5, -2.0}


def test_several_outputs_read_each_others_past(builder, integers_of):
    made = builder(("a", "b"), ("y", "z"), past(2, 2))
    made.output({0: 1.0, 2: 2.0, made.lag(3, 1): -1.0})
    made.output({1: 1.0, 3: 2.0, made.lag(2, 2): 1.0, made.operator("minimum", 0, 2): 1.0})
    recurrence = assert_composed(made, integers_of(2), integers_of(2, 1))
    assert recurrence.outputs == ("y", "z")


def test_sums_of_past_outputs(builder, integers_of):
    made = builder(layout=past(1))
    made.output({0: 1.0, made.head("sum", 1): 0.5, made.operator("distance", 0, 1): 1.0})
    assert_composed(made, integers_of(1), integers_of(1, 1))


# -- concat --------------------------------------------------------------------------------------------------

TOKENS = Layout("concat", (4.0,), (4.0,), 3)


def test_tokens_become_inputs_and_past_outputs(builder, integers_of):
    made = builder(layout=TOKENS)
    weights = {made.lag(0, 9): 1.0, made.lag(0, 10): 2.0, made.lag(0, 1): 3.0, 0: 4.0}
    made.output(weights)
    recurrence = assert_composed(made, integers_of(1), integers_of(1, 1), first=3)
    found = recurrence.steps[-1].definition
    assert set(found.variables()) == {Var("x"), Var("x", 1), Var("y", 2), Var("y", 1)}  # type: ignore[union-attr]
    assert recurrence.run(np.ones((1, 40, 1))).shape == (1, 40, 1)  # any length


def test_operators_and_lags_of_operators_in_tokens(builder, integers_of):
    made = builder(layout=TOKENS)
    operator = made.operator("distance", made.lag(0, 9), 0)  # |x[t] - y[t-1]|, at its own place
    made.output(
        {operator: 1.0, made.lag(operator, 1): 1.0, made.operator("minimum", 0, made.lag(0, 10)): 1.0}
    )
    assert_composed(made, integers_of(1), integers_of(1, 1), first=3)


def test_an_operator_at_the_place_of_an_input_reads_inputs(builder, integers_of):
    made = builder(layout=TOKENS)
    operator = made.operator("distance", 0, made.lag(0, 1))
    made.output({made.lag(operator, 9): 1.0})
    recurrence = assert_composed(made, integers_of(1), integers_of(1, 1), first=3)
    assert recurrence.depths() == {"x": 1}


def test_an_extremum_over_outputs_in_tokens(builder, integers_of):
    made = builder(layout=TOKENS)
    made.output({made.extremum(0, 3): 1.0})
    assert_composed(made, integers_of(1), integers_of(1, 1), first=3)


def test_the_leaves_of_tokens(builder, integers_of):
    made = builder(layout=TOKENS)
    made.output({made.operator("distance", made.lag(0, 9), made.lag(0, 11)): 1.0, made.lag(0, 2): 1.0})
    assembly = made.assembly(made.sequences(integers_of(1), integers_of(1, 1)))
    assert assembly.output_leaves(0) == (Var("x"), Var("x", 2), Var("y", 3))


@pytest.mark.parametrize("route", ["compose", "leaves"])
def test_an_offset_that_is_no_fixed_variable_is_refused(builder, integers_of, route: str):
    """Five tokens back from y[t-1] lies an output at some positions and an input at others."""
    made = builder(layout=TOKENS)
    made.output({made.lag(0, 5): 1.0})
    assembly = made.assembly(made.sequences(integers_of(1), integers_of(1, 1)))
    with pytest.raises(NotExtracted, match=r"V0_input is read 5 tokens back"):
        assembly.compose() if route == "compose" else assembly.output_leaves(0)


@pytest.mark.parametrize("kind", ["mean", "sum", "max"])
def test_aggregates_over_inputs_and_outputs_alike_are_refused(builder, integers_of, kind: str):
    made = builder(layout=TOKENS)
    made.output({made.head(kind, 0): 1.0})
    assembly = made.assembly(made.sequences(integers_of(1), integers_of(1, 1)))
    with pytest.raises(NotExtracted, match="V1_Attn_L0H0"):
        assembly.compose()
    with pytest.raises(NotExtracted, match="V1_Attn_L0H0"):
        assembly.output_leaves(0)


@pytest.mark.parametrize(("inputs", "outputs"), [(("a", "b"), ("y",)), (("x",), ("y", "z"))])
def test_tokens_are_as_wide_as_the_wider_side(builder, integers_of, inputs, outputs):
    scales = (4.0,) * len(inputs), (4.0,) * len(outputs)
    made = builder(inputs, outputs, Layout("concat", *scales, 3))
    for row in range(len(outputs)):
        made.output({0: 1.0, 1: 2.0, made.lag(0, 9): 1.0, made.lag(1, 9): float(1 + row)})
    assert_composed(made, integers_of(len(inputs)), integers_of(len(outputs), 1), first=3)


# -- leaves --------------------------------------------------------------------------------------------------


def test_leaves_see_through_operators_and_add_up_lags(builder, integers_of):
    made = builder(("a", "b"), layout=past(2))
    inner = made.operator("distance", 0, made.lag(1, 2))
    made.output({made.lag(inner, 1): 1.0, 2: 1.0, made.lag(2, 2): 1.0})
    assembly = made.assembly(made.sequences(integers_of(2), integers_of(1)))
    leaves = assembly.output_leaves(0)
    assert leaves == (Var("a", 1), Var("b", 3), Var("y", 1), Var("y", 3))


def test_leaves_leave_out_operands_without_weight(builder, integers_of):
    made = builder(("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    made.output({made.operator("opposite", 1, 0): 1.0})
    assembly = made.assembly(made.sequences(integers_of(2)))
    assert assembly.output_leaves(0) == (Var("b"),)


def test_leaves_of_windows_and_aggregates(builder, integers_of):
    made = builder()
    made.output({made.extremum(0, 3): 1.0, made.head("mean", 0): 1.0, made.lag(0, None): 1.0})
    assembly = made.assembly(made.sequences(integers_of(1, low=-9, high=10)))
    assert assembly.output_leaves(0) == (Var("x"), Var("x", 1), Var("x", 2), Var("s2"), Var("n"))


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
    operator = made.operator("opposite", 0, 0)
    made.output({made.lag(made.head("mean", operator), 1): 1.0})
    graph, sequences = made.graph(), made.sequences(integers_of(1, high=2))
    matches = made.assembly(sequences).matches
    assembly = Assembly(graph, matches, dict(made.formulas), domains={"x": domain})
    leaves = assembly.output_leaves(0)
    if names is None:
        assert {leaf.name for leaf in leaves} == {"s2", "n"}
    else:
        assert leaves == tuple(Var(name, 1) for name in names)
        steps = {step.name: step.definition for step in assembly.steps}
        assert steps["c1"] == Var("c1", 1) + Var("x").equals(1)


def test_a_head_without_a_match_is_named(builder, integers_of):
    made = builder()
    made.output({made.extremum(0, 3): 1.0})
    assembly = Assembly(made.graph(), {1: RouterMatch(None)}, {})
    with pytest.raises(NotExtracted, match="V1_Attn_L0H0"):
        assembly.compose()


# -- any graph -----------------------------------------------------------------------------------------------

KINDS = ("lag", "lag", "mean", "sum", "max", "min", "lookup", "distance", "minimum", "opposite", "both")
node_choices = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 99), st.integers(0, 99), st.integers(0, 3)),
    min_size=1,
    max_size=5,
)


def random_graph(builder, choices, starts):
    made = builder(("a", "b"), layout=past(2, scale=1.0))
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
    return made


@settings(max_examples=60, phases=(Phase.generate,))
@given(choices=node_choices, starts=st.tuples(st.sampled_from([0, 1, -2]), st.sampled_from([0, 1])))
def test_any_composed_graph_computes_what_the_graph_computes(choices, starts, builder, integers_of):
    made = random_graph(builder, choices, starts)
    sequences = made.sequences(integers_of(2), integers_of(1, 1))
    recurrence = made.assembly(sequences).compose()
    assert np.allclose(one_step(recurrence, sequences), made.graph().run(sequences), atol=1e-6)


@settings(max_examples=40, phases=(Phase.generate,))
@given(choices=node_choices, starts=st.tuples(st.sampled_from([0, 1, -2]), st.sampled_from([0, 1])))
def test_the_listing_of_any_graph_runs_free_as_the_recurrence_does(choices, starts, builder, integers_of):
    made = random_graph(builder, choices, starts)
    sequences = made.sequences(integers_of(2, count=3), integers_of(1, 1, count=3))
    matching = made.sequences(integers_of(2), integers_of(1, 1))
    explained = made.explained(matching)
    problem = made.problem(integers_of(2), 0.5 * integers_of(1, 1))
    recurrence = made.assembly(matching).compose()
    own = recurrence.run(sequences.x)
    listed = raw_outputs(listing_machine(explained, problem), sequences.x)
    small = np.abs(own).max((1, 2)) < 1e6
    assert np.allclose(listed[small], own[small], atol=1e-6)
