"""The verdicts as a whole: order of the methods, tests, enumeration, own data, three-way agreement."""

import json
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from weights2code.data.sequences import from_list
from weights2code.kernel.claims import Proved
from weights2code.kernel.closing import Stopped, Text
from weights2code.language import (
    BITS,
    Expr,
    Recurrence,
    Step,
    Var,
    integers,
    minimum,
    op,
    where,
)
from weights2code.tasks import get
from weights2code.verify import Certificate, certify, certify_on_data, compare, run_tests
from weights2code.verify.own_data import Allowed
from weights2code.verify.testing import executed

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)
n, s = Var("n"), Var("s")


def machine(definition, inputs=("x",), start=None, **locals_):
    steps = [Step(name, value) for name, value in locals_.items()] + [Step("y", definition)]
    return Recurrence(inputs, tuple(steps), ("y",), start or {})


def verdict(reference, program, *domains, length=10, whole=True, **options):
    return certify(
        program, reference=reference, domains=domains, length=length, integer_outputs=whole, **options
    )


SUM = machine(y1 + x)


def wrong_at_the_end(program, reference, example):
    inputs = np.array([example])
    return abs(program.run(inputs) - reference.run(inputs))[0, -1].max() > 0


def test_the_method_says_what_was_done():
    parity = verdict(machine((x + y1) % 2), machine(x + y1 - 2 * x * y1), BITS)
    assert parity.verdict == "proved"
    assert "2 states" in parity.method
    total = verdict(SUM, machine(s, s=Var("s", 1) + x), BITS)
    assert (total.verdict, total.covers) == ("proved", "every length")
    assert "induction" in total.method
    assert total.invariant == ("[r.y[t-1] == p.s[t-1]]",)
    assert total.lengths == tuple(total.by_length) == (10, 40, 100)
    assert sum(numbers.sequences for numbers in total.by_length.values()) == total.sequences
    assert (total.accuracy, total.rmse, total.max_abs_error) == (1.0, 0.0, 0.0)
    same = verdict(SUM, SUM, BITS)
    assert "names" in same.method


def test_certificates_are_json_and_repeatable():
    made = [verdict(SUM, machine(s, s=Var("s", 1) + x), BITS, seed=3) for _ in range(2)]
    assert made[0] == made[1]
    data = json.loads(json.dumps(made[0].to_dict()))
    assert Certificate.from_dict(data).to_dict() == data
    assert {"python", "numpy", "z3", "sympy", "weights2code"} <= set(made[0].versions)


def test_a_wrong_program_fails_with_a_counterexample():
    wrong = machine(y1 + x + (x > 8))
    found = verdict(SUM, wrong, integers(0, 9))
    assert found.verdict == "failed"
    assert wrong_at_the_end(wrong, SUM, found.counterexample)
    assert 0 < (found.accuracy or 0) < 1


def test_the_sampler_does_not_hide_the_rest_of_the_domain():
    def low(rng, count, length):
        return rng.integers(0, 5, (count, length, 1)).astype(float)

    capped = machine(y1 + minimum(x, 5))
    assert verdict(SUM, capped, integers(0, 9), sampler=low).verdict == "failed"
    assert verdict(SUM, capped, integers(0, 5), sampler=low).verdict == "proved"


@pytest.mark.slow
def test_short_agreement_is_not_enough():
    clock = machine(where(n > 50, 0, y1 + x), n=Var("n", 1) + 1)
    found = verdict(SUM, clock, BITS)
    assert found.verdict == "failed"
    assert len(found.counterexample or ()) == 51
    # Beyond the tests, on a finite machine, exploration still finds it.
    slow = machine(where(n >= 600, 1 - x, x), n=minimum(Var("n", 1) + 1, 600))
    found = verdict(machine(x), slow, BITS)
    assert found.verdict == "failed"
    assert len(found.counterexample or ()) == 600
    # And on an infinite one nothing is claimed beyond what was run.
    never = machine(where(n >= 600, 0, y1 + x), n=Var("n", 1) + 1)
    found = verdict(SUM, never, integers(0, 9), time_limit=0.3)
    assert found.verdict == "exhaustive"
    assert 50 < int(found.covers.removeprefix("lengths 1 to ")) < 600


def test_float_rounding_is_not_proved_away():
    # As numbers 0.1 + 0.2 is 0.3, and the count is right; as floats it is not.
    count = machine(y1 + 1 + 0 * x)
    fragile = machine(y1 + (0.1 * x + 0.2 * x).equals(0.3 * x))
    assert verdict(count, fragile, integers(0, 9)).verdict == "failed"
    assert verdict(count, fragile, integers(0, 0), time_limit=0.2).verdict != "proved"  # by luck at 0


def test_outputs_that_round_right_are_tested_not_proved():
    near = machine(x + 0.01)
    found = verdict(machine(x), near, integers(0, 9))
    assert found.verdict == "tested"
    assert found.max_abs_error == pytest.approx(0.01)
    assert any("not exact" in note for note in found.notes)


def test_real_outputs_are_judged_by_the_tolerance():
    average = get("exponential_moving_average")
    close = machine(0.3001 * x + 0.7 * y1)
    options = {"length": 10, "whole": False}
    found = verdict(average.machine, close, *average.domains, **options)
    assert found.verdict == "tested"
    assert found.accuracy is None
    assert 0 < found.rmse < 1e-3
    assert verdict(average.machine, close, *average.domains, tolerance=1e-6, **options).verdict == "failed"
    exact = verdict(average.machine, machine(0.3 * x + 0.7 * y1), *average.domains, **options)
    assert exact.verdict == "proved"
    assert "rounds" in exact.method


@pytest.mark.slow
def test_machines_beyond_every_proof_are_enumerated():
    palindrome = get("Bit_Palindrome")
    source = palindrome.machine
    *others, last = source.steps
    assert isinstance(last.definition, Expr)
    negated = Step(last.name, 1 - op("not", last.definition))
    flipped = Recurrence(source.inputs, (*others, negated), source.outputs, source.start)
    found = certify(
        flipped,
        reference=palindrome.machine,
        domains=palindrome.domains,
        sampler=palindrome.sampler,
        length=palindrome.length,
        integer_outputs=True,
        time_limit=0.5,
    )
    assert found.verdict in ("exhaustive", "proved")
    assert any("exact integers" in note for note in found.notes)


def test_numbers_beyond_float64_are_run_exactly():
    magnetic = get("magnetic")
    found = run_tests(magnetic.machine, magnetic.machine, magnetic.domains, length=12, whole=True, count=8)
    assert found.exact
    assert "exact integers" in found.notes[0]


def test_states_without_end_are_gone_through_up_to_a_length():
    """Without time for an invariant; a difference that is rare within that length is found."""
    number = 2 * Var("n", 1) + x
    other = where(n >= 3, n % 3, n)
    found = verdict(machine(n % 3, n=number), machine(other, n=number + 0), BITS, time_limit=0.0)
    assert found.verdict == "exhaustive"
    assert isinstance(found.proof, Proved)
    assert found.covers == f"lengths 1 to {found.proof.length}"
    assert "all sequences up to length" in found.method
    late = machine(where(n.equals(2**14 - 1), 2, other), n=number)
    assert verdict(machine(n % 3, n=number), late, BITS, time_limit=0.0).counterexample == ((1.0,),) * 14


def test_machines_that_do_not_fit_together_are_refused():
    two = Recurrence(("x",), (Step("y", x), Step("z", x)), ("y", "z"))
    with pytest.raises(ValueError, match="outputs"):
        verdict(two, machine(x), BITS)
    with pytest.raises(ValueError, match="columns"):
        verdict(machine(x), machine(x, ("x", "z")), BITS)


def sequences(rng, noise=0.0, lengths=(3, 7, 7)):
    pairs = []
    for length in lengths * 20:
        inputs = rng.uniform(0, 1, (length, 1))
        pairs.append((inputs, np.cumsum(inputs, axis=0) + noise * rng.standard_normal((length, 1))))
    return from_list(*zip(*pairs, strict=True))


def test_own_data_is_tested_never_proved():
    rng = np.random.default_rng(0)
    found = certify_on_data(SUM, sequences(rng), Allowed(False))
    assert (found.verdict, found.lengths, found.sequences) == ("tested", (3, 7), 60)
    assert found.domain == ()
    off = certify_on_data(machine(y1 + 1.1 * x), sequences(rng), Allowed(False))
    assert off.verdict == "failed"
    assert off.counterexample is not None
    assert certify_on_data(machine(y1 + 1.1 * x), sequences(rng), Allowed(False, tolerance=0.5)).verified


def test_own_data_may_be_noisy():
    rng = np.random.default_rng(1)
    noisy = sequences(rng, noise=0.1)
    assert certify_on_data(SUM, noisy, Allowed(False)).verdict == "failed"
    assert certify_on_data(SUM, noisy, Allowed(False, noise=0.1)).verdict == "tested"
    assert certify_on_data(machine(y1 + 0.8 * x), noisy, Allowed(False, noise=0.1)).verdict == "failed"


def test_own_data_in_whole_numbers_is_rounded():
    kept = from_list(
        [np.array([[1.0], [2.0]])] * 10, [np.array([[1.0], [3.0]])] * 9 + [np.array([[1.0], [4.0]])]
    )
    found = certify_on_data(SUM, kept, Allowed(True))
    assert (found.verdict, found.accuracy) == ("failed", 0.95)
    assert found.counterexample == ((1.0,), (2.0,))
    assert certify_on_data(SUM, kept, Allowed(True, tolerance=0.05)).verdict == "tested"


def test_padding_and_context_are_not_judged():
    inputs = [np.ones((length, 1)) for length in (2, 5)]
    kept = from_list(inputs, [np.cumsum(x, axis=0) for x in inputs])
    kept.y[0, 2:] = 99
    assert certify_on_data(SUM, kept, Allowed(True)).target.sequences == 2
    assert "(7 positions)" in certify_on_data(SUM, kept, Allowed(True)).method
    later = replace(kept, y=kept.y + 3, context=np.array([1, 2]))
    found = certify_on_data(SUM, later, Allowed(True))
    assert (found.verdict, found.accuracy) == ("tested", 1.0)
    assert "(4 positions)" in found.method


def test_answers_that_are_no_numbers_are_infinitely_wrong():
    found = compare(np.array([[[np.nan]]]), np.array([[[1.0]]]), whole=True)
    assert (found.max_abs_error, found.accuracy) == (np.inf, 0.0)
    zero = verdict(machine(x), machine(x * (x / x)), BITS)
    assert zero.verdict == "failed"
    assert zero.counterexample == ((0.0,),)


def test_a_text_that_stops_in_one_sequence_is_run_on_the_others():
    class Stopping:
        def start(self, row):
            return ()

        def step(self, state, row):
            if row[0] == 9:
                raise Stopped("it has no value")
            return row, state

    rows = np.array([[[3.0], [9.0]], [[4.0], [5.0]]])
    found = executed(cast(Text, Stopping()), rows, np.zeros_like(rows), np.arange(len(rows)) < 2)
    assert np.array_equal(found, [[[3.0], [np.nan]], [[4.0], [5.0]]], equal_nan=True)
