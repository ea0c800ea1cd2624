"""Complete exploration: proofs for finite machines, shortest counterexamples, and honest refusals."""

from math import inf

import numpy as np
import pytest

from weights2code.language import (
    BITS,
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
from weights2code.verify import explore, product

x, x1, y, y1 = Var("x"), Var("x", 1), Var("y"), Var("y", 1)


def machine(definition, inputs=("x",), start=None, **locals_):
    steps = [Step(name, value) for name, value in locals_.items()] + [Step("y", definition)]
    return Recurrence(inputs, tuple(steps), ("y",), start or {})


def outcome(reference, program, *domains, **options):
    return explore(product(reference, program, domains), whole=True, **options)


def test_two_forms_of_parity_are_proved_equal():
    result = outcome(machine((x + y1) % 2), machine(x + y1 - 2 * x * y1), BITS)
    assert (result.outcome, result.states) == ("equal", 2)


def test_the_counterexample_is_shortest_and_real():
    right, wrong = machine((x + y1) % 3), machine(where((x + y1) >= 3, (x + y1) - 3, x + y1) * (y1 < 2))
    result = outcome(right, wrong, integers(0, 2))
    assert result.outcome == "different"
    example = np.array([result.counterexample])
    assert example.shape[1] == 2
    assert right.run(example)[0, -1, 0] != wrong.run(example)[0, -1, 0]
    assert (right.run(example)[0, :-1] == wrong.run(example)[0, :-1]).all()


def test_a_difference_that_first_shows_after_many_steps_is_found():
    clock = minimum(Var("n", 1) + 1, 60)
    result = outcome(machine(x), machine(where(Var("n") >= 50, 1 - x, x), n=clock), BITS)
    assert result.outcome == "different"
    assert len(result.counterexample or ()) == 50


def test_infinite_and_repeated_starts():
    smallest = machine(minimum(y1, x), start={"y": inf})
    kept = machine(where(x < y1, x, y1), start={"y": inf})
    assert outcome(smallest, kept, integers(0, 9)).outcome == "equal"
    assert outcome(smallest, machine(minimum(y1, x), start={"y": 8}), integers(0, 9)).outcome == "different"

    first = machine(minimum(x1, x), start={"x": "first"})
    assert (
        outcome(first, machine(where(x1 < x, x1, x), start={"x": "first"}), integers(0, 9)).outcome == "equal"
    )
    assert outcome(first, machine(minimum(x1, x), start={"x": 9}), integers(0, 9)).outcome == "equal"
    assert outcome(machine(minimum(x1, x), start={"x": 9}), first, integers(0, 9)).outcome == "equal"
    assert outcome(first, machine(minimum(x1, x)), integers(0, 9)).counterexample == ((1.0,),)


def test_repeated_starts_reach_back_more_than_one_position():
    far = machine(maximum(Var("x", 3), x), start={"x": "first"})
    held = Recurrence(
        ("x",),
        (Step("a", x1), Step("b", Var("a", 1)), Step("c", Var("b", 1)), Step("y", maximum(Var("c"), x))),
        ("y",),
        {"x": "first"},
    )
    result = outcome(far, held, integers(0, 2))
    assert result.outcome == "different"  # the copies b and c start at 0, not at the first input
    assert len(result.counterexample or ()) == 2


def test_reals_are_never_enumerated():
    result = outcome(machine(x), machine(x), reals(0, 1))
    assert (result.outcome, result.transitions) == ("inconclusive", 0)
    assert "reals" in result.reason


def test_too_many_inputs_are_not_enumerated():
    wide = Recurrence(("a", "b", "c"), (Step("y", Var("a")),), ("y",))
    result = outcome(wide, wide, *[integers(0, 2**32 - 1)] * 3)  # 2**96, which is 0 in 64 bits
    assert (result.outcome, result.transitions) == ("inconclusive", 0)
    assert "different inputs" in result.reason


def test_unbounded_machines_stop_at_the_limit(monkeypatch):
    monkeypatch.setattr("weights2code.verify.exploration._MOST_STATES", 300)
    result = outcome(machine(x + y1), machine(x + y1), BITS)
    assert result.outcome == "inconclusive"
    assert "300 states" in result.reason


def test_values_beyond_exact_float64_are_refused():
    # y1 + 1 - 1 is y1 only while float64 holds every digit.
    power = machine(where(y1.equals(0), 1, y1 * 2))
    result = outcome(power, power, BITS)
    assert result.outcome == "inconclusive"
    assert "2**53" in result.reason


def test_inexact_states_are_refused():
    decay = machine(y1 * 0.1 + x)
    assert "not exact" in outcome(decay, decay, BITS).reason
    halves = machine(x1 * 0.5 + x * 0.5)
    assert explore(product(halves, halves, (BITS,)), whole=False).outcome == "equal"


def test_float_rounding_is_part_of_the_program():
    tenths = machine((0.1 * x + 0.2 * x).equals(0.3 * x))
    assert outcome(machine(x * 0 + 1), tenths, BITS).counterexample == ((1.0,),)


def test_division_by_zero_is_not_passed_over():
    # NumPy answers 1/0 with infinity, and the comparison is then right; the program's text would stop.
    result = outcome(machine(x.equals(0)), machine((1 / x) > 2), BITS)
    assert result.counterexample == ((0.0,),)
    guarded = machine(where(x.equals(0), 1, op("lt", 2, 1 / x)))
    assert outcome(machine(x.equals(0)), guarded, BITS).outcome == "equal"
    assert outcome(machine(1 / x), machine(x), BITS).outcome == "inconclusive"


def test_mod_of_negatives_is_floored():
    low = integers(-5, 5)
    floored = machine(x - 3 * op("floor", x / 3))
    assert outcome(machine(x % 3), floored, low).outcome == "equal"
    truncated = machine(where(x >= 0, x % 3, -((-x) % 3)))
    assert outcome(machine(x % 3), truncated, low).outcome == "different"


def test_outputs_that_only_round_right_are_inconclusive():
    result = outcome(machine(x), machine(x * 0.99), BITS)
    assert result.outcome == "inconclusive"
    assert "rounding" in result.reason


def test_retrieval_over_few_keys():
    inputs = ("key", "value", "query")
    domains = (BITS, integers(0, 2), BITS)
    found = machine(Retrieval("key", "value", Var("query")), inputs)
    cells = Recurrence(
        inputs,
        (
            Step("y", where(Var("query").equals(1), Var("b", 1), Var("a", 1))),
            Step("a", where(Var("key").equals(0), Var("value"), Var("a", 1))),
            Step("b", where(Var("key").equals(1), Var("value"), Var("b", 1))),
        ),
        ("y",),
    )
    assert outcome(found, cells, *domains).outcome == "equal"
    assert outcome(
        machine(Retrieval("key", "value", Var("query"), gap=2), inputs), cells, *domains
    ).outcome == ("different")
    present = machine(Retrieval("key", "value", Var("query"), gap=0, default=2), inputs)
    assert outcome(present, found, *domains).counterexample is not None
    computed = machine(Retrieval("k", "value", Var("query")), inputs, k=Var("key") * 2)
    assert "retrieval" in outcome(computed, computed, *domains).reason


def test_machines_must_have_the_same_shape():
    with pytest.raises(ValueError, match="columns"):
        product(machine(x), machine(Var("a") + Var("b"), ("a", "b")), (BITS,))
    with pytest.raises(ValueError, match="outputs"):
        product(machine(x), Recurrence(("x",), (Step("y", x),), ("y", "x")), (BITS,))
