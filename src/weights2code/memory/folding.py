"""From rows to the machine that they fold into, if there is one of a sensible size."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.memory.dead_ends import with_dead_ends
from weights2code.memory.machine import Machine, Read
from weights2code.memory.merging import MOST_ROWS, MOST_STATES, contradicts_itself, merged
from weights2code.memory.smallest import smallest

#: Different symbols at most, and those that few rows may be folded for by evidence.
MOST_SYMBOLS, MOST_FORETOLD = 4096, 64
#: So many rows are few: most of what is visible comes up once.
FEW_ROWS = 4000
#: Fewer sequences than this hardly begin alike: they are followed and not merged.
FEW_SEQUENCES = 20
#: Shares of the labels that may be mistakes.
SHARES = (0.02, 0.05, 0.1)
#: How often rows are folded anew with those first that a machine is wrong on.
REFOLDED = 6
#: States of a machine that the most evidence may make less of: none has fewer than two, and with many it
#: takes long and gives none.
EVIDENT = range(3, MOST_STATES // 2 + 1)


def machine_of(problem: Problem) -> Machine | None:
    """The machine of the rows; None if there is none of a sensible size."""
    if not problem.whole or problem.training.given.any():
        return None  # a machine has few symbols, and begins where sequences begin
    if np.prod([float(domain.size) for domain in problem.domains]) > MOST_SYMBOLS:
        return None
    machine = _folded(problem)
    return machine if machine is not None and 2 <= machine.states <= MOST_STATES else None


def _folded(problem: Problem) -> Machine | None:
    """The machine of the rows; those to judge by are folded in too if it is wrong on them. Then, where there
    are no more of them, or of few rows, it is asked too what the most evidence gives, if that is less.

    If rows contradict each other outright some are taken for mistakes, as few as give a machine.
    """
    reads: tuple[Read, ...] = tuple((column, 0) for column in range(len(problem.inputs)))
    if len(problem.training) < FEW_SEQUENCES:
        machine = smallest(problem.training, reads)
        if machine is not None:
            return machine
    one, two = problem.training, problem.validation
    rows = one if one is two else one.beside(two)  # a few long sequences serve both
    if not contradicts_itself(one):
        machine = merged(one, reads)
        wrong = machine is not None and machine.wrong(rows).any()
        if machine is None or wrong:
            known = merged(one, reads, alike=True)
            if known is not None and (machine is None or not known.wrong(rows).any()):
                machine, wrong = known, known.wrong(rows).any()
        if machine is not None and wrong:
            machine = _refolded(machine, rows)
        few = one.valid.sum() <= FEW_ROWS or (wrong and rows.valid.sum() <= MOST_ROWS)
        if machine is not None and few and machine.states in EVIDENT and _few_symbols(one):
            evident = merged(rows, reads, 0.0)
            if evident is not None and evident.states < machine.states:
                machine = evident
        return with_dead_ends(machine, rows) if machine is not None and few else machine
    for share in SHARES:
        machine = merged(rows, reads, share)
        if machine is not None and machine.wrong(one).mean() <= share:
            return with_dead_ends(machine, rows)
    return None


def _refolded(machine: Machine, sequences: Sequences) -> Machine | None:
    """The machine of sequences on which another is wrong, and of as many others as there is room for; more
    than once if it takes that."""
    found: Machine | None = machine
    for _ in range(REFOLDED):
        wrong = found.wrong(sequences).any(1) if found is not None else np.zeros(1, bool)
        if not wrong.any():
            break
        sequences = sequences.take(np.argsort(~wrong, kind="stable"))
        found = merged(sequences, machine.reads)
    return found


def _few_symbols(sequences: Sequences) -> bool:
    """Of many different inputs few rows say little, and folding them by evidence takes long."""
    return len(np.unique(sequences.x[sequences.valid], axis=0)) <= MOST_FORETOLD
