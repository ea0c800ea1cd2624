"""Rules from measured data: the simplest formula that the noise allows, with the digits that it allows.

The exact route asks for a formula without error; measured targets have none. Here the front of the regression
is weighed by an information criterion, so that a longer formula must earn its length, and constants keep
only the digits that their standard errors support.

Two kinds of noise call for two fits. Noise in the process is passed on by past outputs, so the best rule
predicts one step ahead. Noise of the instrument is not: past readings are then bad copies of the state, a
rule fitted one step ahead is biased and leans on many of them, and the right one is found by letting the
program run free, with fewer terms, and fitting what it then gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations, product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Const, Expr, Op, Recurrence, Start, Step, Var, evaluate
from weights2code.program.assembly import Assembly
from weights2code.program.direct import MOST_LEAVES, checked_sequences, leaf_domain, start_candidates, table
from weights2code.symbolic import NativeEngine, snap
from weights2code.symbolic.snapping import fit_function, free_constants, refit, snap_function, with_constants

#: Longest formula that noisy data are given.
MOST_NODES = 31
#: Rows of the regression, and sequences that free-running fits use.
ROWS = 4000
SIMULATED = 100
#: Dropping a term may raise the free-running error by this factor.
AS_GOOD = 1.02
#: Free-running is the right fit if its error is at most this many times the one-step error.
RUNS_FREE = 1.15


def noisy_recurrences(assembly: Assembly, problem: Problem, time_limit: float) -> Iterator[Recurrence]:
    """The rule that runs free, if there is one, and the rule that predicts one step ahead."""
    steps = []
    for row, name in enumerate(problem.outputs):
        leaves = assembly.output_leaves(row)
        expr = regress_noisy(assembly, problem, row, leaves, time_limit / len(problem.outputs))
        if expr is None:
            return
        steps.append(Step(name, expr))
    ahead = with_start(assembly.recurrence(steps), problem, assembly)
    if any(name in problem.outputs for name in ahead.depths()):
        free = running_free(ahead, problem)
        if free is not None:
            yield with_start(free, problem, assembly)
    yield ahead


def regress_noisy(
    assembly: Assembly, problem: Problem, row: int, leaves: tuple[Var, ...], time_limit: float
) -> Expr | None:
    """The formula of one output that is worth its length, snapped."""
    columns, target = table(assembly, problem.training, leaves, row)
    pick = np.random.default_rng(0).permutation(len(target))[:ROWS]
    columns, target = columns[pick], target[pick]
    if len(target) < 10:
        return None
    leaves, columns = useful(leaves, columns, target)
    front = NativeEngine().search(
        columns,
        target,
        variables=leaves,
        domains=tuple(leaf_domain(problem, v, c) for v, c in zip(leaves, columns.T, strict=True)),
        tolerance=1e-9 * max(float(np.std(target)), 1e-300),
        time_limit=time_limit,
        max_complexity=MOST_NODES,
    )
    values = dict(zip(leaves, columns.T, strict=True))
    best: tuple[float, Expr] | None = None
    for candidate in front:
        if candidate.kind != "formula":
            continue
        expr = refit(as_floats(candidate.expr), values, target)
        error = target - np.broadcast_to(np.asarray(evaluate(expr, values), float), target.shape)
        square = float(np.mean(error**2))
        if not math.isfinite(square):
            continue
        merit = len(target) * math.log(max(square, 1e-300)) + candidate.complexity * math.log(len(target))
        if best is None or merit < best[0]:
            best = merit, expr
    return None if best is None else snap(best[1], values, target, 0.0)


def useful(
    leaves: tuple[Var, ...], columns: np.ndarray, target: np.ndarray
) -> tuple[tuple[Var, ...], np.ndarray]:
    """At most as many leaves as a regression can take: those whose loss a linear fit notices most."""
    kept = list(range(len(leaves)))
    while len(kept) > MOST_LEAVES:
        losses = []
        for j in kept:
            rest = [k for k in kept if k != j]
            design = np.column_stack([columns[:, rest], np.ones(len(target))])
            solution = np.linalg.lstsq(design, target, rcond=None)[0]
            losses.append(float(np.mean((design @ solution - target) ** 2)))
        kept.pop(int(np.argmin(losses)))
    return tuple(leaves[j] for j in kept), columns[:, kept]


def as_floats(expr: Expr) -> Expr:
    """Coefficients become free to be refitted; exponents and the like stay whole."""

    def walk(node: Expr) -> Expr:
        if isinstance(node, Op):
            fixed = node.name in ("pow", "mod", "floor", "eq", "ne")
            return Op(node.name, tuple(a if fixed and isinstance(a, Const) else walk(a) for a in node.args))
        if isinstance(node, Const) and math.isfinite(float(node.value)):
            return Const(float(node.value)) if float(node.value) not in (0.0, 1.0, -1.0, 2.0) else node
        return node

    return walk(expr)


# -- free-running ---------------------------------------------------------------------------------------------


def running_free(ahead: Recurrence, problem: Problem) -> Recurrence | None:
    """The rule with as few terms as free running needs, fitted to it; None if noise drives the process."""
    sequences = problem.training.take(slice(0, SIMULATED))
    one_step = error_of(ahead, sequences, sequences.lengths)
    draft = _fitted(ahead, sequences)
    best = error_of(draft, sequences, sequences.given)
    if not best <= RUNS_FREE * one_step:
        return None
    limit = AS_GOOD * best
    for count in (1, 2):  # a term of the past can stand in for another: those go only together
        while True:
            trials = [_fitted(fewer, sequences) for fewer in _with_fewer_terms(draft, count)]
            errors = [error_of(trial, sequences, sequences.given) for trial in trials]
            if not errors or min(errors) > limit:
                break
            draft = trials[int(np.argmin(errors))]
    return _snapped(draft, sequences)


def error_of(program: Recurrence, sequences: Sequences, until: np.ndarray) -> float:
    """Root mean square error over the scored positions, every output relative to its spread."""
    with np.errstate(all="ignore"):
        error = (program.run(sequences.x, sequences.y, until) - sequences.y)[sequences.scored]
    spread = np.maximum(np.std(sequences.y[sequences.scored], axis=0), 1e-300)
    mean = float(np.sqrt(np.mean((error / spread) ** 2)))
    return mean if math.isfinite(mean) else math.inf


def _constants(program: Recurrence) -> np.ndarray:
    return np.array([v for step in program.steps for v in _free(step)])


def _free(step: Step) -> tuple[float, ...]:
    return free_constants(step.definition) if isinstance(step.definition, Expr) else ()


def _filled(program: Recurrence, values: tuple) -> Recurrence:
    steps, place = [], 0
    for step in program.steps:
        count = len(_free(step))
        if count and isinstance(step.definition, Expr):
            step = Step(step.name, with_constants(step.definition, tuple(values[place : place + count])))
            place += count
        steps.append(step)
    return Recurrence(program.inputs, tuple(steps), program.outputs, program.start)


def _simulation(
    program: Recurrence, sequences: Sequences, until: np.ndarray
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """Constants to outputs, as the program runs on some sequences, and what they should be."""
    mask = sequences.scored
    spread = np.maximum(np.std(sequences.y[mask], axis=0), 1e-300)

    def predict(constants: np.ndarray) -> np.ndarray:
        filled = _filled(program, tuple(float(v) for v in constants))
        answers = filled.run(sequences.x, sequences.y, until)[mask] / spread
        return np.clip(np.nan_to_num(answers, nan=1e6), -1e6, 1e6).ravel()

    return predict, (sequences.y[mask] / spread).ravel()


def _loose(program: Recurrence) -> Recurrence:
    steps = tuple(
        Step(step.name, as_floats(step.definition)) if isinstance(step.definition, Expr) else step
        for step in program.steps
    )
    return Recurrence(program.inputs, steps, program.outputs, program.start)


def _fitted(program: Recurrence, sequences: Sequences) -> Recurrence:
    """Constants fitted to free running, from where one step ahead would have them."""
    program = _loose(program)
    if not len(_constants(program)):
        return program
    ahead, target = _simulation(program, sequences, sequences.lengths)
    start = fit_function(ahead, _constants(program), target)
    predict, target = _simulation(program, sequences, sequences.given)
    return _filled(program, tuple(float(v) for v in fit_function(predict, start, target)))


def _snapped(program: Recurrence, sequences: Sequences) -> Recurrence:
    start = _constants(program)
    if not len(start):
        return program
    predict, target = _simulation(program, sequences, sequences.given)
    return _filled(program, snap_function(predict, start, target))


def _with_fewer_terms(program: Recurrence, count: int) -> Iterator[Recurrence]:
    """The program with so many terms of one output left out."""
    for index, step in enumerate(program.steps):
        if step.name not in program.outputs or not isinstance(step.definition, Expr):
            continue
        terms = _terms(step.definition)
        for dropped in combinations(range(len(terms)), count) if len(terms) > count else ():
            rest = [term for i, term in enumerate(terms) if i not in dropped]
            total = rest[0]
            for term in rest[1:]:
                total = total + term
            steps = (*program.steps[:index], Step(step.name, total), *program.steps[index + 1 :])
            depths = Recurrence(program.inputs, steps, program.outputs).depths()
            start: dict[str, Start] = {n: v for n, v in program.start.items() if n in depths}
            yield Recurrence(program.inputs, steps, program.outputs, start)


def _terms(expr: Expr) -> list[Expr]:
    """The terms of a sum; a coefficient in front of a sum is multiplied out."""
    if isinstance(expr, Op) and expr.name in ("add", "sub"):
        left, right = expr.args
        others = _terms(right)
        if expr.name == "sub":
            others = [_negated(term) for term in others]
        return [*_terms(left), *others]
    if isinstance(expr, Op) and expr.name == "neg":
        return [_negated(term) for term in _terms(expr.args[0])]
    if isinstance(expr, Op) and expr.name == "mul":
        for constant, other in (expr.args, expr.args[::-1]):
            inner = _terms(other) if isinstance(constant, Const) else []
            if len(inner) > 1:
                return [Op("mul", (constant, term)) for term in inner]
    return [expr]


def _negated(term: Expr) -> Expr:
    if isinstance(term, Const):
        return Const(-term.value)
    if isinstance(term, Op) and term.name == "mul" and isinstance(term.args[0], Const):
        return Op("mul", (Const(-term.args[0].value), term.args[1]))
    return Op("mul", (Const(-1.0), term))


# -- start values ---------------------------------------------------------------------------------------------


def with_start(draft: Recurrence, problem: Problem, assembly: Assembly) -> Recurrence:
    """The start values that fit the first positions best; a simpler one wins if it is nearly as good."""
    check = checked_sequences(problem.validation)
    check = check.take(np.flatnonzero(check.given == 0))
    names = sorted(set(draft.depths()) & {*problem.inputs, *problem.outputs})
    if not len(check) or not names:
        return draft
    deepest = max(draft.depths().values())
    early = Sequences(check.x[:, :deepest], check.y[:, :deepest], np.minimum(check.lengths, deepest))
    choices = [
        [v for v in start_candidates(name, problem, assembly) if v == "first" or math.isfinite(v)]
        for name in names
    ]
    trials = sorted(product(*(enumerate(choice) for choice in choices)), key=lambda v: sum(i for i, _ in v))
    found: list[tuple[float, Recurrence]] = []
    for trial in trials[:200]:
        start: dict[str, Start] = dict(draft.start)
        start |= {name: value for name, (_, value) in zip(names, trial, strict=True)}
        start = {name: value for name, value in start.items() if value != 0}
        candidate = Recurrence(draft.inputs, draft.steps, draft.outputs, start)
        with np.errstate(all="ignore"):
            error = (candidate.run(early.x, early.y, early.lengths) - early.y)[early.scored]
        found.append((float(np.nan_to_num(np.mean(error**2), nan=np.inf)), candidate))
    best = min(error for error, _ in found)
    return next(candidate for error, candidate in found if error <= 1.1 * best)
