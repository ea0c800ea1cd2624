"""A plain function as one side of a claim: it is called, row by row, and its states are told apart by
value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from weights2code.kernel.closing import Unsuited
from weights2code.language import Domain, Recurrence
from weights2code.tasks.step_function import StepFunction, plain_state


@dataclass(frozen=True, slots=True)
class _State:
    key: Any
    value: Any = field(compare=False)


@dataclass(frozen=True)
class Called:
    """A step function; what it answers is what is right."""

    function: StepFunction

    def closing(self) -> Called:
        return self

    def recurrence(self, domains: tuple[Domain, ...]) -> Recurrence:
        raise Unsuited("a plain function has no formulas")

    def start(self, row: Sequence[Any]) -> _State:
        return _state(self.function.start)

    def step(self, state: _State, row: Sequence[Any]) -> tuple[tuple[float, ...], _State]:
        """One call, on a copy that nobody else holds."""
        after, answers = self.function.answer(plain_state(state.value)[0], np.array(row, dtype=float))
        if not all(isfinite(answer) for answer in answers):
            raise Unsuited("the step function answers with numbers beyond float64")
        return answers, _state(after)


def _state(value: Any) -> _State:
    kept, key = plain_state(value)
    return _State(key, kept)
