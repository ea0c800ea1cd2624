"""The smallest machine of long sequences: one trace that goes through every state many times.

Merging prefixes needs many sequences that begin alike. One long sequence is a single path, but it comes back
to its states again and again: so it is followed, and where it takes a transition for the first time the next
state is guessed, one of those so far or a new one. A guess that is wrong contradicts an output soon after,
and the next one is tried. With few states at first, and then more, the first machine that agrees with
everything is the smallest (Biermann and Feldman).
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Sequences
from weights2code.effort import charge, time_is_up
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.memory.merging import answered

#: States of a machine, at most, and rows that are followed in all while it is looked for.
MOST_STATES = 24
MOST_STEPS = 4_000_000
#: Rows between two looks at the clock.
PAUSE = 100_000
#: A step, in seconds of a usual machine.
STEP = 1.5e-7


def smallest(sequences: Sequences) -> Machine | None:
    """The machine with the fewest states that agrees with all sequences, each from its true start; None if
    it was not found in so many steps."""
    valid = sequences.valid
    symbols, read = np.unique(sequences.x[valid], axis=0, return_inverse=True)
    labels = np.unique(sequences.y[valid], axis=0, return_inverse=True)[1]
    first = np.zeros(len(labels), bool)
    first[np.cumsum(sequences.lengths)[:-1]] = True
    trace = read.reshape(-1).tolist(), labels.reshape(-1).tolist(), first.tolist()
    steps = MOST_STEPS
    for states in range(2, MOST_STATES + 1):
        moves, steps = _followed(*trace, states, len(symbols), steps)
        if moves is not None:
            return answered(symbols, np.array(moves), sequences)
        if steps <= 0 or time_is_up():
            break
    return None


def _followed(
    read: list[int], labels: list[int], first: list[bool], states: int, symbols: int, steps: int
) -> tuple[list[list[int]] | None, int]:
    """The moves of a machine of at most so many states, if there is one, and the steps that are left."""
    moves = [[NOWHERE] * symbols for _ in range(states)]
    answers = [[NOWHERE] * symbols for _ in range(states)]
    # where a transition was guessed: the position, the state before, and how many states there were
    guesses: list[tuple[int, int, int]] = []
    position, state, used, count = 0, 0, 1, len(read)
    pause = steps - PAUSE
    while position < count:
        steps -= 1
        if steps <= pause:
            pause -= PAUSE
            charge(STEP * PAUSE)
            if steps <= 0 or time_is_up():
                return None, 0
        if first[position]:
            state = 0
        symbol = read[position]
        after = moves[state][symbol]
        if after == NOWHERE:
            guesses.append((position, state, used))
            moves[state][symbol], answers[state][symbol] = 0, labels[position]
            state, position = 0, position + 1
            continue
        if answers[state][symbol] == labels[position]:
            state, position = after, position + 1
            continue
        while guesses:  # the last guess that can be another one
            position, state, used = guesses[-1]
            symbol = read[position]
            after = moves[state][symbol] + 1
            if after <= used and after < states:
                moves[state][symbol] = after
                used = max(used, after + 1)
                state, position = after, position + 1
                break
            moves[state][symbol] = answers[state][symbol] = NOWHERE
            guesses.pop()
        else:
            return None, steps
    return moves, steps
