"""What one would do without this package: states merged from the rows by RPNI (AALpy), a table of states."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from aalpy.learning_algs import run_RPNI

from weights2code.experiments.judging import solves
from weights2code.tasks import Task

#: What the empty word is labelled with, about which rows say nothing.
START = "start"


class OutOfTime(Exception):
    """The time for merging is up."""


def measure(x: np.ndarray, y: np.ndarray, task: Task, seed: int, limit: float) -> dict[str, Any]:
    """States, whether they are right as programs must be, and seconds; no states if the time was up."""
    began = time.perf_counter()
    try:
        with no_longer_than(limit):
            machine = merged(x, y)
    except OutOfTime:
        return {"rpni_states": None, "rpni_exact": False, "rpni_seconds": limit}
    return {
        "rpni_seconds": round(time.perf_counter() - began, 3),
        "rpni_states": len(machine.states),
        "rpni_exact": solves(lambda x: outputs(machine, x), task, seed).solved,
    }


def merged(x: np.ndarray, y: np.ndarray) -> Any:
    """The Moore machine that RPNI makes of sequences of whole numbers, one output."""
    labels: dict[tuple[Any, ...], Any] = {(): START}
    for word, given in zip(as_symbols(x), y[:, :, 0].astype(int).tolist(), strict=True):
        labels |= {word[: t + 1]: output for t, output in enumerate(given)}
    return run_RPNI(list(labels.items()), automaton_type="moore", print_info=False, input_completeness=None)


def as_symbols(x: np.ndarray) -> list[tuple[Any, ...]]:
    """Each sequence as a tuple of its rows."""
    return [tuple(map(tuple, word)) for word in x.astype(int).tolist()]


def outputs(machine: Any, x: np.ndarray) -> np.ndarray:
    """What the machine gives, shape (n, T, 1); nothing from a step on that it does not have."""
    y = np.full((*x.shape[:2], 1), np.nan)
    for sequence, word in enumerate(as_symbols(x)):
        state = machine.initial_state
        for t, symbol in enumerate(word):
            if (state := state.transitions.get(symbol)) is None:
                break
            y[sequence, t, 0] = state.output
    return y


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the main thread when so many seconds have passed."""

    def ring(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
