"""A specification as a plain function: `step(state, row) -> (state, output)`, a call a position.

What it keeps may be any value. Where that is finitely many for all rows of whole numbers, the function is
walked through once and for all: every row in every state that can be reached. The table that this gives is
the function, so a program can be proved equal to it; without an end it is asked, and programs are tested.

States are told apart by type and value, all the way down, so that two states are taken for one only if no
plain function could tell them apart. The function must answer the same to the same state and row, and nothing
that it does to the state it is given is seen by anybody else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, Protocol, runtime_checkable

import numpy as np

from weights2code.errors import InputError
from weights2code.language import Domain, uniform
from weights2code.language.domain import EXACT

#: (state, row) -> (state, output): the row by the names of its columns, the output a number or a tuple.
Step = Callable[[Any, Any], tuple[Any, Any]]

#: States and calls that a walk takes at most.
MOST_STATES = 20_000
MOST_CALLS = 300_000
#: Sequences that a function is tried on when a task is declared, and their length.
TRIED, TRIED_LENGTH = 3, 7
#: Values that nothing can change: they need no copy.
_FIXED = (int, float, complex, str, bytes, bool, type(None), np.generic, frozenset)


@runtime_checkable
class Reference(Protocol):
    """What specifies a task, as a search sees it: it gives the outputs of any inputs, and nothing else is
    read from it. Only `verify` asks what it is, to prove a program that was found without that."""

    def run(self, x: Any, /) -> np.ndarray:
        """All outputs, shape (n, T, outputs), for inputs of shape (n, T, inputs)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Every state that a function reaches, as a number from 0, the start, on.

    `moves` is the next state, shape (states, rows), and `answers` the outputs, shape (states, rows, outputs).
    """

    rows: np.ndarray
    moves: np.ndarray
    answers: np.ndarray


class StepFunction:
    """A plain function as the machine that specifies a task; it answers as a recurrence does.

    Parameters
    ----------
    inputs, outputs
        Names of columns and of what comes out.
    start, step
        The state before the first position, and the function.
    domains
        What each column may hold: rows have `int` for whole numbers and `float` for reals.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        start: Any,
        step: Step,
        domains: Sequence[Domain],
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.start, self.step, self.domains = start, step, tuple(domains)
        self._whole = tuple(domain.discrete for domain in domains)
        self._walked: list[Walk | None] = []

    def run(self, x: Any) -> np.ndarray:
        """All outputs, shape (n, T, outputs), for inputs of shape (n, T, inputs)."""
        x = np.asarray(x, dtype=float)
        walk = self.walk() if x.size > len(self.inputs) else None
        return self.called(x) if walk is None else self._looked_up(x, walk)

    def called(self, x: np.ndarray) -> np.ndarray:
        """All outputs, by calling it at every position."""
        count, length, _ = x.shape
        y = np.empty((count, length, len(self.outputs)))
        for i in range(count):
            state = _copied(self.start)
            for t in range(length):
                state, y[i, t] = self.answer(state, x[i, t])
        return y

    def answer(self, state: Any, row: np.ndarray) -> tuple[Any, tuple[float, ...]]:
        """One call: the next state, and the outputs as numbers; what is neither is one clear sentence."""
        values = {
            name: int(value) if whole and value == round(value) else value
            for name, value, whole in zip(self.inputs, row.tolist(), self._whole, strict=True)
        }
        shown = f"state {_shown(state)} and row {values}"
        try:
            result = self.step(state, values)
        except Exception as error:
            what = f"{type(error).__name__}{f': {error}' if str(error) else ''}"
            raise InputError(f"the step function raises {what.rstrip('.')}, for {shown}.") from None
        if not isinstance(result, tuple) or len(result) != 2:
            raise InputError(
                f"the step function must return (state, output), but returned {_shown(result)}, for {shown}."
            )
        after, output = result
        return after, self._numbers(output, shown)

    def _numbers(self, output: Any, shown: str) -> tuple[float, ...]:
        given = outputs_of(output)
        if len(given) != len(self.outputs):
            raise InputError(
                f"the step function must return {len(self.outputs)} outputs as at the first position, "
                f"but returned {len(given)}, for {shown}."
            )
        return tuple(_number(value, shown) for value in given)

    def check(self, length: int) -> None:
        """Refuse a function that answers differently when it is asked again; errors show here too."""
        rng = np.random.default_rng(0)
        for count, steps in ((TRIED, TRIED_LENGTH), (1, length | 1)):
            x = uniform(rng, self.domains, count, steps)
            again = self.called(x[::-1])[::-1]  # in another order, and after an odd number of calls
            if not np.array_equal(again, self.called(x)):
                raise InputError(
                    "the step function gives different outputs when it is asked again; keep everything that "
                    "it remembers in the state, and draw no random numbers."
                )

    def walk(self) -> Walk | None:
        """Everything that can happen, if the rows are whole numbers and the states have an end."""
        if not self._walked:
            count = 1
            for domain in self.domains:
                count *= domain.size if domain.discrete else MOST_CALLS + 1
            self._walked.append(self._walk_over(_all_rows(self.domains)) if count <= MOST_CALLS else None)
        return self._walked[0]

    def _walk_over(self, rows: np.ndarray) -> Walk | None:
        """Every state that these rows lead to; None if there is no end to them."""
        states, numbers = [_copied(self.start)], {_key(self.start): 0}
        moves: list[list[int]] = []
        answers: list[list[tuple[float, ...]]] = []
        for state in states:  # grows on the way
            if len(states) > MOST_STATES or len(states) * len(rows) > MOST_CALLS:
                return None
            move, answer = [], []
            for row in rows:
                after, output = self.answer(_copied(state), row)
                key = _key(after)
                if key not in numbers:
                    numbers[key] = len(states)
                    states.append(_copied(after))
                move.append(numbers[key])
                answer.append(output)
            moves.append(move)
            answers.append(answer)
        return Walk(rows, np.array(moves), np.array(answers))

    def _looked_up(self, x: np.ndarray, walk: Walk) -> np.ndarray:
        place = np.zeros(x.shape[:2], np.int64)
        inside = np.ones(x.shape[:2], bool)
        for i, domain in enumerate(self.domains):
            column = x[:, :, i]
            inside &= (column >= domain.low) & (column <= domain.high) & (column == np.round(column))
            place = place * domain.size + np.where(inside, column - domain.low, 0).astype(np.int64)
        if not inside.all():
            return self.called(x)
        y = np.empty((*x.shape[:2], len(self.outputs)))
        state = np.zeros(len(x), np.int64)
        for t in range(x.shape[1]):
            y[:, t] = walk.answers[state, place[:, t]]
            state = walk.moves[state, place[:, t]]
        return y


def outputs_of(output: Any) -> tuple[Any, ...]:
    """What a function returned, as several outputs."""
    return tuple(output) if isinstance(output, (tuple, list, np.ndarray)) and np.ndim(output) else (output,)


def _number(value: Any, shown: str) -> float:
    """A finite number; whole ones that float64 cannot hold are infinite, so that nobody is judged by them."""
    if isinstance(value, (bool, np.bool_)):
        return float(value)
    try:
        whole = isinstance(value, (int, np.integer))
        number = float(value) if not whole or abs(int(value)) <= EXACT else float("inf")
        plain = not isinstance(value, (str, bytes)) and (isfinite(number) or whole)
    except (TypeError, ValueError, OverflowError):
        plain, number = False, 0.0
    if not plain:
        raise InputError(
            f"the step function must return finite numbers, but returned {_shown(value)}, for {shown}."
        )
    return number


def _all_rows(domains: Sequence[Domain]) -> np.ndarray:
    grids = np.meshgrid(*(domain.values() for domain in domains), indexing="ij")
    return np.stack([grid.reshape(-1) for grid in grids], -1).astype(float)


def _copied(state: Any) -> Any:
    """A state that nobody else holds."""
    if isinstance(state, _FIXED) or (isinstance(state, tuple) and all(isinstance(v, _FIXED) for v in state)):
        return state
    try:
        return deepcopy(state)
    except Exception as error:
        raise InputError(
            f"the state {_shown(state)} cannot be copied ({type(error).__name__}); keep numbers, texts, "
            "tuples, lists or dictionaries in it."
        ) from None


def _key(state: Any) -> Any:
    """Equal for states that are the same in type and value."""
    if isinstance(state, (float, complex, Decimal, np.inexact)):  # 0.0 and -0.0, 1.0 and 1.00 are two
        return type(state), repr(state)
    if isinstance(state, (tuple, list)):
        return type(state), tuple(_key(value) for value in state)
    if isinstance(state, dict):  # its order can be seen, so it counts
        return type(state), tuple((_key(name), _key(value)) for name, value in state.items())
    if isinstance(state, (set, frozenset)):
        return type(state), frozenset(_key(value) for value in state)
    if isinstance(state, np.ndarray):
        return state.dtype.str, state.shape, state.tobytes()
    if is_dataclass(state) and not isinstance(state, type):
        return type(state), tuple(_key(getattr(state, field.name)) for field in fields(state))
    try:
        hash(state)
    except TypeError:
        return object()  # what cannot be compared is always new
    return type(state), state


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]}..."
