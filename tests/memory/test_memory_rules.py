"""Numbers of states by the formula that fits: whatever the states were called before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weights2code.language import Var, formula
from weights2code.memory.actions import rules_by_actions
from weights2code.memory.machine import Machine
from weights2code.memory.short_rules import short_rules

STATE, X = Var("state", 1), Var("x")


def machine_of(moves: np.ndarray, symbols: np.ndarray | None = None) -> Machine:
    """A machine with these moves; answers do not matter."""
    rows = np.arange(moves.shape[1], dtype=float)[:, None] if symbols is None else symbols
    return Machine(((0, 0),), rows, moves, np.zeros((*moves.shape, 1)), np.ones(moves.shape, int))


def shuffled(moves: np.ndarray, seed: int) -> np.ndarray:
    """The same machine with other names for all states but the start."""
    names = np.append(0, 1 + np.random.default_rng(seed).permutation(len(moves) - 1))
    other = np.empty_like(moves)
    other[names] = names[moves]
    return other


def moves_of(states: int, symbols: int, step: Callable[[int, int], int]) -> np.ndarray:
    return np.array([[step(state, symbol) for symbol in range(symbols)] for state in range(states)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("states", "symbols", "step", "rule"),
    [
        (7, 2, lambda s, x: (2 * s + x) % 7, None),
        (5, 3, lambda s, x: min(max(s + x - 1, 0), 4), "clip(x[t] - 1 + state[t-1], 0, 4)"),
        (6, 4, lambda s, x: (s + x) % 6, "(state[t-1] + x[t]) % 6"),
        (4, 3, lambda s, x: 0 if x == 2 else min(s + x, 3), None),
    ],
)
def test_a_formula_is_found_up_to_the_names_of_the_states(
    states: int, symbols: int, step: Callable[[int, int], int], rule: str | None
):
    machine = machine_of(shuffled(moves_of(states, symbols, step), 1))
    found = short_rules(machine, STATE, (X,))
    assert found
    assert len(set(found[0].numbers.tolist())) == states
    if rule is not None:
        assert rule in [formula(one.rule) for one in found]


@pytest.mark.slow
def test_a_machine_without_a_formula_gets_none():
    moves = np.random.default_rng(0).integers(0, 11, (11, 3))
    assert not short_rules(machine_of(moves), STATE, (X,))


@pytest.mark.slow
def test_symbols_that_do_the_same_are_one_action():
    symbols = np.array([[a, b] for a in range(-4, 5) for b in range(-4, 5)], float)
    odd = (symbols[:, 0] * symbols[:, 1]) % 2
    moves = np.clip(np.arange(3)[:, None] + 2 * odd[None, :] - 1, 0, 2).astype(int)
    machine = Machine(
        ((0, 0), (1, 0)), symbols, moves, np.zeros((*moves.shape, 1)), np.ones(moves.shape, int)
    )
    found = rules_by_actions(machine, STATE, (Var("a"), Var("b")))
    assert found
    assert "% 2" in formula(found[0].rule)


def test_an_action_that_adds_around_a_circle_is_a_remainder():
    x = np.random.default_rng(0).uniform(0, 1, (200, 1))
    moves = (np.arange(4)[:, None] + (x[:, 0] >= 0.4)[None, :]) % 4
    found = rules_by_actions(machine_of(moves, x), STATE, (X,))
    assert found
    assert formula(found[0].rule).endswith("% 4")


def test_states_between_two_ends_are_ordered_by_a_symbol_that_leads_from_one_to_the_other():
    added = np.array([3, 1, -2, 0])
    names = np.array([4, 2, 0, 3, 1, 5])  # the start is in the middle
    places = np.argsort(names)
    moves = names[np.clip(places[:, None] + added[None, :], 0, 5)]
    found = rules_by_actions(machine_of(moves), STATE, (X,))
    assert found
    assert found[0].numbers.tolist() in (places.tolist(), (5 - places).tolist())
