"""Transitions that rows leave open lead to where nothing ever leads away, if they may.

A machine that rejects what it has read once stays there: of brackets that do not match there is no way back.
Rows that come there are soon rare, and merging takes the first state that they do not contradict. So a
transition that few rows show leads to such a dead end if all rows are as right with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weights2code.data import Sequences
from weights2code.memory.machine import Machine
from weights2code.memory.merging import times_seen

#: Transitions that are asked at most, and rows that show one, at most, as a share of all.
MOST_ASKED, SELDOM = 200, 0.02


def with_dead_ends(machine: Machine, sequences: Sequences) -> Machine:
    """The machine with what rows leave open led to its dead end; itself if it has none."""
    states = np.arange(machine.states)
    ends = np.flatnonzero((machine.moves == states[:, None]).all(1))
    if not len(ends):
        return machine
    seen = times_seen(machine, sequences)
    end = int(ends[seen[ends].sum(1).argmax()])
    read = machine.symbols_of(sequences)
    asked = np.argwhere((machine.moves != end) & (seen > 0) & (seen <= SELDOM * seen.sum()))
    for state, symbol in sorted(asked.tolist(), key=lambda place: seen[tuple(place)])[:MOST_ASKED]:
        _, before = machine.run(sequences)
        part = sequences.take(((before == state) & (read == symbol)).any(1))
        moves = machine.moves.copy()
        moves[state, symbol] = end
        other = replace(machine, moves=moves)
        if other.wrong(part).sum() <= machine.wrong(part).sum():
            machine = other
    return machine
