"""Random programs are the same for the same seed, differ from each other, and every part of them matters."""

from __future__ import annotations

import hashlib
from collections import Counter

import checks
import generate
import numpy as np
import pytest
import stages

from weights2code.language import BITS, Recurrence, Step, Var, integers, op, reals, uniform

COUNT = 30
#: Of the hundred programs of seed 3 that figures were taken with.
SEED_3 = "3389c1b0709e54e405ae0298332d80c68e3b2ca28bd460ec91b3383bb8a2779c"
x, y1 = Var("x"), Var("y", 1)


@pytest.fixture(scope="module")
def drawn():
    return generate.programs(COUNT, seed=0)


def rule(definition) -> Recurrence:
    return Recurrence(("x",), (Step("y", definition),), ("y",))


def test_the_same_seed_gives_the_same_programs(drawn) -> None:
    assert generate.programs(8, seed=0) == drawn[:8]
    assert [p.recurrence for p in generate.programs(8, seed=1)] != [p.recurrence for p in drawn[:8]]


@pytest.mark.slow
def test_sizes_one_to_three_stay_what_they_were() -> None:
    texts = "\n".join(f"{p.name} {p.domains} {p.text()}" for p in generate.programs(100, seed=3))
    texts = texts.replace(", categories=()", "").replace(", truths=False", "")  # numbers are neither
    assert hashlib.sha256(texts.encode()).hexdigest() == SEED_3


@pytest.mark.slow
def test_deeper_programs_are_deterministic_and_as_deep_as_they_say() -> None:
    deeper = generate.programs(12, 3, (4, 5))
    assert [p.size for p in deeper] == [4] * 10 + [5] * 2
    assert generate.programs(2, 3, (4, 5)) == deeper[:2]
    for program in deeper:
        names = [step.name for step in program.recurrence.steps if "_" not in step.name]
        assert len(names) == program.size
        assert checks.faults(program.recurrence, program.domains, program.size) is None


@pytest.mark.slow
def test_programs_of_one_memory_are_those_of_the_seed(drawn) -> None:
    hidden = [program for program in drawn if program.memory == "hidden"]
    assert {program.family for program in hidden} >= {"carry"}
    assert generate.programs(len(hidden), seed=0, memory="hidden") == hidden


def test_families_and_sizes_come_in_equal_shares(drawn) -> None:
    assert Counter(p.family for p in drawn) == dict.fromkeys(stages.FAMILIES, 3)
    assert Counter(p.size for p in drawn) == {1: 10, 2: 10, 3: 10}


def test_programs_compute_different_things(drawn) -> None:
    assert len({checks.signature(p.recurrence, p.domains) for p in drawn}) == COUNT


def test_every_column_and_every_operation_matters(drawn) -> None:
    for program in drawn:
        assert checks.faults(program.recurrence, program.domains, program.size) is None, program


@pytest.mark.parametrize(
    ("definition", "domain", "fault"),
    [
        (x * 0, BITS, "constant"),
        (x.equals(9), integers(0, 99), "one value nearly always"),
        (2 * y1 + x, integers(1, 3), "not finite"),
        (1.1 * y1 + x, reals(0, 1), "grows too fast"),
        (op("clip", x, -9, 1), integers(-3, 3), "an operation does not matter"),
        (op("abs", x), BITS, "a copy"),
    ],
)
def test_degenerate_programs_are_refused(definition, domain, fault) -> None:
    assert checks.faults(rule(definition), (domain,), 1) == fault


def test_several_operations_that_come_down_to_one_column_are_refused() -> None:
    steps = (Step("s1", 3 * x), Step("y", Var("s1", 1) + 2))
    found = checks.faults(Recurrence(("x",), steps, ("y",)), (reals(0, 1),), 2)
    assert found == "a linear image of one column"


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ({"s1": abs(x), "y": Var("s1", 2)}, "y is a linear image of one value"),
        ({"s1": abs(x), "s2": Var("s1") % 3, "y": Var("s2").equals(2)}, "s2 does not need s1"),
        ({"s1": x - Var("x", 1), "y": Var("s1") + Var("s1", 1)}, "y does not need s1"),
        ({"s1": abs(x - Var("x", 1)), "s2": Var("s1") % 3, "y": Var("s2").equals(2)}, "y does not need s2"),
        ({"s1": abs(x - Var("x", 1)), "s2": (Var("s1") + x) % 3, "y": Var("s2") * Var("s2", 1)}, None),
    ],
)
def test_steps_that_come_down_to_fewer_are_found(steps, fault) -> None:
    machine = Recurrence(("x",), tuple(Step(name, expr) for name, expr in steps.items()), ("y",))
    inputs = uniform(np.random.default_rng(0), (integers(-6, 6),), 48, 24)
    assert checks.collapses(machine, inputs) == fault


def test_reach_adds_up_over_steps() -> None:
    steps = (
        Step("s1", x - Var("x", 2)),
        Step("s2", Var("s2", 1) + Var("s1", 1)),
        Step("y", Var("s2", 3) + x),
    )
    assert checks.reach(Recurrence(("x",), steps, ("y",))) == 6


def test_columns_in_another_order_are_the_same_program() -> None:
    a, b = Var("a"), Var("b")
    one, other, third = (
        Recurrence(("a", "b"), (Step("y", expr),), ("y",)) for expr in (a - 2 * b, b - 2 * a, a + 2 * b)
    )
    domains = (integers(0, 5), integers(0, 5))
    assert checks.signature(one, domains) == checks.signature(other, domains)
    assert checks.signature(one, domains) != checks.signature(third, domains)


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ({"y": x - Var("x", 2)}, "window"),
        ({"y": y1 + x}, "output"),
        ({"s": Var("s", 1) + x, "y": Var("s") % 3}, "prefix"),
        ({"s": (Var("s", 1) + x) % 5, "y": Var("s") > 2}, "hidden"),
        ({"c": (Var("c", 1) + x) // 2, "y": (Var("c", 1) + x) % 2}, "hidden"),
        ({"c": (Var("y", 1) + x) // 2, "y": (Var("c") + x) % 2}, "hidden"),
    ],
)
def test_memory_is_named_by_what_must_be_kept(steps, kept) -> None:
    machine = Recurrence(("x",), tuple(Step(name, expr) for name, expr in steps.items()), ("y",))
    assert checks.memory(machine) == kept


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "domain", "told"),
    [
        ({"c": (Var("c", 1) + x) // 4, "y": (Var("c", 1) + x) % 4}, integers(0, 4), "1 back"),
        ({"c": (Var("c", 1) + x) % 5, "y": Var("c").equals(0)}, BITS, "no window"),
        ({"c": 1 - Var("c", 1), "y": (Var("c") + x) % 2}, BITS, "1 back"),
        ({"c": (Var("c", 1) + x) % 3, "y": Var("c") * 2}, BITS, "1 back"),
        ({"c": (Var("c", 1) + x) % 3, "y": Var("c") * 2}, reals(0, 1), "unknown"),
    ],
)
def test_a_window_tells_some_states(steps, domain, told) -> None:
    machine = Recurrence(("x",), tuple(Step(name, expr) for name, expr in steps.items()), ("y",))
    assert checks.told(machine, (domain,)) == told
