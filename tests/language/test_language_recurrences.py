"""Recurrences: order of steps, start values, retrieval, what values can be; and domains of columns."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_table import rows, rule
from weights2code.language import (
    BITS,
    Domain,
    Recurrence,
    Retrieval,
    Var,
    infer,
    integers,
    minimum,
    op,
    reals,
    texts,
)
from weights2code.language.kinds import kinds_of

x, y1 = Var("x"), Var("y", 1)
FIBONACCI = rule({"y": 1.0}, y=y1 + Var("y", 2) + 0 * x)
LOOKUP = rule(inputs="k v q", y=Retrieval("k", "v", Var("q") + 1, gap=2, default=-1.0))


def test_outputs_are_fed_back_and_what_lies_before_the_start_is_zero_or_what_is_said():
    assert FIBONACCI.run(np.zeros((1, 6, 1)))[0, :, 0].tolist() == [2, 3, 5, 8, 13, 21]
    inputs = np.array([[[5.0], [7.0], [6.0]]])
    for start, answers in {0.0: [0, 0, 5], 9.0: [9, 9, 5], "first": [5, 5, 5]}.items():
        assert rule({"x": start}, y=Var("x", 2)).run(inputs)[0, :, 0].tolist() == answers
    assert rule({"y": inf}, y=minimum(y1, x)).run(inputs)[0, :, 0].tolist() == [5, 5, 5]


def test_later_steps_see_earlier_ones_of_the_same_position():
    m = rule(outputs="y carry", s=x + Var("carry", 1), y=Var("s") % 2, carry=Var("s") >= 2)
    assert m.run(np.array([[[1.0], [1.0], [2.0], [0.0]]]))[0].tolist() == [[1, 0], [1, 0], [0, 1], [1, 0]]
    trace = rule(s=2 * x, y=Var("s") + 1).trace(np.ones((2, 3, 1)))
    assert {name: values[0, 0] for name, values in trace.items()} == {"x": 1, "s": 2, "y": 3}
    carried = rule(v=x + Var("x", 2), y=y1 + Var("v"))
    assert carried.depths() == {"x": 2, "y": 1}
    assert carried.state() == (Var("x", 1), Var("x", 2), y1)


def test_retrieval_keeps_its_gap_and_default():
    inputs = np.array([[[1, 10, 0], [1, 20, 0], [2, 30, 0], [3, 40, 1], [3, 50, 2]]], dtype=float)
    assert LOOKUP.retrieves()
    assert LOOKUP.run(inputs)[0, :, 0].tolist() == [-1, -1, 10, -1, -1]


@settings(max_examples=40)
@given(st.integers(0, 4), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_prefixes_give_prefixes(count: int, length: int, seed: int):
    for m in (FIBONACCI, LOOKUP):
        inputs = rows([integers(0, 2)] * len(m.inputs), count, length + 2, seed=seed)
        np.testing.assert_array_equal(m.run(inputs)[:, :length], m.run(inputs[:, :length]))
        assert m.run(inputs[:, :0]).shape == (count, 0, 1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: rule(y=Var("z")), "reads z, which nothing defines"),
        (lambda: rule(y=Var("s"), s=x), "before it is computed"),
        (lambda: rule(y=Var("x", -1)), "before it is computed"),
        (lambda: rule(x=x, y=x), "must differ"),
        (lambda: rule(outputs="z", y=x), "output z is not defined"),
        (lambda: rule({"z": 1.0}, y=x), "given for z"),
        (lambda: rule({"y": "first"}, y=y1), "only inputs"),
        (lambda: FIBONACCI.run(np.zeros(3)), r"must have shape \(n, T, 1\)"),
        (lambda: FIBONACCI.run(np.zeros((2, 3, 2))), r"must have shape \(n, T, 1\)"),
    ],
)
def test_nonsense_is_refused(build, message: str):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": "x"}, {"inputs": []}, {"inputs": ["x", "x"]}, {"inputs": [-1]}, {"outputs": ["x"]},
        {"outputs": []}, {"steps": {}}, {"steps": [{"name": "", "definition": 1}]},
        {"steps": [{"name": "y", "definition": True}]},
        {"steps": [{"name": "y", "definition": ["fraction", 1, 0]}]},
        {"steps": [{"name": "y", "definition": ["fraction", 1.5, 2]}]},
        {"steps": [{"name": "y", "definition": {"var": "x", "lag": "1"}}]},
        {"steps": [{"name": "y", "definition": {"op": ["add"], "args": [1, 2]}}]},
        {"steps": [{"name": "y", "definition": 10**400}]},
        {"steps": [{"name": "y", "definition": float("inf")}]},
        {"start": []}, {"start": {"x": []}}, {"start": {"x": "nan"}}, {"start": {"x": "one"}},
    ],
)  # fmt: skip
def test_what_is_no_recurrence_is_refused(change: dict):
    data = rule({"x": 2.0, "y": inf}, y=x + Var("x", 1) + y1).to_dict()
    assert Recurrence.from_dict(data).start == {"x": 2.0, "y": inf}
    assert hash(Recurrence.from_dict(data)) == hash(Recurrence.from_dict(data))
    with pytest.raises((ValueError, KeyError, TypeError)):
        Recurrence.from_dict(data | change)


# -- kinds: sets of values, whole numbers, bits --------------------------------------------------------------


def kinds(definition, domain=BITS, start=None):
    return kinds_of(rule(start, y=definition), (domain,))


def test_closed_sets_are_found():
    found = kinds((x + y1) % 3, integers(0, 2))
    assert found.values["y"] == (0, 1, 2)
    assert found.integers == {"x", "y"}
    assert kinds(1 - y1, start={"y": 5.0}).values["y"] == (-4, 5)
    lookup = rule(inputs="k v", y=Retrieval("k", "v", Var("k"), default=-1.0))
    assert kinds_of(lookup, (BITS, integers(2, 3))).values["y"] == (-1, 2, 3)
    assert "y" not in kinds(op("log", x - 1)).values  # no value, so nothing is said


def test_bits_and_whole_numbers_are_known():
    assert kinds(x + y1 - 2 * x * y1).is_bit(y1)
    counter = kinds(x + y1)
    assert "y" not in counter.values
    assert counter.is_integer(y1 * 2 + x)
    assert not counter.is_bit(y1)
    for halves in (kinds(y1 / 2 + x), kinds(x + y1, start={"y": 0.5}), kinds(x + y1, reals(0, 1))):
        assert not halves.is_integer(y1)
    rounded = kinds(op("floor", x / 2), reals(0, 9))
    assert [rounded.is_integer(e) for e in (y1, x, y1**2, op("pow", y1, -1))] == [True, False, True, False]
    found = kinds(x)
    for bit in (x * y1, op("min", x, y1), op("where", x, 1, 0), op("mod", x + 3, 2), op("gt", x, 7)):
        assert found.is_bit(bit)
    assert not found.is_bit(x + y1)


# -- domains -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        ([0, 1, 1], BITS), ([0.0, 0.0], BITS), ([-1, 1], integers(-1, 1)), ([0, 2], integers(0, 2)),
        ([0.5, 1], reals(0.5, 1)), ([0, 2**53], integers(0, 2**53)),
        ([0, 2.0**54], reals(0, 2**54)),  # there every float64 is whole
    ],
)  # fmt: skip
def test_the_narrowest_domain_is_inferred(values: list, domain: Domain):
    assert infer(np.array(values)) == domain


def test_domains_list_their_values_and_read_well():
    domain = integers(-3, 4)
    assert domain.values().tolist() == list(range(-3, 5))
    assert domain.size == 8
    with pytest.raises(ValueError, match="reals"):
        reals(0, 1).values()
    said = [str(one) for one in (BITS, domain, reals(0, 2.5), texts(("closed", "open")))]
    assert said == ["bits", "integers -3..4", "reals 0..2.5", '"closed" or "open"']
    assert str(texts([f"t{i}" for i in range(30)])).endswith("and 10 other texts")
    for one in (BITS, domain, reals(0.5, 2.0), reals(1.0, 1.0), texts(("a", "b")), texts((3, 17))):
        assert Domain.from_dict(one.to_dict()) == one
    assert "categories" not in domain.to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "complex"}, {"kind": ["reals"]}, {"low": 7}, {"low": 0.5}, {"low": "0"}, {"low": None},
        {"high": float("inf")}, {"high": True}, {"kind": "bits"}, {"truths": True},
        {"kind": "texts", "low": 1, "high": 2}, {"categories": ["a", "b"]},
        {"kind": "texts", "high": 1, "categories": ["a", "b"]},
        {"kind": "texts", "low": 1, "high": 2, "categories": ["a", "a"]},
    ],
)  # fmt: skip
def test_what_is_no_domain_is_refused(change: dict):
    with pytest.raises((ValueError, TypeError)):
        Domain.from_dict(integers(0, 5).to_dict() | change)
