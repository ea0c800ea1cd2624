"""A task: what goes in, what must come out, and the machine that says so (paper, "Datasets").

A task is one frozen declaration: named columns with their value domains, a reference machine written in
the package's own language (so that proofs can read it, not only run it), a sampler and a few facts. The
machine is evaluated with all sequences side by side, so a million sequences cost a second or so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weights2code.errors import InputError
from weights2code.language import Domain, Recurrence, uniform
from weights2code.language.exact import run_exact

#: (random generator, number of sequences, length) -> inputs of shape (n, T, columns)
Sampler = Callable[[np.random.Generator, int, int], np.ndarray]

Category = Literal["Linear Arithmetic", "Non-Linear Composition", "Continuous Dynamics", "Formal Languages"]
Suite = Literal["paper", "mips", "appendix", "languages"]
WindowClass = Literal["a", "b", "c", "d"]

#: Sequences are evaluated this many at a time: the columns of one block stay in the processor's cache.
_BLOCK = 8192


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """The architecture and the training exceptions that the paper reports for a task (its appendix)."""

    layers: int
    heads: int
    submlps: int
    epochs: int = 50
    learning_rate: float = 0.05


@dataclass(frozen=True, slots=True)
class Task:
    """One built-in task.

    Attributes
    ----------
    name, aliases
        The canonical name (the paper's where it has one), and the names of other suites.
    description
        One line for people.
    machine
        The reference: a recurrence from the columns to the outputs.
    domains
        What each column may hold, in the order of `columns`.
    category
        The paper's grouping; formal languages are a group of their own.
    window_class
        a: a bounded window of the inputs; b: bounded windows of inputs and outputs; c: a hidden state or
        an aggregate of the prefix; d: the whole prefix.
    suites
        Where the task comes from.
    state_tracking
        The paper's formulation: tasks that track no state are tagged, the others are autoregressive.
    length
        The length T of the training sequences.
    sampler
        Draws inputs; without one, every column is uniform on its domain.
    paper
        The paper's settings, if it reports any.
    exact_length
        The longest sequences on which double precision is exact, if there is such a limit; longer ones
        are evaluated on Python integers.
    """

    name: str
    aliases: tuple[str, ...]
    description: str
    machine: Recurrence
    domains: tuple[Domain, ...]
    category: Category
    window_class: WindowClass
    suites: tuple[Suite, ...]
    state_tracking: bool
    length: int = 10
    sampler: Sampler | None = None
    paper: PaperSettings | None = None
    exact_length: int | None = None

    def __post_init__(self) -> None:
        if len(self.domains) != len(self.columns):
            raise ValueError(f"{self.name} has {len(self.columns)} columns but {len(self.domains)} domains")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return self.machine.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.machine.outputs

    @property
    def integer_outputs(self) -> bool:
        """Whether outputs are whole numbers: every built-in task on whole numbers keeps to them."""
        return all(domain.discrete for domain in self.domains)

    def sample(self, n: int, length: int | None = None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw `n` sequences and what the machine answers.

        Parameters
        ----------
        n
            Number of sequences.
        length
            Their length; the task's own by default.
        seed
            The same seed gives the same sequences.

        Returns
        -------
        X of shape (n, T, columns) and Y of shape (n, T, outputs), both float64.
        """
        length = self.length if length is None else length
        if n < 0 or length < 0:
            raise InputError(
                f"cannot draw {n} sequences of length {length}: give numbers that are 0 or more."
            )
        x = self.draw(np.random.default_rng(seed), n, length)
        return x, self._run(x)

    def draw(self, rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        """Inputs alone, shape (n, length, columns)."""
        return uniform(rng, self.domains, n, length) if self.sampler is None else self.sampler(rng, n, length)

    def reference(self, inputs: Any) -> np.ndarray:
        """The right outputs for given inputs, at any length.

        Parameters
        ----------
        inputs
            Shape (n, T, columns), or (n, T) for a task of one column.

        Returns
        -------
        Shape (n, T) for one output, (n, T, outputs) for several.
        """
        y = self._run(self._as_sequences(inputs))
        return y[:, :, 0] if len(self.outputs) == 1 else y

    def _as_sequences(self, inputs: Any) -> np.ndarray:
        width = len(self.columns)
        wanted = "(n, T) or (n, T, 1)" if width == 1 else f"(n, T, {width})"
        names = ", ".join(self.columns)
        try:
            x = np.asarray(inputs, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                f"the inputs of {self.name} must be numbers in one rectangular array of shape {wanted}; "
                "give sequences of different lengths in separate calls."
            ) from None
        if x.ndim == 2 and width == 1:
            x = x[:, :, None]
        if x.ndim != 3 or x.shape[2] != width:
            hint = "; add the axis of sequences with X[None]" if x.ndim == (1 if width == 1 else 2) else ""
            raise InputError(
                f"{self.name} reads {width} column{'s' if width > 1 else ''} ({names}): "
                f"give an array of shape {wanted}, not {x.shape}{hint}."
            )
        if not np.isfinite(x).all():
            raise InputError(f"the inputs of {self.name} hold NaN or infinity: give finite numbers.")
        return x

    def _run(self, x: np.ndarray) -> np.ndarray:
        count, length, _ = x.shape
        if self.exact_length is not None and length > self.exact_length:
            return run_exact(self.machine, x, most_bits=None)
        y = np.empty((count, length, len(self.outputs)))
        for begin in range(0, count, _BLOCK):
            y[begin : begin + _BLOCK] = self.machine.run(x[begin : begin + _BLOCK])
        return y
