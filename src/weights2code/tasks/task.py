"""A task: what goes in, what must come out, and the machine that says so (paper, "Datasets").

A task is one frozen declaration: named columns with their value domains, a reference machine written in
the package's own language (so that proofs can read it, not only run it), a sampler and a few facts. The
machine is evaluated with all sequences side by side, so a million sequences cost a second or so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from weights2code.errors import InputError
from weights2code.language import BITS, Definition, Domain, Recurrence, integers, reals, uniform
from weights2code.language.domain import EXACT
from weights2code.language.exact import run_exact
from weights2code.language.formula_reading import read_recurrence
from weights2code.tasks.step_function import Step as PlainStep
from weights2code.tasks.step_function import StepFunction, outputs_of, plain_state

#: (random generator, number of sequences, length) -> inputs of shape (n, T, columns)
Sampler = Callable[[np.random.Generator, int, int], np.ndarray]

Category = Literal[
    "Linear Arithmetic", "Non-Linear Composition", "Continuous Dynamics", "Formal Languages", "Own"
]
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


@dataclass(frozen=True, slots=True, init=False)
class Task:
    """A task: one of one's own, or one that is built in.

    Parameters
    ----------
    inputs
        The columns by name. A pair of whole numbers is a range of whole numbers, both ends included; a pair
        of floats one of reals; a `Domain` is itself.
    start, step
        The state before the first position and a plain function `step(state, row) -> (state, output)`: the
        row maps columns to values, the output is a number or a tuple of them.
    reference
        Formulas in their place: lines such as `y[t] = (x[t] + y[t-1]) % 5`, each formula by its name, as text
        or as an expression, or a whole `Recurrence`. `start` may then say what lies before the start, by
        name, where it is not 0.
    length
        The length T of the training sequences.
    outputs
        Names of the outputs: `y`, or `y1`, `y2`, ... for a function; for formulas all of them.
    sampler
        Draws inputs, (rng, n, T) -> (n, T, columns); without one, every column is uniform on its domain.
    name, description, aliases
        What it is called: the name of the program too.
    category, window_class, suites, paper
        Facts about built-in tasks: the paper's grouping; what the output is a function of (a: a bounded
        window of the inputs; b: bounded windows of inputs and outputs; c: a hidden state or an aggregate of
        the prefix; d: the whole prefix); where it comes from; the paper's settings.
    state_tracking
        The paper's formulation: tasks that track no state are tagged, the others are autoregressive.
    exact_length
        The longest sequences on which double precision is exact, if there is such a limit; longer ones
        are evaluated on Python integers.

    Examples
    --------
    >>> def step(total, row):
    ...     total = (total + row["x"]) % 5
    ...     return total, int(total == 0)
    >>> task = Task(inputs={"x": (0, 4)}, start=0, step=step, length=10)
    >>> task.reference([[1, 4, 2]])
    array([[0., 1., 0.]])
    >>> Task(inputs={"x": (0, 4)}, reference="y[t] = max(x[t], y[t-1])").reference([[1, 4, 2]])
    array([[1., 4., 4.]])
    """

    name: str
    aliases: tuple[str, ...]
    description: str
    specification: Recurrence | StepFunction
    domains: tuple[Domain, ...]
    category: Category
    window_class: WindowClass
    suites: tuple[Suite, ...]
    state_tracking: bool
    length: int
    sampler: Sampler | None
    paper: PaperSettings | None
    exact_length: int | None

    def __init__(
        self,
        inputs: Mapping[str, Domain | tuple[float, float]],
        *,
        start: Any = None,
        step: PlainStep | None = None,
        reference: Recurrence | str | Mapping[str, str | Definition] | None = None,
        length: int = 10,
        outputs: Sequence[str] | None = None,
        sampler: Sampler | None = None,
        name: str = "task",
        description: str = "",
        aliases: tuple[str, ...] = (),
        category: Category = "Own",
        window_class: WindowClass | None = None,
        suites: tuple[Suite, ...] = (),
        state_tracking: bool | None = None,
        paper: PaperSettings | None = None,
        exact_length: int | None = None,
    ) -> None:
        columns = read_columns(inputs)
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise InputError(f"the length of a task must be a whole number from 1 on, got {length!r}.")
        machine = read_machine(columns, start, step, reference, outputs, length)
        if window_class is None:
            window_class = "c"
            if isinstance(machine, Recurrence):
                window_class = "a" if {v.name for v in machine.state()} <= set(columns) else "b"
        if state_tracking is None:
            state_tracking = window_class != "a"
        given = {**locals(), "specification": machine, "domains": tuple(columns.values())}
        for field in fields(self):
            object.__setattr__(self, field.name, given[field.name])

    def called(self, name: str) -> Task:
        """The same task with another name."""
        other = copy(self)
        object.__setattr__(other, "name", name)
        return other

    @property
    def machine(self) -> Recurrence:
        """The specification as a recurrence, which it is of every built-in task."""
        if isinstance(self.specification, StepFunction):
            raise InputError(f"{self.name} is specified by a plain function, which is no recurrence.")
        return self.specification

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return self.specification.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.specification.outputs

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
        if self.sampler is None:
            return uniform(rng, self.domains, n, length)
        return _drawn(self.sampler, rng, self.domains, n, length)

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
        limit = None if isinstance(self.specification, StepFunction) else self.exact_length
        if limit is not None and length > limit:
            return run_exact(self.machine, x, most_bits=None)[0]
        y = np.empty((count, length, len(self.outputs)))
        for begin in range(0, count, _BLOCK):
            y[begin : begin + _BLOCK] = self.specification.run(x[begin : begin + _BLOCK])
        return y


def read_columns(inputs: Any) -> dict[str, Domain]:
    """The columns of a task with their domains."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise InputError('the inputs of a task must be columns by name, such as {"x": (0, 4)}.')
    return {name: _domain(name, given) for name, given in inputs.items()}


def _domain(name: Any, given: Any) -> Domain:
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"a column of a task must be called by a plain name, not {name!r}.")
    if isinstance(given, Domain):
        return given
    sentence = (
        f"the column {name} must be a pair: of whole numbers such as (0, 4), or of floats such as "
        f"(0.0, 1.0); got {given!r}."
    )
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputError(sentence)
    low, high = given
    whole = [isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in given]
    if not all(ok or isinstance(end, float) for ok, end in zip(whole, given, strict=True)):
        raise InputError(sentence)
    if not (np.isfinite(low) and np.isfinite(high) and low < high and max(-low, high) <= EXACT):
        raise InputError(
            f"the column {name} must go from a smaller finite number to a larger, got {given!r}."
        )
    if any(whole) and not all(whole):
        raise InputError(
            f"the column {name} mixes a whole number and a float, {given!r}; write both as what its values "
            "are."
        )
    if not all(whole):
        return reals(low, high)
    return BITS if (low, high) == (0, 1) else integers(int(low), int(high))


def read_machine(
    columns: Mapping[str, Domain],
    start: Any,
    step: PlainStep | None,
    reference: Recurrence | str | Mapping[str, str | Definition] | None,
    outputs: Sequence[str] | None,
    length: int,
) -> Recurrence | StepFunction:
    """The machine that specifies a task: a recurrence, or a plain function."""
    if (step is None) == (reference is None):
        raise InputError("a task needs a step function or a reference of formulas, one of the two.")
    if step is not None:
        return _function(columns, start, step, outputs, length)
    if isinstance(reference, Recurrence):
        if reference.inputs != tuple(columns):
            raise InputError(
                f"the reference reads {', '.join(reference.inputs)}, but the columns of the task are "
                f"{', '.join(columns)}; give both the same."
            )
        return reference
    if not isinstance(reference, (str, Mapping)) or not reference:
        raise InputError("the reference must be formulas, such as 'y[t] = x[t] + y[t-1]'.")
    if start is not None and not isinstance(start, Mapping):
        raise InputError("with formulas, start must say what lies before it by name, such as {'y': 1}.")
    try:
        return read_recurrence(tuple(columns), reference, outputs, start)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"the reference is no recurrence: {str(error).rstrip('.')}.") from None


def _function(
    columns: Mapping[str, Domain], start: Any, step: PlainStep, outputs: Sequence[str] | None, length: int
) -> StepFunction:
    if not callable(step):
        raise InputError(f"step must be a function of state and row, got {step!r}.")
    domains = tuple(columns.values())
    names = ("y",) if outputs is None else tuple(outputs)
    if outputs is None:  # how many outputs there are is what the first answer shows
        row = {name: int(d.low) if d.discrete else float(d.low) for name, d in columns.items()}
        count = 1
        with suppress(Exception):  # what is wrong with it is said below
            _, output = step(plain_state(start)[0], row)
            count = len(outputs_of(output))
        if count == 0:
            raise InputError("the step function returns no output; return a number or a tuple of numbers.")
        names = ("y",) if count == 1 else tuple(f"y{i}" for i in range(1, count + 1))
    if set(names) & set(columns):
        raise InputError(f"{min(set(names) & set(columns))} is a column and an output; name the outputs.")
    function = StepFunction(tuple(columns), names, start, step, domains)
    function.check(10 * length)
    return function


def _drawn(
    sampler: Sampler, rng: np.random.Generator, domains: tuple[Domain, ...], count: int, length: int
) -> np.ndarray:
    """What a sampler draws; shapes that do not fit and values outside of the domains are refused."""
    try:
        x = np.asarray(sampler(rng, count, length), dtype=float)
    except Exception as error:
        raise InputError(f"the sampler raises {type(error).__name__}: {error}.") from None
    if x.shape == (count, length) and len(domains) == 1:
        x = x[:, :, None]
    if x.shape != (count, length, len(domains)):
        raise InputError(
            f"the sampler must give an array of shape {(count, length, len(domains))}, not {x.shape}."
        )
    for i, domain in enumerate(domains):
        column = x[:, :, i]
        inside = (column >= domain.low) & (column <= domain.high)
        inside &= (column == np.round(column)) if domain.discrete else True
        if not inside.all():
            raise InputError(f"the sampler draws {column[~inside][0]:g}, which is not in {domain}.")
    return x
