"""Own data in whole numbers with mistakes: labels set by hand, bits lost on a line.

No rule is exact on them, so the exact route finds nothing. But where the values that the output depends on
take few combinations, each comes up often, and most of its rows are right: the majority says what the rule
gives there. The rule is then searched on the majorities, exactly as without mistakes, and the certificate
tells mistakes from a rule that was missed (`verify.mistakes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from weights2code.data import Problem
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import match_routers, require_matches
from weights2code.graph import DiscreteGraph
from weights2code.language import Recurrence, Start, Step, Var
from weights2code.program import Program
from weights2code.results import Extraction
from weights2code.rules.assembly import Assembly
from weights2code.rules.from_leaves import (
    MOST_LEAVES,
    leaf_domain,
    sensible_operators,
    start_candidates,
    table,
)
from weights2code.symbolic import NativeEngine
from weights2code.verify import Certificate
from weights2code.verify.mistakes import MOST

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: Rows of a combination that make its majority count, and the share of them that must agree.
LEAST_ROWS = 4
AGREE = 0.7
#: Share of all rows that combinations with a majority must cover.
COVERED = 0.8
#: Formulas that are tried, start values of each, and sequences that judge them.
FORMULAS = 3
STARTS = 60
JUDGED = 200

#: Where such a program comes from.
ORIGIN = "regressed from majorities of the rows"

#: (recurrence, where it came from, graph, problem) -> the program and its certificate.
Judge = Callable[[Recurrence, str, DiscreteGraph, Problem], tuple[Program, Certificate]]


def with_mistakes(
    trained: Trained, graph: DiscreteGraph, problem: Problem, time_limit: float, judge: Judge
) -> Extraction | None:
    """The rule that most rows follow, certified with mistakes allowed; None if there is none.

    Raises `NotExtracted` with the reason where the data do not lend themselves to majorities.
    """
    if trained.accuracies[0] < 1 - MOST:
        return None
    matches = match_routers(graph, problem.validation)
    require_matches(graph, matches)
    domains = dict(zip(problem.inputs, problem.domains, strict=True))
    assembly = Assembly(graph, matches, domains=domains)
    per_output = []
    for row, name in enumerate(problem.outputs):
        found = regress(assembly, problem, row, time_limit / len(problem.outputs))
        per_output.append([Step(name, expr) for expr in found])
    relaxed = replace(problem, mistakes=True)
    best: Extraction | None = None
    for steps in list(product(*per_output))[:FORMULAS]:
        machine = with_likely_start(assembly.recurrence(list(steps)), problem, assembly)
        program, certificate = judge(machine, ORIGIN, graph, relaxed)
        if certificate.verified:
            return Extraction(graph, None, program, certificate)
        if best is None or (certificate.accuracy or 0) > (best.certificate.accuracy or 0):
            best = Extraction(graph, None, program, certificate)
    return best


def regress(assembly: Assembly, problem: Problem, row: int, time_limit: float) -> list:
    """Formulas that give the majority of every combination of values, simplest first."""
    leaves = assembly.output_leaves(row)
    columns, target = table(assembly, problem.training, leaves, row)
    kept = needed(columns, target, [_cost(leaf, problem) for leaf in leaves])
    if len(kept) > MOST_LEAVES:
        raise NotExtracted(f"{problem.outputs[row]} depends on {len(kept)} values, too many for majorities.")
    leaves, columns = tuple(leaves[i] for i in kept), columns[:, kept]
    rows, majority, covered = majorities(columns, target)
    if covered < COVERED:
        raise NotExtracted("the combinations of values come up too rarely to tell rule from mistake.")
    front = NativeEngine().search(
        rows,
        majority,
        variables=leaves,
        domains=tuple(leaf_domain(problem, v, c) for v, c in zip(leaves, columns.T, strict=True)),
        tolerance=1e-6,
        time_limit=time_limit,
        operators=sensible_operators(problem, row),
    )
    exact = [candidate.expr for candidate in front if candidate.exact]
    if not exact:
        raise NotExtracted("no formula gives what most rows say.")
    return exact[:FORMULAS]


def majorities(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Combinations of values that come up often, what most of their rows say, and the share of all rows."""
    combinations, keys = np.unique(columns, axis=0, return_inverse=True)
    labels, codes = np.unique(target, return_inverse=True)
    counts = _counts(keys.reshape(-1), codes, len(combinations), len(labels))
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
    groups, keys = np.unique(columns, axis=0, return_inverse=True)
    labels, codes = np.unique(target, return_inverse=True)
    counts = _counts(keys.reshape(-1), codes, len(groups), len(labels))
    wrong = 0
    for label in range(len(labels)):
        others = np.delete(counts, label, axis=1)
        rival = others.max(1) if others.shape[1] else np.zeros(len(groups), int)
        wrong += int(counts[counts[:, label] - 1 <= rival, label].sum())
    return wrong


def _counts(keys: np.ndarray, codes: np.ndarray, groups: int, labels: int) -> np.ndarray:
    return np.bincount(keys * labels + codes, minlength=groups * labels).reshape(groups, labels)


def _cost(leaf: Var, problem: Problem) -> float:
    kind = 1.0 if leaf.name in problem.inputs else 2.0 if leaf.name in problem.outputs else 3.0
    return kind + 0.1 * leaf.lag


def with_likely_start(draft: Recurrence, problem: Problem, assembly: Assembly) -> Recurrence:
    """The start values with the fewest wrong outputs, run free from true starts; the simplest of equals."""
    names = sorted(set(draft.depths()) & {*problem.inputs, *problem.outputs})
    part = problem.training.take(np.flatnonzero(problem.training.given == 0)[:JUDGED])
    if not names or not len(part):
        return draft
    choices = [list(enumerate(start_candidates(name, problem, assembly))) for name in names]
    trials = sorted(product(*choices), key=lambda trial: sum(i for i, _ in trial))[:STARTS]
    best: tuple[int, Recurrence] | None = None
    for trial in trials:
        start: dict[str, Start] = dict(draft.start)
        start |= {name: value for name, (_, value) in zip(names, trial, strict=True)}
        start = {name: value for name, value in start.items() if value != 0}
        candidate = Recurrence(draft.inputs, draft.steps, draft.outputs, start)
        with np.errstate(all="ignore"):
            error = np.abs(candidate.run(part.x) - part.y)[part.scored]
        wrong = int(np.sum(~(error < 0.5)))
        if best is None or wrong < best[0]:
            best = wrong, candidate
    assert best is not None
    return best[1]
