"""Two variables in place of one, machines with a dead end, and how their outputs read."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import pytest

from weights2code.data import Problem, from_arrays
from weights2code.language import Expr, Recurrence, Step, Var, formula, integers, op
from weights2code.memory.by_kinds import rules_by_kinds
from weights2code.memory.find import Remembering, numbered
from weights2code.memory.formulas import answers_of, evaluated
from weights2code.memory.machine import Machine
from weights2code.memory.products import congruences, products
from weights2code.memory.short_rules import ShortRule

STATE, X = Var("state", 1), Var("x")


def machine_of(symbols: int, start: Hashable, step: Callable[[Hashable, int], Hashable]) -> Machine:
    """The machine that a step makes of a start; its answer is whether it is at the start again."""
    number, order, moves = {start: 0}, [start], []
    for state in order:
        after = [step(state, symbol) for symbol in range(symbols)]
        for one in after:
            if one not in number:
                number[one] = len(number)
                order.append(one)
        moves.append([number[one] for one in after])
    table = np.array(moves)
    rows = np.arange(symbols, dtype=float)[:, None]
    return Machine(((0, 0),), rows, table, (table == 0)[:, :, None].astype(float), np.ones(table.shape, int))


def is_right(machine: Machine, rule: ShortRule, state: Var = STATE) -> bool:
    """Whether a rule leads from number to number as the machine moves, and tells its states apart."""
    before, symbol = np.indices(machine.moves.shape).reshape(2, -1)
    rows = np.column_stack([rule.numbers[before], machine.symbols[symbol, 0]])
    after = evaluated(rule.rule, (state, X), rows)
    return bool((after == rule.numbers[machine.moves[before, symbol]]).all())


def parity_and_count(state: tuple[int, int], symbol: int) -> tuple[int, int]:
    """The parity of the zeros, and the ones modulo 3."""
    return (state[0] + (symbol == 0)) % 2, (state[1] + (symbol == 1)) % 3


def brackets(kinds: int, depth: int) -> Machine:
    """A stack of so many kinds of brackets; even symbols open, odd ones close."""

    def step(stack: str | None, symbol: int) -> str | None:
        if stack is None:
            return None
        if symbol % 2 == 0:
            return stack + str(symbol) if len(stack) < depth else None
        return stack[:-1] if stack.endswith(str(symbol - 1)) else None

    return machine_of(2 * kinds, "", step)  # type: ignore[arg-type]


def test_congruences_are_respected_by_every_symbol():
    machine = machine_of(3, (0, 0), parity_and_count)  # type: ignore[arg-type]
    found = congruences(machine)
    assert sorted(max(classes) + 1 for classes in found) == [2, 3]
    for classes in found:
        which = np.array(classes)
        for number in set(classes):
            after = which[machine.moves[which == number]]
            assert (after == after[0]).all()


def test_a_machine_without_congruences_is_no_product():
    assert congruences(machine_of(2, 0, lambda state, symbol: (state + symbol) % 5)) == []  # type: ignore[operator]


def test_a_parity_and_a_count_go_side_by_side():
    machine = machine_of(3, (0, 0), parity_and_count)  # type: ignore[arg-type]
    (one, two), *_ = products(machine, ("one", "two"), (X,), choices=False)
    assert is_right(machine, one, Var("one", 1))
    assert is_right(machine, two, Var("two", 1))
    pairs = set(zip(one.numbers.tolist(), two.numbers.tolist(), strict=True))
    assert len(pairs) == machine.states
    assert Var("one", 1) not in two.rule.variables()


def test_a_second_variable_may_read_the_first():
    machine = machine_of(2, 0, lambda state, symbol: (state + symbol) % 4)  # type: ignore[operator]
    (digit, carried), *_ = products(machine, ("one", "two"), (X,), choices=False)
    assert is_right(machine, digit, Var("one", 1))
    assert Var("one", 1) in carried.rule.variables()
    assert len(set(zip(digit.numbers.tolist(), carried.numbers.tolist(), strict=True))) == 4


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "depth"), [(2, 2), (2, 3), (3, 2)])
def test_a_stack_has_a_formula(kinds: int, depth: int):
    machine = brackets(kinds, depth)
    found = rules_by_kinds(machine, STATE, (X,))
    assert found
    assert is_right(machine, found[0])
    assert len(set(found[0].numbers.tolist())) == machine.states
    assert "//" in formula(found[0].rule)


def test_without_a_dead_end_there_are_no_exceptions_to_look_for():
    machine = machine_of(2, 0, lambda state, symbol: (state + symbol) % 5)  # type: ignore[operator]
    assert rules_by_kinds(machine, STATE, (X,)) == []


def test_states_are_compared_as_states():
    machine = machine_of(2, 0, lambda state, symbol: (state + symbol) % 5)  # type: ignore[operator]
    numbers = np.arange(5.0)[:, None]
    answers = answers_of(machine, numbers, ("state",), (X,), (STATE + X,))
    assert answers is not None
    assert formula(answers[0]) == "[state[t] == 0]"


@pytest.mark.slow
def test_two_variables_are_taken_if_they_are_shorter():
    zeros, ones = (Var("zeros", 1) + X.equals(0)) % 2, (Var("ones", 1) + X.equals(1)) % 3
    neither = op("not", op("or", Var("zeros"), Var("ones")))
    steps = (Step("zeros", zeros), Step("ones", ones), Step("y", neither))
    reference = Recurrence(("x",), steps, ("y",))
    x = np.random.default_rng(0).integers(0, 3, (400, 12, 1)).astype(float)
    data = from_arrays(x, reference.run(x))
    parts = data.take(slice(0, 350)), data.take(slice(350, None))
    domains, outputs = (integers(0, 2),), data.domains()[1]
    problem = Problem("p", ("x",), ("y",), domains, outputs, *parts, 12, reference)
    machine = Remembering(problem).machine()
    assert machine is not None
    memory = numbered(machine, problem)
    assert memory is not None
    assert memory.names == ("state_1", "state_2")
    assert not memory.table
    program = memory.recurrence(problem)
    assert program is not None
    assert (program.run(x)[..., -1:] == data.y).all()
    assert "their 6 states were merged from the rows" in memory.remark()


@pytest.mark.parametrize(
    ("rule", "states"),
    [((Var("s", 1) + X + 1) % 3, 3), (Var("s", 1) + X, None)],
    ids=["a remainder", "a sum without end"],
)
def test_a_remainder_is_a_few_states_and_a_sum_is_none(rule: Expr, states: int | None):
    reference = Recurrence(("x",), (Step("s", rule), Step("y", Var("s").equals(0))), ("y",))
    x = np.random.default_rng(0).integers(0, 2, (60, 12, 1)).astype(float)
    data = from_arrays(x, reference.run(x))
    problem = Problem("p", ("x",), ("y",), (integers(0, 1),), data.domains()[1], data, data, 12, reference)
    found = Remembering(problem).short()
    assert (found.machine.states if found else None) == states


@pytest.mark.parametrize(
    ("rule", "answer", "states"),
    [
        ((Var("s", 1) + X + 1) % 3, Var("s").equals(0), 3),  # the last outputs and inputs show six things
        (X, Var("s").equals(Var("s", 1)), None),  # as many as there are states
        ((2 * Var("s", 1) + X) % 4, Var("s", 1) >= X + 2, None),
    ],
    ids=["a remainder", "the last input", "the last two inputs"],
)
def test_states_come_early_where_they_are_far_less_than_what_is_visible(
    rule: Expr, answer: Expr, states: int | None
):
    reference = Recurrence(("x",), (Step("s", rule), Step("y", answer)), ("y",))
    x = np.random.default_rng(0).integers(0, 2, (400, 12, 1)).astype(float)
    data = from_arrays(x, reference.run(x))
    problem = Problem("p", ("x",), ("y",), (integers(0, 1),), data.domains()[1], data, data, 12, reference)
    found = Remembering(problem).early()
    assert (found.machine.states if found else None) == states
