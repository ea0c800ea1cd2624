"""What solved means, once for all: the program, run free, gives the truth on sequences that nobody saw.

It gets inputs alone, on 200 fresh sequences of each length: the T of training, 4T, and 40. Whole numbers and
texts must be equal. Reals may be off, at every position, by 1e-6 of the scale, which is the largest |y| of
that output in that sequence and at least 1; where noise of a known size was put on the data, by that much.
What is no number, or raises, is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from weights2code.tasks import Task

FRESH, LONGER, LONG = 200, 4, 40
TOLERANCE = 1e-6
#: Sequences of a seed that nothing else draws.
APART = 9999

Run = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Judgement:
    """`error` is the largest distance from the truth (of what is wrong, if anything is), infinite if there is
    none to measure; `worst` says where: length and place with what was wanted and given, or what was raised.
    """

    solved: bool
    error: float
    worst: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.solved


def lengths(length: int) -> list[int]:
    """The lengths that a program is judged at."""
    return sorted({length, LONGER * length, LONG})


def solved(
    run: Run | None,
    truth: Run,
    draw: Callable[[np.random.Generator, int, int], np.ndarray],
    length: int,
    *,
    whole: bool | None = None,
    noise: float = 0.0,
    seed: int = 0,
) -> Judgement:
    """Whether a program equals the truth.

    Parameters
    ----------
    run, truth : inputs of shape (n, T, columns) to outputs of shape (n, T, outputs); no program is wrong.
    draw : (rng, n, T) -> inputs.
    length : of the sequences of training.
    whole : whether outputs are whole numbers; by default those whose truth has no other.
    noise : the size of what was added to the outputs of training.
    """
    if run is None:
        return Judgement(False, np.inf)
    found = Judgement(True, -np.inf)
    for long in lengths(length):
        x = draw(np.random.default_rng([APART, seed, long]), FRESH, long)
        wanted = np.asarray(truth(x))
        try:
            with np.errstate(all="ignore"):
                given = np.asarray(run(x))
            if given.shape != wanted.shape:
                raise ValueError(f"outputs of shape {given.shape}, not {wanted.shape}")
        except Exception as problem:
            raised = f"{type(problem).__name__}: {problem}"
            return Judgement(False, np.inf, {"length": long, "raised": raised})
        for output in range(wanted.shape[2]):
            off, scale = _distance(given[:, :, output], wanted[:, :, output])
            equal = are_whole(wanted[:, :, output]) if whole is None else whole
            wrong = off > (0.0 if equal else np.maximum(TOLERANCE * scale, noise))
            place = np.unravel_index(np.argmax(np.where(wrong, off, -1.0) if wrong.any() else off), off.shape)
            if (bool(wrong.any()), off[place]) > (not found.solved, found.error):
                worst: dict[str, Any] = {"length": long, "output": output}
                worst |= {"sequence": int(place[0]), "position": int(place[1])}
                worst |= {"wanted": _said(wanted[*place, output]), "given": _said(given[*place, output])}
                found = Judgement(not wrong.any(), float(off[place]), worst)
    return found


def solves(run: Run | None, task: Task, seed: int = 0) -> Judgement:
    """Whether a program equals a task's specification."""

    def truth(x: np.ndarray) -> np.ndarray:
        return task.reference(x).reshape(*x.shape[:2], len(task.outputs))

    return solved(run, truth, task.draw, task.length, whole=task.integer_outputs, seed=seed)


def are_whole(values: np.ndarray) -> bool:
    return not _are_texts(values) and not (values.astype(float) % 1).any()


def _are_texts(values: np.ndarray) -> bool:
    return values.dtype.kind in "OU" and any(isinstance(value, str) for value in values.flat)


def _distance(given: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each value of one output is off, and the scale of each sequence; a text is right or infinitely
    wrong."""
    if _are_texts(wanted):
        return np.where(given.astype(object) == wanted, 0.0, np.inf), np.ones((len(wanted), 1))
    wanted = wanted.astype(float)
    try:
        with np.errstate(all="ignore"):
            off = np.abs(given.astype(float) - wanted)
    except (TypeError, ValueError):  # a text where a number should be
        off = np.full(wanted.shape, np.inf)
    scale = np.maximum(1.0, np.abs(wanted).max(axis=1, keepdims=True, initial=0.0))
    return np.where(np.isnan(off), np.inf, off), scale


def _said(value: Any) -> float | str:
    return float(value) if isinstance(value, (int, float, np.number, np.bool_)) else str(value)
