"""What holds of whatever rule there is: every back end says the same, and only what is true is proved.

Rules are those of the shared table and ones drawn at random. What one room does with its own rules is asked
in that room's tests; what must hold between rooms stands here, once.
"""

from __future__ import annotations

import json
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from case_table import (
    DOMAINS,
    FORMULAS,
    PROGRAMS,
    A,
    B,
    formulas,
    given_to,
    loaded,
    positions,
    programs,
    random_graph,
    rows,
    rule,
    y1,
)
from weights2code.data import Problem, Regime, fit_layout, from_arrays
from weights2code.extraction.from_networks import extract
from weights2code.extraction.made import as_trained
from weights2code.extraction.values import Extraction, Log
from weights2code.graph import ChannelNode, DiscreteGraph, machine_of
from weights2code.kernel.closing import Stopped, Text, Unsuited, Written
from weights2code.kernel.reading import read_text
from weights2code.language import (
    BITS,
    OPERATORS,
    Const,
    Expr,
    Op,
    Recurrence,
    Var,
    compile_numpy,
    evaluate,
    evaluate_exact,
    from_dict,
    integers,
    python_text,
    reals,
    to_dict,
)
from weights2code.language.exact import exact_trace
from weights2code.language.formula_reading import read_formula
from weights2code.language.latex import latex
from weights2code.language.machine_text import machine_text
from weights2code.language.python_source import python_source
from weights2code.language.sympy_form import symbol, to_sympy
from weights2code.network.tuning.compiled import compiled
from weights2code.program import Program
from weights2code.simplify import cost, simplify, simplify_recurrence
from weights2code.verify import Agreement, Certificate

VARIABLES = (A, Var("a", 1), B, Var("b", 2))
WHOLE_VALUES = st.fixed_dictionaries(dict.fromkeys(VARIABLES, st.integers(-9, 9)))
NAMES = {variable: f"{variable.name}{variable.lag}" for variable in VARIABLES}


def on_all(values: dict[Var, Any]) -> dict[str, Any]:
    return {NAMES[variable]: value for variable, value in values.items()}


def same(one: Any, other: Any) -> bool:
    """To the bit, zeros with their signs; what is no number is like another one."""
    first, second = np.asarray(one, float), np.asarray(other, float)
    signs = [np.signbit(values) & ~np.isnan(values) for values in (first, second)]
    return np.array_equal(first, second, equal_nan=True) and np.array_equal(signs[0], signs[1])


# -- formulas ------------------------------------------------------------------------------------------------


def test_the_table_has_every_operator() -> None:
    assert {node.name for formula in FORMULAS for node in formula.walk() if isinstance(node, Op)} >= set(
        OPERATORS
    )


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_every_formula_means_the_same_to_all(formula: Expr) -> None:
    import sympy

    grid = np.array(np.meshgrid(np.arange(-3.0, 5), np.arange(3.0), np.arange(-3.0, 5))).reshape(3, -1)
    values = dict(zip((A, B, Var("a", 1)), grid, strict=True))
    right = np.broadcast_to(evaluate(formula, values), grid[0].shape)
    variables = tuple(values)
    assert same(np.broadcast_to(compile_numpy(formula, variables)(*grid), right.shape), right)
    with np.errstate(all="ignore"):
        symbolic = sympy.lambdify([symbol(v) for v in variables], to_sympy(formula), "numpy")(*grid)
    np.testing.assert_allclose(np.broadcast_to(symbolic, right.shape), right, atol=1e-12)
    for point, answer in zip(grid.T.astype(int).tolist(), right.tolist(), strict=True):
        exact = evaluate_exact(formula, dict(zip(variables, point, strict=True)))
        assert float(exact) == pytest.approx(answer, rel=1e-15, abs=1e-15)
    if "inf" not in str(formula):  # which no file holds but as a start
        assert from_dict(to_dict(formula)) == formula
    text = latex(formula)
    assert (text.count(r"\left"), text.count("{")) == (text.count(r"\right"), text.count("}"))
    found = read_text(Text(python_source(rule(inputs="a b", y=formula), DOMAINS, "f")), ("a", "b"), DOMAINS)
    again = np.broadcast_to(evaluate(found.steps[0].definition, values), right.shape)  # type: ignore[arg-type]
    assert np.array_equal(again, right)


@settings(max_examples=150)
@given(
    formulas(VARIABLES, whole=True, most=9),
    WHOLE_VALUES,
)
def test_a_formula_of_whole_numbers_is_one_number(formula: Expr, values: dict[Var, int]) -> None:
    """Exact numbers, float64, one at a time and as columns, and its text, which may use what is known."""
    parts = {node: evaluate_exact(node, values) for node in formula.walk()}
    assume(all(abs(value) < 2**52 for value in parts.values()))
    right = parts[formula]
    assert isinstance(right, int)
    assert evaluate(formula, {variable: float(value) for variable, value in values.items()}) == right
    column = compile_numpy(formula, VARIABLES)(*(np.full(2, float(values[v])) for v in VARIABLES))
    assert np.array_equal(np.broadcast_to(column, 2), [right] * 2)
    text = python_text(
        formula,
        NAMES.__getitem__,
        is_bit=lambda node: parts.get(node) in (0, 1),
        is_integer=lambda node: True,
    )
    assert eval(text, {"np": np}, on_all(values)) == right
    assert from_dict(json.loads(json.dumps(to_dict(formula)))) == formula


@settings(max_examples=120)
@given(
    formulas(VARIABLES, most=9, numbers=(0, 1, 2, -3, 0.1, -0.25, 7.25, 1 / 3)),
    st.fixed_dictionaries(dict.fromkeys(VARIABLES, st.floats(-9, 9, allow_subnormal=False))),
)
def test_a_formula_of_reals_is_its_text(formula: Expr, values: dict[Var, float]) -> None:
    with np.errstate(all="ignore"):
        right = evaluate(formula, values)
    assume(np.isfinite(right) and abs(right) < 1e100)
    assert eval(python_text(formula, NAMES.__getitem__), {"np": np}, on_all(values)) == right
    assert evaluate(read_formula(str(formula)), values) == pytest.approx(right, rel=1e-9, abs=1e-9)


@given(
    formulas(VARIABLES, whole=True),
    formulas(VARIABLES, whole=True),
    WHOLE_VALUES,
    st.integers(0, 3),
)
def test_trees_are_put_together_and_moved(outer: Expr, inner: Expr, values: dict[Var, int], lag: int) -> None:
    composed = outer.substitute({A: inner})
    inside = {**values, A: evaluate_exact(inner, values)}
    assert evaluate_exact(composed, values) == evaluate_exact(outer, inside)
    assert outer.shift(lag).shift(2) == outer.shift(lag + 2)
    assert outer.shift(lag).shift(-lag) == outer.transform(lambda node: node) == outer
    assert {v.lag - lag for v in outer.shift(lag).variables()} == {v.lag for v in outer.variables()}
    nodes = list(outer.walk())
    assert outer.size() == len(nodes)
    assert outer.operations() == sum(isinstance(node, Op) for node in nodes)


@settings(max_examples=60)
@given(
    formulas(VARIABLES), st.sampled_from([*DOMAINS, BITS, reals(-3, 3)]), st.sampled_from([*DOMAINS, BITS])
)
def test_simplifying_a_formula_keeps_its_values_and_costs_no_more(
    formula: Expr, first: Any, second: Any
) -> None:
    table = dict(zip(VARIABLES, (first, first, second, second), strict=True))
    short = simplify(formula, table)
    values = dict(zip(VARIABLES, rows(list(table.values()), 500).T, strict=True))
    with np.errstate(all="ignore"):
        right, found = evaluate(formula, values), evaluate(short, values)
    assert np.allclose(found, right, rtol=1e-9, atol=1e-9)
    assert cost(short) <= cost(formula) + 0.5


# -- programs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_its_text(name: str) -> None:
    program = PROGRAMS[name]
    assert Program.from_dict(json.loads(json.dumps(program.to_dict()))) == program
    function = loaded(program.source())
    for length in (0, 1, 2, 10, 40):
        sequence = given_to(program, length, length)
        result, right = function(sequence), program.run(sequence)
        assert (result.shape, result.dtype) == (right.shape, right.dtype)
        assert result.tolist() == right.tolist()
        if sequence.shape[1] == 1:
            assert function(sequence[:, 0]).tolist() == right.tolist()


@settings(max_examples=150)
@given(programs())
def test_a_program_is_its_text_and_the_text_is_read_back(machine: Recurrence) -> None:
    source = python_source(machine, DOMAINS, "program")
    try:
        found = read_text(Text(source), machine.inputs, DOMAINS)
    except Unsuited:
        assume(False)
        raise
    assert [type(s.definition) for s in found.steps] == [type(s.definition) for s in machine.steps]
    if "a" not in machine.outputs:  # in files all outputs are steps
        assert Recurrence.from_dict(json.loads(json.dumps(machine.to_dict()))) == machine
    text, function = Text(source), loaded(source)
    numbers = [start for start in machine.start.values() if not isinstance(start, str)]
    for seed, length in ((0, 6), (1, 6), (2, 1)):
        sequence = rows(DOMAINS, length, seed=seed)
        with np.errstate(all="ignore"):
            right = machine.run(sequence[None])[0]
            assert same(found.run(sequence[None])[0], right)
            try:
                answers = np.asarray(function(sequence), float).reshape(right.shape)
                assert same(positions(text, sequence), answers)
            except (Stopped, ArithmeticError):  # 1 / 0 stops Python, and is infinite in NumPy
                continue
            assert inf in map(abs, numbers) or np.array_equal(answers, right, equal_nan=True)  # inf // 2


@settings(max_examples=100)
@given(programs(looks_up=False), st.integers(0, 99))
@example(rule({"b": "first"}, "a b", y=Var("b", 1) + Const(0.1) / 3), 0)  # starts are exact too
def test_machines_of_formulas_are_exact(machine: Recurrence, seed: int) -> None:
    sequence = rows(DOMAINS, 6, seed=seed)
    try:
        right = exact_trace(machine, [[int(value) for value in row] for row in sequence.tolist()])
        found = positions(Written(machine_text(machine)), sequence)
    except (ArithmeticError, Unsuited):
        assume(False)
        raise
    assume(not any(isinstance(value, float) for name in right for value in right[name]))  # it stays infinite
    assert found == list(zip(*(right[name] for name in machine.outputs), strict=True))


@settings(max_examples=40)
@given(programs(bounded=9), st.booleans())
def test_simplifying_a_program_keeps_its_outputs(machine: Recurrence, whole: bool) -> None:
    domains = DOMAINS if whole else (reals(-1, 1), integers(0, 2))
    short = simplify_recurrence(machine, domains)
    drawn = rows(domains, 40, 12)
    with np.errstate(all="ignore"):
        assert np.allclose(short.run(drawn), machine.run(drawn), rtol=1e-9, atol=1e-9, equal_nan=True)


# -- networks ------------------------------------------------------------------------------------------------


def problem_of(program: Recurrence) -> Problem:
    drawn = rows(DOMAINS, 400, 12)
    data = from_arrays(drawn, program.run(drawn))
    parts = data.take(slice(0, 200)), data.take(slice(200, None))
    return Problem("made", program.inputs, ("y",), DOMAINS, data.domains()[1], *parts, 12)


def certified(program: Recurrence) -> Extraction:
    certificate = Certificate("tested", "made", (), "", (12,), Agreement(1, 0.0, 0.0))
    return Extraction(None, None, Program("made", program, DOMAINS, True), certificate)


ROUND_TRIPS = {
    "sum": rule(inputs="a b", y=y1 + A),
    "window": rule(inputs="a b", y=A - Var("a", 1) + B),
    "largest": rule(inputs="a b", y=Op("max", (A, Var("a", 1)))),
    "test": rule(inputs="a b", y=A > B),
    "reset": rule(inputs="a b", y=Op("where", (B, y1 + 1, Const(0)))),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_rule_that_becomes_a_network_is_extracted_from_it(name: str) -> None:
    program = ROUND_TRIPS[name]
    problem = problem_of(program)
    layout = fit_layout("autoregressive", problem.training)
    names = layout.channel_names(problem.inputs, problem.outputs)
    channels = tuple(ChannelNode(f"V{i}_input", label) for i, label in enumerate(names))
    blank = DiscreteGraph(channels, np.zeros((1, len(names) + 1)), layout, problem.inputs, ("y",), 12)
    graph = compiled(program, blank, problem)
    assert graph is not None
    wired = as_trained(graph, problem, certified(program))
    found = extract(wired, problem, Regime.EXACT, Log())
    assert found is not None
    fresh = rows(DOMAINS, 50, 60, seed=7)
    assert np.array_equal(found.program.recurrence.run(fresh), program.run(fresh))


@pytest.mark.parametrize("seed", range(8))
def test_networks_are_written_operation_by_operation(seed: int) -> None:
    kinds = ("sum", "mean", "max", "min", "equality", "pointer")
    graph = random_graph(seed, kinds, inputs=2, outputs=1 + seed % 2, past=bool(seed % 3))
    sequence = rows((DOMAINS[0],) * 2, 9, seed=seed)
    for names in (graph.outputs, [f"{name}.raw" for name in graph.outputs]):
        machine = machine_of(graph, whole=True)
        machine = Recurrence(machine.inputs, machine.steps, tuple(names), machine.start)
        written = Written(machine_text(machine, floats=True))
        assert same(positions(written, sequence), machine.run(sequence[None])[0])
