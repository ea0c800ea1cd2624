"""A finite machine: from a state and what is read at a position to the next state and the outputs there.

State 0 is the start. What is read is one row of `symbols`, the inputs. Rows need not have shown everything: a
transition that was never seen leads nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Sequences

#: Never seen.
NOWHERE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A Mealy machine.

    Parameters
    ----------
    symbols : every symbol, shape (symbols, inputs), no two alike.
    moves : the next state, shape (states, symbols).
    answers : the outputs, shape (states, symbols, outputs); what was never seen says nothing.
    """

    symbols: np.ndarray
    moves: np.ndarray
    answers: np.ndarray

    @property
    def states(self) -> int:
        return len(self.moves)

    @property
    def complete(self) -> bool:
        return bool((self.moves != NOWHERE).all())

    def symbols_of(self, sequences: Sequences) -> np.ndarray:
        """The number of the symbol at each position, shape (sequences, positions); `NOWHERE` if it is new."""
        return positions_in(self.symbols, sequences.x)

    def run(self, sequences: Sequences) -> tuple[np.ndarray, np.ndarray]:
        """The state after each position and the state before it; `NOWHERE` from a new transition on."""
        read = self.symbols_of(sequences)
        after = np.full(read.shape, NOWHERE)
        before = np.full(read.shape, NOWHERE)
        state = np.zeros(len(read), int)
        for t in range(read.shape[1]):
            known = (state != NOWHERE) & (read[:, t] != NOWHERE)
            before[:, t] = state
            state = np.where(known, self.moves[state, read[:, t]], NOWHERE)
            after[:, t] = state
        return after, before

    def wrong(self, sequences: Sequences) -> np.ndarray:
        """Where an answer differs from the target, shape (sequences, positions); what is new is not wrong."""
        after, before = self.run(sequences)
        read = self.symbols_of(sequences)
        known = sequences.scored & (after != NOWHERE)
        answers = self.answers[before, read]
        return known & (answers != sequences.y).any(2)


def positions_in(symbols: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The place of each row (last axis) among the symbols, `NOWHERE` if it is not there."""
    keys = np.zeros(len(symbols), np.int64)
    wanted = np.zeros(rows.shape[:-1], np.int64)
    there = np.ones(rows.shape[:-1], bool)
    for place in range(symbols.shape[1]):
        values, codes = np.unique(symbols[:, place], return_inverse=True)
        asked = np.minimum(np.searchsorted(values, rows[..., place]), len(values) - 1)
        there &= values[asked] == rows[..., place]
        keys, wanted = keys * len(values) + codes, wanted * len(values) + asked
        _, together = np.unique(np.concatenate([keys, wanted.reshape(-1)]), return_inverse=True)
        keys, wanted = together[: len(keys)], together[len(keys) :].reshape(wanted.shape)
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    found = order[place]
    return np.where(there & (keys[found] == wanted), found, NOWHERE)
