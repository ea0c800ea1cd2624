"""The rule that most rows follow: own data in whole numbers with mistakes, labels set by hand, lost bits.

No rule is exact on them, so the exact route finds nothing. But where the values that the output depends on
take few combinations, each comes up often, and most of its rows are right: the majority says what the rule
gives there. The rule is then searched on the majorities, exactly as without mistakes, and the certificate
tells mistakes from a rule that was missed (`verify.residuals`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from weights2code.data import Problem
from weights2code.errors import NotExtracted, Reason
from weights2code.language import Expr, Recurrence, Step
from weights2code.rules.assembly import Assembly
from weights2code.rules.from_leaves import MOST_LEAVES, WHOLE_TOLERANCE, exact_candidates
from weights2code.rules.rows import leaf_cost, table
from weights2code.rules.starts import likeliest_start
from weights2code.symbolic.engine import Engine

#: Rows of a combination that make its majority count, and the share of them that must agree.
LEAST_ROWS = 4
AGREE = 0.7
#: Share of all rows that combinations with a majority must cover.
COVERED = 0.8
#: Formulas that are tried, start values of each, and sequences that judge them.
FORMULAS = 3
STARTS = 60
JUDGED = 200


def majority_recurrences(
    assembly: Assembly, problem: Problem, effort: float, engine: Engine
) -> Iterator[Recurrence]:
    """Rules that most rows follow, simplest first.

    Raises `NotExtracted` with the reason where the data do not lend themselves to majorities.
    """
    per_output = []
    for row, name in enumerate(problem.outputs):
        found = regress(assembly, problem, row, effort / len(problem.outputs), engine)
        per_output.append([Step(name, expr) for expr in found])
    for steps in islice(product(*per_output), FORMULAS):
        yield with_likely_start(assembly.recurrence(list(steps)), problem, assembly)


def regress(assembly: Assembly, problem: Problem, row: int, effort: float, engine: Engine) -> list[Expr]:
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
    found = exact_candidates(problem, row, some, rows, majority, WHOLE_TOLERANCE, effort, engine, assembly)
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


def with_likely_start(draft: Recurrence, problem: Problem, assembly: Assembly) -> Recurrence:
    """The start values with the fewest wrong outputs, run free from true starts; the simplest of equals."""
    part = problem.training.take(np.flatnonzero(problem.training.given == 0)[:JUDGED])
    if not len(part):
        return draft

    def wrong(candidate: Recurrence) -> float:
        with np.errstate(all="ignore"):
            error = np.abs(candidate.run(part.x) - part.y)[part.scored]
        return float(np.sum(~(error < 0.5)))

    return likeliest_start(draft, problem, assembly, wrong, most=STARTS)
