"""States without end: found from rows, learned as outputs, kept in a file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from weights2code.data import Problem, from_arrays
from weights2code.language import (
    Domain,
    Expr,
    Recurrence,
    Step,
    Var,
    formula,
    integers,
    maximum,
    minimum,
    op,
    uniform,
)
from weights2code.memory.hidden import Memory, with_memory
from weights2code.memory.without_end import without_end

X, A, B, S, LAST = Var("x"), Var("a"), Var("b"), Var("s"), Var("s", 1)
DIGITS = (integers(0, 9),)
AROUND = (integers(-5, 5),)
TWO = (integers(-3, 3), integers(-3, 3))


def problem_of(state: Expr, output: Expr, domains: tuple[Domain, ...], *, reference: bool = True) -> Problem:
    inputs = ("x",) if len(domains) == 1 else ("a", "b")
    machine = Recurrence(inputs, (Step("s", state), Step("y", output)), ("y",))
    x = uniform(np.random.default_rng(0), domains, 3000, 20)
    rows = from_arrays(x, machine.run(x))
    parts = rows.take(slice(0, 2500)), rows.take(slice(2500, None))
    outputs = rows.domains()[1]
    return Problem("p", inputs, ("y",), domains, outputs, *parts, 20, machine if reference else None)


@pytest.mark.parametrize(
    ("state", "output", "domains"),
    [
        (maximum(LAST + X - 7, 0), LAST + X >= 7, DIGITS),
        (X - LAST, op("clip", S, -3, 3), AROUND),
        (minimum(X * X, LAST + 1), (S * X) % 5, AROUND),
        (maximum(X, LAST - 2), op("gt", S, 3), AROUND),
        (op("clip", LAST + A - B, -2, 5), abs(S - A), TWO),
        (LAST + op("clip", A - LAST, -1, 1), op("gt", S, B), TWO),
    ],
)
def test_a_state_is_found_with_its_rule_and_what_the_output_makes_of_it(
    state: Expr, output: Expr, domains: tuple[Domain, ...]
):
    problem = problem_of(state, output, domains)
    memory = without_end(problem)
    assert memory is not None
    found = memory.recurrence(problem)
    assert found is not None
    longer = uniform(np.random.default_rng(1), domains, 100, 60)
    assert problem.reference is not None
    assert np.array_equal(found.run(longer)[..., 1:], problem.reference.run(longer))


def test_what_a_window_shows_is_no_state_and_a_sum_is_left_to_heads():
    assert without_end(problem_of(X, X + Var("x", 1), DIGITS)) is None
    assert without_end(problem_of(LAST + X, minimum(S, 20), DIGITS)) is None


@pytest.mark.slow
def test_what_nothing_determines_is_no_state():
    problem = problem_of(X, X, AROUND)
    rng = np.random.default_rng(2)
    for part in (problem.training, problem.validation):
        part.y[:] = rng.integers(0, 2, part.y.shape)
    assert without_end(problem) is None


@pytest.mark.parametrize("reference", [True, False])
def test_the_state_becomes_an_output_before_those_of_the_user(reference: bool):
    problem = problem_of(X - LAST, op("clip", S, -3, 3), AROUND, reference=reference)
    memory = without_end(problem)
    assert memory is not None
    assert formula(memory.rules[0]) == "x[t] - state[t-1]"
    seen = with_memory(problem, memory)
    assert seen.outputs == ("state", "y")
    states = seen.training.y[..., 0]
    assert np.array_equal(states[:, 1:], seen.training.x[:, 1:, 0] - states[:, :-1])
    assert np.array_equal(seen.training.y[..., 1], problem.training.y[..., 0])
    assert seen.output_domains[0].low < -10


def test_a_state_without_end_comes_back_from_json_and_a_broken_one_is_refused():
    problem = problem_of(X - LAST, op("clip", S, -3, 3), AROUND)
    memory = without_end(problem)
    assert memory is not None
    data = json.loads(json.dumps(memory.to_dict()))
    again = Memory.from_dict(data, problem)
    assert again.machine is None
    assert (again.names, again.rules, again.answers) == (memory.names, memory.rules, memory.answers)
    data["numbers"].append([1.0])
    with pytest.raises(ValueError, match="numbers of the states"):
        Memory.from_dict(data, problem)
