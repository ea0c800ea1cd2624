"""Texts are what they are printed from: read back, executed position by position, and written as machines."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from weights2code.kernel.closing import Stopped, Text, Unsuited, Written
from weights2code.kernel.reading import read_text
from weights2code.language import (
    Const,
    Count,
    Domain,
    Expr,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    integers,
    op,
    where,
)
from weights2code.language.exact import exact_trace
from weights2code.language.machine_text import machine_text
from weights2code.language.operators import order_name
from weights2code.language.python_source import python_source
from weights2code.program.sandbox import run_program

DOMAINS = (integers(-3, 4), integers(0, 2))
LENGTH = 6

# -- random programs -----------------------------------------------------------------------------------------

A, B = Var("a"), Var("b")
LEAVES = st.sampled_from([A, B, Var("a", 1), Var("a", 3), Var("b", 2), Var("u", 1), Var("y", 1), Var("y", 2)])
NUMBERS = st.sampled_from([0, 1, 2, 3, -2, 0.5, 0.1, 7.25]).map(Const)
BINARY = ["add", "sub", "mul", "max", "min", "ge", "gt", "le", "lt", "eq", "ne"]
FORMULAS = st.recursive(
    st.one_of(LEAVES, LEAVES, NUMBERS),
    lambda inner: st.one_of(
        st.builds(op, st.sampled_from(BINARY), inner, inner),
        st.builds(op, st.sampled_from(["abs", "neg", "relu", "floor"]), inner),
        st.builds(lambda e: op("not", op("ge", e, 1)), inner),
        st.builds(lambda n, a, b: op(n, a > 0, b > 1), st.sampled_from(["and", "or"]), inner, inner),
        st.builds(lambda e, k: e % k, inner, st.sampled_from([2, 3, -3])),
        st.builds(lambda e, k: op("floor", e / k), inner, st.sampled_from([2, 3])),
        st.builds(lambda e, k: e / k, inner, st.sampled_from([2, 3])),
        st.builds(lambda e: op("pow", e, 2), inner),
        st.builds(lambda e: op("clip", e, -2, 3), inner),
        st.builds(lambda c, a, b: where(c > 0, a, b), inner, inner, inner),
        st.builds(lambda a, b, c: op(order_name(2, 3), a, b, c), inner, inner, inner),
    ),
    max_leaves=6,
)
LOOKUPS = st.one_of(
    st.builds(lambda g, d: Retrieval("b", "a", B, g, d), st.integers(0, 3), st.sampled_from([0.0, 2.0])),
    st.builds(lambda r: Count("a", B, r), st.sampled_from(["lt", "le", "eq", "ge", "gt"])),
)
STARTS = st.fixed_dictionaries(
    {},
    optional={
        "a": st.sampled_from([1.0, -2.5, "first"]),
        "u": st.sampled_from([1.0, inf, -inf]),
        "y": st.just(2.0),
    },
)


def program(u: Expr, seen: Any, y: Expr, start: dict[str, Start]) -> Recurrence:
    steps = (Step("u", u), Step("seen", seen), Step("y", y + Var("seen")))
    return Recurrence(("a", "b"), steps, ("y", "u"), start)


PROGRAMS = st.builds(program, FORMULAS, LOOKUPS, FORMULAS, STARTS)


def rows(seed: int, domains: tuple[Domain, ...] = DOMAINS, length: int = LENGTH) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(int(d.low), int(d.high) + 1, length) for d in domains], 1).astype(float)


def positions(machine: Any, sequence: np.ndarray) -> list[tuple]:
    """What a machine answers, position by position."""
    state, found = machine.start(sequence[0]), []
    for row in sequence.tolist():
        answers, state = machine.step(state, row)
        found.append(answers)
    return found


def same(one: Any, other: Any) -> bool:
    """To the bit; what is no number is like another one."""
    first, second = np.asarray(one, float), np.asarray(other, float)
    return np.array_equal(first, second, equal_nan=True) and np.array_equal(
        np.signbit(first), np.signbit(second)
    )


def loop(source: str) -> str:
    return source.partition("for t in range(T):")[2]


@settings(max_examples=150, deadline=None)
@given(PROGRAMS)
def test_a_text_is_read_back_as_what_it_was_printed_from(machine: Recurrence) -> None:
    source = python_source(machine, DOMAINS, "program")
    try:
        found = read_text(Text(source), machine.inputs, DOMAINS)
    except Unsuited:
        assume(False)
        raise
    assert loop(python_source(found, DOMAINS, "program")) == loop(source)
    assert [type(step.definition) for step in found.steps] == [
        type(step.definition) for step in machine.steps
    ]
    for sequence in (rows(0), rows(1)):
        with np.errstate(all="ignore"):
            assert same(found.run(sequence[None]), machine.run(sequence[None]))


OPERATORS: list[Expr] = [
    *(op(name, A, B) for name in BINARY), A / 3, A % 3, A % -2, op("pow", A, 3), op("floor", A / 2),
    op("floor", A), -A, abs(A), op("relu", A), op("clip", A, -1, 2), op("not", A > 1), op("and", A > 0, B),
    op("or", A > 0, B),
    where(B.equals(1), A, 2), op("sqrt", B), op("exp", A), op("log", B + 1), op("sin", A), op("cos", A),
    op(order_name(2, 3), A, B, Var("a", 1)), op(order_name(2, 4), A, B, Var("a", 1), 0.5), A - (B - 1),
    where(A > 0, where(B, 1, 2), 0.25), Const(0.1) * A, op("min", A, inf), op("max", Const(-inf), A),
]  # fmt: skip


@pytest.mark.parametrize("formula", OPERATORS, ids=str)
def test_every_operator_is_read_back(formula: Expr) -> None:
    machine = Recurrence(("a", "b"), (Step("y", formula),), ("y",))
    found = read_text(Text(python_source(machine, DOMAINS, "program")), machine.inputs, DOMAINS)
    rewritten = {"relu": op("max", A, 0), "clip": op("min", op("max", A, -1), 2)}
    assert found.steps[0].definition == rewritten.get(getattr(formula, "name", ""), formula)


@pytest.mark.parametrize("start", [0.0, 3.0, -0.5, inf, -inf, "first"])
def test_starts_are_read_back(start: Start) -> None:
    machine = Recurrence(("a", "b"), (Step("y", Var("a", 2) + B),), ("y",), {"a": start})
    found = read_text(Text(python_source(machine, DOMAINS, "program")), machine.inputs, DOMAINS)
    assert found.start_of("a") == start
    assert found.steps == machine.steps


@settings(max_examples=10, deadline=None)
@given(st.lists(PROGRAMS, min_size=3, max_size=3), st.integers(0, 99))
def test_a_text_is_executed_as_it_runs(machines: list[Recurrence], seed: int) -> None:
    """A subprocess runs the file as users do."""
    sequences = [rows(seed), rows(seed + 1), rows(seed + 2, length=1)]
    for machine in machines:
        source = python_source(machine, DOMAINS, "program")
        text = Text(source)
        try:
            with np.errstate(all="ignore"):
                found = [positions(text, sequence) for sequence in sequences]
        except (Stopped, Unsuited):
            continue
        for one, other in zip(found, run_program(source, sequences), strict=True):
            assert same(one, other)


@settings(max_examples=100, deadline=None)
@given(st.builds(program, FORMULAS, FORMULAS, FORMULAS, STARTS), st.integers(0, 99))
def test_machines_of_formulas_are_exact(machine: Recurrence, seed: int) -> None:
    sequence = rows(seed)
    try:
        right = exact_trace(machine, [[int(value) for value in row] for row in sequence.tolist()])
    except ArithmeticError:
        assume(False)
        raise
    values = [value for name in right for value in right[name]]
    assume(not any(isinstance(value, float) for value in values))  # infinities that stay
    found = positions(Written(machine_text(machine)), sequence)
    assert found == list(zip(*(right[name] for name in machine.outputs), strict=True))


def test_no_name_stands_for_another() -> None:
    """`u`, one step back, and a name that looks so."""
    steps = (
        Step("u_2", 0 * A + 5),
        Step("u", A),
        Step("table", B),
        Step("y", Var("u", 1) + Var("table") + Var("u_2")),
    )
    machine = Recurrence(("a", "b"), steps, ("y",))
    sequence = rows(0)
    assert same(positions(Written(machine_text(machine)), sequence), machine.run(sequence[None])[0])
    named = Recurrence(("x", "x_1", "x_1_"), (Step("y", Var("x", 2) + Var("x_1") - Var("x_1_", 1)),), ("y",))
    wide = rows(1, (integers(-3, 4),) * 3)
    text = Text(python_source(named, (integers(-3, 4),) * 3, "program"))
    assert same(positions(text, wide), named.run(wide[None])[0])


# -- networks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_networks_are_written_operation_by_operation(seed: int) -> None:
    from importlib.util import module_from_spec, spec_from_file_location

    from weights2code.graph import machine_of

    file = Path(__file__).parents[1] / "graph" / "test_graph_machine.py"
    spec = spec_from_file_location("graphs_for_kernel", file)
    assert spec is not None
    assert spec.loader is not None
    graphs = module_from_spec(spec)
    spec.loader.exec_module(graphs)
    kinds = ("sum", "mean", "max", "min", "equality", "pointer")
    graph = graphs.random_graph(seed, kinds, inputs=2, outputs=1 + seed % 2, past=bool(seed % 3))
    sequence = rows(seed, (integers(-3, 4),) * 2, 9)
    machine = machine_of(graph, whole=True)
    raw = replace(machine, outputs=tuple(f"{name}.raw" for name in machine.outputs))
    for one in (machine, raw):
        written = Written(machine_text(one, floats=True))
        assert same(positions(written, sequence), one.run(sequence[None])[0])
