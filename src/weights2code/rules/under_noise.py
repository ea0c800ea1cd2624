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
from collections.abc import Iterator
from functools import reduce
from operator import add

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Const, Expr, Recurrence, Step, Var, evaluate
from weights2code.rules.assembly import Assembly
from weights2code.rules.free_running import as_floats, running_free
from weights2code.rules.from_leaves import MOST_LEAVES, checked_sequences
from weights2code.rules.rows import leaf_domains, table
from weights2code.rules.starts import likeliest_start
from weights2code.symbolic import snap
from weights2code.symbolic.engine import Engine
from weights2code.symbolic.notation import tidy
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.symbolic.snapping import refit
from weights2code.verify.residuals import answers, residuals

#: Longest formula that noisy data are given.
MOST_NODES = 31
#: Rows of the regression, at least and at most.
FEWEST_ROWS = 3
ROWS = 4000
#: Errors of the first positions up to so many standard deviations say nothing against a start value.
LIKELY = 4.0
#: Start values that are tried.
STARTS = 200


def noisy_recurrences(
    assembly: Assembly, problem: Problem, effort: float, engine: Engine
) -> Iterator[Recurrence]:
    """The rule that runs free, if there is one, and the rule that predicts one step ahead."""
    steps = []
    for row, name in enumerate(problem.outputs):
        expr = regress_noisy(assembly, problem, row, effort / len(problem.outputs), engine)
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
    assembly: Assembly, problem: Problem, row: int, effort: float, engine: Engine
) -> Expr | None:
    """The formula of one output that is worth its length, snapped."""
    leaves = assembly.output_leaves(row)
    columns, target = table(assembly, problem.training, leaves, row)
    pick = np.random.default_rng(0).permutation(len(target))[:ROWS]
    columns, target = columns[pick], target[pick]
    if len(target) < FEWEST_ROWS:
        return None
    if problem.output_domains[row].categories:
        return None  # a text is right or wrong, and not nearly right
    values = dict(zip(leaves, columns.T, strict=True))
    kept = thinned(columns, target, most=MOST_LEAVES)
    some = tuple(leaves[i] for i in kept)
    front = search_over_texts(
        engine,
        columns[:, kept],
        target,
        variables=some,
        domains=leaf_domains(problem, some, columns[:, kept], assembly),
        answer=problem.output_domains[row],
        tolerance=1e-9 * max(float(np.std(target)), 1e-300),
        effort=effort,
        max_complexity=MOST_NODES,
    )
    formulas = [refit(as_floats(c.expr), values, target) for c in front if c.kind == "formula"]
    if len(some) < len(leaves):
        formulas.append(affine(leaves, columns, target))

    def merit(expr: Expr) -> float:
        error = target - np.broadcast_to(np.asarray(evaluate(expr, values), float), target.shape)
        square = float(np.nan_to_num(np.mean(error**2), nan=np.inf))
        return len(target) * math.log(max(square, 1e-300)) + expr.size() * math.log(len(target))

    best = min(formulas, key=merit, default=None)
    return tidy(snap(best, values, target, 0.0)) if best is not None and merit(best) < math.inf else None


def affine(leaves: tuple[Var, ...], columns: np.ndarray, target: np.ndarray) -> Expr:
    """The linear rule of many leaves, without those that an information criterion finds not worth a term."""
    kept = thinned(columns, target)
    *weights, constant = _least_squares(columns[:, kept], target)[0].tolist()
    return reduce(add, (Const(w) * leaves[i] for w, i in zip(weights, kept, strict=True)), Const(constant))


def thinned(columns: np.ndarray, target: np.ndarray, *, most: int | None = None) -> list[int]:
    """The leaves whose loss a linear fit notices: so many at most, or all that are worth a term."""
    kept, square = list(range(columns.shape[1])), _least_squares(columns, target)[1]
    worth = math.exp(4 * math.log(len(target)) / len(target))  # a term is four nodes
    while len(kept) > (most or 1):
        fewer = [[k for k in kept if k != j] for j in kept]
        losses = [_least_squares(columns[:, rest], target)[1] for rest in fewer]
        least = int(np.argmin(losses))
        if most is None and losses[least] > worth * square:
            break
        kept, square = fewer[least], losses[least]
    return kept


def _least_squares(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    design = np.column_stack([columns, np.ones(len(target))])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    return solution, float(np.mean((design @ solution - target) ** 2))


# -- start values --------------------------------------------------------------------------------------------


def with_start(draft: Recurrence, problem: Problem, assembly: Assembly) -> Recurrence:
    """The simplest start values that agree with the first positions as well as noise lets anything agree."""
    check = checked_sequences(problem.validation)
    check = check.take(np.flatnonzero(check.given == 0))
    if not len(check) or not draft.depths():
        return draft
    deepest = max(draft.depths().values())
    early = Sequences(check.x[:, :deepest], check.y[:, :deepest], np.minimum(check.lengths, deepest))
    noise = np.array([item.rmse for item in residuals(draft, problem.training, one_step=True)])

    def deviation(candidate: Recurrence) -> float:
        error = np.abs(answers(candidate, early, one_step=True) - early.y)[early.scored]
        with np.errstate(all="ignore"):
            return float(np.nan_to_num(np.max(error / np.maximum(noise, 1e-300)), nan=np.inf))

    return likeliest_start(draft, problem, assembly, deviation, enough=LIKELY, most=STARTS)
