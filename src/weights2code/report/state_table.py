"""What a program remembers, as a table: from each state, by what is read, the next one and the outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Problem
from weights2code.language import Recurrence
from weights2code.views.hidden import States

#: States and symbols of a table that is shown, at most.
MOST_STATES, MOST_SYMBOLS = 32, 12


@dataclass(frozen=True, slots=True, eq=False)
class StateTable:
    """The states that sequences come through: `moves[state, symbol]` is the next one, -1 if none was seen."""

    names: tuple[str, ...]
    states: np.ndarray
    symbols: np.ndarray
    moves: np.ndarray
    answers: np.ndarray

    @property
    def small(self) -> bool:
        return len(self.states) <= MOST_STATES and len(self.symbols) <= MOST_SYMBOLS


def state_table(program: Recurrence, problem: Problem) -> StateTable | None:
    """The table of what a program remembers that no output shows; None if that is nothing, or no table."""
    states = States.of(program)
    part = problem.validation
    starts = [program.start_of(name) for name in states.names] if states else []
    if states is None or not problem.whole or not all(isinstance(start, int | float) for start in starts):
        return None
    trace = program.trace(part.x)
    after = np.stack([trace[name] for name in states.names], 2)
    before = np.concatenate([np.broadcast_to(np.array(starts, float), after[:, :1].shape), after[:, :-1]], 1)
    valid = part.valid
    known, codes = np.unique(np.concatenate([before[valid], after[valid]]), axis=0, return_inverse=True)
    symbols, read = np.unique(part.x[valid], axis=0, return_inverse=True)
    one, two = codes.reshape(2, -1)
    first = np.flatnonzero((known == np.array(starts, float)).all(1))[0]
    order = np.argsort(np.arange(len(known)) != first, kind="stable")  # the start is the first
    place = np.argsort(order)
    moves = np.full((len(known), len(symbols)), -1)
    answers = np.zeros((*moves.shape, part.y.shape[2]))
    outputs = np.stack([trace[name] for name in program.outputs], 2)[valid]
    moves[place[one], read.reshape(-1)] = place[two]
    answers[place[one], read.reshape(-1)] = outputs
    return StateTable(states.names, known[order], symbols, moves, answers)
