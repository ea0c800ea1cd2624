"""Proofs know what float64 holds: bounds of all values, limits where they grow, errors where they round."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weights2code.language import (
    BITS,
    Recurrence,
    Step,
    Var,
    evaluate_exact,
    exact_number,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.language.arithmetic import arithmetic, rounding
from weights2code.language.interval import Interval
from weights2code.language.operators import OPERATORS
from weights2code.language.ranges import bounds_of, positions_below
from weights2code.program import Program
from weights2code.simplify import grouped_as_read
from weights2code.verify import certify

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)
DIGITS, UNIT = integers(0, 9), reals(0.0, 1.0)
LARGE = 2**53


def machine(output, start=None, **steps) -> Recurrence:
    made = (*(Step(name, definition) for name, definition in steps.items()), Step("y", output))
    return Recurrence(("x",), made, ("y",), start or {})


def verdict(program, reference, domain=DIGITS, whole=True):
    return certify(program, reference=reference, domains=(domain,), length=10, integer_outputs=whole)


@pytest.mark.parametrize(
    "program",
    [
        machine(Var("z") - LARGE, z=maximum(x, x1) + LARGE),
        machine((maximum(x, x1) + LARGE) - LARGE),
        machine(where(x > 8, (maximum(x, x1) + LARGE) - LARGE, maximum(x, x1))),
        machine((maximum(x, x1) * 3**40) / 3**40),
    ],
)
def test_what_float64_cannot_hold_is_not_proved(program):
    assert verdict(program, machine(maximum(x, x1))).verdict != "proved"


def test_small_detours_are_proved():
    found = verdict(machine((maximum(x, x1) + 1000) - 1000), machine(maximum(x, x1)))
    assert found.verdict == "proved"


def test_a_sum_without_end_is_proved_up_to_a_value_that_the_sentence_names():
    total = machine(Var("s"), s=Var("s", 1) + x)
    found = verdict(machine(y1 + x), total)
    assert found.verdict == "proved"
    assert "as long as no value reaches 2**53" in found.explain()


def test_exponential_growth_names_the_positions_that_are_safe():
    found = verdict(machine(11 * y1 - y1 + x), machine(10 * y1 + x))
    assert found.verdict == "proved"
    assert "not in the first 15 positions" in found.explain()
    quick = machine(1001 * y1 - y1 + x)
    assert verdict(quick, machine(1000 * y1 + x)).verdict != "proved"  # over before the training length
    assert verdict(quick, machine(1000 * y1 + x), integers(0, 30_000)).verdict == "tested"


@pytest.mark.parametrize("tiny", [9e-7, 1e-12])
def test_near_is_a_verdict_of_its_own(tiny):
    found = verdict(machine(x + tiny), machine(x), BITS)
    assert found.verdict == "bounded"
    assert found.error == pytest.approx(tiny, rel=1e-3)
    assert "not equal" in found.explain()
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()


def test_whole_numbers_that_the_text_rounds_are_bounded_at_most():
    found = verdict(machine((x / 49) * 49), machine(x), integers(0, 2000))
    assert found.verdict in ("bounded", "exhaustive", "tested")


@pytest.mark.parametrize(
    ("program", "reference"),
    [
        (machine(where(x.equals(0), 5, 1 / x * 0 + 5)), machine(x * 0 + 5)),
        (machine(where(op("and", op("ne", x, 0), (1 / x) > 5), 1, 0)), machine(x * 0)),
        (machine(op("or", x.equals(0), (x / x).equals(1))), machine(x * 0 + 1)),
        (machine(where(x.equals(0), 0, Var("z") * 0 + 1), z=1 / x), machine(op("ne", x, 0))),
    ],
)
def test_what_is_undefined_where_nobody_looks_does_not_matter(program, reference):
    assert verdict(program, reference).verdict == "proved"


def test_a_division_of_plain_numbers_stops_the_text_wherever_it_stands():
    program = machine(where(x.equals(0), 0, Var("z") * 0 + 1), z=1 / op("ne", x, 0))
    with pytest.raises(ZeroDivisionError):
        run_text(program, [0.0])
    assert verdict(program, machine(op("ne", x, 0))).verdict == "failed"


def run_text(program, sequence):
    space: dict = {}
    exec(Program("program", program, (DIGITS,), True).source(), space)
    return space["program"](np.array(sequence))


def test_the_text_groups_sums_as_the_tree_does():
    s = Var("s", 1)
    program = machine(x + (s - s), start={"s": 1e16}, s=x)
    assert run_text(program, [3.0]) == program.run(np.array([[[3.0]]]))[0, :, 0]
    read = grouped_as_read(program, (DIGITS,))
    assert run_text(read, [3.0]) == read.run(np.array([[[3.0]]]))[0, :, 0] != 3


def test_bounds_of_names():
    bounded = bounds_of(machine((y1 + x) % 7), (DIGITS,))
    assert bounded["y"] == Interval(0, 6)
    assert not bounds_of(machine(y1 + x), (DIGITS,))["y"].finite
    halving = bounds_of(machine(y1 / 2 + x), (DIGITS,))["y"]
    assert halving.low == 0
    assert 18 <= halving.high <= 64
    smallest = bounds_of(machine(minimum(y1, x), start={"y": inf}), (DIGITS,))["y"]
    assert smallest == Interval(0, 9)


def test_limits_depend_on_places_and_on_quotients_that_decide():
    assert arithmetic(machine(x + y1), (DIGITS,)).limit == LARGE
    assert arithmetic(machine(0.25 * x + x1), (DIGITS,)).limit == LARGE // 4
    mean = machine((Var("s") / Var("n")) > 0.3, s=Var("s", 1) + x, n=Var("n", 1) + 1)
    assert arithmetic(mean, (DIGITS,)).limit == 2**26
    places = machine(op("ne", Var("s"), 0), s=0.5 * Var("s", 1) + x)
    assert not arithmetic(places, (DIGITS,)).decided  # places grow without end


def test_positions_until_values_outgrow_a_limit():
    assert positions_below(machine(10 * y1 + x), (DIGITS,), 1000, 50) == 3
    assert positions_below(machine((y1 + x) % 7), (DIGITS,), 1000, 50) == 50


def test_rounding_of_one_position():
    unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
    assert 0 < rounding(machine(0.3 * x + 0.7 * y1), (UNIT,), unit)[0]["y"] < 1e-15
    assert rounding(machine((x + 1e16) - 1e16), (UNIT,), unit)[0]["y"] >= 1
    assert rounding(machine(1 / x), (UNIT,), unit)[0]["y"] == inf
    assert verdict(machine((x + 1e16) - 1e16), machine(x), UNIT, whole=False).verdict == "failed"


POINTS = st.one_of(st.integers(-6, 6), st.sampled_from([0.5, -2.5, 0.1]))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(OPERATORS)), st.lists(st.tuples(POINTS, POINTS), min_size=3, max_size=3), st.data()
)
def test_intervals_hold_every_value(name, ends, data):
    entry = OPERATORS[name]
    names = [Var(f"v{i}") for i in range(entry.arity)]
    intervals = [Interval(*sorted(map(exact_number, pair))) for pair in ends[: entry.arity]]
    point = {}
    for variable, interval in zip(names, intervals, strict=True):
        share = data.draw(st.sampled_from([0, 1]))
        point[variable] = interval.high if share else interval.low
    try:
        value = evaluate_exact(op(name, *names), point)
    except (ArithmeticError, ValueError):
        return
    if isinstance(value, complex) or value != value:
        return
    found = entry.interval(*intervals)
    assert found.low <= value <= found.high


def test_large_constants_are_floats_in_the_text_too():
    program = machine((op("ne", x, 0) + (LARGE + 1)) - (LARGE + 1))
    assert run_text(program, [3.0]) == program.run(np.array([[[3.0]]]))[0, :, 0] != 1


def test_whole_numbers_from_real_inputs_are_proved_but_for_the_borders():
    program = machine(op("and", x > -0.5, maximum(x, y1) > 0.6), start={"y": 1.0})
    reference = machine(where(y1, x > -0.5, x > 0.6), start={"y": 1.0})
    found = verdict(program, reference, reals(-1.0, 1.0))
    assert found.verdict == "proved"
    assert "decides otherwise only within" in found.explain()
