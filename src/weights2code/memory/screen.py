"""Whether something must be remembered that no output shows.

Two rows that agree in every visible value, as far back as rows still repeat, and differ in the output are a
first sign, which costs a moment to look for. A machine answers the question for good: states that are told
apart by what was visible in the last few steps are no memory of their own.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.data.sufficiency import LEAST_REPEATS, determines
from weights2code.memory.machine import NOWHERE, Machine
from weights2code.training.ladder import window_of
from weights2code.training.ruled_out import Leaves, leaf_rows, present_values

#: Different symbols at most.
MOST_SYMBOLS = 4096
#: Sequences that are asked.
MOST_SEQUENCES = 2000
#: So many rows are few: most of what is visible comes up once.
FEW_ROWS = 4000
#: What a machine foretells is worth so many times what it takes to write it down, at least.
WORTH = 2.0


def finite(problem: Problem) -> bool:
    """Whether a machine can be asked for at all: few symbols, sequences from their true start."""
    if not problem.whole or problem.training.given.any():
        return False
    return bool(np.prod([float(domain.size) for domain in problem.domains]) <= MOST_SYMBOLS)


def contradictory(problem: Problem, widest: int | None = None) -> bool:
    """Whether rows that agree in everything near differ in the output, in the widest window that repeats, or
    in one of so many steps."""
    sequences = problem.training.take(slice(0, MOST_SEQUENCES))
    now = present_values(problem, past=True)
    found = False
    for offset in range(min(window_of(problem), widest or window_of(problem))):
        near = [(column, lag + back) for back in range(offset + 1) for column, lag in now]
        rows, targets = leaf_rows(near, sequences)
        asked = [determines(rows, target) for target in targets.T] if len(targets) else []
        if not asked or asked[0][1] < LEAST_REPEATS:
            return found
        found = not all(same for same, _ in asked)
        if not found:
            return False
    return found


def seldom_repeats(problem: Problem) -> bool:
    """Whether even rows of the present inputs and the last outputs are seldom the same: where outputs
    have many values hardly any contradict each other."""
    rows, targets = leaf_rows(
        present_values(problem, past=True), problem.training.take(slice(0, MOST_SEQUENCES))
    )
    return len(targets) > 0 and determines(rows, targets[:, 0])[1] < LEAST_REPEATS


def visible_window(machine: Machine) -> int | None:
    """How many steps back what is visible tells the states apart; None if it never does.

    Two states stay a pair as long as the same symbols have the same outputs from both. If pairs can go on
    like that for ever, no window is enough.
    """
    count = machine.states
    one, two = np.triu_indices(count, 1)
    number = np.full((count, count), NOWHERE)
    number[one, two] = number[two, one] = np.arange(len(one))
    same = (machine.answers[one] == machine.answers[two]).all(2)
    after = machine.moves[one], machine.moves[two]
    known = same & (after[0] != NOWHERE) & (after[1] != NOWHERE)
    following = np.where(known, number[after[0], after[1]], NOWHERE)
    alive = np.ones(len(one), bool)
    for steps in range(len(one) + 1):
        if not alive.any():
            return steps
        goes_on = ((following != NOWHERE) & alive[following]).any(1)
        if (goes_on >= alive).all():
            return None
        alive &= goes_on
    return None


def shown_by_output(machine: Machine) -> bool:
    """Whether the outputs of a position tell which state it leads to."""
    known = machine.moves != NOWHERE
    rows = np.column_stack([machine.answers[known], machine.moves[known]])
    return len(np.unique(rows, axis=0)) == len(np.unique(rows[:, :-1], axis=0))


def shown_by(problem: Problem, steps: int) -> int:
    """How many different things are visible in so many steps back."""
    part = problem.training.take(slice(0, MOST_SEQUENCES))
    now = [(column, lag or 1) for column, lag in present_values(problem, past=True)]
    near = [(column, lag + back) for back in range(steps) for column, lag in now]
    if not near:
        return 1
    rows, _ = leaf_rows(near, part)
    return len(np.unique(rows, axis=0))


def shown_by_values(problem: Problem, values: Leaves) -> int:
    """How many different things the past ones of some values show."""
    past = [(column, lag) for column, lag in values if lag]
    if not past:
        return 1
    rows, _ = leaf_rows(past, problem.training.take(slice(0, MOST_SEQUENCES)))
    return len(np.unique(rows, axis=0))


def few_rows(problem: Problem) -> bool:
    """Whether there are so few rows that hardly any agree in all that is visible near them."""
    return int(problem.training.valid.sum()) <= FEW_ROWS


def may_foretell(problem: Problem) -> bool:
    """Whether a machine of the training rows could foretell the others at all: it has as many states, at
    least, as one row of inputs has different outputs."""
    rows, outputs = problem.training.x[problem.training.scored], problem.training.y[problem.training.scored]
    symbols, own = np.unique(rows, axis=0, return_inverse=True)
    pairs = np.unique(np.column_stack([own.ravel(), outputs]), axis=0)
    states = int(np.bincount(pairs[:, 0].astype(int)).max())
    return _told(problem.validation) >= WORTH * _written(states, len(symbols), problem.validation)


def foretells(machine: Machine, sequences: Sequences) -> bool:
    """Whether a machine that was made of others is right about all of these, and that means something: in
    bits, what there was to be told against its own table."""
    after, _ = machine.run(sequences)
    if (after == NOWHERE)[sequences.valid].any() or machine.wrong(sequences).any():
        return False
    states, symbols = machine.moves.shape
    return _told(sequences) >= WORTH * _written(states, symbols, sequences)


def _told(sequences: Sequences) -> float:
    """Bits that there are to be told about the outputs."""
    _, counts = np.unique(sequences.y[sequences.scored], axis=0, return_counts=True)
    return -float((counts * np.log2(counts / counts.sum())).sum())


def _written(states: int, symbols: int, sequences: Sequences) -> float:
    """Bits of a table of moves and answers."""
    answers = len(np.unique(sequences.y[sequences.scored], axis=0))
    return states * symbols * float(np.log2(max(states * answers, 1)))
