"""Machines out of rows: the right ones, the smallest, none where there is none; and short rules of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from case_table import rows, rule
from weights2code.data import Problem, Sequences, from_arrays
from weights2code.language import BITS, Recurrence, Var, compile_numpy, formula, integers, op
from weights2code.memory.actions import rules_by_actions, rules_by_multiples
from weights2code.memory.dead_ends import with_dead_ends
from weights2code.memory.folding import machine_of
from weights2code.memory.machine import NOWHERE, Machine, positions_in
from weights2code.memory.merging import contradicts_itself, merged
from weights2code.memory.short_rules import short_rules
from weights2code.memory.smallest import smallest
from weights2code.tasks import get

X, STATE = Var("x"), Var("state", 1)
READS = ((0, 0),)


def sequences_of(count: int = 300, length: int = 12, seed: int = 0) -> Sequences:
    """Of a machine that keeps a remainder of seven, of which one sees whether it is zero."""
    x = np.random.default_rng(seed).integers(0, 2, (count, length))
    y, state = np.zeros_like(x), np.zeros(count, int)
    for t in range(length):
        state = (2 * state + x[:, t]) % 7
        y[:, t] = state == 0
    return from_arrays(x[..., None].astype(float), y[..., None].astype(float))


def machine(
    moves: np.ndarray | list, symbols: np.ndarray | None = None, answers: np.ndarray | None = None
) -> Machine:
    """With these moves; answers do not matter unless they are given."""
    moves = np.asarray(moves)
    names = np.arange(moves.shape[1], dtype=float)[:, None] if symbols is None else symbols
    given = np.zeros((*moves.shape, 1)) if answers is None else answers
    reads = tuple((i, 0) for i in range(names.shape[1]))
    return Machine(reads, names, moves, given, np.ones(moves.shape, int))


def is_right(found: Machine | None) -> bool:
    return found is not None and found.states == 7 and not found.wrong(sequences_of(300, 60, 1)).any()


# -- merging -------------------------------------------------------------------------------------------------


def test_symbols_are_found_again_and_new_ones_are_not():
    symbols = np.array([[0.0, 5.0], [1.0, -1.0], [0.0, -1.0]])
    asked = np.array([[[0.0, -1.0], [1.0, 5.0]], [[1.0, -1.0], [0.0, 5.0]]])
    assert positions_in(symbols, asked).tolist() == [[2, NOWHERE], [1, 0]]


@pytest.mark.parametrize(
    ("way", "count", "length"), [(merged, 300, 12), (smallest, 1, 1500), (smallest, 3, 400)]
)
def test_rows_fold_into_the_machine_that_they_come_from(
    way: Callable[..., Machine | None], count: int, length: int
):
    found = way(sequences_of(count, length), READS)
    assert found is not None
    assert is_right(found)
    assert found.seen.sum() == count * length


def test_inputs_that_nothing_tells_apart_are_one_symbol():
    x, fresh = rows((integers(-20, 20),), 300, 12), rows((integers(-20, 20),), 50, 80, seed=1)
    made: Recurrence = rule(s=(2 * Var("s", 1) + op("max", X, 0) % 3) % 7, y=Var("s") < 3)
    data, more = (from_arrays(some, made.run(some)) for some in (x, fresh))
    found = merged(data, READS, alike=True)
    assert found is not None
    assert (found.states, found.complete, found.wrong(more).any()) == (7, True, False)
    plain = merged(data, READS)
    assert plain is None or plain.wrong(more).any()


def test_few_rows_fold_better_where_the_evidence_is():
    parts = [sequences_of(60, seed=seed) for seed in range(8)]
    first = [merged(part, READS) for part in parts]
    evident = [merged(part, READS, 0.0) for part in parts]
    right = [sum(found is not None and found.states == 7 for found in some) for some in (first, evident)]
    assert right[1] > right[0]
    assert all(m is None or not m.wrong(part).any() for part, m in zip(parts, evident, strict=True))


def test_what_follows_no_machine_is_followed_to_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("weights2code.memory.smallest.MOST_STEPS", 100_000)
    drawn = np.random.default_rng(0).integers(0, 2, (1, 2000, 2)).astype(float)
    assert smallest(from_arrays(drawn[..., :1], drawn[..., 1:]), READS) is None


@pytest.mark.slow
def test_a_few_wrong_labels_are_no_states():
    right = sequences_of()
    flipped = np.random.default_rng(3).random(right.y.shape) < 0.01
    wrong = Sequences(right.x, np.where(flipped, 1 - right.y, right.y), right.lengths)
    assert contradicts_itself(wrong)
    assert not contradicts_itself(right)
    assert merged(wrong, READS) is None
    assert is_right(merged(wrong, READS, mistakes=0.02))


def test_a_reference_that_keeps_too_much_is_folded_to_what_its_outputs_show():
    kept: Recurrence = rule(s=(Var("s", 1) + X) % 12, y=(Var("s") % 3).equals(0))
    data = from_arrays(x := rows((BITS,), 600, 20), kept.run(x))
    parts = data.take(slice(0, 500)), data.take(slice(500, None))

    def sampler(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return rng.integers(0, 2, (n, length, 1)).astype(float)

    problem = Problem("p", ("x",), ("y",), (BITS,), data.domains()[1], *parts, 20, kept, sampler)
    found = machine_of(problem)
    assert found is not None
    assert found.states == 3


# -- dead ends -----------------------------------------------------------------------------------------------


def accepting(moves: list[list[int]]) -> Machine:
    """A machine of bits that accepts in its first state alone."""
    return machine(moves, answers=(np.array(moves) == 0).astype(float)[..., None])


def bits(x: list[list[int]], y: list[list[int]]) -> Sequences:
    return from_arrays(np.array(x, float)[..., None], np.array(y, float)[..., None])


def test_an_open_transition_leads_to_the_dead_end_and_a_known_one_stays():
    known = accepting([[0, 1], [2, 0], [2, 2]])
    often, seldom = [0, 0, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0]
    data = bits([often] * 60 + [seldom], [[1, 1, 1, 0, 1, 1]] * 60 + [[0] * 6])
    open_one = replace(known, moves=np.array([[0, 1], [1, 0], [2, 2]]))  # contradicted by the last sequence
    for one in (open_one, known):
        one = replace(one, seen=np.zeros((3, 2), int))
        assert with_dead_ends(one, data).moves.tolist() == known.moves.tolist()
    without = accepting([[0, 1], [1, 0]])
    assert with_dead_ends(without, bits([[0, 1, 1, 0]] * 9, [[1, 0, 1, 1]] * 9)) is without


@pytest.mark.slow
def test_brackets_of_two_kinds_are_found_from_few_rows():
    task = get("dyck_2_depth_2")
    data = from_arrays(*task.sample(400, length=12, seed=2))
    fresh = from_arrays(*task.sample(200, length=50, seed=3))
    found = merged(data, READS, 0.0)
    assert found is not None
    assert found.states == 8
    assert found.wrong(fresh).any()
    found = with_dead_ends(found, data)
    assert not found.wrong(data).any()
    assert not found.wrong(fresh).any()


# -- rules: numbers of states by the formula that fits, whatever the states were called before ---------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("states", "symbols", "step", "text"),
    [
        (7, 2, lambda s, x: (2 * s + x) % 7, None),
        (5, 3, lambda s, x: min(max(s + x - 1, 0), 4), "clip(x[t] - 1 + state[t-1], 0, 4)"),
        (6, 4, lambda s, x: (s + x) % 6, "(state[t-1] + x[t]) % 6"),
        (4, 3, lambda s, x: 0 if x == 2 else min(s + x, 3), None),
    ],
)
def test_a_formula_is_found_up_to_the_names_of_the_states(states: int, symbols: int, step, text: str | None):
    moves = np.array([[step(state, symbol) for symbol in range(symbols)] for state in range(states)])
    names = np.append(0, 1 + np.random.default_rng(1).permutation(states - 1))  # all but the start
    shuffled = np.empty_like(moves)
    shuffled[names] = names[moves]
    found = short_rules(machine(shuffled), STATE, (X,))
    assert found
    assert len(set(found[0].numbers.tolist())) == states
    assert text is None or text in [formula(one.rule) for one in found]


@pytest.mark.slow
def test_a_machine_without_a_formula_gets_none():
    assert not short_rules(machine(np.random.default_rng(0).integers(0, 11, (11, 3))), STATE, (X,))


@pytest.mark.slow
def test_symbols_that_do_the_same_are_one_action():
    symbols = np.array([[a, b] for a in range(-4, 5) for b in range(-4, 5)], float)
    odd = (symbols[:, 0] * symbols[:, 1]) % 2
    moves = np.clip(np.arange(3)[:, None] + 2 * odd[None, :] - 1, 0, 2).astype(int)
    found = rules_by_actions(machine(moves, symbols), STATE, (Var("a"), Var("b")))
    assert found
    assert "% 2" in formula(found[0].rule)


def test_an_action_that_adds_around_a_circle_is_a_remainder():
    x = np.random.default_rng(0).uniform(0, 1, (200, 1))
    found = rules_by_actions(machine((np.arange(4)[:, None] + (x[:, 0] >= 0.4)[None, :]) % 4, x), STATE, (X,))
    assert found
    assert formula(found[0].rule).endswith("% 4")


def test_states_between_two_ends_are_ordered_by_a_symbol_that_leads_from_one_to_the_other():
    names = np.array([4, 2, 0, 3, 1, 5])  # the start is in the middle
    places = np.argsort(names)
    moves = names[np.clip(places[:, None] + np.array([3, 1, -2, 0])[None, :], 0, 5)]
    found = rules_by_actions(machine(moves), STATE, (X,))
    assert found
    assert found[0].numbers.tolist() in (places.tolist(), (5 - places).tolist())


def test_digits_with_a_function_of_what_is_read():
    """state = (4 * state + f(x)) % 7, whatever f is: two symbols differ by a step around the circle."""
    symbols = np.arange(-4, 5, dtype=float)[:, None]
    added = np.minimum(symbols[:, 0] % 6, 3).astype(int)
    renamed = np.random.default_rng(1).permutation(7)
    moves = np.empty((7, len(symbols)), int)
    for place in range(7):
        moves[renamed[place]] = renamed[(4 * place + added) % 7]
    rules = sorted(rules_by_multiples(machine(moves, symbols), STATE, (X,)), key=lambda one: one.cost)
    assert rules
    numbers = rules[0].numbers
    found = compile_numpy(rules[0].rule, (STATE, X))(numbers[:, None], symbols[None, :, 0])
    assert np.array_equal(found, numbers[moves])
    moves[0, :2] = moves[0, 1::-1]
    assert not [*rules_by_multiples(machine(moves, symbols), STATE, (X,))]
