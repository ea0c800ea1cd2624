"""Sequences: what every later stage learns from, in the user's own units.

A `Sequences` value holds inputs (n, T, columns) and targets (n, T, outputs), padded at the end where
lengths differ. It comes from a task's sampler or from arrays of the user's own. A sequence that was cut out
of the middle of a longer one begins with `context`: positions that are fed but never scored, because what
they depend on lies before the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from weights2code.errors import InputError
from weights2code.language import Domain, infer


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """Inputs and targets of n sequences, each as long as `lengths` says.

    `context` counts the positions at the start of each that are given and not scored; None is none, and a
    sequence without context begins at a true start.
    """

    x: Float[np.ndarray, "sequence pos input"]
    y: Float[np.ndarray, "sequence pos output"]
    lengths: Int[np.ndarray, " sequence"]
    context: Int[np.ndarray, " sequence"] | None = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def valid(self) -> Bool[np.ndarray, "sequence pos"]:
        """True where a position belongs to its sequence."""
        return np.arange(self.x.shape[1])[None, :] < self.lengths[:, None]

    @property
    def given(self) -> Int[np.ndarray, " sequence"]:
        """Positions of context of each sequence."""
        return np.zeros(len(self), int) if self.context is None else self.context

    @property
    def scored(self) -> Bool[np.ndarray, "sequence pos"]:
        """True where an output is to be computed and judged."""
        return self.valid & (np.arange(self.x.shape[1])[None, :] >= self.given[:, None])

    def take(self, index: np.ndarray | slice) -> Sequences:
        context = None if self.context is None else self.context[index]
        return Sequences(self.x[index], self.y[index], self.lengths[index], context)

    def beside(self, other: Sequences) -> Sequences:
        """All sequences of both."""
        length = max(self.x.shape[1], other.x.shape[1])

        def padded(values: np.ndarray) -> np.ndarray:
            return np.pad(values, ((0, 0), (0, length - values.shape[1]), (0, 0)))

        x, y = (
            np.concatenate([padded(one), padded(two)]) for one, two in ((self.x, other.x), (self.y, other.y))
        )
        known = self.context is not None or other.context is not None
        context = np.concatenate([self.given, other.given]) if known else None
        return Sequences(x, y, np.concatenate([self.lengths, other.lengths]), context)

    def domains(self) -> tuple[tuple[Domain, ...], tuple[Domain, ...]]:
        """The narrowest domains of the input columns and of the outputs."""
        valid = self.valid
        columns = tuple(infer(self.x[..., i][valid]) for i in range(self.x.shape[2]))
        outputs = tuple(infer(self.y[..., i][valid]) for i in range(self.y.shape[2]))
        return columns, outputs


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of own data as they stand, one piece after the other: what a program is judged by.

    A piece has `lengths` rows without a gap; `begins` says whether it begins where a sequence truly began.
    `of` counts all rows of the file.
    """

    x: Float[np.ndarray, "row input"]
    y: Float[np.ndarray, "row output"]
    lengths: Int[np.ndarray, " sequence"]
    begins: Bool[np.ndarray, " sequence"]
    of: int


def from_arrays(x: np.ndarray, y: np.ndarray) -> Sequences:
    """Sequences of one length, from (n, T, columns) and (n, T, outputs)."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.ndim != 3 or y.ndim != 3 or x.shape[:2] != y.shape[:2]:
        raise InputError(
            f"inputs {x.shape} and targets {y.shape} must be (n, T, columns) and (n, T, outputs)."
        )
    if 0 in x.shape or 0 in y.shape:
        raise InputError(f"there is nothing to learn from in inputs {x.shape} and targets {y.shape}.")
    _refuse_gaps(x, y)
    return Sequences(x, y, np.full(len(x), x.shape[1]))


def from_list(x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> Sequences:
    """Sequences of different lengths, from lists of (T_i, columns) and (T_i, outputs); zero-padded."""
    if len(x) != len(y):
        raise InputError(f"there are {len(x)} input sequences but {len(y)} target sequences.")
    if not len(x):
        raise InputError("there are no sequences to learn from.")
    for i, (xi, yi) in enumerate(zip(x, y, strict=True)):
        shapes = np.shape(xi), np.shape(yi)
        if [len(shape) for shape in shapes] != [2, 2] or 0 in shapes[0] + shapes[1]:
            raise InputError(f"sequence {i} must be (T, columns) and (T, outputs), got {shapes}.")
        if shapes[0][0] != shapes[1][0]:
            raise InputError(f"sequence {i} has {shapes[0][0]} inputs but {shapes[1][0]} targets.")
        if shapes[0][1] != np.shape(x[0])[1] or shapes[1][1] != np.shape(y[0])[1]:
            raise InputError(f"sequence {i} has other columns than the first: {shapes}.")
        _refuse_gaps(np.asarray(xi, float), np.asarray(yi, float))
    lengths = np.array([len(item) for item in x])
    longest = int(lengths.max())
    padded_x = np.zeros((len(x), longest, np.shape(x[0])[1]))
    padded_y = np.zeros((len(y), longest, np.shape(y[0])[1]))
    for i, (xi, yi) in enumerate(zip(x, y, strict=True)):
        padded_x[i, : len(xi)], padded_y[i, : len(yi)] = xi, yi
    return Sequences(padded_x, padded_y, lengths)


def _refuse_gaps(x: np.ndarray, y: np.ndarray) -> None:
    """Missing and infinite values have no meaning for a program; better no run than a silent one."""
    for what, values in (("inputs", x), ("targets", y)):
        if not np.isfinite(values).all():
            raise InputError(f"the {what} hold values that are missing or infinite; remove or fill them.")
