"""From the leaves that the discrete model uses straight to the output.

Training has found which values matter; regressing the output on them often gives a shorter exact form than
composing the nodes. Rules are found on positions where every lag is inside the sequence; what lies before
the start is settled afterwards, as the simplest start values that reproduce the first positions too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.errors import NotExtracted, Reason
from weights2code.language import OPERATORS, Recurrence, Step, Var
from weights2code.rules.assembly import Reads
from weights2code.rules.between_outputs import from_others, in_order, read_now
from weights2code.rules.rows import leaf_cost, leaf_domains, table
from weights2code.rules.starts import unusual_starts, usual_starts
from weights2code.symbolic.engine import Candidate, preference
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.verify.residuals import answers
from weights2code.views.evidence import Evidence

#: More leaves than this are not searched in full: only for linear rules, wide extrema and other functions of
#: whole windows, which takes a share of the time. The most that even these are asked of.
MOST_LEAVES = 9
SHORT_SEARCH = 0.5
WIDEST = 32
#: Deviation that counts as exact, of real outputs relative to the spread of the targets.
TOLERANCE = 1e-6
#: Nodes of a formula that may be shorter with other outputs of the same row in it.
LONG = 15
#: Exact candidates an output that are tried.
CANDIDATES = 3
#: Sequences that a rule and its start values are checked on.
CHECKED = 200


def direct_recurrences(assembly: Reads, problem: Problem, effort: float) -> Iterator[Recurrence]:
    """Recurrences whose rule is exact on the training sequences, simplest first."""
    per_output: list[list[Step]] = []
    reads: dict[str, set[str]] = {}
    for row, name in enumerate(problem.outputs):
        # others of the same row that do not read this one, by whatever way
        others = [other for other in problem.asked.outputs if name not in _reached(other, reads) | {other}]
        found = _rules(Regression(assembly, problem, row, effort / len(problem.outputs)), others)
        if not found:
            return
        per_output.append([Step(name, candidate.expr) for candidate in found[:CANDIDATES]])
        reads[name] = {*problem.outputs} & set().union(*map(read_now, per_output[-1]))
    for outputs in product(*per_output):
        settled = settle_start(assembly.recurrence(in_order(outputs)), problem, assembly)
        if settled is not None:
            yield settled


def _rules(asked: Regression, others: list[str]) -> list[Candidate]:
    """Exact candidates for an output: of others of the same row if these say it, else of its leaves, and of
    both where these take long."""
    problem, name = asked.problem, asked.problem.outputs[asked.row]
    leaves = needed_leaves(asked.assembly, problem, asked.row)
    for values in from_others(asked.assembly, problem, asked.row, leaves, others):
        if found := asked.itself(values):
            return found
    if len(leaves) > WIDEST:
        text = f"{name} depends on {len(leaves)} values, too many to regress directly."
        raise NotExtracted(text, Reason.TOO_MANY)
    many = len(leaves) > MOST_LEAVES
    asked = replace(asked, effort=(SHORT_SEARCH if many else 1.0) * asked.effort)
    found = asked.itself(leaves)
    if others and not many and (not found or found[0].complexity > LONG):
        beside = asked.itself((*leaves, *(Var(other) for other in others)))
        found = sorted([*found, *beside], key=lambda candidate: preference(candidate.expr))
    if many and not found:
        raise NotExtracted(f"{name} depends on {len(leaves)} values, and no short rule of them is exact.")
    return found


def _reached(name: str, reads: dict[str, set[str]]) -> set[str]:
    """Outputs that one reads at its own row, by way of others or not."""
    found, waiting = set[str](), [name]
    while waiting:
        more = reads.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return found


def needed_leaves(assembly: Reads, problem: Problem, row: int) -> tuple[Var, ...]:
    """The leaves of an output, without those that discrete data show to be dispensable.

    Aggregates go first, then past outputs, then inputs, the farther back the earlier.
    """
    leaves = assembly.output_leaves(row)
    if not all(domain.discrete for domain in (*problem.domains, problem.output_domains[row])):
        return leaves
    columns, target = table(assembly, problem.training, leaves, row)
    while leaves and not len(target):  # no position has all of them, so that no rule can need the farthest
        leaves = tuple(leaf for leaf in leaves if leaf.lag < max(leaf.lag for leaf in leaves))
        columns, target = table(assembly, problem.training, leaves, row)
    seen = Evidence(target)
    if seen.contradicted(columns.T)[0]:
        text = f"the {len(leaves)} values that {problem.outputs[row]} is computed from do not determine it."
        raise NotExtracted(text, Reason.UNDETERMINED)
    kept = seen.needed(columns.T, [leaf_cost(leaf, problem) for leaf in leaves])
    return tuple(leaves[i] for i in sorted(kept))


@dataclass(frozen=True, slots=True)
class Regression:
    """One output, and what its rule is looked for with."""

    assembly: Reads
    problem: Problem
    row: int
    effort: float

    def itself(self, leaves: tuple[Var, ...]) -> list[Candidate]:
        """The exact candidates, simplest first."""
        return self.exact(leaves, *table(self.assembly, self.problem.training, leaves, self.row))

    def exact(self, leaves: tuple[Var, ...], columns: np.ndarray, target: np.ndarray) -> list[Candidate]:
        if not len(target):
            return []  # a leaf lies further back than the sequences are long
        answer = self.problem.output_domains[self.row]
        front = search_over_texts(
            columns,
            target,
            variables=leaves,
            domains=leaf_domains(self.problem, leaves, columns, self.assembly),
            answer=answer,
            tolerance=TOLERANCE * (1.0 if answer.discrete else max(float(np.std(target)), 1e-12)),
            effort=self.effort,
            operators=sensible_operators(self.problem, self.row),
        )
        return [candidate for candidate in front if candidate.exact]


def sensible_operators(problem: Problem, row: int) -> frozenset[str] | None:
    """Whole numbers from reals are decisions, not waves: a sine that has the right sign is no explanation."""
    if problem.output_domains[row].discrete and not all(domain.discrete for domain in problem.domains):
        return frozenset(name for name, entry in OPERATORS.items() if not entry.irrational)
    return None


def settle_start(draft: Recurrence, problem: Problem, assembly: Reads) -> Recurrence | None:
    """The simplest start values with which the rule reproduces every position of validation sequences."""
    check = checked_sequences(problem.validation)
    for candidate in usual_starts(draft, problem, assembly):
        if reproduces(candidate, check, problem):
            return candidate
    deepest = max(draft.depths().values(), default=0)
    if not reproduces(draft, begun(check, deepest), problem):
        return None  # the rule itself is wrong
    found = unusual_starts(draft, problem)
    return next((candidate for candidate in found if reproduces(candidate, check, problem)), None)


def begun(sequences: Sequences, positions: int) -> Sequences:
    """The same sequences with their first positions given: nothing before the start is read."""
    given = np.minimum(np.maximum(sequences.given, positions), sequences.lengths)
    return replace(sequences, context=given)


def checked_sequences(sequences: Sequences) -> Sequences:
    """Some sequences, those with a true start first: only they show what lies before it."""
    return sequences.take(np.argsort(sequences.given > 0, kind="stable")[:CHECKED])


def reproduces(candidate: Recurrence, check: Sequences, problem: Problem) -> bool:
    """Whether the free-running recurrence equals the targets at every position."""
    error = np.abs(answers(candidate, check, one_step=False) - check.y)[check.scored]
    if problem.integer_outputs:
        return bool((error < 1e-3).all())
    spread = np.std(check.y[check.scored], axis=0)
    return bool((error <= 1e-3 * np.maximum(spread, 1e-9)).all())
