"""Hidden states of real inputs: bits held between two borders, and what follows a quantity."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, from_arrays
from weights2code.language import Domain, Expr, Recurrence, Step, Var, maximum, op, reals, uniform, where
from weights2code.memory.followers import follower
from weights2code.memory.hidden import Memory
from weights2code.memory.latches import latched

X, A, B, S, LAST, Y = Var("x"), Var("a"), Var("b"), Var("s"), Var("s", 1), Var("y", 1)
ONE, TWO = (reals(-5, 5),), (reals(0, 1), reals(0, 1))


def problem_of(state: Expr, output: Expr, domains: tuple[Domain, ...], start: float = 0.0) -> Problem:
    inputs = ("x",) if len(domains) == 1 else ("a", "b")
    machine = Recurrence(inputs, (Step("s", state), Step("y", output)), ("y",), {"s": start})
    x = uniform(np.random.default_rng(0), domains, 5000, 20)
    rows = from_arrays(x, machine.run(x))
    parts = rows.take(slice(0, 4500)), rows.take(slice(4500, None))
    return Problem("p", inputs, ("y",), domains, rows.domains()[1], *parts, 20, None)


def latch(quantity: Expr, low: float, high: float) -> Expr:
    return where(op("gt", quantity, high), 1, where(op("lt", quantity, low), 0, LAST))


def right(memory: Memory, problem: Problem) -> bool:
    rules = memory.recurrence(problem)
    return rules is not None and np.allclose(rules.run(problem.validation.x)[..., -1:], problem.validation.y)


@pytest.mark.parametrize(
    ("state", "output", "domains", "start"),
    [
        (latch(X, -1.5, 2.3), 2 * S + LAST, ONE, 1.0),
        (latch(X + Var("x", 1), -0.6, 2.7), op("gt", S, LAST), ONE, 0.0),
        (latch(A - B, -0.4, 0.3), (2 * Y + S) % 3, TWO, 0.0),
    ],
)
def test_a_hidden_bit_and_its_borders_are_read_off_the_rows(
    state: Expr, output: Expr, domains: tuple[Domain, ...], start: float
) -> None:
    problem = problem_of(state, output, domains, start)
    memory = latched(problem)
    assert memory is not None
    assert memory.numbers[0, 0] == start
    assert right(memory, problem)


@pytest.mark.parametrize(
    ("state", "output", "domains"),
    [
        pytest.param(where(op("gt", abs(B - LAST), 0.35), B, LAST), abs(S - A), TWO, marks=pytest.mark.slow),
        (LAST + op("clip", X * X - LAST, -0.5, 0.5), 3 * S - Var("s", 2), ONE),
        pytest.param(maximum(X, LAST - 0.3), S * X, ONE, marks=pytest.mark.slow),
    ],
)
def test_what_follows_a_quantity_is_found_with_its_size(
    state: Expr, output: Expr, domains: tuple[Domain, ...]
) -> None:
    problem = problem_of(state, output, domains)
    memory = follower(problem)
    assert memory is not None
    assert right(memory, problem)


@pytest.mark.parametrize(
    "output",
    [
        op("gt", X, Var("x", 1)),
        pytest.param(
            where(op("gt", X, 2), 1, where(op("lt", X, -2), 0, op("gt", Var("x", 1), 0.5))),
            marks=pytest.mark.slow,
        ),
        pytest.param(op("clip", Y + X, -3, 3), marks=pytest.mark.slow),
    ],
)
def test_nothing_is_held_where_a_window_or_an_output_tells_all(output: Expr) -> None:
    problem = problem_of(X, output, ONE)
    assert latched(problem) is None
    assert follower(problem) is None
