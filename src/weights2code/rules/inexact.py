"""Rules from data with errors: measured numbers with noise, whole numbers and texts with mistakes.

No rule is exact on them, so the exact route finds nothing.

Of measured numbers the front of the regression is weighed by an information criterion, so that a longer
formula must earn its length, and constants keep only the digits that their standard errors support. Noise in
the process is passed on by past outputs, so the best rule predicts one step ahead. Noise of the instrument is
not: past readings are then bad copies of the state, a rule fitted one step ahead is biased and leans on many
of them, and the right one is found by letting the program run free, with fewer terms (`free_running`).

Of labels set by hand or lost bits most are right: where the values that the output depends on take few
combinations, each comes up often, and the majority says what the rule gives there. The rule is searched on
the majorities, exactly as without mistakes, and the certificate tells mistakes from a rule that was missed
(`verify.residuals`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from itertools import islice, product
from operator import add

import numpy as np

from weights2code.data import Problem, Regime, Sequences
from weights2code.errors import NotExtracted, Reason
from weights2code.language import Const, Expr, Recurrence, Step, Var, evaluate
from weights2code.rules.assembly import Reads
from weights2code.rules.free_running import as_floats, running_free
from weights2code.rules.from_leaves import MOST_LEAVES, Regression
from weights2code.rules.rows import leaf_cost, leaf_domains, table
from weights2code.rules.starts import usual_starts
from weights2code.simplify.forms import tidied
from weights2code.symbolic import snap
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.symbolic.snapping import refit
from weights2code.verify.residuals import answers, residuals

#: Longest formula that noisy data are given; rows of the regression, at least and at most.
MOST_NODES, FEWEST_ROWS, ROWS = 31, 3, 4000
#: Rows of a combination that make its majority count, the share of them that must agree, and the share of all
#: rows that such combinations must cover.
LEAST_ROWS, AGREE, COVERED = 4, 0.7, 0.8
#: Formulas of majorities that are tried; start values of each, and sequences that judge them.
FORMULAS, STARTS, JUDGED = 3, 200, 200
#: Errors up to so many standard deviations say nothing against a start value; nor do such of whole numbers.
LIKELY, NEAR = 4.0, 0.5


def inexact_recurrences(assembly: Reads, problem: Problem, effort: float) -> Iterator[Recurrence]:
    """The rules that the errors of the data allow; `NotExtracted` says why these do not lend themselves."""
    mistakes = problem.regime is Regime.MISTAKES
    yield from (majority_recurrences if mistakes else noisy_recurrences)(assembly, problem, effort)


def noisy_recurrences(assembly: Reads, problem: Problem, effort: float) -> Iterator[Recurrence]:
    """The rule that runs free, if there is one, and the rule that predicts one step ahead."""
    steps = []
    for row, name in enumerate(problem.outputs):
        expr = regress_noisy(assembly, problem, row, effort / len(problem.outputs))
        if expr is None:
            return
        steps.append(Step(name, expr))
    ahead = with_start(assembly.recurrence(steps), problem, assembly)
    if any(name in problem.outputs for name in ahead.depths()):
        free = running_free(ahead, problem)
        if free is not None:
            yield with_start(free, problem, assembly)
    yield ahead


def regress_noisy(assembly: Reads, problem: Problem, row: int, effort: float) -> Expr | None:
    """The formula of one output that is worth its length, snapped."""
    leaves = assembly.output_leaves(row)
    columns, target = table(assembly, problem.training, leaves, row)
    pick = np.random.default_rng(0).permutation(len(target))[:ROWS]
    columns, target = columns[pick], target[pick]
    if len(target) < FEWEST_ROWS or problem.output_domains[row].categories:
        return None  # a text is right or wrong, and not nearly right
    values = dict(zip(leaves, columns.T, strict=True))
    kept = thinned(columns, target, most=MOST_LEAVES)
    some = tuple(leaves[i] for i in kept)
    front = search_over_texts(
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
    return tidied(snap(best, values, target, 0.0)) if best is not None and merit(best) < math.inf else None


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


def with_start(draft: Recurrence, problem: Problem, assembly: Reads) -> Recurrence:
    """The simplest start values with the fewest first outputs that errors do not explain."""
    check = problem.validation.take(np.flatnonzero(problem.validation.given == 0)[:JUDGED])
    if not len(check) or not draft.depths():
        return draft
    deepest = max(draft.depths().values())
    early = Sequences(check.x[:, :deepest], check.y[:, :deepest], np.minimum(check.lengths, deepest))
    noise = np.array([item.rmse for item in residuals(draft, problem.training, one_step=True)])
    limit = np.where([domain.discrete for domain in problem.output_domains], NEAR, LIKELY * noise)

    def unlikely(candidate: Recurrence) -> float:
        with np.errstate(all="ignore"):
            error = np.abs(answers(candidate, early, one_step=True) - early.y)[early.scored]
        return float(np.sum(~(error <= np.maximum(limit, 1e-300))))

    best, fewest = draft, math.inf
    for candidate in islice(usual_starts(draft, problem, assembly), STARTS):
        found = unlikely(candidate)
        if found < fewest:
            best, fewest = candidate, found
        if not found:
            break
    return best


# -- mistakes ------------------------------------------------------------------------------------------------


def majority_recurrences(assembly: Reads, problem: Problem, effort: float) -> Iterator[Recurrence]:
    """Rules that most rows follow, simplest first."""
    per_output = []
    for row, name in enumerate(problem.outputs):
        found = regress_majorities(assembly, problem, row, effort / len(problem.outputs))
        per_output.append([Step(name, expr) for expr in found])
    for steps in islice(product(*per_output), FORMULAS):
        yield with_start(assembly.recurrence(list(steps)), problem, assembly)


def regress_majorities(assembly: Reads, problem: Problem, row: int, effort: float) -> list[Expr]:
    """Formulas that give the majority of every combination of values, simplest first."""
    leaves = assembly.output_leaves(row)
    columns, target = table(assembly, problem.training, leaves, row)
    kept = needed(columns, target, [leaf_cost(leaf, problem) for leaf in leaves])
    if len(kept) > MOST_LEAVES:
        text = f"{problem.outputs[row]} depends on {len(kept)} values, too many for majorities."
        raise NotExtracted(text, Reason.TOO_MANY)
    rows, majority, covered = majorities(columns[:, kept], target)
    if covered < COVERED:
        text = "the combinations of values come up too rarely to tell rule from mistake."
        raise NotExtracted(text, Reason.TOO_RARE)
    some = tuple(leaves[i] for i in kept)
    found = Regression(assembly, problem, row, effort).exact(some, rows, majority)
    if not found:
        raise NotExtracted("no formula gives what most rows say.")
    return [candidate.expr for candidate in found[:FORMULAS]]


def majorities(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Combinations of values that come up often, what most of their rows say, and the share of all rows."""
    combinations, labels, counts = _counts(columns, target)
    total, most = counts.sum(1), counts.max(1)
    sure = (total >= LEAST_ROWS) & (most >= AGREE * total)
    covered = float(total[sure].sum() / max(total.sum(), 1))
    return combinations[sure], labels[counts.argmax(1)][sure], covered


def needed(columns: np.ndarray, target: np.ndarray, costs: list[float]) -> list[int]:
    """Leaves without those that majorities do as well without, the dearest dropped first."""
    kept = list(range(columns.shape[1]))
    wrong = left_out_errors(columns, target)
    for leaf in sorted(kept, key=lambda index: costs[index], reverse=True):
        fewer = [index for index in kept if index != leaf]
        without = left_out_errors(columns[:, fewer], target) if fewer else len(target)
        if without <= wrong:
            kept, wrong = fewer, without
    return kept


def left_out_errors(columns: np.ndarray, target: np.ndarray) -> int:
    """Rows that the majority of the other rows with the same values gets wrong; ties are wrong.

    Each row is judged without itself, so that values that say nothing do not look useful.
    """
    _, _, counts = _counts(columns, target)
    ordered = np.sort(np.pad(counts, ((0, 0), (1, 0))), axis=1)
    rival = np.where(counts == ordered[:, -1:], ordered[:, -2:-1], ordered[:, -1:])
    return int(counts[counts - 1 <= rival].sum())


def _counts(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The combinations of values, the targets, and how often each comes with each."""
    groups, keys = np.unique(columns, axis=0, return_inverse=True)
    labels, codes = np.unique(target, return_inverse=True)
    cells = keys.reshape(-1) * len(labels) + codes
    counts = np.bincount(cells, minlength=len(groups) * len(labels))
    return groups, labels, counts.reshape(len(groups), len(labels))
