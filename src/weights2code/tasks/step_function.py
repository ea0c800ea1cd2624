"""A specification as a plain function: `step(state, row) -> (state, output)`, a call a position.

Where what it keeps is finitely many values for all rows of whole numbers, the function is walked through once
and for all: every row in every state that can be reached. The table that this gives is the function, so a
program can be proved equal to it; without an end it is asked, and programs are tested.

Two states may be taken for one only if no function can tell them apart. So states are numbers, texts, truth
values, None, and tuples, lists and dictionaries of them: type and value of each part, in order, are all that
can be seen of these. A set shows in which order it was filled, an object may carry anything, and of
a list that stands in two places a change shows in both: such states are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite, isnan
from operator import itemgetter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from weights2code.errors import InputError
from weights2code.language import Domain, uniform
from weights2code.language.domain import EXACT
from weights2code.language.walking import walked

#: (state, row) -> (state, output): the row by the names of its columns, the output a number or a tuple.
Step = Callable[[Any, Any], tuple[Any, Any]]

#: States and calls that a walk takes at most.
MOST_STATES = 20_000
MOST_CALLS = 300_000
#: Sequences that a function is tried on when a task is declared, and their length.
TRIED, TRIED_LENGTH = 3, 7
#: What else a state may hold, as it is told to whoever gave another one.
_ALLOWED = "keep numbers, texts, truth values, None, and tuples, lists or dictionaries of them in it"


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

    #: What nobody can check of a plain function, and every proof about one rests on.
    assumes = "that the step function answers the same to the same state and row, and looks at nothing else"

    def __init__(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        start: Any,
        step: Step,
        domains: Sequence[Domain],
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.start, self.step, self.domains = plain_state(start)[0], step, tuple(domains)
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
            state = plain_state(self.start)[0]
            for t in range(length):
                after, y[i, t] = self.answer(state, x[i, t])
                state = plain_state(after)[0]
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
            self._walked.append(self._walk_over() if count <= MOST_CALLS else None)
        return self._walked[0]

    def _walk_over(self) -> Walk | None:
        """Every state that all rows lead to, as a copy and its key; None if there is no end to them."""
        rows = np.array(list(product(*(domain.values() for domain in self.domains))), float)

        def step(state: tuple[Any, Any], row: np.ndarray) -> tuple[tuple[Any, Any], tuple[float, ...]]:
            after, output = self.answer(plain_state(state[0])[0], row)
            return plain_state(after), output

        found = walked(plain_state(self.start), step, list(rows), MOST_STATES, MOST_CALLS, itemgetter(1))
        return found and Walk(rows, np.array(found.moves), np.array(found.answers))

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


def plain_state(state: Any) -> tuple[Any, Any]:
    """A copy of a state that nobody else holds, and its key: equal for states that are the same.

    Raises
    ------
    InputError
        If it holds what cannot be told apart, or a list or dictionary in two places.
    """
    try:
        return _taken(state, set())
    except RecursionError:
        raise InputError("the state is nested too deeply; keep a flat tuple or list in it.") from None


def _taken(state: Any, seen: set[int]) -> tuple[Any, Any]:
    kind: Any = type(state)  # exactly: a subclass can show more than its value
    if state is None or kind is int or kind is str:
        return state, state
    if kind is float and not isnan(state):  # 0.0 and -0.0 are two; what holds a NaN may equal itself or not
        return state, ("float", repr(state))
    if kind is bool or kind is bytes:
        return state, (kind.__name__, state)
    if kind is not tuple and kind is not list and kind is not dict:
        what = "NaN" if kind is float else f"a {kind.__name__}"
        raise InputError(f"the state holds {what}, which cannot be told apart safely; {_ALLOWED}.")
    if kind is not tuple:
        if id(state) in seen:
            raise InputError(
                f"the state holds the same {kind.__name__} in two places, where a change of one is a change "
                "of both; put copies there."
            )
        seen.add(id(state))
    values = state if kind is not dict else [part for item in state.items() for part in item]
    parts = [_taken(value, seen) for value in values]
    copies, key = [copy for copy, _ in parts], (kind.__name__, *(key for _, key in parts))
    if kind is dict:  # its order can be seen, so it counts
        return dict(zip(copies[::2], copies[1::2], strict=True)), key
    return (copies if kind is list else tuple(copies)), key


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]}..."
