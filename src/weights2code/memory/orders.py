"""Orders in which the states of a machine may be numbered, where no formula says one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weights2code.memory.machine import NOWHERE, Machine

#: Orders that are tried.
MOST = 4


def orders(machine: Machine) -> list[np.ndarray]:
    """Numbers of the states, each another: as a walk comes to them, by what they answer, and along the way
    that one symbol leads."""
    found: dict[bytes, np.ndarray] = {}
    for numbers in _all(machine):
        if numbers[0] == len(numbers) - 1:
            numbers = numbers[0] - numbers  # the start is 0 where that is as good
        found.setdefault(numbers.tobytes(), numbers)
        if len(found) == MOST:
            break
    return list(found.values())


def _all(machine: Machine) -> Iterator[np.ndarray]:
    count = machine.states
    yield np.arange(count, dtype=float)
    answered = np.where(machine.moves[:, :, None] == NOWHERE, 0.0, machine.answers).reshape(count, -1)
    yield _places(np.lexsort((np.arange(count), *answered.T[::-1])))
    ways = [_way(machine, symbol) for symbol in range(len(machine.symbols))]
    for way in sorted(ways, key=lambda way: -len(way)):
        rest = [state for state in range(count) if state not in way]
        yield _places(np.array([*way, *rest]))


def _way(machine: Machine, symbol: int) -> list[int]:
    """The states that one symbol leads through, from the one that it does not lead to, or the start."""
    ends = np.setdiff1d(np.arange(machine.states), machine.moves[:, symbol])
    first = int(ends[0]) if len(ends) == 1 else 0
    way, state = [first], int(machine.moves[first, symbol])
    while state != NOWHERE and state not in way:
        way.append(state)
        state = int(machine.moves[state, symbol])
    return way


def _places(order: np.ndarray) -> np.ndarray:
    """The number of each state: its place in the order."""
    numbers = np.empty(len(order))
    numbers[order] = np.arange(len(order))
    return numbers
