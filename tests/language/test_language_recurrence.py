"""Recurrences: order of steps, start values, retrieval, JSON."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.language import Recurrence, Retrieval, Step, Var, minimum

x, y1 = Var("x"), Var("y", 1)


def machine(start=None, outputs=("y",), inputs=("x",), **formulas):
    steps = tuple(Step(name, formula) for name, formula in formulas.items())
    return Recurrence(inputs, steps, outputs, start or {})


FIBONACCI = machine({"y": 1.0}, y=y1 + Var("y", 2) + 0 * x)
LOOKUP = machine(inputs=("k", "v", "q"), y=Retrieval("k", "v", Var("q") + 1, gap=2, default=-1.0))


def test_outputs_are_fed_back():
    assert FIBONACCI.run(np.zeros((1, 6, 1)))[0, :, 0].tolist() == [2, 3, 5, 8, 13, 21]


def test_before_the_start_lies_zero_or_what_is_said():
    inputs = np.array([[[5.0], [7.0], [6.0]]])
    previous = {start: machine({"x": start}, y=Var("x", 2)) for start in (0.0, 9.0, "first")}
    answers = {start: m.run(inputs)[0, :, 0].tolist() for start, m in previous.items()}
    assert answers == {0.0: [0, 0, 5], 9.0: [9, 9, 5], "first": [5, 5, 5]}
    assert machine({"y": inf}, y=minimum(y1, x)).run(inputs)[0, :, 0].tolist() == [5, 5, 5]


def test_later_steps_see_earlier_ones_of_the_same_position():
    m = machine(s=x + Var("carry", 1), y=Var("s") % 2, carry=Var("s") >= 2, outputs=("y", "carry"))
    assert m.run(np.array([[[1.0], [1.0], [2.0], [0.0]]]))[0].tolist() == [[1, 0], [1, 0], [0, 1], [1, 0]]


def test_the_state_lists_every_value_that_is_carried():
    m = machine(v=x + Var("x", 2), y=y1 + Var("v"))
    assert m.depths() == {"x": 2, "y": 1}
    assert m.state() == (Var("x", 1), Var("x", 2), Var("y", 1))


def test_retrieval_keeps_its_gap_and_default():
    inputs = np.array([[[1, 10, 0], [1, 20, 0], [2, 30, 0], [3, 40, 1], [3, 50, 2]]], dtype=float)
    assert LOOKUP.retrieves()
    assert LOOKUP.run(inputs)[0, :, 0].tolist() == [-1, -1, 10, -1, -1]


@settings(max_examples=40)
@given(st.integers(0, 4), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_prefixes_give_prefixes(count, length, seed):
    rng = np.random.default_rng(seed)
    for m in (FIBONACCI, LOOKUP):
        inputs = rng.integers(0, 3, (count, length + 2, len(m.inputs)))
        np.testing.assert_array_equal(m.run(inputs)[:, :length], m.run(inputs[:, :length]))
        assert m.run(inputs[:, :0]).shape == (count, 0, 1)


@pytest.mark.parametrize(
    "m", [FIBONACCI, LOOKUP, machine({"x": "first", "y": inf}, y=minimum(minimum(y1, x), Var("x", 1)))]
)
def test_json_round_trip(m):
    again = Recurrence.from_dict(m.to_dict())
    assert again == m
    assert hash(again) == hash(m)


def test_the_trace_names_every_variable():
    trace = machine(s=2 * x, y=Var("s") + 1).trace(np.ones((2, 3, 1)))
    assert {name: values[0, 0] for name, values in trace.items()} == {"x": 1, "s": 2, "y": 3}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: machine(y=Var("z")), "reads z, which nothing defines"),
        (lambda: machine(y=Var("s"), s=x), "before it is computed"),
        (lambda: machine(y=Var("x", -1)), "before it is computed"),
        (lambda: machine(x=x, y=x), "must differ"),
        (lambda: machine(outputs=("z",), y=x), "output z is not defined"),
        (lambda: machine({"z": 1.0}, y=x), "given for z"),
        (lambda: machine({"y": "first"}, y=y1), "only inputs"),
    ],
)
def test_nonsense_is_refused_when_it_is_built(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 2)])
def test_inputs_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"must have shape \(n, T, 1\)"):
        FIBONACCI.run(np.zeros(shape))


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": "x"},
        {"inputs": []},
        {"inputs": ["x", "x"]},
        {"inputs": [-1]},
        {"outputs": ["x"]},
        {"outputs": []},
        {"steps": {}},
        {"steps": [{"name": "", "definition": 1}]},
        {"steps": [{"name": "y", "definition": True}]},
        {"steps": [{"name": "y", "definition": ["fraction", 1, 0]}]},
        {"steps": [{"name": "y", "definition": ["fraction", 1.5, 2]}]},
        {"steps": [{"name": "y", "definition": {"var": "x", "lag": "1"}}]},
        {"steps": [{"name": "y", "definition": {"op": ["add"], "args": [1, 2]}}]},
        {"steps": [{"name": "y", "definition": 10**400}]},
        {"steps": [{"name": "y", "definition": float("inf")}]},
        {"start": []},
        {"start": {"x": []}},
        {"start": {"x": "nan"}},
        {"start": {"x": "one"}},
    ],
)
def test_what_is_no_recurrence_is_refused(change):
    data = Recurrence(("x",), (Step("y", Var("x") + Var("x", 1)),), ("y",), {"x": 2.0}).to_dict()
    assert Recurrence.from_dict(data).start == {"x": 2.0}
    with pytest.raises((ValueError, KeyError, TypeError)):
        Recurrence.from_dict(data | change)


def test_a_start_may_be_infinite():
    data = Recurrence(("x",), (Step("y", Var("y", 1)),), ("y",), {"y": float("inf")}).to_dict()
    assert Recurrence.from_dict(data).start == {"y": float("inf")}
