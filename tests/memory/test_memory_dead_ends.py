"""What rows leave open leads to where nothing leads away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weights2code.data import Sequences, from_arrays
from weights2code.memory.dead_ends import with_dead_ends
from weights2code.memory.machine import Machine
from weights2code.memory.merging import merged
from weights2code.tasks import get

READS = ((0, 0),)


def rows(x: list[list[int]], y: list[list[int]]) -> Sequences:
    return from_arrays(np.array(x, float)[..., None], np.array(y, float)[..., None])


def of(moves: list[list[int]]) -> Machine:
    """A machine of bits that accepts in its first state alone."""
    answers = (np.array(moves) == 0).astype(float)[..., None]
    return Machine(READS, np.array([[0.0], [1.0]]), np.array(moves), answers, np.zeros((len(moves), 2), int))


def test_an_open_transition_leads_to_the_dead_end_and_a_known_one_stays():
    machine = of([[0, 1], [2, 0], [2, 2]])
    often, seldom = [0, 0, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0]
    data = rows([often] * 60 + [seldom], [[1, 1, 1, 0, 1, 1]] * 60 + [[0] * 6])
    open_one = replace(machine, moves=np.array([[0, 1], [1, 0], [2, 2]]))  # contradicted by the last sequence
    assert with_dead_ends(open_one, data).moves.tolist() == machine.moves.tolist()
    assert with_dead_ends(machine, data).moves.tolist() == machine.moves.tolist()


def test_a_machine_without_one_stays_as_it_is():
    machine = of([[0, 1], [1, 0]])
    data = rows([[0, 1, 1, 0]] * 9, [[1, 0, 1, 1]] * 9)
    assert with_dead_ends(machine, data) is machine


@pytest.mark.slow
def test_brackets_of_two_kinds_are_found_from_few_rows():
    task = get("dyck_2_depth_2")
    data = from_arrays(*task.sample(400, length=12, seed=2))
    fresh = from_arrays(*task.sample(200, length=50, seed=3))
    machine = merged(data, READS, 0.0)
    assert machine is not None
    assert machine.states == 8
    assert machine.wrong(fresh).any()
    found = with_dead_ends(machine, data)
    assert not found.wrong(data).any()
    assert not found.wrong(fresh).any()
