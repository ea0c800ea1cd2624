"""`program_raw.py` of a graph: the text, its interpreter and the free-running recurrence agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Layout
from weights2code.explain import ExplainedGraph
from weights2code.graph import OperatorNode
from weights2code.language import Var, op
from weights2code.program import raw_source
from weights2code.program.raw_program import raw_program, raw_program_source


def parity(builder):
    made = builder()
    made.output({made.operator("distance", 0, made.lag(0, 1)): 1.0})
    return made


def scaled_dynamics(builder):
    made = builder(layout=Layout("autoregressive", (2.0,), (8.0,)))
    made.start(1, 0.5)
    made.output({0: 0.25, 1: 0.5, made.lag(1, 1, 0.5): -0.25, made.lag(0, 2, 1.5): 0.125}, 0.5)
    return made


def two_outputs(builder):
    made = builder(("a", "b"), ("y", "z"), Layout("autoregressive", (1.0, 1.0), (1.0, 1.0)))
    made.output({0: 1.0, 3: 0.5, made.head("mean", 1): 1.0})
    made.output(
        {made.operator("minimum", 0, 2): 1.0, made.head("max", 1): 1.0, made.extremum(1, 2, False): 1.0}
    )
    return made


def aggregates(builder):
    made = builder()
    operator = made.operator("opposite", 0, 0)
    weights = {made.head(kind, operator): 1.0 for kind in ("sum", "mean", "min")}
    made.output({**weights, made.lag(operator, 1): 2.0, made.lag(0, None, 0.75): 1.0})
    return made


def lookup(builder):
    made = builder(("key", "value", "query"), layout=Layout("tagging", (4.0, 1.0, 1.0), (1.0,)))
    made.output({made.lookup(2, 0, 1): 1.0})
    return made


def tokens(builder):
    made = builder(layout=Layout("concat", (4.0,), (4.0,), 3))
    operator = made.operator("distance", made.lag(0, 9), 0)
    inner = made.operator("opposite", 0, 0)
    made.output(
        {operator: 0.25, made.lag(operator, 1): 0.25, made.lag(inner, 10): 0.5, made.extremum(0, 2): 0.25}
    )
    return made


def compared(builder, layout, offsets):
    """The larger of two offsets."""
    made = builder(layout=layout)
    head = made.extremum(0, 2)
    bias = np.where(np.isin(np.arange(12), offsets), 0.0, -1e6)
    made.nodes[head] = replace(made.nodes[head], relative_bias=bias)
    made.output({head: 1.0})
    return made


def two_offsets(builder):
    return compared(builder, Layout("tagging", (1.0,), (1.0,)), (0, 3))


def two_tokens(builder):
    return compared(builder, Layout("concat", (4.0,), (4.0,), 3), (0, 9))


def wide_tokens(builder):
    made = builder(("a", "b"), ("y",), Layout("concat", (4.0, 4.0), (4.0,), 3))
    made.output({0: 0.5, 1: 2.0, made.lag(0, 9): 1.0, made.lag(1, 10): 1.0})
    return made


GRAPHS = (
    parity,
    scaled_dynamics,
    two_outputs,
    aggregates,
    lookup,
    two_offsets,
    tokens,
    two_tokens,
    wide_tokens,
)


@pytest.mark.parametrize("make", GRAPHS)
def test_the_text_is_the_interpreter_is_the_recurrence(builder, integers_of, loaded, make):
    made = make(builder)
    x = integers_of(len(made.inputs), low=-2)
    y = integers_of(len(made.outputs), 1)
    sequences = made.sequences(x, y)
    explained = made.explained(sequences)
    problem = made.problem(x, 0.5 * y)  # real outputs: nothing is rounded on its way back
    listing = raw_program(explained, problem)
    text = raw_program_source(explained, problem)
    assert text == raw_source(listing)
    fresh = integers_of(len(made.inputs), seed=5, low=-2, count=4)
    answers = [loaded(text)(item[:, 0] if item.shape[1] == 1 else item) for item in fresh]
    recurrence = made.assembly(sequences).compose()
    # before the first scored position tokens are not yet what they are later
    first = made.layout.first_scored
    for item, answer in zip(fresh, answers, strict=True):
        interpreted = listing.run(item)
        assert np.allclose(np.reshape(answer, interpreted.shape), interpreted, rtol=1e-12)
        if made.layout.name != "concat":
            assert np.allclose(interpreted, recurrence.run(item[None])[0], atol=1e-9)
        else:
            begun = np.vstack([interpreted[:first], np.zeros((len(item) - first, 1))])[None]
            own = recurrence.run(item[None], begun, first)[0]
            assert np.allclose(interpreted[first:], own[first:], atol=1e-9)


@pytest.mark.parametrize("make", GRAPHS)
def test_one_step_of_the_listing_is_the_graph(builder, integers_of, make):
    """Fed with its own outputs, the graph must reproduce them: the listing runs it free."""
    made = make(builder)
    x = integers_of(len(made.inputs), low=-2)
    sequences = made.sequences(x, integers_of(len(made.outputs), 1))
    listing = raw_program(made.explained(sequences), made.problem(x, 0.5 * sequences.y))
    own = np.stack([listing.run(item) for item in x[:5]])
    again = made.graph().run(made.sequences(x[:5], own))
    first = made.layout.first_scored
    assert np.allclose(again[:, first:], own[:, first:], atol=1e-9)


def test_whole_outputs_are_rounded_on_their_way_back(builder, integers_of):
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    made.output({0: 1.0, 1: 0.999})
    x = integers_of(1)
    problem = made.problem(x, np.cumsum(x, 1))
    listing = raw_program(made.explained(problem.validation), problem)
    assert listing.round_feedback
    assert np.array_equal(np.round(listing.run(x[0])), np.cumsum(x[0], 0))


def test_nodes_that_nothing_reads_are_left_out_and_columns_stay(builder, integers_of):
    made = builder(("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    made.lag(1, 1)
    made.output({0: 1.0})
    problem = made.problem(integers_of(2), integers_of(1))
    listing = raw_program(made.explained(problem.validation), problem)
    assert [node.name for node in listing.nodes] == ["V0_input", "V1_input"]


def test_a_formula_that_is_only_near_is_not_listed(builder, integers_of, loaded):
    made = parity(builder)
    fit = made.formulas[2]
    problem = made.problem(integers_of(1), integers_of(1))
    right = raw_program_source(made.explained(problem.validation), problem)
    assert "V2 = np.abs(V0 - V1)" in right
    made.formulas[2] = replace(fit, formula=fit.formula * (1 + 1e-9))
    near = raw_program_source(made.explained(problem.validation), problem)
    assert "np.abs" not in near
    fresh = [item[:, 0] for item in integers_of(1, seed=5, count=4)]
    for item in fresh:
        assert np.allclose(loaded(near)(item), loaded(right)(item), rtol=1e-14, atol=0)


def test_an_explanation_is_not_needed(builder, integers_of):
    made = two_outputs(builder)
    x = integers_of(2, low=-2)
    problem = made.problem(x, integers_of(2, 1) / 2)
    listing = raw_program(ExplainedGraph(made.graph(), {}, {}), problem)
    own = np.stack([listing.run(item) for item in x[:5]])
    assert np.allclose(made.graph().run(made.sequences(x[:5], own)), own, rtol=1e-14, atol=1e-14)


def test_the_scale_of_an_operator_goes_to_its_readers(builder, integers_of):
    """An operator of two bits, off by a weighted sum of them, is listed as what it is; so are its copies."""
    made = builder(("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    weight = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 0.0]])
    distance = OperatorNode("V2_MLP_L0M0", (0, 1), weight, np.zeros(3), np.array([0.3, 0.3, -1.7]), 0.1)
    made.nodes.append(distance)
    made.output({2: 10 / 3, 0: 17 / 3})
    x = integers_of(2, high=2)
    problem = made.problem(x, integers_of(1))
    listing = raw_program(ExplainedGraph(made.graph(), {}, {}), problem)
    assert listing.nodes[-1].formula == op("ne", Var("V0_input"), Var("V1_input"))
    assert listing.head[0].keys() <= {"V0_input", "V1_input", "V2_MLP_L0M0"}
    assert listing.head[0]["V2_MLP_L0M0"] == pytest.approx(1.0)
    assert abs(listing.head[0].get("V0_input", 0.0)) < 1e-12
    assert np.allclose(listing.run(x[0]), made.graph().run(made.sequences(x[:1]))[0], rtol=0, atol=1e-14)


def test_levels_that_lie_evenly_are_numbered_through_copies_and_means(builder, integers_of):
    made = builder()
    step = OperatorNode("V1_MLP_L0M0", (0,), np.array([[-1.0]]), np.array([1.0]), np.array([0.7]), -0.2)
    made.nodes.append(step)
    lag, mean, largest = made.lag(1, 1, 0.5), made.head("mean", 1), made.head("max", 1)
    after = made.operator("minimum", lag, mean)
    made.output({after: 2.0, largest: 1.0, lag: -1.0})
    x = integers_of(1, high=3)  # 1 - x is positive at 0 alone
    problem = made.problem(x, integers_of(1) / 2)
    listing = raw_program(ExplainedGraph(made.graph(), {}, {}), problem)
    assert listing.nodes[1].rows == ((0.0, 1.0), (1.0, 0.0), (2.0, 0.0))
    graph = made.graph()
    for item in x[:4]:
        assert np.allclose(listing.run(item), graph.run(made.sequences(item[None]))[0], rtol=0, atol=1e-14)


def test_what_is_added_up_keeps_its_scale(builder, integers_of):
    made = builder()
    made.nodes.append(
        OperatorNode("V1_MLP_L0M0", (0,), np.array([[-1.0]]), np.array([1.0]), np.array([0.7]), -0.2)
    )
    made.output({made.head("sum", 1): 1.0})
    x = integers_of(1, high=3)
    listing = raw_program(ExplainedGraph(made.graph(), {}, {}), made.problem(x, integers_of(1) / 2))
    graph = made.graph()
    assert np.allclose(listing.run(x[0]), graph.run(made.sequences(x[:1]))[0], rtol=0, atol=1e-14)


def test_what_the_head_adds_of_operands_is_written_with_the_operator(builder, integers_of):
    made = builder(layout=Layout("tagging", (4.0,), (2.0,)))
    hinge = OperatorNode("V1_MLP_L0M0", (0,), np.array([[2.0]]), np.array([-1.0]), np.array([0.3]), 0.125)
    made.nodes.append(hinge)
    made.output({0: 0.7, 1: 5.0}, 0.5)
    x = np.random.default_rng(0).uniform(-9, 9, (20, 10, 1))
    problem = made.problem(x, x / 3)
    listing = raw_program(ExplainedGraph(made.graph(), {}, {}), problem)
    assert listing.head == ({"V1_MLP_L0M0": 1.0},)
    assert listing.bias == (0.0,)
    assert listing.nodes[-1].kind == "piecewise"
    graph = made.graph()
    assert np.allclose(listing.run(x[0]), graph.run(made.sequences(x[:1]))[0], rtol=0, atol=1e-13)
