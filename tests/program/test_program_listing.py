"""`program_raw.py`: the text is the recurrence to the last bit, and the recurrence is the graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.data import Layout
from weights2code.errors import NotExtracted
from weights2code.explain import ExplainedGraph
from weights2code.graph import OperatorNode, RouterNode
from weights2code.language import OPERATORS, Const, Op, Recurrence, Selection, Step, Var, op
from weights2code.program.listing import listing_machine, listing_source, raw_outputs, recurrence_source

V0, V1 = Var("V0_input"), Var("V1_Attn_L0H0")

LISTING = """import numpy as np

__all__ = ["parity_last2"]


def relu(x):
    return np.maximum(x, 0)


def parity_last2(input_seq):
    # x
    input_arr = np.array(input_seq, dtype=float).reshape(-1, 1)
    seq_len = input_arr.shape[0]
    # V0_input x
    V0 = input_arr[:, 0]
    # V1_Attn_L0H0
    V1 = np.zeros(seq_len)
    # Fixed offset 1
    V1[1:] = V0[:-1]
    # V3_MLP_L0M0
    V3 = relu(V0 - V1) + 0.5 * V1
    # Output Head
    output = 0.25 + 2 * V3 - V0
    return output
"""

LOOP = """import numpy as np

__all__ = ["total"]


def total(input_seq):
    # x
    input_arr = np.array(input_seq, dtype=float).reshape(-1, 1)
    seq_len = input_arr.shape[0]
    # V0_input
    V0 = input_arr[:, 0]
    V9 = np.zeros(seq_len)
    output = np.zeros(seq_len)
    y = np.zeros(seq_len)
    for t in range(seq_len):
        # V9_input
        V9[t] = y[t - 1] if t >= 1 else 5.0
        # Output Head
        output[t] = V0[t] + 0.75 * V9[t]
        # y
        y[t] = np.floor(output[t] + 0.5)
    return output
"""


def test_tagging_is_listed_as_in_the_paper():
    steps = (
        Step("V0_input", Var("x")),
        Step("V1_Attn_L0H0", Var("V0_input", 1)),
        Step("V3_MLP_L0M0", op("relu", V0 - V1) + 0.5 * V1),
        Step("y.raw", Const(0.25) + 2 * Var("V3_MLP_L0M0") + -1 * V0),
        Step("y", op("floor", Var("y.raw") + 0.5)),
    )
    text = recurrence_source(Recurrence(("x",), steps, ("y",)), "parity_last2", {"V0_input": "x"})
    assert text == LISTING


def test_own_outputs_are_read_in_a_loop(loaded):
    steps = (
        Step("V0_input", Var("x")),
        Step("V9_input", Var("y", 1)),
        Step("y.raw", V0 + 0.75 * Var("V9_input")),
        Step("y", op("floor", Var("y.raw") + 0.5)),
    )
    machine = Recurrence(("x",), steps, ("y",), {"y": 5.0})
    assert recurrence_source(machine, "total", {}) == LOOP
    assert loaded(LOOP)([0.0, 0.0]).tolist() == [3.75, 3.0]
    given = raw_outputs(machine, np.zeros((1, 2, 1)), np.full((1, 2, 1), 8.0))
    assert given[0, :, 0].tolist() == [3.75, 6.0]


def test_comments_stay_on_their_line_and_names_do_not_collide(loaded):
    steps = (
        Step("scores", Var("force")),
        Step("t", Var("scores", 1)),
        Step("y\nimport os.raw", Var("t")),
        Step("y\nimport os", Var("y\nimport os.raw")),
    )
    machine = Recurrence(("force",), steps, ("y\nimport os",))
    text = recurrence_source(machine, "f", {"scores": "in\nimport os"})
    assert "# scores in import os" in text
    assert loaded(text)([1.0, 2.0]).tolist() == [0, 1]


NAMES = sorted(set(OPERATORS) - {"div", "pow", "mod", "exp", "log", "sqrt", "clip", "floor"})
leaves = st.one_of(
    st.sampled_from([V0, Var("b"), Var("V0_input", 1), Var("b", 2)]),
    st.builds(Const, st.sampled_from([0, 1, -2, 0.5, 1 / 3])),
)


def extend(children):
    return st.one_of(
        st.builds(
            lambda name, p: Op(name, p[: OPERATORS[name].arity]),
            st.sampled_from(NAMES),
            st.tuples(children, children, children),
        ),
        st.builds(lambda a, b: a / 3 - (b + a) * 0.1, children, children),
        st.builds(lambda e: op("floor", e / 3) % 2, children),
        st.builds(lambda e: op("clip", e**2, -1, 4), children),
    )


@settings(max_examples=80)
@given(st.recursive(leaves, extend, max_leaves=8), st.booleans())
def test_any_formula_to_the_last_bit(loaded, formula, feeds_back):
    steps = (
        Step("V0_input", Var("a") + Var("y", 1) if feeds_back else Var("a")),
        Step("V5_MLP", formula),
        Step("y.raw", Var("V5_MLP")),
        Step("y", op("clip", Var("y.raw"), -9, 9)),
    )
    machine = Recurrence(("a", "b"), steps, ("y",), {"b": -1.5})
    x = np.random.default_rng(1).integers(-3, 4, (6, 2)) / 3
    given = np.asarray(loaded(recurrence_source(machine, "f", {}))(x))
    assert np.array_equal(given, raw_outputs(machine, x[None])[0, :, 0])


# -- graphs --------------------------------------------------------------------------------------------------


def listed(made, x, loaded, *, outputs=None, reals=False) -> dict[str, Any]:
    """The recurrence of the listing, which must be the graph at every length, as must be its text."""
    y = np.random.default_rng(1).normal(size=(*x.shape[:2], len(made.outputs)))
    graph, problem = made.graph(), made.problem(x, y if outputs is None else outputs)
    explained = replace(made.explained(problem.validation), graph=graph)
    machine, function = listing_machine(explained, problem), loaded(listing_source(explained, problem))
    for length in (1, 3, 10, 40):
        rng, shape = np.random.default_rng(length), (5, length, x.shape[2])
        draw = rng.uniform(-2, 5, shape) if reals else rng.choice(x.ravel(), shape)
        own = raw_outputs(machine, draw)
        assert np.array_equal(own, [np.reshape(function(item), own.shape[1:]) for item in draw])
        if made.layout.name != "concat":
            past = np.floor(own + 0.5) if problem.integer_outputs else own
            assert np.allclose(graph.run(made.sequences(draw, past)), own, rtol=1e-12, atol=1e-12)
    return {step.name.split("_")[0]: step.definition for step in machine.steps}


def pointer(made, query, key, value, bias, seed=0, null=-5.0, size=1.0):
    rng = np.random.default_rng(seed)
    tables: dict[str, Any] = {n: size * rng.normal(size=(5, 3)) for n in ("query_table", "key_table")}
    reads, name = {"query": query, "key": key, "value": value}, f"V{len(made.nodes)}_Attn_L0H0"
    own = {"relative_bias": np.array(bias), "null_score": null}
    made.nodes.append(RouterNode(name, "pointer", reads, **own, **tables))
    return len(made.nodes) - 1


@pytest.fixture
def made(builder):
    return builder(("a", "b"), layout=Layout("tagging", (4.0, 4.0), (1.0,)))


@pytest.mark.parametrize("reals", [False, True])
def test_an_offset_that_is_certain(made, integers_of, loaded, reals):
    made.output({pointer(made, 0, 1, 0, [-1e6, -1e6, 50.0, -1e6], null=0.0): 1.0})
    x = np.random.default_rng(0).uniform(-2, 5, (40, 10, 2)) if reals else integers_of(2)
    assert listed(made, x, loaded, reals=reals)["V2"] == Var("V0_input", 2)


@pytest.mark.parametrize(
    ("bias", "own"),
    [
        ([0.1, -0.2, 0.3, -0.1], {"null": -0.2}),
        ([0.0, 0.0, 1.0, 0.0], {"size": 3.0}),  # content may outvote the offset
        ([0.0, 50.0, 0.0], {"null": -60.0}),  # something else is read before the start
    ],
)
def test_what_is_not_certain_is_listed_by_its_scores(made, integers_of, loaded, bias, own):
    made.output({pointer(made, 0, 1, 0, bias, **own): 1.0})
    assert isinstance(listed(made, integers_of(2), loaded)["V2"], Selection)


def test_nothing_at_all(made, integers_of, loaded):
    made.output({pointer(made, 0, 1, 0, [0.0, 0.0], null=1e3): 1.0})
    assert listed(made, integers_of(2), loaded)["V2"] == Const(0)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("window", [3, 12])
def test_an_extremum_that_is_certain(builder, integers_of, loaded, kind, window):
    made = builder()
    made.output({made.extremum(0, window, kind == "max"): 1.0})
    last, now = Var("V1_Attn_L0H0", 1), Var("V0_input")
    wanted = op(kind, last, now)
    if window == 3:
        wanted = op(kind, op(kind, now, Var("V0_input", 1)), Var("V0_input", 2))
    assert listed(made, integers_of(1, low=-2), loaded)["V1"] == wanted


def test_an_extremum_whose_bias_may_outvote_a_value(builder, integers_of, loaded):
    made = builder()
    head = made.extremum(0, 3)
    made.nodes[head] = replace(made.nodes[head], relative_bias=np.array([0.0, 25.0, 0.0, -1e6]))
    made.output({head: 1.0})
    assert isinstance(listed(made, integers_of(1, low=-2), loaded)["V1"], Selection)


@pytest.mark.parametrize("scales", [(4.0, 4.0), (4.0, 2.0)])
def test_a_lookup_is_listed_by_its_scores(builder, integers_of, loaded, scales):
    made = builder(("a", "b"), layout=Layout("tagging", scales, (1.0,)))
    made.output({made.lookup(0, 1, 0, 1): 1.0})
    assert isinstance(listed(made, integers_of(2), loaded)["V2"], Selection)


def test_scales_come_off(builder, integers_of, loaded):
    made = builder(layout=Layout("autoregressive", (2.0,), (8.0,)))
    made.start(1, 0.5)
    made.output({0: 0.25, 1: 0.5, made.lag(1, 1, 0.5): -0.25, made.lag(0, 2, 1.5): 0.125}, 0.5)
    steps = listed(made, integers_of(1, low=-2), loaded)
    assert (steps["V0"], steps["V1"]) == (Var("x"), Var("y", 1))


def test_heads_of_all_kinds_and_two_outputs(builder, integers_of, loaded):
    made = builder(("a", "b"), ("y", "z"), Layout("autoregressive", (1.0, 1.0), (1.0, 1.0)))
    made.output({0: 1.0, 3: 0.5, made.head("mean", 1): 1.0})
    heads = {made.head(kind, 1): 0.5 for kind in ("sum", "max", "min")}
    made.output({made.operator("minimum", 0, 2): 0.25, made.extremum(1, 2, False): 1.0, **heads})
    listed(made, integers_of(2, low=-2), loaded)


def test_a_formula_that_is_only_near_is_not_listed(builder, integers_of, loaded):
    made = builder()
    made.output({made.operator("distance", 0, made.lag(0, 1)): 1.0})
    assert listed(made, integers_of(1), loaded)["V2"] == abs(Var("V0_input") - V1)
    fit = made.formulas[2]
    made.formulas[2] = replace(fit, formula=fit.formula * (1 + 1e-9))
    assert "relu" in {
        part.name for part in listed(made, integers_of(1), loaded)["V2"].walk() if isinstance(part, Op)
    }


def test_the_scale_of_a_function_of_two_bits_goes_to_its_readers(builder, integers_of, loaded):
    """An operator of two bits, off by a weighted sum of them, is listed as what it is."""
    made = builder(("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    weight = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 0.0]])
    distance = OperatorNode("V2_MLP_L0M0", (0, 1), weight, np.zeros(3), np.array([0.3, 0.3, -1.7]), 0.1)
    made.nodes.append(distance)
    made.output({2: 10 / 3, 0: 17 / 3})
    steps = listed(made, integers_of(2, high=2), loaded)
    assert steps["V2"] == op("ne", Var("V0_input"), Var("V1_input"))
    assert Var("V2_MLP_L0M0") in steps["y.raw"].variables()


@pytest.mark.parametrize("kind", ["mean", "max", "sum"])
def test_what_other_nodes_read_keeps_its_scale(builder, integers_of, loaded, kind):
    made = builder(("a", "b"), layout=Layout("tagging", (1.0, 1.0), (1.0,)))
    weight = np.array([[1.0, -1.0], [-1.0, 1.0]])
    made.nodes.append(OperatorNode("V2_MLP_L0M0", (0, 1), weight, np.zeros(2), np.array([0.7, 0.7]), -0.2))
    after = made.operator("minimum", made.lag(2, 1, 0.5), made.head(kind, 2))
    made.output({after: 2.0, 2: -1.0})
    assert "relu" in str(listed(made, integers_of(2, high=2), loaded)["V2"]).replace("max(", "relu(")


def test_nodes_that_nothing_reads_are_left_out_and_columns_stay(made, integers_of, loaded):
    made.lag(1, 1)
    made.output({0: 1.0})
    assert set(listed(made, integers_of(2), loaded)) == {"V0", "y.raw", "y"}


# -- one sequence of inputs and outputs ----------------------------------------------------------------------


def tokens(builder):
    made = builder(layout=Layout("concat", (4.0,), (4.0,), 3))
    operator = made.operator("distance", made.lag(0, 9), 0)
    inner = made.operator("opposite", 0, 0)
    copies = {made.lag(operator, 1): 0.25, made.lag(inner, 10): 0.5}
    made.output({operator: 0.25, **copies, made.extremum(0, 2): 0.25})
    return made


def wide_tokens(builder):
    made = builder(("a", "b"), ("y",), Layout("concat", (4.0, 4.0), (4.0,), 3))
    made.output({0: 0.5, 1: 2.0, made.lag(0, 9): 1.0, made.lag(1, 10): 1.0})
    return made


@pytest.mark.parametrize("make", [tokens, wide_tokens])
def test_tokens_are_re_indexed(builder, integers_of, loaded, make):
    made = make(builder)
    x, y = integers_of(len(made.inputs), low=-2), integers_of(1, 1)
    listed(made, x, loaded)
    sequences = made.sequences(x, y)
    machine = listing_machine(made.explained(sequences), made.problem(x, 0.5 * y))
    wanted = made.graph().run(sequences)
    assert np.allclose(raw_outputs(machine, x, y)[:, 3:], wanted[:, 3:], atol=1e-12)


def test_a_head_of_tokens_that_nothing_is_known_of_has_no_listing(builder, integers_of):
    made = builder(layout=Layout("concat", (4.0,), (4.0,), 3))
    made.output({made.extremum(0, 2): 1.0})
    problem = made.problem(integers_of(1), integers_of(1, 1))
    with pytest.raises(NotExtracted, match="matches no routing hypothesis"):
        listing_source(ExplainedGraph(made.graph(), {}, {}), problem)
