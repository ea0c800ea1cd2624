"""An output that comes some steps late: at the first positions it is always the same.

What it is then made of lies that many steps back, farther than memories are looked for. So the outputs are
moved to where they were made, memories are asked of that, and what is found lies so many steps further back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.training.remembered import Remembered

#: The steps that an output comes late: fewer are looked at anyway, and a sequence must show more than them.
FEWEST, SHARE = 2, 3


def delay_of(problem: Problem) -> int:
    """How many positions at the start have one output, in all training sequences."""
    y, valid = problem.training.y, problem.training.valid
    same = np.all((y == y[:1, :1]) | ~valid[..., None], axis=(0, 2))
    return int(np.argmin(same)) if not same.all() else 0


def delayed(problem: Problem, ask: Callable[[Problem], Iterator[Remembered]]) -> Iterator[Remembered]:
    """What is asked of a problem, asked of one whose output comes at once; or a step later, since the first
    that is made may always be the same too."""
    late = delay_of(problem)
    if problem.training.given.any() or not FEWEST <= late <= problem.length // SHARE:
        return
    for steps in (late, late - 1):
        some = False
        for found in ask(_at_once(problem, steps)):
            if all(memory.of_inputs(len(problem.inputs)) for memory in found.memories):
                some = True
                yield _further_back(found, steps, len(problem.inputs) + len(found.memories))
        if some:
            return


def _at_once(problem: Problem, late: int) -> Problem:
    training, validation = (
        Sequences(part.x[:, :-late], part.y[:, late:], np.maximum(part.lengths - late, 0))
        for part in (problem.training, problem.validation)
    )
    return replace(problem, training=training, validation=validation, length=problem.length - late)


def _further_back(found: Remembered, steps: int, first_output: int) -> Remembered:
    leaves = tuple((column, lag + steps * (column < first_output)) for column, lag in found.leaves)
    return replace(found, leaves=leaves)
