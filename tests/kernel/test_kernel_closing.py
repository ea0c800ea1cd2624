"""Text and specification closed together: proofs for finite machines, shortest sequences, honest refusals."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from weights2code.kernel.claims import (
    Answer,
    Claim,
    Closure,
    ProgramText,
    Proved,
    Refuted,
    Rejected,
    Specification,
    check,
)
from weights2code.language import (
    BITS,
    Definition,
    Domain,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.language.python_source import python_source

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)


def machine(
    definition: Definition,
    inputs: tuple[str, ...] = ("x",),
    start: dict[str, Start] | None = None,
    **before: Definition,
) -> Recurrence:
    steps = [Step(name, value) for name, value in before.items()] + [Step("y", definition)]
    return Recurrence(inputs, tuple(steps), ("y",), start or {})


def closed(
    reference: Recurrence, program: Recurrence, *domains: Domain, near: object = 0, most: int = 60_000
) -> Answer:
    text = ProgramText(python_source(program, domains, "program"), program.inputs)
    return check(Claim(text, Specification(reference), domains, Fraction(near)), Closure(most))  # type: ignore[arg-type]


def different(reference: Recurrence, program: Recurrence, *domains: Domain, **options: int) -> list[tuple]:
    """The sequence that refutes it."""
    found = closed(reference, program, *domains, **options)
    assert isinstance(found, Refuted), found
    return list(found.sequence)


def equal(reference: Recurrence, program: Recurrence, *domains: Domain, **options: int) -> Proved:
    found = closed(reference, program, *domains, **options)
    assert isinstance(found, Proved), found
    assert (found.length, found.error) == (None, 0)
    return found


def test_two_forms_of_parity_are_proved_equal() -> None:
    found = equal(machine((x + y1) % 2), machine(x + y1 - 2 * x * y1), BITS)
    assert found.words == "2 states (6 transitions)"
    assert isinstance(found.certificate, Closure)
    assert found.certificate.states is not None
    assert len(found.certificate.states) == 2


def test_the_sequence_is_shortest_and_real() -> None:
    right, wrong = machine((x + y1) % 3), machine(where((x + y1) >= 3, (x + y1) - 3, x + y1) * (y1 < 2))
    example = np.array([different(right, wrong, integers(0, 2))])
    assert example.shape[1] == 2
    assert right.run(example)[0, -1, 0] != wrong.run(example)[0, -1, 0]
    assert (right.run(example)[0, :-1] == wrong.run(example)[0, :-1]).all()


def test_a_difference_that_first_shows_after_many_steps_is_found() -> None:
    clock = minimum(Var("n", 1) + 1, 60)
    assert len(different(machine(x), machine(where(Var("n") >= 50, 1 - x, x), n=clock), BITS)) == 50


def test_infinite_and_repeated_starts() -> None:
    digits = integers(0, 9)
    smallest = machine(minimum(y1, x), start={"y": inf})
    equal(smallest, machine(where(x < y1, x, y1), start={"y": inf}), digits)
    different(smallest, machine(minimum(y1, x), start={"y": 8}), digits)
    first, nine = machine(minimum(x1, x), start={"x": "first"}), machine(minimum(x1, x), start={"x": 9})
    equal(first, machine(where(x1 < x, x1, x), start={"x": "first"}), digits)
    equal(first, nine, digits)
    equal(nine, first, digits)
    assert different(first, machine(minimum(x1, x)), digits) == [(1.0,)]


def test_repeated_starts_reach_back_more_than_one_position() -> None:
    far = machine(maximum(Var("x", 3), x), start={"x": "first"})
    held = machine(maximum(Var("c"), x), start={"x": "first"}, a=Var("x", 1), b=Var("a", 1), c=Var("b", 1))
    assert len(different(far, held, integers(0, 2))) == 2  # b and c start at 0, not at the first input


def test_what_is_not_enumerated() -> None:
    found = closed(machine(x), machine(x), reals(0, 1))
    assert found == Rejected("the inputs are reals, which no enumeration covers")
    wide = Recurrence(("a", "b", "c"), (Step("y", Var("a")),), ("y",))
    found = closed(wide, wide, *[integers(0, 2**32 - 1)] * 3)  # 2**96, which is 0 in 64 bits
    assert found == Rejected("there are more than 20000 different rows")


def test_states_without_end_are_closed_up_to_a_length() -> None:
    found = closed(machine(x + y1), machine(x + y1), BITS, most=1000)
    assert isinstance(found, Proved)
    assert found.length is not None
    assert found.length > 20  # so many states at each position as it has predecessors


def test_values_that_outgrow_float64_are_seen() -> None:
    """Doubled, then one more: beyond 2**53 float64 does not have the one."""
    grows = machine(where(y1 > 2**60, y1, 2 * y1 + 1))
    found = closed(grows, grows, BITS)
    assert isinstance(found, Refuted)
    assert len(found.sequence) == 54


def test_float_rounding_is_part_of_the_program() -> None:
    tenths = machine((0.1 * x + 0.2 * x).equals(0.3 * x))
    assert different(machine(x * 0 + 1), tenths, BITS) == [(1.0,)]
    near = closed(machine(x), machine(x * 0.99), BITS, near=Fraction(1, 50))
    assert isinstance(near, Proved)
    assert 0.0099 < near.error < 0.0101
    halves = machine(x1 * 0.5 + x * 0.5)
    equal(halves, halves, BITS)


def test_division_by_zero_is_not_passed_over() -> None:
    guarded = machine(where(x.equals(0), 1, op("lt", 2, 1 / x)))
    equal(machine(x.equals(0)), guarded, BITS)
    stops = closed(machine(x * 0 + 1), machine(1 / op("ne", x, 1)), BITS)
    assert isinstance(stops, Refuted)
    assert "ZeroDivisionError" in stops.reason
    undefined = closed(machine(1 / x), machine(x), BITS)
    assert isinstance(undefined, Refuted)
    assert "there is no value" in undefined.reason


def test_mod_of_negatives_is_floored() -> None:
    low = integers(-5, 5)
    equal(machine(x % 3), machine(x - 3 * op("floor", x / 3)), low)
    different(machine(x % 3), machine(where(x >= 0, x % 3, -((-x) % 3))), low)


def test_lookups_over_few_keys() -> None:
    inputs, domains = ("key", "value", "query"), (BITS, integers(0, 2), BITS)
    query = Var("query")
    found = machine(Retrieval("key", "value", query), inputs)
    cells = Recurrence(
        inputs,
        (
            Step("y", where(query.equals(1), Var("b", 1), Var("a", 1))),
            Step("a", where(Var("key").equals(0), Var("value"), Var("a", 1))),
            Step("b", where(Var("key").equals(1), Var("value"), Var("b", 1))),
        ),
        ("y",),
    )
    equal(found, cells, *domains)
    equal(cells, found, *domains)
    different(machine(Retrieval("key", "value", query, gap=2), inputs), cells, *domains)
    different(machine(Retrieval("key", "value", query, gap=0, default=2), inputs), found, *domains)
    computed = machine(Retrieval("k", "value", query), inputs, k=Var("key") * 2)
    equal(computed, computed, *domains)


def test_operators_without_an_exact_value_are_refused() -> None:
    found = closed(machine(op("sqrt", x)), machine(op("sqrt", x)), BITS)
    assert found == Rejected("sqrt has no exact value")


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_length_is_claimed_that_was_not_run(most: int) -> None:
    """Position 2 is wrong."""
    late = machine(x + op("and", x, x1))
    found = closed(machine(x), late, BITS, most=most)
    assert not isinstance(found, Proved) or found.length == 1


@pytest.mark.parametrize("place", [0, 1])
def test_a_fixed_position_is_no_lag(place: int) -> None:
    """`x[0]` is the first value at every t, and not the present one."""
    source = python_source(machine(Var("x", place)), (BITS,), "program")
    asked = "x[t]" if place == 0 else "x[t-1]"
    text = ProgramText(source.replace(f"y[t] = {asked}", f"y[t] = x[{place}]"), ("x",))
    claim = Claim(text, Specification(machine(Var("x", place))), (BITS,))
    assert check(claim, Closure(100)) == Rejected(f"the loop asks for x[{place}]")
