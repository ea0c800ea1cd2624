"""Whole recurrences: steps dropped, merged, inlined, named; outputs never change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code import tasks
from weights2code.language import (
    BITS,
    Const,
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
from weights2code.program import Program
from weights2code.simplify import simplify_recurrence
from weights2code.simplify.names import rename_locals
from weights2code.simplify.passes import inlined, merge_equal, name_parts

x, x1, x2, y1, y2 = Var("x"), Var("x", 1), Var("x", 2), Var("y", 1), Var("y", 2)
INTEGERS = integers(-9, 9)


def rule(start=None, outputs=("y",), inputs=("x",), **steps):
    return Recurrence(inputs, tuple(Step(n, d) for n, d in steps.items()), outputs, start or {})


def lines(recurrence, domain=BITS):
    domains = (domain,) * len(recurrence.inputs)
    return Program("f", simplify_recurrence(recurrence, domains), domains).formula().splitlines()


def test_a_raw_graph_becomes_one_line():
    raw = rule(
        V1_input=y1, V3_MLP_L0M0=x * Var("V1_input") * -2 + 0.0, y=x + Var("V1_input") + Var("V3_MLP_L0M0")
    )
    assert lines(raw) == ["y[t] = [x[t] != y[t-1]]"]


def test_long_division_gets_a_name_for_its_remainder():
    assert lines(rule(y=2 * ((2 * (x2 + y2) + x1 + y1) % 4) + x >= 3)) == [
        "remainder[t] = (x[t-1] + y[t-1] + 2*(x[t-2] + y[t-2])) % 4",
        "y[t] = [x[t] + 2*remainder[t] >= 3]",
    ]


def test_dead_steps_and_their_starts_go():
    recurrence = rule({"dead": 3.0, "y": 1.0}, dead=Var("dead", 1) + x, y=x + 1)
    assert recurrence.live() == rule(y=x + 1)


def test_equal_steps_merge_also_inside_lookups():
    recurrence = rule(k=x % 3, again=x % 3, y=Retrieval("again", "x", Var("again") + 0))
    assert next(merge_equal(recurrence)) == rule(k=x % 3, y=Retrieval("k", "x", Var("k") + 0))


def test_equal_steps_with_other_starts_stay():
    recurrence = rule({"s": 1.0}, r=x + 1, s=x + 1, y=Var("r", 1) + Var("s", 1))
    assert not [*merge_equal(recurrence)]


def test_inlining_through_time_needs_agreeing_starts():
    agrees = rule(r=2 * x, y=Var("r", 1) + x)
    assert [*inlined(agrees)] == [rule(y=2 * x1 + x)]
    differs = rule(r=2 * x + 1, y=Var("r", 1) + x)
    assert not [*inlined(differs)]
    stated = rule({"r": 1.0}, r=2 * x + 1, y=Var("r", 1) + x)
    assert [len(made.steps) for made in inlined(stated)] == [1]


def test_inlining_with_a_repeated_first_value_is_left_alone():
    assert not [*inlined(rule({"x": "first"}, r=x - x1, y=Var("r", 1) + x))]


def test_what_repeats_gets_a_name():
    part = maximum(x - x1, 3) * 2 + x
    named = name_parts(rule(outputs=("y", "z"), y=abs(part), z=part * x))
    assert [step.name for step in named.steps] == ["r", "y", "z"]


def test_node_names_become_letters_and_words_stay():
    V3 = x - 2 * Var("V3_MLP", 1) + 1
    recurrence = rule({"V3_MLP": 2.0}, V3_MLP=V3, carry=x, y=Var("V3_MLP") + Var("carry"))
    renamed = rename_locals(recurrence)
    assert [step.name for step in renamed.steps] == ["r", "carry", "y"]
    assert renamed.start == {"r": 2.0}


def test_running_aggregates_are_called_what_they_are():
    recurrence = rule(
        {"m7": -float("inf")},
        s2=Var("s2", 1) + x,
        s5=Var("s5", 1) + x * x,
        m7=maximum(Var("m7", 1), Var("s2")),
        c0=Var("c0", 1) + x.equals(0),
        cm1=Var("cm1", 1) + x.equals(-1),
        y=Var("s2") + Var("s5") * Var("m7") + Var("c0") - Var("cm1"),
    )
    renamed = rename_locals(recurrence)
    names = [step.name for step in renamed.steps]
    assert names == ["total1", "total2", "highest", "count_0", "count_neg1", "y"]
    assert renamed.start == {"highest": -float("inf")}
    assert rename_locals(renamed) == renamed
    taken = rule(s2=Var("s2", 1) + x, total=x, y=Var("s2") + Var("total"))
    assert rename_locals(taken) == taken


def test_an_infinite_start_is_respected():
    recurrence = rule({"y": float("inf")}, y=where(y1 > 9, x, minimum(x, y1)))
    short = simplify_recurrence(recurrence, (integers(0, 9),))
    sequence = np.random.default_rng(0).integers(0, 10, (20, 15, 1))
    assert np.array_equal(short.run(sequence), recurrence.run(sequence))


@pytest.mark.parametrize("name", ["parity", "bit_addition", "Majority_0_1", "spring"])
def test_machines_keep_their_outputs(name):
    task = tasks.get(name)
    short = simplify_recurrence(task.machine, task.domains)
    sequences, _ = task.sample(64, 40, seed=1)
    assert np.array_equal(short.run(sequences), task.machine.run(sequences))


@pytest.mark.slow
@pytest.mark.parametrize("task", tasks.all_tasks(), ids=lambda task: task.name)
def test_every_machine_keeps_its_outputs(task):
    short = simplify_recurrence(task.machine, task.domains)
    sequences, _ = task.sample(64, 30, seed=1)
    assert np.allclose(short.run(sequences), task.machine.run(sequences), rtol=1e-9, atol=1e-9)


def test_same_input_same_result():
    recurrence = rule(r=x + y1 - 2 * x * y1, y=Var("r") * 1)
    assert simplify_recurrence(recurrence, (BITS,)) == simplify_recurrence(recurrence, (BITS,))


leaves = st.one_of(
    st.builds(Var, st.sampled_from(["x", "r", "y"]), st.integers(1, 2)),
    st.just(x),
    st.builds(Const, st.sampled_from([0, 1, 2, -1])),
)


def extend(children):
    names = ["add", "sub", "mul", "max", "min", "gt", "eq", "and", "or"]
    return st.one_of(
        st.builds(lambda name, a, b: op(name, a, b), st.sampled_from(names), children, children),
        st.builds(lambda a, m: op("mod", a, m), children, st.sampled_from([2, 3])),
        st.builds(lambda c, a, b: op("where", c, a, b), children, children, children),
    )


formulas = st.recursive(leaves, extend, max_leaves=5).map(lambda e: op("clip", e, -9, 9))


@pytest.mark.slow
@settings(max_examples=60)
@given(formulas, formulas, formulas, st.booleans())
def test_outputs_never_change(r, s, y, whole):
    recurrence = rule({"s": 1.0}, r=r, s=s, y=y + Var("r") - Var("s", 1))
    domain = integers(-2, 2) if whole else reals(-1, 1)
    short = simplify_recurrence(recurrence, (domain,))
    rng = np.random.default_rng(9)
    drawn = rng.integers(-2, 3, (40, 12, 1)) if whole else rng.uniform(-1, 1, (40, 12, 1))
    assert np.allclose(short.run(drawn), recurrence.run(drawn), rtol=1e-9, atol=1e-9)
