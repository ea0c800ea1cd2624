"""Fitting a program to what it gives when it runs free (output error, in the words of system identification).

Past readings are bad copies of a state that was measured with noise. A rule fitted one step ahead then leans
on many of them. The rule itself is simpler: run free, drop every term without which it does as well, fit the
constants to the run, and keep the digits that the data support. The first positions of a run, where it still
remembers the readings that it began with, do not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations
from operator import add

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Const, Expr, Number, Op, Recurrence, Step, Var, definition_variables
from weights2code.symbolic.snapping import fitted, meant, snap_function, with_free_constants

#: Sequences that are run, and positions that a run is given to forget its start.
SIMULATED = 100
FORGETTING = 18
#: Dropping terms may raise the error by this factor.
AS_GOOD = 1.02
#: Running free is the right fit if its error is at most this many times the one-step error.
RUNS_FREE = 1.15
#: Steps of a fit, and the share of the loss that each must gain.
STEPS = 5
GAIN = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Sequences to run on, how long each reads the true outputs, and what is judged: outputs as shares of
    their spread."""

    sequences: Sequences
    until: np.ndarray
    judged: np.ndarray
    spread: np.ndarray
    target: np.ndarray

    @staticmethod
    def of(sequences: Sequences, depth: int, *, one_step: bool) -> Simulation:
        """Runs that read the truth as long as they must, or always."""
        part = sequences.take(slice(0, SIMULATED))
        until = part.lengths if one_step else np.where(part.given > 0, np.minimum(part.given, depth), 0)
        first = np.minimum(FORGETTING, part.lengths[:, None] // 2)
        judged = part.scored & (np.arange(part.x.shape[1])[None, :] >= first)
        wanted = part.y[judged]
        spread = np.maximum(np.std(wanted, axis=0), 1e-300) if len(wanted) else np.ones(part.y.shape[2])
        return Simulation(part, until, judged, spread, (wanted / spread).ravel())

    def run(self, program: Recurrence, constants: np.ndarray) -> np.ndarray:
        """Judged outputs (sets, rows) of an opened program for sets of constants (sets, k), run at once."""
        sets, count = len(constants), len(self.sequences)
        columns = np.repeat(constants, count, 0)[:, None, :]
        x = np.tile(self.sequences.x, (sets, 1, 1))
        x = np.concatenate([x, np.broadcast_to(columns, (*x.shape[:2], constants.shape[1]))], 2)
        y = np.tile(self.sequences.y, (sets, 1, 1))
        with np.errstate(all="ignore"):
            answers = program.run(x, y, np.tile(self.until, sets))
        kept = answers[np.tile(self.judged, (sets, 1))] / self.spread
        return np.clip(np.nan_to_num(kept, nan=1e6), -1e6, 1e6).reshape(sets, -1)

    def error(self, program: Recurrence) -> float:
        """Root mean square error, relative to the spread."""
        error = self.run(program, np.zeros((1, 0)))[0] - self.target
        return float(np.sqrt(np.mean(error**2)))


def running_free(ahead: Recurrence, problem: Problem) -> Recurrence | None:
    """The rule with as few terms as free running needs, fitted to it; None if noise drives the process."""
    depth = max(ahead.depths().values(), default=1)
    free = Simulation.of(problem.training, depth, one_step=False)
    forced = Simulation.of(problem.training, depth, one_step=True)
    if not free.judged.any():
        return None
    draft = refitted(with_nearest_terms(ahead), free)
    best = free.error(draft)
    if not best <= RUNS_FREE * forced.error(ahead):
        return None
    while good := [
        trial
        for fewer in with_fewer_terms(draft)
        if free.error(trial := refitted(fewer, free)) <= AS_GOOD * best
    ]:
        draft = min(good, key=reach)  # what is near is the rule, what is far its echo
    program, start = opened(draft)
    if not len(start):
        return draft
    return closed(program, snap_function(partial(free.run, program), start, free.target))


def refitted(draft: Recurrence, simulation: Simulation) -> Recurrence:
    """Constants fitted by a few steps."""
    program, start = opened(draft)
    if not len(start):
        return draft
    run = partial(simulation.run, program)
    return closed(program, fitted(run, start, simulation.target, range(len(start)), STEPS, GAIN).tolist())


# -- constants and terms of a program ------------------------------------------------------------------------


def as_floats(expr: Expr) -> Expr:
    """Coefficients become free to be refitted; exponents and the like stay whole."""
    if isinstance(expr, Op):
        fixed = expr.name in ("pow", "mod", "floor", "eq", "ne")
        return Op(expr.name, tuple(a if fixed and isinstance(a, Const) else as_floats(a) for a in expr.args))
    if isinstance(expr, Const) and math.isfinite(expr.value) and expr.value not in (0, 1, -1, 2):
        value = float(expr.value)
        # whole numbers are not free, what lies just beside them is
        return Const(float(np.nextafter(value, np.inf)) if value.is_integer() else value)
    return expr


def opened(program: Recurrence) -> tuple[Recurrence, np.ndarray]:
    """The program with its free constants as further inputs, and what they are; lookups stay as they are."""
    steps, values = list[Step](), np.zeros(0)
    for step in program.steps:
        definition = step.definition
        if isinstance(definition, Expr):
            definition, found = with_free_constants(as_floats(definition), len(values))
            values = np.append(values, found)
        steps.append(Step(step.name, definition))
    names = (variable.name for variable in meant(values))
    return replace(program, inputs=(*program.inputs, *names), steps=tuple(steps)), values


def closed(program: Recurrence, values: Iterable[Number]) -> Recurrence:
    """An opened program with these constants."""
    known = meant(values)
    steps = tuple(
        Step(step.name, step.definition.substitute(known)) if isinstance(step.definition, Expr) else step
        for step in program.steps
    )
    return replace(program, inputs=program.inputs[: len(program.inputs) - len(known)], steps=steps)


def with_fewer_terms(program: Recurrence) -> Iterator[Recurrence]:
    """The program with one term of one output left out."""
    for index, step in enumerate(program.steps):
        if step.name not in program.outputs or not isinstance(step.definition, Expr):
            continue
        terms = terms_of(step.definition)
        for kept in combinations(terms, len(terms) - 1) if len(terms) > 1 else ():
            steps = (*program.steps[:index], Step(step.name, reduce(add, kept)), *program.steps[index + 1 :])
            yield replace(program, steps=steps).live()


def with_nearest_terms(program: Recurrence) -> Recurrence:
    """Outputs that read themselves back from afar read themselves at t-1 too: what is far may be an echo."""
    steps = []
    for step in program.steps:
        lags = [v.lag for v in definition_variables(step.definition) if v.name == step.name]
        if step.name in program.outputs and isinstance(step.definition, Expr) and lags and 1 not in lags:
            step = Step(step.name, step.definition + Op("mul", (Const(0.01), Var(step.name, 1))))
        steps.append(step)
    return replace(program, steps=tuple(steps))


def reach(program: Recurrence) -> int:
    """How far back the steps of a program read, all reads added up."""
    return sum(v.lag for step in program.steps for v in definition_variables(step.definition))


def terms_of(expr: Expr, factor: Number = 1) -> list[Expr]:
    """The terms of a sum, times a factor; a coefficient in front of a sum is multiplied out."""
    if isinstance(expr, Const):
        return [Const(factor * expr.value)]
    if isinstance(expr, Op) and expr.name in ("add", "sub"):
        left, right = expr.args
        return [*terms_of(left, factor), *terms_of(right, factor if expr.name == "add" else -factor)]
    if isinstance(expr, Op) and expr.name == "neg":
        return terms_of(expr.args[0], -factor)
    if isinstance(expr, Op) and expr.name == "mul":
        for constant, other in (expr.args, expr.args[::-1]):
            if isinstance(constant, Const):
                return terms_of(other, factor * constant.value)
    return [expr if factor == 1 else Op("mul", (Const(float(factor)), expr))]
