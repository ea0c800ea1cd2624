"""Few states beside a quantity of several lags: which values it reads, what it is, and the rules with it."""

from __future__ import annotations

import numpy as np
import pytest

from weights2code.data import Problem, from_arrays
from weights2code.language import BITS, Domain, Expr, Recurrence, Step, Var, formula, integers, op, uniform
from weights2code.memory.addends import addends
from weights2code.memory.formulas import digits_of
from weights2code.memory.machine import NOWHERE
from weights2code.memory.through_addend import through_addend
from weights2code.memory.window_reads import Window, sets_of_reads

A, B, CARRY = Var("a"), Var("b"), Var("carry", 1)


def problem_of(
    steps: dict[str, Expr], domains: tuple[Domain, ...], *, asked: bool = True, count: int = 1000
) -> Problem:
    """Rows of a machine, which can be asked for more or not."""
    inputs = ("a", "b")[: len(domains)]
    machine = Recurrence(inputs, tuple(Step(name, rule) for name, rule in steps.items()), ("y",))

    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return uniform(rng, domains, n, length)

    x = draw(np.random.default_rng(0), count + 100, 20)
    everything = from_arrays(x, machine.run(x))
    return Problem(
        "program", inputs, ("y",), domains, everything.domains()[1], everything.take(slice(100, None)),
        everything.take(slice(0, 100)), 20, machine if asked else None, draw if asked else None,
    )  # fmt: skip


def borrowed(base: int) -> dict[str, Expr]:
    """Digits of a difference, one of them from two steps back."""
    difference = Var("a", 2) - B - CARRY
    return {"carry": op("lt", difference, 0), "y": difference % base}


def counted(states: int) -> dict[str, Expr]:
    """A counter that runs over, of what a few bits add up to."""
    total = CARRY + Var("a", 3) + A
    return {"carry": total % states, "y": op("ge", total, states)}


def divided(by: int) -> dict[str, Expr]:
    """The digits of a quotient, whose dividend has the larger one of two neighbours."""
    total = 7 * CARRY + op("max", A, Var("a", 1))
    return {"carry": total % by, "y": total // by}


def test_values_that_tell_something_beside_what_is_hidden():
    window = Window(problem_of(borrowed(5), (integers(0, 4), integers(0, 4))))
    assert ((0, 2), (1, 0)) in list(sets_of_reads(window))


def test_rows_of_own_data_are_all_that_there_are():
    problem = problem_of(borrowed(3), (integers(0, 2), integers(0, 2)), asked=False)
    counts = Window(problem).counts(((0, 2), (1, 0)), 300)
    assert counts.counts.sum() == (20 - 10) * 1000
    assert ((counts.counts > 0).sum(1) == 2).all()


@pytest.mark.parametrize("asked", [True, False])
def test_a_digit_without_its_borrow_is_read_off_the_neighbours(asked: bool):
    problem = problem_of(borrowed(5), (integers(0, 4), integers(0, 4)), asked=asked)
    assert formula(next(addends(Window(problem))).formula) == "a[t-2] - b[t]"


def test_what_is_counted_is_read_off_the_share_of_ones():
    problem = problem_of(counted(5), (BITS,))
    assert formula(next(addends(Window(problem))).formula) in ("a[t] + a[t-3]", "a[t-3] + a[t]")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "domains", "states"),
    [
        (borrowed(5), (integers(0, 4), integers(0, 4)), 2),
        (counted(5), (BITS,), 5),
        (divided(4), (integers(0, 6),), 4),
    ],
)  # fmt: skip
def test_few_states_beside_a_quantity_of_several_lags(
    steps: dict[str, Expr], domains: tuple[Domain, ...], states: int
):
    problem = problem_of(steps, domains)
    memory = through_addend(problem)
    assert memory is not None
    assert memory.machine is not None
    assert memory.machine.states == states
    rules = memory.recurrence(problem)
    assert rules is not None
    x = uniform(np.random.default_rng(5), domains, 50, 80)
    assert problem.reference is not None
    assert np.array_equal(rules.run(x)[..., -1:], problem.reference.run(x))
    assert (memory.machine.moves != NOWHERE).any()
    assert not memory.machine.wrong(problem.validation).any()


def test_a_sum_never_settles_and_a_remainder_does():
    total = {"total": Var("total", 1) + A, "y": op("gt", Var("total"), 40)}
    assert not Window(problem_of(total, (BITS,))).settled()
    assert Window(problem_of(counted(5), (BITS,))).settled()


def test_what_is_visible_has_no_hidden_state():
    problem = problem_of({"y": Var("a", 2) - B}, (integers(0, 4), integers(0, 4)))
    assert through_addend(problem) is None


def test_digits_of_large_numbers():
    rows = np.array([[s, x * x] for s in range(6) for x in range(10)], float)
    target = (65 * rows[:, 0] + rows[:, 1]) // 6
    found = digits_of(rows, target, (Var("s"), Var("x")))
    assert found is not None
    assert formula(found) == "(65*s[t] + x[t]) // 6"
