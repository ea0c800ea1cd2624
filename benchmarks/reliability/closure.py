"""Equal at every length, shown without the code that certifies: all states that both reach together are run.

The program runs as its text along a shortest way to every state, the specification on fractions. The state of
either is what later positions can read of it; that of the text is seen by a second text of the same
recurrence, which puts out all of its steps.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from truth import Case, Interpreter, Rows, text_function

from weights2code.language import Recurrence

#: Positions that are run at most, over all ways to all states.
POSITIONS = 10_000
#: Values of the specification beyond this are not whole numbers to the text.
LARGEST = 2**53


def closed(case: Case, most: int = POSITIONS) -> int | Rows | None:
    """How many states text and specification reach together, if they are equal in all of them; a sequence on
    which they differ; None if the states are too many to be run, or there are none."""
    size = prod(domain.size if domain.discrete else most for domain in case.domains)
    if size >= most or not case.whole or not isinstance(case.reference, Recurrence):
        return None
    if case.program.retrieves() or case.reference.retrieves():
        return None
    rows = [list(map(float, row)) for row in product(*(domain.values() for domain in case.domains))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _explored(case, case.reference, rows, most)


def _explored(case: Case, reference: Recurrence, rows: Rows, most: int) -> int | Rows | None:
    names = tuple(step.name for step in case.program.steps)
    text = text_function(case)
    tracing = text_function(replace(case, program=replace(case.program, outputs=names)))
    waiting: deque[tuple[Rows, Interpreter]] = deque([([], Interpreter(reference))])
    known: set[Any] = set()
    left = most
    while waiting:
        way, before = waiting.popleft()
        for row in rows:
            longer = [*way, row]
            left -= len(longer)
            if left < 0:
                return None
            machine = _copied(before)
            try:
                right = machine.step(row)
            except (ArithmeticError, ValueError):
                return None  # the specification has no value there
            if machine.largest >= LARGEST or any(isinstance(value, float) for value in right):
                return None
            x = np.array(longer)
            x = x[:, 0] if x.shape[1] == 1 else x
            try:
                answer, trace = text(x), tracing(x).reshape(len(longer), -1)
            except ArithmeticError:
                return longer
            if np.ravel(answer[-1]).tolist() != right:
                return longer
            values = {
                **dict(zip(case.program.inputs, zip(*longer, strict=True), strict=True)),
                **dict(zip(names, trace.T.tolist(), strict=True)),
            }
            state = (*_state(reference, machine.past), *map(repr, _state(case.program, values)))
            if state not in known:
                known.add(state)
                waiting.append((longer, machine))
    return len(known)


def _copied(machine: Interpreter) -> Interpreter:
    other = Interpreter(machine.machine)
    other.past = {name: list(values) for name, values in machine.past.items()}
    other.largest = machine.largest
    return other


def _state(machine: Recurrence, values: Mapping[str, Sequence[Any]]) -> list[Any]:
    """What the next position can read of the past."""
    found = []
    for variable in machine.state():
        past, start = values[variable.name], machine.start_of(variable.name)
        known = len(past) >= variable.lag
        found.append(past[-variable.lag] if known else past[0] if start == "first" else start)
    return found
