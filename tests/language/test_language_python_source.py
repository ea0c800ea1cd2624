"""`program.py`: golden texts reviewed as text, and every text computes what its recurrence computes."""

from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.language import (
    BITS,
    OPERATORS,
    Const,
    Domain,
    Op,
    Recurrence,
    Retrieval,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.program import Program, body_lines, check_source, identifier, python_source

GOLDEN = Path(__file__).parent / "golden"
x, x1, y1, y2 = Var("x"), Var("x", 1), Var("y", 1), Var("y", 2)
a, b, a1, b1 = Var("a"), Var("b"), Var("a", 1), Var("b", 1)
px1, px2, py1, py2 = Var("px", 1), Var("px", 2), Var("py", 1), Var("py", 2)
ones = x.equals(1) - x.equals(0)


def rule(inputs, outputs, start=None, **steps):
    return Recurrence(
        tuple(inputs.split()),
        tuple(Step(name, definition) for name, definition in steps.items()),
        tuple(outputs.split()),
        start or {},
    )


CASES: dict[str, tuple[Recurrence, tuple[Domain, ...]]] = {
    "sum_last2": (rule("x", "y", y=x + x1), (integers(0, 99),)),
    "parity": (rule("x", "y", y=x + y1 - 2 * x * y1), (BITS,)),
    "freebody": (rule("x", "y", y=2 * y1 - y2 + x), (integers(-10, 10),)),
    "minimum_prev2": (rule("x", "y", {"x": "first"}, y=minimum(x, x1)), (integers(0, 99),)),
    "Min_Seen": (rule("x", "y", {"y": inf}, y=minimum(x, y1)), (integers(0, 9),)),
    "bit_addition": (
        rule("a b", "y", carry=a1 + b1 > y1, y=(a + b + Var("carry")) % 2),
        (BITS, BITS),
    ),
    "magnetic": (
        rule(
            "fx fy",
            "px py",
            px=Var("fx") + 2 * px1 - px2 - py1 + py2,
            py=Var("fy") + 2 * py1 - py2 + px1 - px2,
        ),
        (integers(-10, 10), integers(-10, 10)),
    ),
    "majority": (rule("x", "y", lead=Var("lead", 1) + ones, y=Var("lead") > 0), (BITS,)),
    "retrieve": (
        rule("key value query", "y", y=Retrieval("key", "value", Var("query"))),
        (integers(0, 3), integers(0, 9), integers(0, 3)),
    ),
    "moving_average": (rule("x", "y", y=0.3 * x + 0.7 * y1), (reals(0, 1),)),
}


def draw(domains, length, seed):
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(int(d.low), int(d.high) + 1, length).astype(float)
        if d.discrete
        else rng.uniform(d.low, d.high, length)
        for d in domains
    ]
    return np.stack(columns, axis=1)


def load(text):
    """The public function of a text that passes the check, in this process."""
    assert check_source(text) == []
    space = {}
    exec(compile(text, "program.py", "exec"), space)
    return space[space["__all__"][0]]


@pytest.mark.parametrize("name", CASES)
def test_text_is_the_reviewed_one(name):
    recurrence, domains = CASES[name]
    text = python_source(recurrence, domains, name, verdict="proved for every length")
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_text_equals_the_recurrence(name):
    recurrence, domains = CASES[name]
    program = Program(name, recurrence, domains)
    sequences = [draw(domains, length, length) for length in (0, 1, 2, 10, 40)]
    if len(domains) == 1:
        sequences += [sequence[:, 0] for sequence in sequences]
    for sequence in sequences:
        result, expected = load(program.source())(sequence), program.run(sequence)
        assert result.shape == expected.shape
        assert result.tobytes() == expected.tobytes()


def test_what_is_known_of_the_network_has_a_line_of_its_own():
    recurrence, domains = CASES["parity"]
    text = python_source(recurrence, domains, "parity", verdict="proved.\nNetwork: proved equal, too")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("Verdict: proved.") + 1] == "Network: proved equal, too."


@pytest.mark.parametrize("name", CASES)
def test_simple_rules_have_at_most_ten_lines_of_body(name):
    recurrence, domains = CASES[name]
    assert body_lines(python_source(recurrence, domains, name)) <= (12 if len(domains) == 3 else 10)


@pytest.mark.parametrize(
    ("name", "wrong"), [("parity", np.zeros((3, 2))), ("parity", np.zeros(())), ("bit_addition", np.zeros(4))]
)
def test_wrong_shapes_are_refused_with_a_sentence(name, wrong):
    recurrence, domains = CASES[name]
    with pytest.raises(ValueError, match="expected shape"):
        load(python_source(recurrence, domains, name))(wrong)


def test_no_rows_of_two_columns_may_be_an_empty_list():
    recurrence, domains = CASES["bit_addition"]
    assert load(python_source(recurrence, domains, "f"))([]).shape == (0,)


@pytest.mark.parametrize(
    "column",
    ["class", "t", "T", "np", "max", "Force (N)", "1st", 'a"""b', "new\nline", "ü", "back\\slash", "program"],
)
def test_any_column_name_gives_a_text_that_runs(column):
    recurrence = Recurrence((column,), (Step("y", Var(column) + Var(column, 1)),), ("y",))
    function = load(python_source(recurrence, (integers(0, 9),), "program"))
    assert np.array_equal(function([1, 2, 3]), [1, 3, 5])


def test_colliding_names_stay_apart():
    recurrence = rule("u u_", "y", y=Var("u") - Var("u_"))
    renamed = Recurrence(("a b", "a-b"), (Step("y", Var("a b") - Var("a-b")),), ("y",))
    for case in (recurrence, renamed):
        function = load(python_source(case, (BITS, BITS), "f"))
        assert np.array_equal(function([[3, 1], [1, 5]]), [2, -4])


@pytest.mark.parametrize("gap", [0, 1, 2, 4])
def test_retrieval_by_a_computed_key_at_any_gap(gap):
    recurrence = rule(
        "x",
        "y",
        k=x % 3,
        y=Retrieval("k", "x", (x + 1) % 3, gap, default=-1.0),
    )
    program = Program("f", recurrence, (integers(0, 9),))
    function, sequence = load(program.source()), draw(program.domains, 30, gap)
    assert np.array_equal(function(sequence), program.run(sequence))


@pytest.mark.parametrize(
    "start",
    [
        {"x": "first"},
        {"x": "first", "z": 2.0},
        {"x": 1.0, "z": -3.5},
        {"y": 4.0},
        {"y": 1e-05, "z": -1e16},
        {"y": -inf},
        {"z": "first"},
    ],
)
def test_every_kind_of_start_value(start):
    recurrence = rule(
        "x z", "y c z", start, y=maximum(Var("x", 3) + Var("z", 1), Var("y", 2)), c=Var("c", 1) + 1
    )
    program = Program("f", recurrence, (integers(0, 9), reals(-1, 1)))
    function = load(program.source())
    for length in (0, 1, 2, 3, 9):
        sequence = draw(program.domains, length, length)
        assert np.array_equal(function(sequence), program.run(sequence))
    for name in start:
        assert f"{name} = " in program.formula().splitlines()[-1]


def test_long_formulas_are_folded_and_still_agree():
    total = sum((3 * Var("x", lag) * Var("x", lag + 1) for lag in range(9)), start=Const(0))
    program = Program("f", rule("x", "y", y=total), (reals(0, 1),))
    assert max(len(line) for line in program.source().splitlines()) <= 100
    sequence = draw(program.domains, 20, 0)
    assert np.array_equal(load(program.source())(sequence), program.run(sequence))


def test_identifiers():
    assert identifier("Sum Last-2.csv") == "Sum_Last_2_csv"
    assert identifier("3rd") == "_3rd"
    assert identifier("lambda") == "lambda_"
    assert identifier("???") == "program"


NAMES = ("x", "z", "r", "y")
OPERATIONS = sorted(set(OPERATORS) - {"div", "pow", "mod", "exp", "log", "sqrt", "clip", "floor"})


def expressions(here):
    """Random formulas that read three names now and everything up to three steps back."""
    leaves = st.one_of(
        st.builds(Var, st.sampled_from(NAMES), st.integers(1, 3)),
        st.builds(Var, st.sampled_from(here)),
        st.builds(Const, st.sampled_from([0, 1, 2, -1, 0.5, -0.25])),
    )

    def extend(children):
        return st.one_of(
            st.builds(
                lambda name, p: Op(name, p[: OPERATORS[name].arity]),
                st.sampled_from(OPERATIONS),
                st.tuples(children, children, children),
            ),
            st.builds(lambda e, m: op("mod", e, m), children, st.sampled_from([2, 3])),
            st.builds(lambda e, m: op("floor", op("div", e, m)), children, st.sampled_from([2, 3])),
            st.builds(lambda e: op("clip", e, -8, 8), children),
        )

    return st.recursive(leaves, extend, max_leaves=6).map(lambda e: op("clip", e, -1000, 1000))


STARTS = st.fixed_dictionaries({}, optional={"x": st.just("first"), "r": st.just(2.0), "z": st.just(1.0)})
recurrences = st.builds(
    lambda r, y, outputs, start: Recurrence(("x", "z"), (Step("r", r), Step("y", y)), outputs, start),
    expressions(["x", "z"]),
    expressions(["x", "z", "r"]),
    st.sampled_from([("y",), ("y", "r"), ("y", "x")]),
    STARTS,
)


@settings(max_examples=80)
@given(recurrences, st.integers(0, 7), st.booleans())
def test_random_recurrences_agree_with_their_text(recurrence, length, whole):
    domains = (integers(-3, 3), BITS if whole else reals(-2, 2))
    program = Program("f", recurrence, domains)
    sequence = draw(domains, length, length)
    assert np.array_equal(load(program.source())(sequence), program.run(sequence))


def test_conditions_read_like_sentences():
    recurrence = rule("x", "y", y=where(op("and", x > 1, op("not", y1)), y1 + 1, 0))
    assert "y[t] = y[t-1] + 1 if x[t] > 1 and not y[t-1] else 0\n" in python_source(recurrence, (BITS,), "f")


def test_a_long_choice_is_several_lines():
    chosen = Const(0)
    for state in range(2, 12):
        chosen = where(y1.equals(state), where(x > 2, (state + 1) % 12, where(x.equals(1), 1, x)), chosen)
    machine = rule("x", "y", y=where(x.equals(0), 2, chosen))
    text = python_source(machine, (integers(0, 4),), "table")
    body = text[text.index("for t in range(T)") :].splitlines()
    assert max(map(len, body)) <= 100
    assert "        elif y[t-1] == 5:" in body
    assert check_source(text) == []
    inputs = np.random.default_rng(0).integers(0, 5, 40).astype(float)
    assert np.array_equal(load(text)(inputs), machine.run(inputs[None, :, None])[0, :, 0])
