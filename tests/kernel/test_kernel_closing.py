"""Text and specification closed together: proofs for finite machines, shortest sequences, honest refusals.

What was once claimed and is not so stands below, and so do texts that only look like programs.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from case_table import loaded, machine, rule, x, x1, y1
from weights2code.data import Layout, Problem, from_arrays
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode
from weights2code.kernel.claims import (
    Answer,
    Claim,
    Closure,
    Inductive,
    ProgramText,
    Proved,
    Refuted,
    Rejected,
    Specification,
    check,
)
from weights2code.language import (
    BITS,
    Const,
    Domain,
    Recurrence,
    Retrieval,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    where,
)
from weights2code.language.python_source import python_source
from weights2code.network.certify import certify_network
from weights2code.verify import Certificate, certify

DIGITS, LOW = integers(0, 9), integers(-5, 5)


def closed(
    reference: Recurrence, program: Recurrence, *domains: Domain, near: object = 0, most: int = 60_000
) -> Answer:
    text = ProgramText(python_source(program, domains, "program"), program.inputs)
    return check(Claim(text, Specification(reference), domains, Fraction(near)), Closure(most))  # type: ignore[arg-type]


def different(reference: Recurrence, program: Recurrence, *domains: Domain) -> list[tuple]:
    """The sequence that refutes it."""
    found = closed(reference, program, *domains)
    assert isinstance(found, Refuted), found
    return list(found.sequence)


SMALLEST = machine(minimum(y1, x), {"y": inf})
FIRST, NINE = machine(minimum(x1, x), {"x": "first"}), machine(minimum(x1, x), {"x": 9})
QUERY = Var("query")
FOUND = rule(None, "key value query", y=Retrieval("key", "value", QUERY))
CELLS = rule(
    None,
    "key value query",
    y=where(QUERY.equals(1), Var("b", 1), Var("a", 1)),
    a=where(Var("key").equals(0), Var("value"), Var("a", 1)),
    b=where(Var("key").equals(1), Var("value"), Var("b", 1)),
)
COMPUTED = rule(None, "key value query", k=Var("key") * 2, y=Retrieval("k", "value", QUERY))
LOOKUP = (BITS, integers(0, 2), BITS)


@pytest.mark.parametrize(
    ("one", "other", "domains"),
    [
        (SMALLEST, machine(where(x < y1, x, y1), {"y": inf}), [DIGITS]),
        (FIRST, NINE, [DIGITS]),
        (machine(x % 3), machine(x - 3 * op("floor", x / 3)), [LOW]),  # mod of negatives is floored
        (FOUND, CELLS, LOOKUP),
        (COMPUTED, COMPUTED, LOOKUP),
    ],
)
def test_what_is_equal_is_proved_both_ways(one: Recurrence, other: Recurrence, domains: list[Domain]) -> None:
    for found in (closed(one, other, *domains), closed(other, one, *domains)):
        assert isinstance(found, Proved), found
        assert (found.length, found.error) == (None, 0)


@pytest.mark.parametrize(
    ("reference", "program", "domains", "shown"),
    [
        (SMALLEST, machine(minimum(y1, x), {"y": 8}), [DIGITS], None),
        (FIRST, machine(minimum(x1, x)), [DIGITS], [(1.0,)]),
        (machine(x % 3), machine(where(x >= 0, x % 3, -((-x) % 3))), [LOW], None),
        (rule(None, "key value query", y=Retrieval("key", "value", QUERY, gap=2)), CELLS, LOOKUP, None),
        (rule(None, "key value query", y=Retrieval("key", "value", QUERY, 0, 2)), FOUND, LOOKUP, None),
    ],
)
def test_what_differs_is_shown(reference: Recurrence, program: Recurrence, domains: Any, shown: Any) -> None:
    found = different(reference, program, *domains)
    assert shown is None or found == shown


def test_the_sequence_is_shortest_and_real() -> None:
    right, wrong = machine((x + y1) % 3), machine(where((x + y1) >= 3, (x + y1) - 3, x + y1) * (y1 < 2))
    example = np.array([different(right, wrong, integers(0, 2))])
    assert example.shape[1] == 2
    assert (right.run(example) != wrong.run(example))[0, :, 0].tolist() == [False, True]
    clock = minimum(Var("n", 1) + 1, 60)
    assert len(different(machine(x), machine(where(Var("n") >= 50, 1 - x, x), n=clock), BITS)) == 50
    far = machine(maximum(Var("x", 3), x), {"x": "first"})
    held = machine(maximum(Var("c"), x), {"x": "first"}, a=Var("x", 1), b=Var("a", 1), c=Var("b", 1))
    assert len(different(far, held, integers(0, 2))) == 2  # b and c start at 0, not at the first input


def test_what_is_not_enumerated() -> None:
    wide = rule(None, "a b c", y=Var("a"))
    root = machine(op("sqrt", x))
    for found, words in (
        (closed(machine(x), machine(x), reals(0, 1)), "the inputs are reals, which no enumeration covers"),
        (closed(wide, wide, *[integers(0, 2**32 - 1)] * 3), "there are more than 20000 different rows"),
        (closed(root, root, BITS), "sqrt has no exact value"),
    ):  # 2**96 rows are 0 in 64 bits
        assert found == Rejected(words)


def test_states_without_end_are_closed_up_to_a_length() -> None:
    found = closed(machine(x + y1), machine(x + y1), BITS, most=1000)
    assert isinstance(found, Proved)
    assert found.length is not None
    assert found.length > 20  # so many states at each position as it has predecessors
    late = machine(x + op("and", x, x1))  # position 2 is wrong
    for most in (0, 1, 5):
        found = closed(machine(x), late, BITS, most=most)
        assert not isinstance(found, Proved) or found.length == 1


def test_values_that_are_none_or_outgrow_float64_are_seen() -> None:
    grows = machine(where(y1 > 2**60, y1, 2 * y1 + 1))  # beyond 2**53 float64 does not have the one
    found = closed(grows, grows, BITS)
    assert isinstance(found, Refuted)
    assert len(found.sequence) == 54
    for reference, program, words in (
        (machine(x * 0 + 1), machine(1 / op("ne", x, 1)), "ZeroDivisionError"),
        (machine(1 / x), machine(x), "there is no value"),
    ):
        found = closed(reference, program, BITS)
        assert isinstance(found, Refuted)
        assert words in found.reason
    near = closed(machine(x), machine(x * 0.99), BITS, near=Fraction(1, 50))
    assert isinstance(near, Proved)
    assert 0.0099 < near.error < 0.0101


@pytest.mark.parametrize("place", [0, 1])
def test_a_fixed_position_is_no_lag(place: int) -> None:
    """`x[0]` is the first value at every t, and not the present one."""
    source = python_source(machine(Var("x", place)), (BITS,), "program")
    asked = "x[t]" if place == 0 else "x[t-1]"
    text = ProgramText(source.replace(f"y[t] = {asked}", f"y[t] = x[{place}]"), ("x",))
    claim = Claim(text, Specification(machine(Var("x", place))), (BITS,))
    assert check(claim, Closure(100)) == Rejected(f"the loop asks for x[{place}]")


# -- what was once claimed and is not so ---------------------------------------------------------------------


def verdict(program: Recurrence, reference: Recurrence, domain: Domain, seed: int = 0) -> Certificate:
    return certify(
        program, reference=reference, domains=(domain,), length=10, integer_outputs=True, seed=seed
    )


def run_text(program: Recurrence, domain: Domain, sequence: list[float]) -> list[float]:
    return loaded(python_source(program, (domain,), "program"))(np.array(sequence)).tolist()


TENTH, ITSELF = machine((0.1 * x).equals(0.3)), machine((0.1 * x + 0.2 * x).equals(0.3 * x))


@pytest.mark.parametrize(
    ("program", "meant", "high", "said"),
    [
        # 0.1 x + 0.2 x is 0.3 x of numbers, and not of float64
        (ITSELF, ITSELF, 9, "failed"),
        (ITSELF, ITSELF, 15_000, "failed"),
        # a tenth of three is three tenths, which few of many inputs show
        (machine(x.equals(3)), TENTH, 19_000, "proved"),
        (machine(x.equals(3)), TENTH, 30_000, "proved"),
        (machine(Const(0) * x), TENTH, 19_000, "failed"),
        (machine(Const(0) * x), TENTH, 30_000, "failed"),
        (TENTH, TENTH, 19_000, "failed"),
        (TENTH, TENTH, 30_000, "tested"),
    ],
)
def test_a_program_may_not_be_itself_in_exact_numbers(
    program: Recurrence, meant: Recurrence, high: int, said: str
) -> None:
    assert verdict(program, meant, integers(0, high), seed=1).verdict == said


def test_a_step_that_nobody_reads_stops_the_text() -> None:
    program, domain = machine(x, d=Const(1) / op("ne", x, 12345)), integers(0, 19000)
    with pytest.raises(ZeroDivisionError):
        run_text(program, domain, [12345.0])
    found = verdict(program, machine(x), domain)
    assert (found.verdict, found.counterexample) == ("failed", ((12345.0,),))


def test_a_quotient_that_is_rounded_down() -> None:
    """x / a * a is x of numbers; of float64 it is less for a few."""
    values = np.arange(19001.0)
    a = next(a for a in range(3, 400) if 0 < np.sum(np.floor(values / a * a) != values) < 30)
    rounded, domain = machine(op("floor", x / a * a)), integers(0, 19000)
    assert verdict(rounded, rounded, domain).verdict == "failed"
    assert verdict(machine(x), rounded, domain).verdict == "proved"


def test_whole_numbers_without_end() -> None:
    """10**400 is a whole number of Python's, and infinite in NumPy."""
    large = op("pow", Const(10), 400 * (x > 5))
    program = machine((large / large).equals(1))
    assert run_text(program, DIGITS, [7.0]) == [1.0]
    assert verdict(program, machine(x <= 5), DIGITS).verdict in ("tested", "failed")  # NumPy's are tested


def test_a_maximum_of_what_is_no_number() -> None:
    s = Var("s", 1)
    program = rule({"s": inf}, y=op("max", Const(3), s - s) >= 2, s=x)
    with np.errstate(all="ignore"):
        assert run_text(program, BITS, [1.0, 0.0]) == [1.0, 1.0]
    meant = rule(y=Var("f", 1) * 1, f=Const(1) + 0 * x)
    assert verdict(program, meant, BITS).verdict == "failed"


@pytest.mark.parametrize("border", [-5, -6])
def test_powers_of_single_numbers_are_others_than_those_of_arrays(border: int) -> None:
    """The text takes powers of single numbers, and is what is spoken of."""
    program, numbers = machine(op("pow", Const(10), x) < 1e-5), [float(i) for i in range(-9, 10)]
    right = run_text(program, integers(-9, 9), numbers) == [float(row <= border) for row in numbers]
    found = verdict(program, machine(x <= border), integers(-9, 9)).verdict
    assert found == ("proved" if right else "failed")


def test_halves_that_rounding_hides() -> None:
    """Once in 2**17 sequences a half is asked for, and 0 is given, which it rounds to."""
    code = np.random.default_rng(5).integers(0, 2, 17).tolist()
    seen = x.equals(code[0])
    for lag, bit in enumerate(code[1:], 1):
        seen = op("and", seen, Var("x", lag).equals(bit))
    found = verdict(machine(where(seen, Const(0), x)), machine(where(seen, Const(0.5), x)), BITS)
    assert found.verdict == "failed"
    shown = [row[0] for row in found.counterexample or ()][::-1]
    assert shown + [0] * (17 - len(shown)) == code  # zeros lie before the start


def test_a_network_equals_a_program_in_float64() -> None:
    """1 at x == 3, which 0.1 x == 0.3 never is."""
    hat = OperatorNode(
        "V1", (0,), np.ones((3, 1)), -np.array([2.0, 3.0, 4.0]), np.array([1.0, -2.0, 1.0]), 0.0
    )
    layout, head = Layout("tagging", (1.0,), (1.0,)), np.array([[0.0, 1.0, 0.0]])
    graph = DiscreteGraph((ChannelNode("V0", "x"), hat), head, layout, ("x",), ("y",), 10)
    for high in (1000, 1_000_000):
        inputs = np.random.default_rng(0).integers(0, high + 1, (60, 10, 1)).astype(float)
        data = from_arrays(inputs, TENTH.run(inputs))
        problem = Problem("made", ("x",), ("y",), (integers(0, high),), (BITS,), data, data, 10)
        found = certify_network(graph, TENTH, problem, 0).certificate
        assert found.verdict == ("differs" if high == 1000 else "tested")
        assert found.counterexample == (((3.0,),) if high == 1000 else None)


# -- texts that only look like programs ----------------------------------------------------------------------

DOMAIN, LARGER = integers(0, 3), machine(op("max", x, x1))
TEXT = python_source(LARGER, (DOMAIN,), "program")
RUN, LOOP, GIVEN = "y[t] = max(x[t], x[t-1])", "    for t in range(T):\n", "np.append(x, 0)"
ZEROS = "y = np.zeros(T)"
#: What is changed in the text, and what the text would be taken for.
CHANGED = {
    "a name beside the function": TEXT.replace("__all__", "max = min\n__all__"),
    "an import": f"from builtins import min as max\n{TEXT}",
    "twice what was given": TEXT.replace(GIVEN, "np.append(x * 2, 0)"),
    "twice what was given, at once": TEXT.replace("dtype=float)", "dtype=float) * 2"),
    "backwards": TEXT.replace(GIVEN, "np.append(x[::-1], 0)"),
    "the end before the start": TEXT.replace(GIVEN, "np.append(x, x)"),
    "whole numbers": TEXT.replace("dtype=float", "dtype=int"),
    "another array": TEXT.replace(LOOP, f"    z = x * 2\n{LOOP}").replace("max(x[t]", "max(z[t]"),
    "the same array": TEXT.replace(ZEROS, "y = x"),
    "an array twice": TEXT.replace(ZEROS, f"{ZEROS}\n    y = x"),
    "nothing of what was given": TEXT.replace("T = len(x)", "T = len(x)\n    x = np.zeros(T + 1)"),
    "another length": TEXT.replace("T = len(x)", "T = 2"),
    "float32": TEXT.replace("np.zeros(T)", "np.zeros(T, dtype='f4')"),
    "what is there already": TEXT.replace("np.zeros(T)", "np.full(T, 5.0)").replace(
        RUN, "y[t] = x[t] if y[t] == 5 else x[t-1]"
    ),
    "a name that is called": TEXT.replace(RUN, f"max = x[t]\n        {RUN}"),
    "another function": TEXT.replace(RUN, f"max = min\n        {RUN}"),
    "chance": TEXT.replace(RUN, "y[t] = np.random.randint(3)"),
    "a decorator": TEXT.replace("def program", "@np.vectorize\ndef program"),
    "another program": f"{TEXT}\nprogram = np.asarray\n",
    "a second function": f"{TEXT}\ndef program(x):\n    return x\n",
    "the other way round": TEXT.replace("return y", "return y[::-1]"),
    "less": TEXT.replace("return y", "return -y"),
    "a global name": TEXT.replace(LOOP, f"{LOOP}        global np\n"),
    "an end": TEXT.replace(LOOP, f"{LOOP}        if x[t] > 1:\n            break\n"),
    "a name of the state": TEXT.replace(RUN, f"__age = 5\n        {RUN}"),
    "two arguments": TEXT.replace("x: ArrayLike", "x: ArrayLike, y=0"),
}


@pytest.mark.parametrize("name", ["itself", *CHANGED])
@pytest.mark.parametrize("certificate", [Closure(10_000), Inductive(())], ids=["closed", "induction"])
def test_texts_that_are_no_programs_are_refused(name: str, certificate: Any) -> None:
    text = CHANGED.get(name, TEXT)
    assert (text == TEXT) == (name == "itself")
    claim = Claim(ProgramText(text, ("x",)), Specification(LARGER), (DOMAIN,))
    assert isinstance(check(claim, certificate), Proved) == (name == "itself")
