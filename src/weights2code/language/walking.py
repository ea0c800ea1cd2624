"""Every state that a machine comes to, whatever it reads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Walked:
    """States in the order in which they turn up, the start first; from each, by each row, the number of the
    next one, and the answer."""

    states: list[Any]
    moves: list[list[int]]
    answers: list[list[Any]]


def walked(
    start: Any,
    step: Callable[[Any, Any], tuple[Any, Any]],
    rows: Sequence[Any],
    most_states: float,
    most_steps: float = inf,
    key: Callable[[Any], Hashable] = lambda state: state,
) -> Walked | None:
    """All of them, by `step(state, row) -> (state, answer)`; None if they are more, or take more steps.

    States are the same if their keys are.
    """
    found = Walked([start], [], [])
    numbers = {key(start): 0}
    for state in found.states:  # grows on the way
        if len(found.states) > most_states or len(found.states) * len(rows) > most_steps:
            return None
        steps = [step(state, row) for row in rows]
        for after, _ in steps:
            if numbers.setdefault(key(after), len(found.states)) == len(found.states):
                found.states.append(after)
        found.moves.append([numbers[key(after)] for after, _ in steps])
        found.answers.append([answer for _, answer in steps])
    return found
