"""From a problem to what it remembers: screen, machine, numbering."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.memory.hidden import Memory
from weights2code.memory.machine import Machine, Read
from weights2code.memory.merging import merged
from weights2code.memory.screen import remembers


def memory_of(problem: Problem) -> Memory | None:
    """What a problem remembers that no output shows; None if visible values will do, or nothing finite."""
    if problem.original is not None or not remembers(problem):
        return None
    machine = _machine_of(problem)
    if machine is None or machine.states < 2:
        return None
    return Memory(machine, (free_name(problem, "state"),), np.arange(machine.states, dtype=float)[:, None])


def _machine_of(problem: Problem) -> Machine | None:
    reads: tuple[Read, ...] = tuple((column, 0) for column in range(len(problem.inputs)))
    machine = merged(problem.training, reads)
    if machine is not None and machine.wrong(problem.validation).any():
        machine = merged(both(problem), reads)
    return machine


def both(problem: Problem) -> Sequences:
    """Everything that may be learned from and judged by."""
    one, two = problem.training, problem.validation
    length = max(one.x.shape[1], two.x.shape[1])

    def padded(values: np.ndarray) -> np.ndarray:
        return np.pad(values, ((0, 0), (0, length - values.shape[1]), (0, 0)))

    return Sequences(
        np.concatenate([padded(one.x), padded(two.x)]),
        np.concatenate([padded(one.y), padded(two.y)]),
        np.concatenate([one.lengths, two.lengths]),
    )


def free_name(problem: Problem, name: str) -> str:
    """The name, with underscores after it while it is taken."""
    taken = {*problem.inputs, *problem.outputs}
    if problem.reference is not None:
        taken |= {step.name for step in problem.reference.steps}
    while name in taken:
        name += "_"
    return name
