"""`program_raw.py`: the paper's listing, and every kind of node against its meaning in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.graph.raw_nodes import Scores
from weights2code.language import OPERATORS, Const, Op, Var, op
from weights2code.program import RawNode, RawProgram, check_source, raw_source, run_program

V0, V1 = Var("V0_input"), Var("V1_Attn_L0H0")
INPUT = RawNode("V0_input", "input")
FEEDBACK = RawNode("V9_input", "input", output=0)

LISTING = """import numpy as np

__all__ = ["parity_last2"]


def relu(x):
    return np.maximum(0, x)


def parity_last2(input_seq):
    # V0_input
    input_arr = np.array(input_seq, dtype=float).reshape(-1, 1)
    seq_len = input_arr.shape[0]
    V0 = input_arr[:, 0]
    # V1_Attn_L0H0
    V1 = np.zeros(seq_len)
    # Fixed offset 1
    V1[1:] = V0[:-1]
    # V3_MLP_L0M0
    V3 = relu(V0 - V1) + (0.5 * V1)
    # Output Head
    output = 2.0 * V3 + -1.0 * V0 + 0.25
    return output
"""

LOOP = """import numpy as np

__all__ = ["sum"]


def sum(input_seq):
    # V0_input
    input_arr = np.array(input_seq, dtype=float).reshape(-1, 1)
    seq_len = input_arr.shape[0]
    V0 = input_arr[:, 0]
    V9 = np.zeros(seq_len)
    output = np.zeros((seq_len, 1))
    for t in range(seq_len):
        # V9_input
        # Own output, one step back
        V9[t] = output[t - 1, 0] if t >= 1 else 0.0
        # Output Head
        output[t, 0] = 1.0 * V0[t] + 1.0 * V9[t]
    return output[:, 0]
"""


def test_tagging_is_listed_as_in_the_paper():
    nodes = (
        INPUT,
        RawNode("V1_Attn_L0H0", "offset", ("V0_input",), offset=1),
        RawNode("V3_MLP_L0M0", "formula", formula=op("relu", V0 - V1) + 0.5 * V1),
    )
    program = RawProgram("parity_last2", nodes, ({"V3_MLP_L0M0": 2.0, "V0_input": -1.0},), (0.25,))
    assert raw_source(program) == LISTING


def test_own_outputs_are_read_in_a_loop():
    program = RawProgram("sum", (INPUT, FEEDBACK), ({"V0_input": 1.0, "V9_input": 1.0},))
    assert raw_source(program) == LOOP
    assert np.array_equal(run_program(LOOP, [np.arange(5.0)])[0], [0, 1, 3, 6, 10])


SECOND = RawNode("V2_input", "input", column=1)
SOUGHT = ("V0_input", "V2_input", "V2_input")
BIAS = (0.0, -0.3, 0.2)
PAIRS = tuple((float(a), float(b), float((3 * a + b) % 5) - 2.0) for a in range(4) for b in range(4))
TABLE = ((0.5, -1.0, 0.0), (1.0, 0.25, 0.5), (-0.75, 2.0, -1.5))
KINDS = {
    "offset": RawNode("V5_Attn_L0H0", "offset", ("V0_input",), offset=2),
    "offset of nothing": RawNode("V5_Attn_L0H0", "offset", ("V0_input",), offset=0),
    "offset with a start": RawNode("V5_Attn_L0H0", "offset", ("V0_input",), offset=1, start=-3.5),
    "infinite start": RawNode("V5_Attn_L0H0", "offset", ("V0_input",), offset=3, start=float("-inf")),
    "window maximum": RawNode("V5_Attn_L0H0", "extremum", ("V0_input",), window=3),
    "padded minimum": RawNode(
        "V5_Attn_L0H0", "extremum", ("V0_input",), window=3, largest=False, padded=True
    ),
    "running minimum": RawNode("V5_Attn_L0H0", "extremum", ("V0_input",), largest=False),
    "retrieval": RawNode("V5_Attn_L0H0", "retrieval", ("V0_input", "V2_input", "V0_input"), offset=1),
    "retrieval now": RawNode("V5_Attn_L0H0", "retrieval", ("V0_input", "V2_input", "V2_input"), offset=0),
    "retrieval from afar": RawNode(
        "V5_Attn_L0H0", "retrieval", ("V0_input", "V2_input", "V2_input"), offset=3, start=7.0
    ),
    "retrieval from nearby": RawNode(
        "V5_Attn_L0H0", "retrieval", ("V0_input", "V2_input", "V2_input"), offset=1, window=2
    ),
    "seek by pairs": RawNode("V5_Attn_L0H0", "seek", SOUGHT, scores=Scores(BIAS, -1.0, PAIRS)),
    "seek by distance": RawNode(
        "V5_Attn_L0H0", "seek", SOUGHT, scores=Scores(BIAS, -3.0, sharpness=2.0, units=(4.0, 2.0))
    ),
    "seek by corners": RawNode(
        "V5_Attn_L0H0",
        "seek",
        SOUGHT,
        scores=Scores(BIAS, 0.5, corners=TABLE, spans=((-1.0, 3.0), (0.5, 2.0))),
    ),
    "table": RawNode("V5_MLP_L0M0", "table", ("V0_input", "V2_input"), rows=PAIRS),
    "table of one": RawNode(
        "V5_MLP_L0M0", "table", ("V2_input",), rows=((0.0, 5.0), (1.0, -1.0), (2.0, 0.5), (3.0, 2.0))
    ),
    "hinges": RawNode(
        "V5_MLP_L0M0",
        "piecewise",
        ("V0_input", "V2_input"),
        start=-0.25,
        slope=(0.0, -1.0),
        units=((-1.0, (1.0, -0.5), 0.0), (2.0, (-1.0, 0.0), 1.5)),
    ),
    "one hinge": RawNode(
        "V5_MLP_L0M0", "piecewise", ("V0_input",), slope=(0.0,), units=((1.0, (1.0,), -1.0),)
    ),
    "no hinge": RawNode("V5_MLP_L0M0", "piecewise", (), slope=()),
    "mean": RawNode("V5_Attn_L0H0", "mean", ("V2_input",)),
    "sum": RawNode("V5_Attn_L0H0", "sum", ("V2_input",)),
    "constant": RawNode("V5_MLP_L0M0", "formula", formula=Const(0.5)),
    "formula": RawNode("V5_MLP_L0M0", "formula", formula=V0 * 2 - (Var("V2_input") > 1)),
}


@pytest.mark.parametrize("feeds_back", [False, True])
def test_every_kind_equals_its_meaning(feeds_back):
    rng = np.random.default_rng(3)
    sequences = [rng.integers(0, 4, (length, 2)).astype(float) for length in (0, 1, 2, 5, 20)]
    for kind, node in KINDS.items():
        if feeds_back and np.isinf(node.start):
            continue  # an infinity fed back is no number after two steps
        extra = (FEEDBACK,) if feeds_back else ()
        head = {"V0_input": 1.0, node.name: 0.5, **({"V9_input": -0.5} if feeds_back else {})}
        program = RawProgram("f", (INPUT, SECOND, *extra, node), (head, {}), (0.0, 1.5))
        for sequence, result in zip(sequences, execute(raw_source(program), sequences), strict=True):
            assert np.allclose(result, program.run(sequence), rtol=1e-13, atol=0), kind


def execute(text, sequences):
    assert check_source(text) == []
    space = {}
    exec(compile(text, "program_raw.py", "exec"), space)
    return [space[space["__all__"][0]](sequence) for sequence in sequences]


def test_feedback_may_be_rounded_and_start_elsewhere():
    last = RawNode("V9_input", "input", output=0, start=5.0)
    program = RawProgram("f", (INPUT, last), ({"V0_input": 1.0, "V9_input": 0.9},), round_feedback=True)
    expected = program.run([0.0, 0.0])
    assert np.allclose(expected[:, 0], [4.5, 3.6])
    assert np.array_equal(execute(raw_source(program), [[0.0, 0.0]])[0], expected[:, 0])


def test_names_without_numbers_and_comments_with_newlines():
    nodes = (
        RawNode("force", "input", comment="in\nimport os"),
        RawNode("gap", "offset", ("force",), offset=1),
    )
    text = raw_source(RawProgram("f", nodes, ({"gap": 1.0},)))
    assert "# force in import os" in text
    assert np.array_equal(execute(text, [[1.0, 2.0]])[0], [0, 1])


@pytest.mark.parametrize(
    ("nodes", "head", "message"),
    [
        ((RawNode("V1", "offset", ("V0",)),), {}, "V1 reads V0"),
        ((RawNode("V0", "formula", formula=Var("V0", 1)),), {}, "reads the past"),
        ((RawNode("V0", "formula"),), {}, "without a formula"),
        ((INPUT,), {"V7": 1.0}, "the output head reads V7"),
    ],
)
def test_graphs_that_make_no_sense_are_refused(nodes, head, message):
    with pytest.raises(ValueError, match=message):
        RawProgram("f", nodes, (head,))


NAMES = sorted(set(OPERATORS) - {"div", "pow", "mod", "exp", "log", "sqrt", "clip", "floor"})
leaves = st.one_of(st.sampled_from([V0, Var("V2_input")]), st.builds(Const, st.sampled_from([0, 1, -2, 0.5])))


def extend(children):
    return st.one_of(
        st.builds(
            lambda name, p: Op(name, p[: OPERATORS[name].arity]),
            st.sampled_from(NAMES),
            st.tuples(children, children, children),
        ),
        st.builds(lambda e: op("floor", e / 3) % 2, children),
        st.builds(lambda e: op("clip", e**2, -1, 4), children),
    )


@settings(max_examples=60)
@given(st.recursive(leaves, extend, max_leaves=6), st.booleans())
def test_any_formula_equals_its_meaning(formula, feeds_back):
    node = RawNode("V5_MLP_L0M0", "formula", formula=formula)
    extra = (FEEDBACK,) if feeds_back else ()
    program = RawProgram("f", (INPUT, SECOND, *extra, node), ({"V5_MLP_L0M0": 1.0},))
    sequence = np.random.default_rng(1).integers(-3, 4, (6, 2)).astype(float)
    assert np.allclose(execute(raw_source(program), [sequence])[0], program.run(sequence)[:, 0])


def test_right_outputs_are_fed_back_if_they_are_given():
    nodes = (RawNode("V0_input", "input"), FEEDBACK)
    program = RawProgram("total", nodes, ({"V0_input": 1.0, "V9_input": 1.0},))
    x = np.array([1.0, 2.0, 3.0])
    assert program.run(x)[:, 0].tolist() == [1.0, 3.0, 6.0]
    assert program.run(x, past=np.array([[10.0], [20.0], [30.0]]))[:, 0].tolist() == [1.0, 12.0, 23.0]
