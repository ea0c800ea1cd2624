"""A machine beside visible values: what they show need not be in its state.

A rule may look at an earlier input or at its last output and remember one bit besides. As a machine of the
inputs alone that is a product of both, with many states. If the earlier value is read together with the
inputs, most states can be told apart by it, and those that nothing else tells apart become one: states are
folded as long as no transition that can occur contradicts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from weights2code.effort import time_is_up
from weights2code.memory.machine import NOWHERE, Machine, Read

#: States and symbols of a machine, with what is visible, that are folded at most.
MOST_STATES = 256
MOST_CELLS = 400_000
#: Symbols of machines that may read two values more.
FEW_SYMBOLS = 64
#: How far back a value may lie, and how many are read beside the inputs.
FARTHEST, MOST_READ = 2, 2


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """A machine that reads visible values too.

    Of its states only those that are `apart` (state, state) must be told apart beside what is visible;
    `count` states are left if the others are made one.
    """

    machine: Machine
    apart: np.ndarray
    count: int

    def folded(self) -> Machine:
        """The machine with states made one that need not be told apart."""
        moves, answers = folded(self.machine.moves, self.machine.answers)
        seen = (moves != NOWHERE).astype(int)
        return Machine(self.machine.reads, self.machine.symbols, moves, answers, seen)

    def with_numbers(self, numbers: np.ndarray) -> tuple[Machine, np.ndarray]:
        """The machine whose states are these numbers, and the number of each, the start first."""
        kept, first, which = np.unique(numbers, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.argsort(order)[which.reshape(-1)]
        moves, answers = self.machine.moves, self.machine.answers
        new_moves = np.full((len(kept), moves.shape[1]), NOWHERE)
        new_answers = np.zeros((len(kept), *answers.shape[1:]))
        for state, row in enumerate(place):
            known = moves[state] != NOWHERE
            new_moves[row, known] = place[moves[state, known]]
            new_answers[row, known] = answers[state, known]
        seen = (new_moves != NOWHERE).astype(int)
        machine = Machine(self.machine.reads, self.machine.symbols, new_moves, new_answers, seen)
        return machine, kept[order]


def beside_visible(machine: Machine, inputs: int) -> list[Beside]:
    """Machines that can do with half the states, since they read one or two visible values more; fewest
    states first.

    The machine reads the inputs of the present, in order, and nothing else.
    """
    outputs = machine.answers.shape[2]
    values: list[Read] = [(column, 1) for column in range(inputs + outputs)]
    values += [(column, lag) for lag in range(2, FARTHEST + 1) for column in range(inputs)]
    found: list[Beside] = []
    few = len(machine.symbols) <= FEW_SYMBOLS
    for count in range(1, MOST_READ + 1 if few else 2) if machine.states > 3 else ():
        for chosen in combinations(values, count):
            if time_is_up() or machine.states > MOST_STATES:
                break
            smaller = _reading(machine, inputs, chosen)
            if smaller is not None and 1 < smaller.count <= machine.states // 2:
                found.append(smaller)
        if found:
            break
    return sorted(found, key=lambda one: (one.count, len(one.machine.symbols)))


def _reading(machine: Machine, inputs: int, chosen: tuple[Read, ...]) -> Beside | None:
    """The machine that reads these values too."""
    seen = _contexts(machine, inputs, chosen)
    if seen is None:
        return None
    contexts = sorted({context for _, context in seen})
    place = {context: index for index, context in enumerate(contexts)}
    symbols = len(machine.symbols)
    shape = (machine.states, len(contexts) * symbols)
    moves = np.full(shape, NOWHERE)
    answers = np.zeros((*shape, machine.answers.shape[2]))
    for state, context in seen:
        where = slice(place[context] * symbols, (place[context] + 1) * symbols)
        moves[state, where], answers[state, where] = machine.moves[state], machine.answers[state]
    rows = np.hstack(
        [np.tile(machine.symbols, (len(contexts), 1)), np.repeat(np.array(contexts), symbols, 0)]
    )
    used = (moves != NOWHERE).any(0)
    moves, answers = moves[:, used], answers[:, used]
    count = len(folded(moves, answers)[0])
    reading = Machine((*machine.reads, *chosen), rows[used], moves, answers, (moves != NOWHERE).astype(int))
    return Beside(reading, _apart(moves, answers), count)


def _apart(moves: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Which states something that can be read in both tells apart, now or later."""
    count = len(moves)
    one, two = np.triu_indices(count, 1)
    both = (moves[one] != NOWHERE) & (moves[two] != NOWHERE)
    apart = np.zeros((count, count), bool)
    different = (both & (answers[one] != answers[two]).any(2)).any(1)
    while True:
        apart[one[different], two[different]] = apart[two[different], one[different]] = True
        further = different | (both & apart[moves[one], moves[two]]).any(1)
        if (further == different).all():
            return apart
        different = further


def _contexts(
    machine: Machine, inputs: int, chosen: tuple[Read, ...]
) -> set[tuple[int, tuple[float, ...]]] | None:
    """Every state with what may be visible in it; None if that is too much."""
    length = {column: max(lag for other, lag in chosen if other == column) for column, _ in chosen}
    columns = sorted(length)
    start = tuple((0.0,) * length[column] for column in columns)
    waiting, known = deque([(0, start)]), {(0, start)}
    while waiting:
        state, past = waiting.popleft()
        now = [
            machine.symbols[:, column] if column < inputs else machine.answers[state, :, column - inputs]
            for column in columns
        ]
        new = np.unique(np.column_stack([machine.moves[state], *now]), axis=0)
        for after, *values in new.tolist():
            if after == NOWHERE:
                continue
            shifted = tuple((value, *old[:-1]) for value, old in zip(values, past, strict=True))
            if (int(after), shifted) not in known:
                known.add((int(after), shifted))
                waiting.append((int(after), shifted))
        if len(known) * len(machine.symbols) > MOST_CELLS:
            return None
    read = [(columns.index(column), lag - 1) for column, lag in chosen]
    return {(state, tuple(past[place][back] for place, back in read)) for state, past in known}


def folded(moves: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The machine with states made one, from the start on, wherever no transition contradicts."""
    moves, answers = moves.copy(), answers.copy()
    leader = np.arange(len(moves))  # of each state the one that it was made one with
    kept = [0]
    for state in range(1, len(moves)):
        if leader[state] != state:
            continue
        for other in kept:
            merged = _merged(moves, answers, leader, other, state)
            if merged is not None:
                moves, answers, leader = merged
                break
        else:
            kept.append(state)
    kept = [state for state in kept if leader[state] == state]
    number = np.full(len(moves) + 1, NOWHERE)
    number[kept] = np.arange(len(kept))
    targets = np.where(moves[kept] == NOWHERE, NOWHERE, leader[moves[kept]])
    return np.where(targets == NOWHERE, NOWHERE, number[targets]), answers[kept]


def _merged(
    moves: np.ndarray, answers: np.ndarray, leader: np.ndarray, one: int, two: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Everything after two states were made one, and those that they lead to; None if that contradicts."""
    moves, answers, leader = moves.copy(), answers.copy(), leader.copy()
    waiting = [(one, two)]
    while waiting:
        a, b = sorted(int(leader[state]) for state in waiting.pop())
        if a == b:
            continue
        both = (moves[a] != NOWHERE) & (moves[b] != NOWHERE)
        if (answers[a, both] != answers[b, both]).any():
            return None
        waiting += list(zip(moves[a, both].tolist(), moves[b, both].tolist(), strict=True))
        only = (moves[a] == NOWHERE) & (moves[b] != NOWHERE)
        moves[a, only], answers[a, only] = moves[b, only], answers[b, only]
        leader[leader == b] = a
    return moves, answers, leader
