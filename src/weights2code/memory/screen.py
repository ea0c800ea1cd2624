"""Whether something must be remembered that no output shows, asked of the rows before anything is trained.

Rows that agree in every visible value, as far back as rows still repeat, and differ in the output show it;
so does no small set of values further back, nor how often each value came up, determine the output. It takes
a moment, and problems that visible values determine are left alone.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.data.sufficiency import LEAST_REPEATS, determines
from weights2code.training.focus import sufficient
from weights2code.training.ladder import window_of
from weights2code.training.ruled_out import counted, leaf_rows, present_values

#: Different symbols at most; beyond that rows hardly repeat.
MOST_SYMBOLS = 4096
#: Sequences that are asked.
MOST_SEQUENCES = 2000


def remembers(problem: Problem) -> bool:
    """Whether the rows show that visible values do not determine the output."""
    if not problem.whole or problem.training.given.any():
        return False
    if np.prod([float(domain.size) for domain in problem.domains]) > MOST_SYMBOLS:
        return False
    sequences = problem.training.take(slice(0, MOST_SEQUENCES))
    if not contradictory(problem, sequences):
        return False
    rows, targets = counted(present_values(problem, past=True), sequences)
    if len(targets) and all(determines(rows, target)[0] for target in targets.T):
        return False
    return sufficient(problem) is None


def contradictory(problem: Problem, sequences: Sequences) -> bool:
    """Whether rows that agree in everything near differ in the output, in the widest window that repeats."""
    now = present_values(problem, past=True)
    found = False
    for offset in range(window_of(problem)):
        near = [(column, lag + back) for back in range(offset + 1) for column, lag in now]
        rows, targets = leaf_rows(near, sequences)
        asked = [determines(rows, target) for target in targets.T] if len(targets) else []
        if not asked or asked[0][1] < LEAST_REPEATS:
            return found
        found = not all(same for same, _ in asked)
        if not found:
            return False
    return found
