"""Machines out of rows: the right ones, the smallest ones, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from weights2code.memory.beside_visible import beside_visible
from weights2code.memory.find import Remembering, numbered
from weights2code.memory.screen import contradictory, foretells, visible_window

from weights2code.data import Problem, Sequences, from_arrays
from weights2code.language import BITS, Domain, Recurrence, Step, Var, compile_numpy, integers, op
from weights2code.memory.actions import rules_by_multiples
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


def machine_of(problem: Problem) -> Machine:
    """The machine that the rows of a problem fold into."""
    machine = Remembering(problem).machine()
    assert machine is not None
    return machine


def walked(rule: Recurrence, symbols: np.ndarray) -> Machine:
    """Every state that a recurrence of one input comes to: its variables one step back."""
    kept = rule.state()
    states: list[tuple[float, ...]] = [(0.0,) * len(kept)]
    words: list[list[float]] = [[]]  # that lead there
    moves, answers = [], []
    for word in words:
        x = np.array([[*word, symbol] for symbol in symbols])[..., None]
        trace = rule.trace(x)
        moves.append([])
        for place, after in enumerate(zip(*(trace[v.name][:, -1].tolist() for v in kept), strict=True)):
            if after not in states[1:]:
                states.append(after)
                words.append(x[place, :, 0].tolist())
            moves[-1].append(states.index(after, 1))
        answers.append(rule.run(x)[:, -1])
    shape = np.shape(moves)
    return Machine(READS, symbols[:, None], np.array(moves), np.array(answers), np.ones(shape, int))


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


def own_data(rows: Sequences) -> Problem:
    parts = rows.take(slice(0, 32)), rows.take(slice(32, None))
    return Problem("p", ("x",), ("y",), (BITS,), rows.domains()[1], *parts, 12)


@pytest.mark.slow
def test_a_machine_of_few_rows_that_foretells_the_others_is_believed():
    told = own_data(rows_of(counted, count=40, seed=15))
    assert not contradictory(told)  # hardly any rows repeat
    found = Remembering(told).at_once()
    assert found is not None
    assert found.machine is not None
    assert found.machine.states == 4
    drawn = np.random.default_rng(0).integers(0, 2, (40, 12, 2)).astype(float)
    assert Remembering(own_data(from_arrays(drawn[..., :1], drawn[..., 1:]))).at_once() is None


def test_what_a_machine_foretells_counts_against_its_size():
    machine = merged(rows_of(counted), READS)
    assert machine is not None
    assert foretells(machine, rows_of(counted, count=8, seed=1))
    assert not foretells(machine, rows_of(counted, count=2, seed=1))
    assert not foretells(machine, rows_of(remainder, count=8, seed=1))


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


def test_a_machine_comes_back_from_json_and_a_broken_one_is_refused():
    machine = merged(rows_of(remainder), READS)
    assert machine is not None
    data = machine.to_dict()
    again = Machine.from_dict(data, columns=2, outputs=1)
    assert np.array_equal(again.moves, machine.moves)
    assert np.array_equal(again.answers, machine.answers)
    for part, value in (("moves", [[99, 0]] * 7), ("symbols", [[0.0], [0.0]]), ("reads", [[5, 0]])):
        with pytest.raises(ValueError, match=r".+"):
            Machine.from_dict(data | {part: value}, columns=2, outputs=1)


def test_a_reference_that_keeps_too_much_is_folded_to_what_its_outputs_show():
    kept_too_much = Recurrence(("x",), (Step("s", (S + X) % 12), Step("y", (Var("s") % 3).equals(0))), ("y",))
    assert machine_of(problem_of(kept_too_much, BITS)).states == 3


@pytest.mark.slow
def test_no_window_shows_a_hidden_remainder_but_one_shows_a_carry():
    assert visible_window(machine_of(problem_of(HIDDEN, BITS))) is None
    total = Var("a") + Var("b") + Var("c", 1)
    carry = Recurrence(("a", "b"), (Step("c", total // 2), Step("y", total % 2)), ("y",))
    problem = problem_of(carry, BITS, BITS)
    assert visible_window(machine_of(problem)) == 1
    assert not contradictory(problem)
    assert Remembering(problem).at_once() is None
    assert Remembering(problem).later() is not None


def test_what_visible_values_determine_is_left_alone():
    visible = Recurrence(("x",), (Step("y", (X + Var("y", 1)) % 5),), ("y",))
    asked = Remembering(problem_of(visible, integers(0, 4)))
    assert asked.at_once() is None
    assert asked.later() is None
    assert asked.later() is None


def test_a_bit_beside_a_visible_count_is_one_bit():
    on = Var("x") + 5 * S > 6
    rule = Recurrence(("x",), (Step("s", on), Step("y", (Var("y", 1) + Var("s")) % 6)), ("y",))
    machine = machine_of(problem_of(rule, integers(0, 9)))
    assert machine.states > 6
    assert beside_visible(machine, inputs=1)[0].count == 2


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


@pytest.mark.slow
def test_what_goes_on_beside_the_last_output_need_not_look_at_it():
    inside = op("and", X >= -2, X < 2)
    s = op("clip", S + inside - X, -1, 4)
    reference = Recurrence(("x",), (Step("s", s), Step("y", (Var("s") - Var("y", 1)) % 4)), ("y",))
    problem = problem_of(reference, integers(-3, 3))
    machine = walked(reference, np.arange(-3.0, 4.0))
    assert machine.states > 6
    found = numbered(machine, problem)
    assert found is not None
    assert found.machine is not None
    assert found.machine.states == 6
    assert Var("y", 1) not in found.rules[0].variables()
    rules = found.recurrence(problem)
    assert rules is not None
    assert (rules.run(problem.validation.x)[..., -1:] == problem.validation.y).all()
