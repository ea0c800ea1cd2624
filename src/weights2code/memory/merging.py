"""States from rows: prefixes after which everything that was seen goes on alike are one state.

AALpy's RPNI does it: a tree of all prefixes is folded, from the start on, wherever nothing contradicts. Where
the prefixes of one sequence are those of another with other outputs, no machine at all is exact.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from weights2code.data import Sequences
from weights2code.memory.machine import NOWHERE, Machine, Read, rows_read

#: Machines with more states than this are given up: they are tables of the rows, or no machines.
MOST_STATES = 64
#: Rows that states are merged from, at most.
MOST_ROWS = 20_000


class _TooMany(Exception):
    """More states than are worth having."""


def merged(sequences: Sequences, reads: tuple[Read, ...]) -> Machine | None:
    """The machine that the sequences, each from its true start, fold into; None if that has too many states
    or none is exact."""
    from aalpy.learning_algs.general_passive.GeneralizedStateMerging import Instrumentation, run_GSM

    class Few(Instrumentation):
        """Ends the search at too many states."""

        def __init__(self) -> None:
            self.states = 0

        def log_promote(self, node: Any) -> None:
            self.states += 1
            if self.states > MOST_STATES:
                raise _TooMany

    sequences = sequences.take(slice(0, max(1, MOST_ROWS // sequences.x.shape[1])))
    rows = rows_read(reads, sequences)
    valid = sequences.valid
    symbols, read = np.unique(rows[valid], axis=0, return_inverse=True)
    outputs, given = np.unique(sequences.y[valid], axis=0, return_inverse=True)
    ends = np.cumsum(sequences.lengths)[:-1]
    pairs = zip(np.split(read.reshape(-1), ends), np.split(given.reshape(-1), ends), strict=True)
    traces = [list(zip(a.tolist(), b.tolist(), strict=True)) for a, b in pairs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run_GSM(
                traces,
                output_behavior="mealy",
                transition_behavior="deterministic",
                data_format="io_traces",
                instrumentation=Few(),
            )
    except (_TooMany, ValueError):  # the latter: two sequences contradict each other
        return None
    return _machine(found, reads, symbols, outputs, sequences)


def _machine(
    found: Any, reads: tuple[Read, ...], symbols: np.ndarray, outputs: np.ndarray, sequences: Sequences
) -> Machine:
    """AALpy's machine as arrays, its states in the order in which a walk from the start comes to them."""
    number = {found.initial_state.state_id: 0}
    order = [found.initial_state]
    for state in order:
        for symbol in sorted(state.transitions):
            after = state.transitions[symbol]
            if after.state_id not in number:
                number[after.state_id] = len(number)
                order.append(after)
    moves = np.full((len(order), len(symbols)), NOWHERE)
    answers = np.zeros((*moves.shape, outputs.shape[1]))
    for place, state in enumerate(order):
        for symbol, after in state.transitions.items():
            moves[place, symbol] = number[after.state_id]
            answers[place, symbol] = outputs[state.output_fun[symbol]]
    bare = Machine(reads, symbols, moves, answers, np.zeros(moves.shape, int))
    return Machine(reads, symbols, moves, answers, times_seen(bare, sequences))


def times_seen(machine: Machine, sequences: Sequences) -> np.ndarray:
    """How many rows show each transition."""
    after, before = machine.run(sequences)
    known = sequences.valid & (after != NOWHERE)
    counts = np.zeros(machine.moves.shape, int)
    np.add.at(counts, (before[known], machine.symbols_of(sequences)[known]), 1)
    return counts
