"""The verdicts: what is proved, by which method, and what only looks as if it were right.

Bounds of all values, limits where they grow, errors where they round: proofs know what float64 holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_table import in_text as rule
from case_table import loaded
from weights2code.kernel.claims import Proved
from weights2code.kernel.closing import Stopped, Text
from weights2code.language import (
    BITS,
    Domain,
    Expr,
    Recurrence,
    Step,
    Var,
    evaluate_exact,
    exact_number,
    integers,
    op,
    reals,
)
from weights2code.language.arithmetic import arithmetic, rounding
from weights2code.language.formula_reading import read_recurrence
from weights2code.language.interval import Interval
from weights2code.language.operators import OPERATORS
from weights2code.language.ranges import bounds_of, positions_below
from weights2code.program import Program
from weights2code.simplify import grouped_as_read
from weights2code.tasks import get
from weights2code.verify import Certificate, certify, compare, run_tests
from weights2code.verify.testing import executed

DIGITS, UNIT, LARGE = integers(0, 9), reals(0.0, 1.0), 2**53
SUM, MAX, ITSELF = "y = y[t-1] + x[t]", "y = max(x[t], x[t-1])", "y = x[t]"


def judged(program: str, reference: str, *domains: Domain, whole: bool = True, **options: Any) -> Certificate:
    facts = {"domains": domains or (DIGITS,), "length": 10, "integer_outputs": whole} | options
    return certify(rule(program), reference=rule(reference), **facts)


def text_of(lines: str) -> Callable[[np.ndarray], np.ndarray]:
    """What counts is the text, as Python runs it."""
    return loaded(Program("program", rule(lines), (DIGITS,), True).source())


class Case(NamedTuple):
    """A program, what it should compute, what is found and said of it; the length of a counterexample."""

    program: str
    reference: str
    verdict: str
    said: str = ""
    domain: Domain = DIGITS
    length: int | None = None
    whole: bool = True


HALF = f"(max(x[t], x[t-1]) + {LARGE}) - {LARGE}"
CASES = [
    Case("y = x[t] + y[t-1] - 2*x[t]*y[t-1]", "y = (x[t] + y[t-1]) % 2", "proved", "2 states", BITS),
    Case("s = s[t-1] + x[t]; y = s[t]", SUM, "proved", "induction", BITS),
    Case(SUM, SUM, "proved", "names", BITS),
    Case(f"{SUM} + (x[t] > 8)", SUM, "failed"),
    # short agreement is not enough
    Case("n = n[t-1] + 1; y = 0 if n[t] > 50 else y[t-1] + x[t]", SUM, "failed", "", BITS, 51),
    Case("n = min(n[t-1] + 1, 600); y = 1 - x[t] if n[t] >= 600 else x[t]", ITSELF, "failed", "", BITS, 600),
    # what rounds right is tested, not proved
    Case("y = x[t] + 0.01", ITSELF, "tested", "not exact"),
    Case("y = x[t]*(x[t]/x[t])", ITSELF, "failed", "", BITS, 1),
    # as numbers 0.1 + 0.2 is 0.3, and the count is right; as floats it is not
    Case("y = y[t-1] + (0.1*x[t] + 0.2*x[t] == 0.3*x[t])", "y = y[t-1] + 1 + 0*x[t]", "failed"),
    # what float64 cannot hold
    Case(f"z = max(x[t], x[t-1]) + {LARGE}; y = z[t] - {LARGE}", MAX, "not proved"),
    Case(f"y = {HALF}", MAX, "not proved"),
    Case(f"y = {HALF} if x[t] > 8 else max(x[t], x[t-1])", MAX, "not proved"),
    Case(f"y = (max(x[t], x[t-1])*{3**40})/{3**40}", MAX, "not proved"),
    Case("y = (max(x[t], x[t-1]) + 1000) - 1000", MAX, "proved"),
    Case("s = s[t-1] + x[t]; y = s[t]", SUM, "proved", "as long as no value reaches 2**53"),
    Case("y = 11*y[t-1] - y[t-1] + x[t]", "y = 10*y[t-1] + x[t]", "proved", "not in the first 15 positions"),
    # over before the training length
    Case("y = 1001*y[t-1] - y[t-1] + x[t]", "y = 1000*y[t-1] + x[t]", "not proved"),
    Case("y = 1001*y[t-1] - y[t-1] + x[t]", "y = 1000*y[t-1] + x[t]", "tested", "", integers(0, 30_000)),
    # near is a verdict of its own
    Case("y = x[t] + 0.0000009", ITSELF, "bounded", "not equal", BITS),
    Case("y = x[t] + 0.000000000001", ITSELF, "bounded", "not equal", BITS),
    Case("y = (x[t]/49)*49", ITSELF, "not proved", "", integers(0, 2000)),
    # what is undefined where nobody looks does not matter; a division of plain numbers stops the text
    Case("y = 5 if x[t] == 0 else 1/x[t]*0 + 5", "y = x[t]*0 + 5", "proved"),
    Case("y = 1 if x[t] != 0 and 1/x[t] > 5 else 0", "y = x[t]*0", "proved"),
    Case("y = x[t] == 0 or x[t]/x[t] == 1", "y = x[t]*0 + 1", "proved"),
    Case("z = 1/x[t]; y = 0 if x[t] == 0 else z[t]*0 + 1", "y = x[t] != 0", "proved"),
    Case("z = 1/(x[t] != 0); y = 0 if x[t] == 0 else z[t]*0 + 1", "y = x[t] != 0", "failed"),
    Case("y = (x[t] + 1e16) - 1e16", ITSELF, "failed", "", UNIT, None, False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program)
def test_the_verdict(case: Case):
    found = judged(case.program, case.reference, case.domain, whole=case.whole)
    assert found.verdict != "proved" if case.verdict == "not proved" else found.verdict == case.verdict
    assert case.said in f"{found.method} {found.explain()} {' '.join(found.notes)}"
    assert found.covers == "every length" or found.verdict != "proved"
    if found.verdict == "failed":
        assert found.counterexample is not None
        shown = np.array([found.counterexample])
        assert case.length in (None, len(shown[0]))
        try:
            with np.errstate(all="ignore"):
                right, answer = (
                    rule(case.reference).run(shown)[0, :, 0],
                    text_of(case.program)(shown[0, :, 0]),
                )
        except ZeroDivisionError:
            return
        assert not abs(right[-1] - answer[-1]) <= 0


def test_what_a_certificate_holds():
    made = [judged("s = s[t-1] + x[t]; y = s[t]", SUM, BITS, seed=3) for _ in range(2)]
    total = made[0]
    assert total == made[1]
    assert total.invariant == ("[r.y[t-1] == p.s[t-1]]",)
    assert total.lengths == tuple(total.by_length) == (10, 40, 100)
    assert sum(numbers.sequences for numbers in total.by_length.values()) == total.sequences
    assert (total.accuracy, total.rmse, total.max_abs_error) == (1.0, 0.0, 0.0)
    assert {"python", "numpy", "z3", "sympy", "weights2code"} <= set(total.versions)
    for found in (total, judged("y = x[t] + 9e-7", ITSELF, BITS)):
        data = json.loads(json.dumps(found.to_dict()))
        assert Certificate.from_dict(data).to_dict() == data
    assert judged("y = x[t] + 9e-7", ITSELF, BITS).error == pytest.approx(9e-7, rel=1e-3)
    assert judged("y = x[t] + 0.01", ITSELF).max_abs_error == pytest.approx(0.01)
    assert 0 < (judged(f"{SUM} + (x[t] > 8)", SUM).accuracy or 0) < 1


def test_the_sampler_does_not_hide_the_rest_of_the_domain():
    def low(rng, count, length):
        return rng.integers(0, 5, (count, length, 1)).astype(float)

    assert judged("y = y[t-1] + min(x[t], 5)", SUM, DIGITS, sampler=low).verdict == "failed"
    assert judged("y = y[t-1] + min(x[t], 5)", SUM, integers(0, 5), sampler=low).verdict == "proved"


def test_nothing_is_claimed_beyond_what_was_run():
    late = "n = n[t-1] + 1; y = 0 if n[t] >= 600 else y[t-1] + x[t]"
    found = judged(late, SUM, time_limit=0.3)
    assert found.verdict == "exhaustive"
    assert 50 < int(found.covers.removeprefix("lengths 1 to ")) < 600
    lucky = "y = y[t-1] + (0.1*x[t] + 0.2*x[t] == 0.3*x[t])"  # at 0 it is right
    assert judged(lucky, "y = y[t-1] + 1 + 0*x[t]", integers(0, 0), time_limit=0.2).verdict != "proved"
    # without time for an invariant; a difference that is rare within that length is found
    number = "n = 2*n[t-1] + x[t]; y = n[t] % 3"
    found = judged(
        "n = 2*n[t-1] + x[t] + 0; y = n[t] % 3 if n[t] >= 3 else n[t]", number, BITS, time_limit=0.0
    )
    assert found.verdict == "exhaustive"
    assert isinstance(found.proof, Proved)
    assert found.covers == f"lengths 1 to {found.proof.length}"
    assert "all sequences up to length" in found.method
    late = f"n = 2*n[t-1] + x[t]; y = 2 if n[t] == {2**14 - 1} else n[t] % 3"
    assert judged(late, number, BITS, time_limit=0.0).counterexample == ((1.0,),) * 14


def test_real_outputs_are_judged_by_the_tolerance():
    average = get("exponential_moving_average")

    def found(formula: str, **options: Any) -> Certificate:
        facts = {"domains": average.domains, "length": 10, "integer_outputs": False} | options
        return certify(rule(formula), reference=average.machine, **facts)

    close = found("y = 0.3001*x[t] + 0.7*y[t-1]")
    assert (close.verdict, close.accuracy) == ("tested", None)
    assert 0 < close.rmse < 1e-3
    assert found("y = 0.3001*x[t] + 0.7*y[t-1]", tolerance=1e-6).verdict == "failed"
    exact = found("y = 0.3*x[t] + 0.7*y[t-1]")
    assert exact.verdict == "proved"
    assert "rounds" in exact.method


def test_whole_numbers_from_real_inputs_are_proved_but_for_the_borders():
    program = rule("y = x[t] > -0.5 and max(x[t], y[t-1]) > 0.6", {"y": 1.0})
    reference = rule("y = x[t] > -0.5 if y[t-1] else x[t] > 0.6", {"y": 1.0})
    facts: Any = {"domains": (reals(-1.0, 1.0),), "length": 10, "integer_outputs": True}
    found = certify(program, reference=reference, **facts)
    assert found.verdict == "proved"
    assert "decides otherwise only within" in found.explain()


@pytest.mark.slow
def test_machines_beyond_every_proof_are_enumerated():
    palindrome = get("Bit_Palindrome")
    *others, last = palindrome.machine.steps
    assert isinstance(last.definition, Expr)
    negated = Step(last.name, 1 - op("not", last.definition))
    source = palindrome.machine
    flipped = Recurrence(source.inputs, (*others, negated), source.outputs, source.start)
    found = certify(
        flipped, reference=source, domains=palindrome.domains, sampler=palindrome.sampler,
        length=palindrome.length, integer_outputs=True, time_limit=0.5,
    )  # fmt: skip
    assert found.verdict in ("exhaustive", "proved")
    assert any("exact integers" in note for note in found.notes)


def test_numbers_beyond_float64_are_run_exactly():
    magnetic = get("magnetic")
    found = run_tests(magnetic.machine, magnetic.machine, magnetic.domains, length=12, whole=True, count=8)
    assert found.exact
    assert "exact integers" in found.notes[0]


def test_what_outgrows_float64_is_not_called_wrong():
    squares = "n = n[t-1] + 1; y = y[t-1]**2 if n[t] > 1 else 2"
    with np.errstate(all="ignore"):
        assert judged(squares, squares, BITS).verdict not in ("failed", "bounded")


def test_machines_that_do_not_fit_together_are_refused():
    two, facts = Recurrence(("x",), (Step("y", Var("x")), Step("z", Var("x"))), ("y", "z")), (BITS,)
    with pytest.raises(ValueError, match="outputs"):
        certify(rule(ITSELF), reference=two, domains=facts, length=3, integer_outputs=True)
    with pytest.raises(ValueError, match="columns"):
        certify(
            rule(ITSELF, inputs="x z"), reference=rule(ITSELF), domains=facts, length=3, integer_outputs=True
        )


def test_answers_that_are_no_numbers_are_infinitely_wrong():
    found = compare(np.array([[[np.nan]]]), np.array([[[1.0]]]), whole=True)
    assert (found.max_abs_error, found.accuracy) == (np.inf, 0.0)


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


# -- what float64 holds --------------------------------------------------------------------------------------


def test_the_text_groups_sums_and_rounds_constants_as_the_tree_does():
    def text(program: Recurrence) -> list[float]:
        return loaded(Program("program", program, (DIGITS,), True).source())(np.array([3.0])).tolist()

    program = read_recurrence(["x"], "y = x[t] + (s[t-1] - s[t-1])\ns = x[t]", ["y"], {"s": 1e16})
    read = grouped_as_read(program, (DIGITS,))
    large = rule(f"y = ((x[t] != 0) + {LARGE + 1}) - {LARGE + 1}")
    for one in (program, read, large):
        assert text(one) == one.run(np.array([[[3.0]]]))[0, :, 0].tolist()
    assert text(read) != [3.0]
    assert text(large) != [1.0]


@pytest.mark.parametrize(
    ("lines", "start", "low", "high"),
    [
        ("y = (y[t-1] + x[t]) % 7", None, 0, (6, 6)),
        ("y = y[t-1] + x[t]", None, 0, (inf, inf)),
        ("y = y[t-1]/2 + x[t]", None, 0, (18, 64)),
        ("y = min(y[t-1], x[t])", {"y": inf}, 0, (9, 9)),
    ],
)
def test_bounds_of_names(lines: str, start: Any, low: float, high: tuple[float, float]):
    found = bounds_of(rule(lines, start), (DIGITS,))["y"]
    assert found.low == low
    assert high[0] <= found.high <= high[1]


def test_limits_depend_on_places_and_on_quotients_that_decide():
    assert arithmetic(rule("y = x[t] + y[t-1]"), (DIGITS,)).limit == LARGE
    assert arithmetic(rule("y = 0.25*x[t] + x[t-1]"), (DIGITS,)).limit == LARGE // 4
    mean = rule("s = s[t-1] + x[t]; n = n[t-1] + 1; y = s[t]/n[t] > 0.3")
    assert arithmetic(mean, (DIGITS,)).limit == 2**26
    assert not arithmetic(
        rule("s = 0.5*s[t-1] + x[t]; y = s[t] != 0"), (DIGITS,)
    ).decided  # places without end
    assert positions_below(rule("y = 10*y[t-1] + x[t]"), (DIGITS,), 1000, 50) == 3
    assert positions_below(rule("y = (y[t-1] + x[t]) % 7"), (DIGITS,), 1000, 50) == 50


def test_rounding_of_one_position():
    unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
    assert 0 < rounding(rule("y = 0.3*x[t] + 0.7*y[t-1]"), (UNIT,), unit)[0]["y"] < 1e-15
    assert rounding(rule("y = (x[t] + 1e16) - 1e16"), (UNIT,), unit)[0]["y"] >= 1
    assert rounding(rule("y = 1/x[t]"), (UNIT,), unit)[0]["y"] == inf


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
        point[variable] = interval.high if data.draw(st.booleans()) else interval.low
    try:
        value = evaluate_exact(op(name, *names), point)
    except (ArithmeticError, ValueError):
        return
    if isinstance(value, complex) or value != value:
        return
    found = entry.interval(*intervals)
    assert found.low <= value <= found.high
