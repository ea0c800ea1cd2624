"""`program_raw.py`: the text is the recurrence to the last bit, and the recurrence is the graph.

A listing that is not its graph's is found out: by running it, and letter by letter.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from case_table import formulas, loaded, random_graph, rule
from weights2code.data import Layout, Problem, from_arrays
from weights2code.errors import InputError, NotExtracted
from weights2code.explain import ExplainedGraph
from weights2code.explain.operators import formula_problems
from weights2code.graph import OperatorNode, RouterNode
from weights2code.language import Const, Op, Selection, Var, op
from weights2code.program import check_source
from weights2code.program.listing import listing_machine, listing_source, raw_outputs, recurrence_source
from weights2code.program.listing_check import check_listing, listing_problems
from weights2code.verify.links import Listing

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
    machine = rule(
        **{
            "V0_input": Var("x"),
            "V1_Attn_L0H0": Var("V0_input", 1),
            "V3_MLP_L0M0": op("relu", V0 - V1) + 0.5 * V1,
            "y.raw": Const(0.25) + 2 * Var("V3_MLP_L0M0") + -1 * V0,
            "y": op("floor", Var("y.raw") + 0.5),
        }
    )
    assert recurrence_source(machine, "parity_last2", {"V0_input": "x"}) == LISTING


def test_own_outputs_are_read_in_a_loop():
    raw: dict[str, Any] = {"y.raw": V0 + 0.75 * Var("V9_input"), "y": op("floor", Var("y.raw") + 0.5)}
    machine = rule({"y": 5.0}, V0_input=Var("x"), V9_input=Var("y", 1), **raw)
    assert recurrence_source(machine, "total", {}) == LOOP
    assert loaded(LOOP)([0.0, 0.0]).tolist() == [3.75, 3.0]
    assert raw_outputs(machine, np.zeros((1, 2, 1)), np.full((1, 2, 1), 8.0)).ravel().tolist() == [3.75, 6.0]


def test_comments_stay_on_their_line_and_names_do_not_collide():
    name = "y\nimport os"
    steps = {"scores": Var("force"), "t": Var("scores", 1), f"{name}.raw": Var("t"), name: Var(f"{name}.raw")}
    machine = replace(rule(None, "force", "t", **steps), outputs=(name,))
    text = recurrence_source(machine, "f", {"scores": "in\nimport os"})
    assert "# scores in import os" in text
    assert loaded(text)([1.0, 2.0]).tolist() == [0, 1]


@settings(max_examples=80)
@given(formulas((V0, Var("b"), Var("V0_input", 1), Var("b", 2)), most=8), st.booleans())
@example(V0 + Const(-2), False)
@example(op("order_2_of_3", V0, Var("b"), 0), False)
def test_any_formula_to_the_last_bit(formula, feeds_back: bool):
    own: dict[str, Any] = {"V5_MLP": formula, "y.raw": Var("V5_MLP"), "y": op("clip", Var("y.raw"), -9, 9)}
    first = Var("a") + Var("y", 1) if feeds_back else Var("a")
    machine = rule({"b": -1.5}, "a b", V0_input=first, **own)
    x = np.random.default_rng(1).integers(-3, 4, (6, 2)) / 3
    given = np.asarray(loaded(recurrence_source(machine, "f", {}))(x))
    assert np.array_equal(given, raw_outputs(machine, x[None])[0, :, 0])


# -- graphs --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_any_graph_has_a_listing(seed: int):
    graph, rng = random_graph(seed), np.random.default_rng(seed)
    x = rng.integers(0, int(rng.integers(2, 5)), (20, 12, len(graph.inputs))).astype(float)
    x += rng.random(x.shape) if rng.random() < 0.3 else 0.0
    whole = rng.random() < 0.6
    data = from_arrays(x, rng.integers(-2, 3, (*x.shape[:2], len(graph.outputs))) * (1.0 if whole else 0.37))
    problem = Problem("hand_built", graph.inputs, graph.outputs, *data.domains(), data, data, 12)
    explained = ExplainedGraph(graph, {}, {})
    program, function = listing_machine(explained, problem), loaded(listing_source(explained, problem))
    for length in (1, 12, 40, 12, 40):
        item = rng.choice(x.reshape(-1, x.shape[2]), length)
        with np.errstate(all="ignore"):
            own = np.reshape(function(item), (length, -1))
            past = np.floor(own + 0.5) if problem.integer_outputs else own
            if not np.isfinite(own).all() or np.abs(own).max() > 1e9:
                continue  # it feeds on itself, and grows without end
            wanted = graph.run(from_arrays(item[None], past[None]))[0]
            trace = program.trace(item[None])
        again = np.stack([trace[f"{name}.raw"][0] for name in graph.outputs], axis=1)
        assert np.abs(own - wanted).max() <= 1e-11 * max(np.abs(wanted).max(), 1.0)
        assert np.array_equal(again, own)  # the text is the recurrence, to the last bit


def listed(made, x, *, outputs=None, reals=False) -> dict[str, Any]:
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


def pointer(made, bias, null=-5.0, size=1.0):
    """A head of two columns with these preferences for offsets, and of any content."""
    rng = np.random.default_rng(0)
    tables: dict[str, Any] = {n: size * rng.normal(size=(5, 3)) for n in ("query_table", "key_table")}
    own = {"relative_bias": np.array(bias), "null_score": null, **tables}
    name, reads = f"V{len(made.nodes)}_Attn_L0H0", {"query": 0, "key": 1, "value": 0}
    made.nodes.append(RouterNode(name, "pointer", reads, **own))
    return len(made.nodes) - 1


@pytest.fixture
def made(builder):
    return builder(("a", "b"), layout=Layout("tagging", (4.0, 4.0), (1.0,)))


@pytest.mark.parametrize(
    ("bias", "own", "read"),
    [
        ([-1e6, -1e6, 50.0, -1e6], {"null": 0.0}, Var("V0_input", 2)),
        ([0.0, 0.0], {"null": 1e3}, Const(0)),
        ([0.1, -0.2, 0.3, -0.1], {"null": -0.2}, None),
        ([0.0, 0.0, 1.0, 0.0], {"size": 3.0}, None),  # content may outvote the offset
        ([0.0, 50.0, 0.0], {"null": -60.0}, None),  # something else is read before the start
    ],
)
@pytest.mark.parametrize("reals", [False, True])
def test_what_is_not_certain_is_listed_by_its_scores(made, integers_of, bias, own, read, reals: bool):
    made.output({pointer(made, bias, **own): 1.0})
    x = np.random.default_rng(0).uniform(-2, 5, (40, 10, 2)) if reals else integers_of(2)
    found = listed(made, x, reals=reals)["V2"]
    assert found == read if read is not None else isinstance(found, Selection)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("window", [3, 12])
def test_an_extremum_that_is_certain(builder, integers_of, kind: str, window: int):
    made = builder()
    made.output({made.extremum(0, window, kind == "max"): 1.0})
    wanted = op(kind, Var("V1_Attn_L0H0", 1), V0)
    if window == 3:
        wanted = op(kind, op(kind, V0, Var("V0_input", 1)), Var("V0_input", 2))
    assert listed(made, integers_of(1, low=-2))["V1"] == wanted


def test_an_extremum_whose_bias_may_outvote_a_value_and_a_lookup_are_listed_by_their_scores(
    builder, integers_of
):
    made = builder()
    head = made.extremum(0, 3)
    made.nodes[head] = replace(made.nodes[head], relative_bias=np.array([0.0, 25.0, 0.0, -1e6]))
    made.output({head: 1.0})
    assert isinstance(listed(made, integers_of(1, low=-2))["V1"], Selection)
    for scales in ((4.0, 4.0), (4.0, 2.0)):
        made = builder(("a", "b"), layout=Layout("tagging", scales, (1.0,)))
        made.output({made.lookup(0, 1, 0, 1): 1.0})
        assert isinstance(listed(made, integers_of(2))["V2"], Selection)


def test_scales_come_off(builder, integers_of):
    made = builder(layout=Layout("autoregressive", (2.0,), (8.0,)))
    made.start(1, 0.5)
    made.output({0: 0.25, 1: 0.5, made.lag(1, 1, 0.5): -0.25, made.lag(0, 2, 1.5): 0.125}, 0.5)
    steps = listed(made, integers_of(1, low=-2))
    assert (steps["V0"], steps["V1"]) == (Var("x"), Var("y", 1))


def test_a_formula_that_is_only_near_is_not_listed(builder, integers_of):
    made = builder()
    made.output({made.operator("distance", 0, made.lag(0, 1)): 1.0})
    assert listed(made, integers_of(1))["V2"] == abs(V0 - V1)
    fit = made.formulas[2]
    made.formulas[2] = replace(fit, formula=fit.formula * (1 + 1e-9))
    names = {part.name for part in listed(made, integers_of(1))["V2"].walk() if isinstance(part, Op)}
    assert "relu" in names


def test_what_is_left_out_and_what_no_float_can_hold(made, builder, integers_of):
    made.lag(1, 1)
    made.output({0: 1.0})
    assert set(listed(made, integers_of(2))) == {"V0", "y.raw", "y"}
    made = builder(layout=Layout("autoregressive", (1.0,), (1.0,)))
    huge = np.array([[1e200, 1.0]])
    made.nodes.append(OperatorNode("V2_MLP", (0, 1), huge, np.zeros(1), np.array([1e200]), 0.0))
    made.output({2: 1.0})
    problem = made.problem(integers_of(1), integers_of(1, 1))
    assert "1e+200" in listing_source(ExplainedGraph(made.graph(), {}, {}), problem)


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
def test_tokens_are_re_indexed(builder, integers_of, make):
    made = make(builder)
    x, y = integers_of(len(made.inputs), low=-2), integers_of(1, 1)
    listed(made, x)
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


# -- a listing is checked by running its text, and against its graph letter by letter ------------------------

LOOPED = Layout("autoregressive", (2.0,), (2.0,))


@pytest.fixture
def run(builder, integers_of):
    """y[t] = |x[t] - y[t-1]| / 3 + the mean so far."""
    made = builder(layout=LOOPED)
    made.output({made.operator("distance", 0, 1): 1 / 3, made.head("mean", 0): 1.0})
    x = integers_of(1)
    problem = made.problem(x, np.cumsum(x, 1) / 7)
    explained = made.explained(problem.validation)
    return made, problem, explained, listing_source(explained, problem)


def sampled(problem):
    return replace(problem, sampler=lambda rng, n, length: rng.integers(0, 4, (n, length, 1)).astype(float))


def test_the_listing_is_the_network_at_every_length(run):
    made, problem, _, text = run
    assert check_source(text) == []
    found = check_listing(text, made.graph(), sampled(problem))
    assert (found.exact, found.lengths, found.sequences) == (True, (1, 10, 40, 100), 40)
    assert found.max_abs_error <= 1e-14
    own = check_listing(text, made.graph(), problem)
    assert (own.exact, own.lengths) == (True, (1, 10))
    assert Listing.from_dict(own.to_dict()) == own


@pytest.mark.slow
def test_every_number_of_the_text_matters(run):
    """A change of any number in the listing is seen in its outputs or, at the latest, in its text."""
    made, problem, explained, text = run
    assert listing_problems(text, explained, problem) == ""
    body, changed = text.index("for t in"), 0
    for found in re.finditer(r"\d+\.\d+(e-?\d+)?", text[body:]):
        begin, end = body + found.start(), body + found.end()
        other = text[:begin] + repr(float(found.group()) + 1e-7) + text[end:]
        line = text[:begin].count("\n") + 1
        assert listing_problems(other, explained, problem) == f"line {line} is not what the graph gives"
        changed += not check_listing(other, made.graph(), sampled(problem)).exact
    assert changed >= 3


def test_a_weight_of_the_network_that_was_changed_is_found(run):
    made, problem, explained, text = run
    head = made.graph().head.copy()
    head[0, 2] += 1e-6
    other = replace(explained, graph=replace(explained.graph, head=head))
    assert "is not what the graph gives" in listing_problems(text, other, problem)
    found = check_listing(text, other.graph, sampled(problem))
    assert not found.exact
    assert 1e-7 < found.max_abs_error < 1e-4


def test_texts_that_are_no_listing(run):
    made, problem, explained, _ = run
    assert "it is refused" in listing_problems("import os", explained, problem)
    short = 'import numpy as np\n\n__all__ = ["f"]\n\n\ndef f(x):\n    return np.zeros(1)\n'
    for text, words in (("import os", "refused"), (short, "at every position")):
        with pytest.raises(InputError, match=words):
            check_listing(text, made.graph(), problem)


@pytest.mark.parametrize(
    ("layout", "weight", "divisor", "old", "new"),
    [
        # whole numbers go back rounded
        (Layout("autoregressive", (1.0,), (1.0,)), 0.999, 0, "np.floor(output[t] + 0.5)", "output[t]"),
        # outputs that grow without end are judged in proportion
        (LOOPED, 1e30, 7, "1e+30", "1.000001e+30"),
    ],
)
def test_what_goes_back_is_judged_as_it_goes(builder, integers_of, layout, weight, divisor, old, new):
    made = builder(layout=layout)
    made.output({0: 1.0, 1: weight})
    x = integers_of(1, low=1)
    problem = sampled(made.problem(x, x / divisor if divisor else np.cumsum(x, 1)))
    text = listing_source(made.explained(problem.validation), problem)
    assert old in text
    assert check_listing(text, made.graph(), problem).exact
    assert not check_listing(text.replace(old, new), made.graph(), problem).exact


def test_a_formula_that_is_not_the_operator_is_found_and_never_listed(run):
    made, problem, explained, _ = run
    graph, fits = made.graph(), explained.operators
    values = graph.stream(graph.encode(problem.validation)[0])
    assert formula_problems(graph, fits, values) == ""
    other = replace(fits[2], formula=fits[2].formula + Const(1e-6))
    assert "V2_MLP_L0M0 is off by 1e-06, not by 0" in formula_problems(graph, {2: other}, values)
    assert "V2_MLP_L0M0" in formula_problems(graph, {2: replace(other, max_error=1.0)}, values)
    wrong = fits[2].formula + Const(1)
    forged = {2: replace(fits[2], formula=wrong, exact_formula=wrong)}
    for stated in (replace(explained, operators=forged), ExplainedGraph(graph, {}, {})):
        assert check_listing(listing_source(stated, problem), graph, sampled(problem)).exact
