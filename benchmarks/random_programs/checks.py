"""What a random program must be to count: every part of it matters, and its values stay within reason.

A program is compared with its mutants: each has one operator replaced by one of its arguments, or one value
that is read replaced by a constant. If a mutant computes the same, the program is smaller than it looks.

Of more than three operations each must also be needed as a step of its own: a value that the step before it
can be left out for is no step. (Smaller programs are drawn as they always were, so that figures compare.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Literal

import numpy as np

from weights2code.experiments.judging import Judgement, Run, solved
from weights2code.language import (
    Const,
    Domain,
    Expr,
    Op,
    Recurrence,
    Step,
    Var,
    definition_variables,
    op,
    uniform,
)
from weights2code.simplify.expressions import places

#: Sequences and positions on which programs and mutants are compared.
SEQUENCES, POSITIONS = 48, 24
#: How far a program must run within reason, and the largest number that it may meet.
LONG, LARGEST = 100, 1e6
#: Least share of positions that a part must matter for, and that the rarer value of two must have.
MATTERS, BALANCED = 0.01, 0.05
#: Largest share of the most common value where there are more than two.
COMMON = 0.9
#: Lags at which copies of a column are looked for.
FARTHEST = 6
#: Programs of more operations than this must not come down to fewer steps.
SMALL = 3
#: Sequences by which a window is judged to tell the output, the longest such window, and the share of its
#: rows that must come more than once.
TOLD_BY, TOLD_WITHIN, REPEATED = 10_000, 3, 0.3
#: A function of one value that takes at most so many is a table: one step, however it is written.
TABLE = 20

Memory = Literal["window", "output", "prefix", "hidden"]


class Drawn:
    """A program that was drawn, as far as all kinds of them are alike."""

    domains: tuple[Domain, ...]
    length: int

    def run(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def draw(self, rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        """Inputs, uniform on their domains."""
        return uniform(rng, self.domains, n, length)

    def judge(self, run: Run | None, seed: int) -> Judgement:
        """Whether `run` gives the program's outputs."""
        return solved(run, self.run, self.draw, self.length, seed=seed)


def quiet_run(recurrence: Recurrence, x: np.ndarray) -> np.ndarray:
    """Outputs where mutants may divide by zero or overflow."""
    with np.errstate(all="ignore"):
        return recurrence.run(x)


def faults(recurrence: Recurrence, domains: tuple[Domain, ...], size: int) -> str | None:
    """Why the program does not count, or None."""
    rng = np.random.default_rng(0)
    x = uniform(rng, domains, SEQUENCES, POSITIONS)
    y = quiet_run(recurrence, x)
    return (
        unbalanced(y)
        or copies(x, y, size)
        or (collapses(recurrence, x) if size > SMALL else None)
        or grows(recurrence, domains)
        or idle(recurrence, domains, x, y)
    )


def unbalanced(y: np.ndarray) -> str | None:
    """Both halves of the positions are looked at: neither a slow start nor a stuck end counts."""
    if not np.isfinite(y).all():
        return "not finite"
    for part in np.array_split(y, 2, axis=1):
        values, counts = np.unique(np.round(part, 9), return_counts=True)
        shares = counts / part.size
        if len(values) == 1:
            return "constant"
        if (len(values) == 2 and shares.min() < BALANCED) or shares.max() > COMMON:
            return "one value nearly always"
    return None


def copies(x: np.ndarray, y: np.ndarray, size: int) -> str | None:
    """One operation must not copy a column, and several must not come down to a linear image of one."""
    for lag in range(FARTHEST + 1):
        for column in range(x.shape[2]):
            value = x[:, FARTHEST - lag : POSITIONS - lag, column].ravel()
            output = y[:, FARTHEST:, 0].ravel()
            if size == 1:
                if lag == 0 and np.array_equal(value, output):
                    return "a copy"
            elif abs(np.corrcoef(value, output)[0, 1]) > 1 - 1e-9:
                return "a linear image of one column"
    return None


def collapses(recurrence: Recurrence, x: np.ndarray) -> str | None:
    """A step that is a linear image of one value, or a simple function of what is there before the last step.

    Simple is what is linear in recent values, or a table of one of them.
    """
    with np.errstate(all="ignore"):
        trace = recurrence.trace(x)
    stages = [step.name for step in recurrence.steps if "_" not in step.name]
    order = [*recurrence.inputs, *(step.name for step in recurrence.steps)]
    for place, name in enumerate(stages):
        value = trace[name][:, FARTHEST:].ravel()
        known = order[: order.index(name)]
        if any(_is_linear(value, [lagged]) for other in known for lagged in _recent(trace[other])):
            return f"{name} is a linear image of one value"
        if place == 0:
            continue
        last = stages[place - 1]
        earlier = [other for other in known if other != last and not other.startswith(f"{name}_")]
        recent = [lagged for other in earlier for lagged in _recent(trace[other])]
        if _is_linear(value, recent) or any(_is_table(value, lagged) for lagged in recent):
            return f"{name} does not need {last}"
    return None


def _recent(values: np.ndarray) -> list[np.ndarray]:
    """A signal at each lag, over the positions that have them all."""
    return [values[:, FARTHEST - lag : values.shape[1] - lag].ravel() for lag in range(FARTHEST + 1)]


def _is_linear(value: np.ndarray, terms: list[np.ndarray]) -> bool:
    """Whether a signal is a sum of multiples of others, and a constant."""
    if not all(np.isfinite(term).all() for term in (value, *terms)):
        return False
    columns = np.column_stack([*terms, np.ones(len(value))])
    found = np.linalg.lstsq(columns, value, rcond=None)[0]
    return bool(np.allclose(columns @ found, value, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(value).max())))


def _is_table(value: np.ndarray, key: np.ndarray) -> bool:
    """Whether a signal depends on one value alone, which takes few."""
    keys, place = np.unique(key, return_inverse=True)
    if len(keys) > TABLE:
        return False
    return all(np.ptp(value[place == number]) <= 1e-9 for number in range(len(keys)))


def grows(recurrence: Recurrence, domains: tuple[Domain, ...]) -> str | None:
    """Values may grow as the square of the length, not faster."""
    x = uniform(np.random.default_rng(1), domains, 16, LONG)
    with np.errstate(all="ignore"):
        trace = recurrence.trace(x)
    for values in trace.values():
        if not np.isfinite(values).all() or np.abs(values).max() > LARGEST:
            return "not finite"
        if np.abs(values).max() > 4.5 * max(np.abs(values[:, : LONG // 2]).max(), 1.0):
            return "grows too fast"
    return None


def idle(recurrence: Recurrence, domains: tuple[Domain, ...], x: np.ndarray, y: np.ndarray) -> str | None:
    """A column or an operator that the outputs do not need."""
    fresh = uniform(np.random.default_rng(2), domains, SEQUENCES, POSITIONS)
    for column, name in enumerate(recurrence.inputs):
        other = x.copy()
        other[:, :, column] = fresh[:, :, column]
        if differing(quiet_run(recurrence, other), y) < BALANCED:
            return f"{name} does not matter"
    for mutant in mutants(recurrence):
        if differing(quiet_run(mutant, x), y) < MATTERS:
            return "an operation does not matter"
    return None


def differing(one: np.ndarray, other: np.ndarray) -> float:
    """Share of positions at which two outputs differ."""
    return float(np.mean(~np.isclose(one, other, rtol=1e-9, atol=1e-9)))


def mutants(recurrence: Recurrence) -> Iterator[Recurrence]:
    """The same program with one part taken out."""
    for place, step in enumerate(recurrence.steps):
        if not isinstance(step.definition, Expr):
            continue
        for definition in simpler(step.definition):
            steps = list(recurrence.steps)
            steps[place] = Step(step.name, definition)
            yield replace(recurrence, steps=tuple(steps))


def simpler(expr: Expr) -> Iterator[Expr]:
    """Each tree with one operator replaced by an argument, or one variable by a constant."""
    for node, put in places(expr):
        if isinstance(node, Var):
            yield from map(put, (Const(0), Const(1)))
        if isinstance(node, Op):
            yield from map(put, node.args)
        if isinstance(node, Op) and node.name == "clip":
            value, low, high = node.args
            yield from map(put, (op("max", value, low), op("min", value, high)))


def signature(recurrence: Recurrence, domains: tuple[Domain, ...]) -> tuple[str, bytes]:
    """Equal for programs that compute the same, whatever the order of their columns."""
    found = []
    for order in permutations(range(len(domains))):
        arranged = tuple(domains[i] for i in order)
        x = uniform(np.random.default_rng(3), arranged, 12, POSITIONS)
        y = quiet_run(recurrence, x[:, :, np.argsort(order)])
        found.append((", ".join(map(str, arranged)), np.round(y + 0.0, 6).tobytes()))
    return min(found)


def reach(recurrence: Recurrence) -> int:
    """How far back the output reads the inputs through its steps, but for what they remember themselves."""
    found = dict.fromkeys(recurrence.inputs, 0)
    for step in recurrence.steps:
        read = [v for v in definition_variables(step.definition) if v.name in found]
        found[step.name] = max((found[variable.name] + variable.lag for variable in read), default=0)
    return max(found[name] for name in recurrence.outputs)


def memory(recurrence: Recurrence) -> Memory:
    """What a program keeps as it is written: a window, its own outputs, a prefix sum or extremum, or a state.

    A state is hidden if no output is that state, although outputs and inputs may tell it in the end: a carry
    is hidden, and so is every other step before the last that reads its own past and neither adds it up nor
    takes an extremum. The families need not say: all programs are judged alike.
    """
    reads = {
        step.name: {variable.name for variable in definition_variables(step.definition)}
        for step in recurrence.steps
    }
    kinds: set[Memory] = set()
    for step in recurrence.steps:
        if not isinstance(step.definition, Expr):
            kinds.add("prefix")
        elif step.name in _reached(reads, step.name):
            if step.name in recurrence.outputs:
                kinds.add("output")
            else:
                kinds.add("prefix" if _accumulates(step.name, step.definition) else "hidden")
    order: tuple[Memory, ...] = ("hidden", "prefix", "output")
    for kind in order:
        if kind in kinds:
            return kind
    return "window"


def told(recurrence: Recurrence, domains: tuple[Domain, ...]) -> str:
    """How far back inputs and outputs must be known to tell the output, whatever state is kept.

    Judged by rows that agree in all of that; reals hardly ever do.
    """
    if not all(domain.discrete for domain in domains):
        return "unknown"
    x = uniform(np.random.default_rng(4), domains, TOLD_BY, POSITIONS)
    y = quiet_run(recurrence, x)
    columns = [x[:, FARTHEST:]]
    for lag in range(1, TOLD_WITHIN + 1):
        columns += [values[:, FARTHEST - lag : -lag] for values in (x, y)]
        rows = np.concatenate(columns, axis=2).reshape(-1, sum(part.shape[2] for part in columns))
        _, place, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(place.ravel(), kind="stable")
        target = y[:, FARTHEST:, 0].ravel()[order]
        first = np.r_[0, np.cumsum(counts)[:-1]]
        if np.array_equal(np.minimum.reduceat(target, first), np.maximum.reduceat(target, first)):
            return f"{lag} back" if np.mean(counts > 1) > REPEATED else "unknown"
    return "no window"


def _reached(reads: dict[str, set[str]], name: str) -> set[str]:
    found: set[str] = set()
    waiting = set(reads[name])
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting |= reads.get(other, set())
    return found


def _accumulates(name: str, definition: Expr) -> bool:
    """Whether the step is a sum or extremum of something over the prefix."""
    past = Var(name, 1)
    if not (isinstance(definition, Op) and definition.name in ("add", "sub", "max", "min")):
        return False
    inner, rest = definition.args
    if inner == past:
        return past not in rest.variables()
    return definition.name in ("add", "sub") and past not in rest.variables() and _accumulates(name, inner)
