"""Machines out of rows: the right ones, the smallest ones, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weights2code.data import Problem, Sequences, from_arrays
from weights2code.language import BITS, Domain, Recurrence, Step, Var, compile_numpy
from weights2code.memory.actions import rules_by_multiples
from weights2code.memory.folding import machine_of
from weights2code.memory.machine import NOWHERE, Machine, positions_in
from weights2code.memory.merging import contradicts_itself, merged
from weights2code.memory.smallest import smallest

X, S = Var("x"), Var("s", 1)
READS = ((0, 0),)


def rows_of(
    step: Callable[[int, int], tuple[int, int]],
    values: int = 2,
    count: int = 300,
    length: int = 12,
    seed: int = 0,
) -> Sequences:
    """Sequences of a machine given as (state, input) -> (state, output)."""
    x = np.random.default_rng(seed).integers(0, values, (count, length))
    y = np.zeros_like(x)
    for row, inputs in enumerate(x):
        state = 0
        for t, value in enumerate(inputs):
            state, y[row, t] = step(state, int(value))
    return from_arrays(x[..., None].astype(float), y[..., None].astype(float))


def problem_of(machine: Recurrence, *domains: Domain, length: int = 20) -> Problem:
    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return np.stack([rng.integers(int(d.low), int(d.high) + 1, (n, length)) for d in domains], -1) * 1.0

    x = draw(np.random.default_rng(0), 600, length)
    data = from_arrays(x, machine.run(x))
    parts = data.take(slice(0, 500)), data.take(slice(500, None))
    outputs = data.domains()[1]
    return Problem("p", machine.inputs, machine.outputs, domains, outputs, *parts, length, machine, draw)


def remainder(state: int, value: int) -> tuple[int, int]:
    """A remainder of seven of which one sees whether it is zero."""
    after = (2 * state + value) % 7
    return after, int(after == 0)


HIDDEN = Recurrence(("x",), (Step("s", (2 * S + X) % 7), Step("y", Var("s").equals(0))), ("y",))


def test_symbols_are_found_again_and_new_ones_are_not():
    symbols = np.array([[0.0, 5.0], [1.0, -1.0], [0.0, -1.0]])
    rows = np.array([[[0.0, -1.0], [1.0, 5.0]], [[1.0, -1.0], [0.0, 5.0]]])
    assert positions_in(symbols, rows).tolist() == [[2, NOWHERE], [1, 0]]


def test_rows_fold_into_the_machine_that_they_come_from():
    machine = merged(rows_of(remainder), READS)
    assert machine is not None
    assert machine.states == 7
    assert not machine.wrong(rows_of(remainder, length=60, seed=1)).any()
    assert machine.seen.sum() == 300 * 12


def test_few_rows_fold_better_where_the_evidence_is():
    rows = [rows_of(remainder, count=60, seed=seed) for seed in range(8)]
    first = [merged(part, READS) for part in rows]
    evident = [merged(part, READS, 0.0) for part in rows]
    assert sum(states_of(found) == 7 for found in evident) > sum(states_of(found) == 7 for found in first)
    for part, found in zip(rows, evident, strict=True):
        assert found is None or not found.wrong(part).any()


def states_of(machine: Machine | None) -> int | None:
    return None if machine is None else machine.states


def counted(state: int, value: int) -> tuple[int, int]:
    """Of two bits, each of which changes with its input, one sees whether both are off (Tomita's fifth)."""
    after = state ^ (1 + value)
    return after, int(after == 0)


@pytest.mark.parametrize(("count", "length"), [(1, 1500), (3, 400)])
def test_long_sequences_are_followed_to_the_smallest_machine(count: int, length: int):
    machine = smallest(rows_of(remainder, count=count, length=length), READS)
    assert machine is not None
    assert machine.states == 7
    assert not machine.wrong(rows_of(remainder, length=60, seed=1)).any()
    assert machine.seen.sum() == count * length


def test_what_follows_no_machine_is_followed_to_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("weights2code.memory.smallest.MOST_STEPS", 100_000)
    drawn = np.random.default_rng(0).integers(0, 2, (1, 2000, 2)).astype(float)
    assert smallest(from_arrays(drawn[..., :1], drawn[..., 1:]), READS) is None


@pytest.mark.slow
def test_a_few_wrong_labels_are_no_states():
    rows = rows_of(remainder)
    flipped = np.random.default_rng(3).random(rows.y.shape) < 0.01
    wrong = Sequences(rows.x, np.where(flipped, 1 - rows.y, rows.y), rows.lengths)
    assert contradicts_itself(wrong)
    assert not contradicts_itself(rows)
    assert merged(wrong, READS) is None
    machine = merged(wrong, READS, mistakes=0.02)
    assert machine is not None
    assert machine.states == 7
    assert not machine.wrong(rows_of(remainder, length=60, seed=1)).any()


def test_a_reference_that_keeps_too_much_is_folded_to_what_its_outputs_show():
    kept_too_much = Recurrence(("x",), (Step("s", (S + X) % 12), Step("y", (Var("s") % 3).equals(0))), ("y",))
    machine = machine_of(problem_of(kept_too_much, BITS))
    assert machine is not None
    assert machine.states == 3


def test_digits_with_a_function_of_what_is_read():
    """state = (4 * state + f(x)) % 7, whatever f is: two symbols differ by a step around the circle."""
    symbols = np.arange(-4, 5, dtype=float)[:, None]
    added = np.minimum(symbols[:, 0] % 6, 3).astype(int)
    renamed = np.random.default_rng(1).permutation(7)
    moves = np.empty((7, len(symbols)), int)
    for place in range(7):
        moves[renamed[place]] = renamed[(4 * place + added) % 7]
    shape = moves.shape
    machine = Machine(((0, 0),), symbols, moves, np.zeros((*shape, 1)), np.ones(shape, int))
    state, x = Var("state", 1), Var("x")
    rules = sorted(rules_by_multiples(machine, state, (x,)), key=lambda rule: rule.cost)
    assert rules
    numbers = rules[0].numbers
    found = compile_numpy(rules[0].rule, (state, x))(numbers[:, None], symbols[None, :, 0])
    assert np.array_equal(found, numbers[moves])
    moves[0, :2] = moves[0, 1::-1]
    spoilt = Machine(((0, 0),), symbols, moves, np.zeros((*shape, 1)), np.ones(shape, int))
    assert not [*rules_by_multiples(spoilt, state, (x,))]
