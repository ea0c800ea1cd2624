"""Fitting a program to what it gives when it runs free (output error, in the words of system identification).

Past readings are bad copies of a state that was measured with noise. A rule fitted one step ahead then leans
on many of them. The rule itself is simpler: run free, drop every term without which it does as well, fit the
constants to the run, and keep the digits that the data support. The first positions of a run, where it still
remembers the readings that it began with, do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, islice
from operator import add

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Const, Expr, Op, Recurrence, Start, Step, Var
from weights2code.symbolic.snapping import free_constants, snap_function, with_constants

#: Sequences that are run, and positions that a run is given to forget its start.
SIMULATED = 100
FORGETTING = 18
#: Dropping terms may raise the error by this factor.
AS_GOOD = 1.02
#: Running free is the right fit if its error is at most this many times the one-step error.
RUNS_FREE = 1.15
#: Gauss-Newton steps of a fit, and the relative gain below which it ends.
STEPS = 5
GAIN = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Sequences to run on, how long each reads the true outputs, and what is judged."""

    sequences: Sequences
    until: np.ndarray
    judged: np.ndarray

    @property
    def spread(self) -> np.ndarray:
        return np.maximum(np.std(self.sequences.y[self.judged], axis=0), 1e-300)

    @property
    def target(self) -> np.ndarray:
        return (self.sequences.y[self.judged] / self.spread).ravel()

    def run(self, program: Recurrence, constants: np.ndarray) -> np.ndarray:
        """Judged outputs (sets, rows) for sets of constants (sets, k), all run at once."""
        sets, count = len(constants), len(self.sequences)
        columns = np.repeat(constants, count, 0)[:, None, :]
        x = np.tile(self.sequences.x, (sets, 1, 1))
        x = np.concatenate([x, np.broadcast_to(columns, (*x.shape[:2], constants.shape[1]))], 2)
        y = np.tile(self.sequences.y, (sets, 1, 1))
        with np.errstate(all="ignore"):
            answers = opened(program).run(x, y, np.tile(self.until, sets))
        kept = answers[np.tile(self.judged, (sets, 1))] / self.spread
        return np.clip(np.nan_to_num(kept, nan=1e6), -1e6, 1e6).reshape(sets, -1)

    def error(self, program: Recurrence) -> float:
        """Root mean square error, relative to the spread."""
        error = self.run(program, constants_of(program)[None])[0] - self.target
        return float(np.sqrt(np.mean(error**2)))


def simulation(sequences: Sequences, depth: int, *, one_step: bool) -> Simulation:
    """Runs that read the truth as long as they must, or always."""
    part = sequences.take(slice(0, SIMULATED))
    length = part.x.shape[1]
    until = part.lengths if one_step else np.where(part.given > 0, np.minimum(part.given, depth), 0)
    forgotten = np.arange(length)[None, :] >= np.minimum(FORGETTING, part.lengths[:, None] // 2)
    return Simulation(part, until, part.scored & forgotten)


def running_free(ahead: Recurrence, problem: Problem) -> Recurrence | None:
    """The rule with as few terms as free running needs, fitted to it; None if noise drives the process."""
    depth = max(ahead.depths().values(), default=1)
    free = simulation(problem.training, depth, one_step=False)
    forced = simulation(problem.training, depth, one_step=True)
    if not free.judged.any():
        return None
    draft = fitted(fitted(loose(with_nearest_terms(ahead)), forced), free)
    best = free.error(draft)
    if not best <= RUNS_FREE * forced.error(ahead):
        return None
    limit = AS_GOOD * best
    for count in (1, 2):  # terms of the past can stand in for each other: those go only together
        while True:
            trials = [fitted(fitted(fewer, forced), free) for fewer in with_fewer_terms(draft, count)]
            good = [trial for trial in trials if free.error(trial) <= limit]
            if not good:
                break
            draft = min(good, key=reach)  # what is near is the rule, what is far its echo
    return snapped(draft, free)


def fitted(program: Recurrence, simulation: Simulation) -> Recurrence:
    """Constants fitted by a few damped Gauss-Newton steps."""
    current = constants_of(program)
    if not len(current):
        return program
    target, damping = simulation.target, 1e-3
    answer = simulation.run(program, current[None])[0]
    loss = float(np.mean((answer - target) ** 2))
    for _ in range(STEPS):
        size = 1e-5 * np.maximum(np.abs(current), 1e-2)
        moved = simulation.run(program, current + np.diag(size))
        slopes = ((moved - answer) / size[:, None]).T
        gram, gradient = slopes.T @ slopes, slopes.T @ (target - answer)
        dampings = damping * np.array([0.01, 1.0, 100.0])
        trials = np.stack(
            [
                current + np.linalg.lstsq(gram + d * np.diag(np.diag(gram) + 1e-12), gradient, rcond=None)[0]
                for d in dampings
            ]
        )
        answers = simulation.run(program, trials)
        losses = np.mean((answers - target) ** 2, 1)
        best = int(np.argmin(losses))
        if not losses[best] < loss * (1 - GAIN):
            break
        current, answer, loss, damping = trials[best], answers[best], float(losses[best]), dampings[best]
    return filled(program, tuple(float(v) for v in current))


def snapped(program: Recurrence, simulation: Simulation) -> Recurrence:
    """Constants with the digits that the run supports."""
    start = constants_of(program)
    if not len(start):
        return program

    def predict(constants: np.ndarray) -> np.ndarray:
        return simulation.run(program, np.asarray(constants, float)[None])[0]

    return filled(program, snap_function(predict, start, simulation.target))


# -- constants and terms of a program ------------------------------------------------------------------------


def as_floats(expr: Expr) -> Expr:
    """Coefficients become free to be refitted; exponents and the like stay whole."""

    def walk(node: Expr) -> Expr:
        if isinstance(node, Op):
            fixed = node.name in ("pow", "mod", "floor", "eq", "ne")
            return Op(node.name, tuple(a if fixed and isinstance(a, Const) else walk(a) for a in node.args))
        if isinstance(node, Const) and math.isfinite(float(node.value)):
            value = float(node.value)
            if value in (0.0, 1.0, -1.0, 2.0):
                return node
            # whole numbers are not free, what lies just beside them is
            return Const(float(np.nextafter(value, np.inf)) if value.is_integer() else value)
        return node

    return walk(expr)


def loose(program: Recurrence) -> Recurrence:
    """Every coefficient free."""
    return replace(program, steps=_changed(program, as_floats))


def _changed(program: Recurrence, change: Callable[[Expr], Expr]) -> tuple[Step, ...]:
    """The steps with changed formulas; lookups stay as they are."""
    return tuple(
        Step(step.name, change(step.definition)) if isinstance(step.definition, Expr) else step
        for step in program.steps
    )


def constants_of(program: Recurrence) -> np.ndarray:
    """The free constants, in order."""
    rules = [step.definition for step in program.steps if isinstance(step.definition, Expr)]
    return np.array([value for rule in rules for value in free_constants(rule)], dtype=float)


def filled(program: Recurrence, values: tuple) -> Recurrence:
    """The program with other free constants."""
    stream = iter(values)

    def change(rule: Expr) -> Expr:
        return with_constants(rule, tuple(islice(stream, len(free_constants(rule)))))

    return replace(program, steps=_changed(program, change))


def opened(program: Recurrence) -> Recurrence:
    """The program with its free constants as further inputs."""
    names = tuple(f"constant {i}" for i in range(len(constants_of(program))))
    stream = iter(names)

    def opening(node: Expr) -> Expr:
        return Var(next(stream)) if isinstance(node, Const) and isinstance(node.value, float) else node

    steps = _changed(program, lambda rule: rule.transform(opening))
    return replace(program, inputs=(*program.inputs, *names), steps=steps)


def with_fewer_terms(program: Recurrence, count: int) -> Iterator[Recurrence]:
    """The program with so many terms of one output left out."""
    for index, step in enumerate(program.steps):
        if step.name not in program.outputs or not isinstance(step.definition, Expr):
            continue
        terms = terms_of(step.definition)
        for dropped in combinations(range(len(terms)), count) if len(terms) > count else ():
            rest = [term for i, term in enumerate(terms) if i not in dropped]
            total = reduce(add, rest)
            steps = (*program.steps[:index], Step(step.name, total), *program.steps[index + 1 :])
            depths = Recurrence(program.inputs, steps, program.outputs).depths()
            start: dict[str, Start] = {n: v for n, v in program.start.items() if n in depths}
            yield loose(Recurrence(program.inputs, steps, program.outputs, start))


def with_nearest_terms(program: Recurrence) -> Recurrence:
    """Outputs that read themselves back from afar read themselves at t-1 too: what is far may be an echo."""
    steps = []
    for step in program.steps:
        definition = step.definition
        if step.name in program.outputs and isinstance(definition, Expr):
            lags = [variable.lag for variable in definition.variables() if variable.name == step.name]
            if lags and 1 not in lags:
                definition = definition + Op("mul", (Const(0.01), Var(step.name, 1)))
        steps.append(Step(step.name, definition))
    return replace(program, steps=tuple(steps))


def reach(program: Recurrence) -> int:
    """How far back the steps of a program read, all reads added up."""
    return sum(
        variable.lag
        for step in program.steps
        if isinstance(step.definition, Expr)
        for variable in step.definition.variables()
    )


def terms_of(expr: Expr) -> list[Expr]:
    """The terms of a sum; a coefficient in front of a sum is multiplied out."""
    if isinstance(expr, Op) and expr.name in ("add", "sub"):
        left, right = expr.args
        others = terms_of(right)
        if expr.name == "sub":
            others = [_negated(term) for term in others]
        return [*terms_of(left), *others]
    if isinstance(expr, Op) and expr.name == "neg":
        return [_negated(term) for term in terms_of(expr.args[0])]
    if isinstance(expr, Op) and expr.name == "mul":
        for constant, other in (expr.args, expr.args[::-1]):
            inner = terms_of(other) if isinstance(constant, Const) else []
            if len(inner) > 1:
                return [Op("mul", (constant, term)) for term in inner]
    return [expr]


def _negated(term: Expr) -> Expr:
    if isinstance(term, Const):
        return Const(-term.value)
    if isinstance(term, Op) and term.name == "mul" and isinstance(term.args[0], Const):
        return Op("mul", (Const(-term.args[0].value), term.args[1]))
    return Op("mul", (Const(-1.0), term))
