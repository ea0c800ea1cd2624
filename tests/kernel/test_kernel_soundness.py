"""What was once claimed and is not so; and texts that are none of a program's."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from weights2code import Task
from weights2code.data import Layout, Problem, from_arrays
from weights2code.errors import InputError
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode
from weights2code.kernel.claims import Claim, Closure, Inductive, ProgramText, Proved, Specification, check
from weights2code.language import (
    BITS,
    Const,
    Definition,
    Domain,
    Recurrence,
    Start,
    Step,
    Var,
    integers,
    op,
    where,
)
from weights2code.language.python_source import python_source
from weights2code.network.certify import certify_network
from weights2code.verify import Certificate, certify

x, s = Var("x"), Var("s", 1)


def machine(y: Definition, start: dict[str, Start] | None = None, **after: Definition) -> Recurrence:
    steps = (Step("y", y), *(Step(name, value) for name, value in after.items()))
    return Recurrence(("x",), steps, ("y",), start or {})


def verdict(program: Recurrence, reference: Recurrence, domain: Domain, seed: int = 0) -> Certificate:
    return certify(
        program, reference=reference, domains=(domain,), length=10, integer_outputs=True, seed=seed
    )


def run_text(program: Recurrence, domain: Domain, sequence: list[float]) -> list[float]:
    space: dict[str, Any] = {}
    exec(python_source(program, (domain,), "program"), space)
    return space["program"](np.array(sequence)).tolist()


def test_a_step_that_nobody_reads_stops_the_text() -> None:
    steps = (Step("d", Const(1) / op("ne", x, 12345)), Step("y", x))
    program, domain = Recurrence(("x",), steps, ("y",)), integers(0, 19000)
    with pytest.raises(ZeroDivisionError):
        run_text(program, domain, [12345.0])
    found = verdict(program, machine(x), domain)
    assert (found.verdict, found.counterexample) == ("failed", ((12345.0,),))


@pytest.mark.parametrize("high", [9, 15000])
def test_a_program_may_not_be_itself_in_exact_numbers(high: int) -> None:
    """0.1 x + 0.2 x is 0.3 x of numbers, and not of float64."""
    itself = machine((0.1 * x + 0.2 * x).equals(0.3 * x))
    assert verdict(itself, itself, integers(0, high)).verdict == "failed"


def test_a_quotient_that_is_rounded_down() -> None:
    """x / a * a is x of numbers; of float64 it is less for a few."""
    values = np.arange(19001.0)
    a = next(a for a in range(3, 400) if 0 < np.sum(np.floor(values / a * a) != values) < 30)
    rounded, domain = machine(op("floor", x / a * a)), integers(0, 19000)
    assert verdict(rounded, rounded, domain).verdict == "failed"
    assert verdict(machine(x), rounded, domain).verdict == "proved"


@pytest.mark.parametrize("high", [19_000, 30_000])
def test_a_tenth_of_three_is_three_tenths(high: int) -> None:
    meant = machine((0.1 * x).equals(0.3))
    assert verdict(machine(x.equals(3)), meant, integers(0, high), seed=1).verdict == "proved"
    assert verdict(machine(Const(0) * x), meant, integers(0, high), seed=1).verdict == "failed"
    assert verdict(meant, meant, integers(0, high), seed=1).verdict == (
        "failed" if high < 20_000 else "tested"
    )


def test_whole_numbers_without_end() -> None:
    """10**400 is a whole number of Python's, and infinite in NumPy."""
    large = op("pow", Const(10), 400 * (x > 5))
    program = machine((large / large).equals(1))
    assert run_text(program, integers(0, 9), [7.0]) == [1.0]
    found = verdict(program, machine(x <= 5), integers(0, 9))
    assert found.verdict in ("tested", "failed")  # NumPy's numbers are what is tested


def test_a_maximum_of_what_is_no_number() -> None:
    program = machine(op("max", Const(3), s - s) >= 2, {"s": inf}, s=x)
    with np.errstate(all="ignore"):
        assert run_text(program, BITS, [1.0, 0.0]) == [1.0, 1.0]
    meant = machine(Var("f", 1) * 1, f=Const(1) + 0 * x)
    assert verdict(program, meant, BITS).verdict == "failed"


@pytest.mark.parametrize("border", [-5, -6])
def test_powers_of_single_numbers_are_others_than_those_of_arrays(border: int) -> None:
    """The text takes powers of single numbers, and is what is spoken of."""
    program, rows = machine(op("pow", Const(10), x) < 1e-5), [float(i) for i in range(-9, 10)]
    right = run_text(program, integers(-9, 9), rows) == [float(row <= border) for row in rows]
    found = verdict(program, machine(x <= border), integers(-9, 9)).verdict
    assert found == ("proved" if right else "failed")


def test_halves_that_rounding_hides() -> None:
    """Once in 2**17 sequences a half is asked for, and 0 is given, which it rounds to."""
    code = np.random.default_rng(5).integers(0, 2, 17).tolist()
    seen = x.equals(code[0])
    for lag, bit in enumerate(code[1:], 1):
        seen = op("and", seen, Var("x", lag).equals(bit))
    meant, program = machine(where(seen, Const(0.5), x)), machine(where(seen, Const(0), x))
    found = verdict(program, meant, BITS)
    assert found.verdict == "failed"
    shown = [row[0] for row in found.counterexample or ()][::-1]
    assert shown + [0] * (17 - len(shown)) == code  # zeros lie before the start


def test_a_network_equals_a_program_in_float64() -> None:
    """1 at x == 3, which 0.1 x == 0.3 never is."""
    rule = machine((Const(0.1) * x).equals(0.3))
    hat = OperatorNode(
        "V1", (0,), np.ones((3, 1)), -np.array([2.0, 3.0, 4.0]), np.array([1.0, -2.0, 1.0]), 0.0
    )
    graph = DiscreteGraph(
        (ChannelNode("V0", "x"), hat),
        np.array([[0.0, 1.0, 0.0]]),
        Layout("tagging", (1.0,), (1.0,)),
        ("x",),
        ("y",),
        10,
    )
    for high in (1000, 1_000_000):
        inputs = np.random.default_rng(0).integers(0, high + 1, (60, 10, 1)).astype(float)
        data, domain = from_arrays(inputs, rule.run(inputs)), integers(0, high)
        problem = Problem("made", ("x",), ("y",), (domain,), (BITS,), data, data, 10)
        found = certify_network(graph, rule, problem, 0).certificate
        assert found.verdict == ("differs" if high == 1000 else "tested")
        assert found.counterexample == (((3.0,),) if high == 1000 else None)


class Number(int):
    last: int


def carries(state: int, row: dict[str, int]) -> tuple[Number, int]:
    after = Number((int(state) + row["x"]) % 3)
    after.last = row["x"]
    return after, getattr(state, "last", 0)


def orders(seen: set[int], row: dict[str, int]) -> tuple[set[int], int]:
    seen.add(8 * row["x"])
    return seen, next(iter(seen)) // 8


def shared(state: tuple[list[int], list[int]], row: dict[str, int]) -> tuple[Any, int]:
    state[0].append(row["x"])
    return (state[0], state[0]), len(state[1])


@pytest.mark.parametrize(("step", "start"), [(carries, 0), (orders, set()), (shared, ([], []))])
def test_states_that_look_the_same_are_refused(step: Any, start: Any) -> None:
    with pytest.raises(InputError, match="the state holds"):
        Task(inputs={"x": (0, 1)}, start=start, step=step, length=6, name="t").specification.run(
            np.ones((1, 4, 1))
        )  # type: ignore[union-attr]


# -- texts that only look like programs ----------------------------------------------------------------------

DOMAIN = integers(0, 3)
LARGER = machine(op("max", x, Var("x", 1)))
TEXT = python_source(LARGER, (DOMAIN,), "program")
RUN, LOOP = "y[t] = max(x[t], x[t-1])", "    for t in range(T):\n"
#: What is changed in the text, and what the text would be taken for.
CHANGED = {
    "a name beside the function": TEXT.replace("__all__", "max = min\n__all__"),
    "an import": f"from builtins import min as max\n{TEXT}",
    "twice what was given": TEXT.replace("np.append(x, 0)", "np.append(x * 2, 0)"),
    "twice what was given, at once": TEXT.replace("dtype=float)", "dtype=float) * 2"),
    "backwards": TEXT.replace("np.append(x, 0)", "np.append(x[::-1], 0)"),
    "the end before the start": TEXT.replace("np.append(x, 0)", "np.append(x, x)"),
    "whole numbers": TEXT.replace("dtype=float", "dtype=int"),
    "another array": TEXT.replace(LOOP, f"    z = x * 2\n{LOOP}").replace("max(x[t]", "max(z[t]"),
    "the same array": TEXT.replace("y = np.zeros(T)", "y = x"),
    "an array twice": TEXT.replace("y = np.zeros(T)", "y = np.zeros(T)\n    y = x"),
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


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("certificate", [Closure(10_000), Inductive(())], ids=["closed", "induction"])
def test_texts_that_are_no_programs_are_refused(name: str, certificate: Any) -> None:
    changed = CHANGED[name]
    assert changed != TEXT
    claim = Claim(ProgramText(changed, ("x",)), Specification(LARGER), (DOMAIN,))
    assert not isinstance(check(claim, certificate), Proved)


def test_the_text_itself_is_proved() -> None:
    claim = Claim(ProgramText(TEXT, ("x",)), Specification(LARGER), (DOMAIN,))
    assert isinstance(check(claim, Closure(10_000)), Proved)
    assert isinstance(check(claim, Inductive(())), Proved)
