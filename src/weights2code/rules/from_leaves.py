"""From the leaves that the discrete model uses straight to the output.

Training has found which values matter; regressing the output on them often gives a shorter exact form than
composing the nodes. Rules are found on positions where every lag is inside the sequence; what lies before
the start is settled afterwards, as the simplest start values that reproduce the first positions too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.data.sufficiency import LEAST_REPEATS, determines, needed
from weights2code.errors import NotExtracted, Reason
from weights2code.language import OPERATORS, Expr, Recurrence, Step, Var
from weights2code.rules.assembly import Assembly
from weights2code.rules.between_outputs import from_others, in_order, read_now
from weights2code.rules.neighbours import surely_lossy
from weights2code.rules.rows import leaf_cost, leaf_domains, table
from weights2code.rules.starts import delayed_starts, unusual_start, usual_starts
from weights2code.symbolic.engine import Candidate, Engine
from weights2code.symbolic.over_texts import search_over_texts
from weights2code.verify.residuals import answers

#: More leaves than this are not searched in full: only for linear rules, wide extrema and other functions of
#: whole windows, which takes a share of the time. The most that even these are asked of.
MOST_LEAVES = 9
SHORT_SEARCH = 0.3
#: Unless they have at most so many values together, as bits do.
MOST_WAYS = 4096
#: The same of reals, where the search itself finds out which values matter.
SHORT_SEARCH_OF_REALS = 0.5
WIDEST = 32
#: Deviation, relative to the spread of the targets, that counts as exact for real outputs.
REAL_TOLERANCE = 1e-6
#: The same for whole numbers, as it is.
WHOLE_TOLERANCE = 1e-6
#: What a sum gains is a difference of means times counts, and has so many decimals.
GAIN_DECIMALS = 9
#: Exact candidates an output that are tried.
CANDIDATES = 3
#: Sequences that a rule and its start values are checked on.
CHECKED = 200


def direct_recurrences(
    assembly: Assembly, problem: Problem, effort: float, engine: Engine
) -> Iterator[Recurrence]:
    """Recurrences whose rule is exact on the training sequences, simplest first.

    Where no start value suits any rule, rules are asked for once more that hold at the start as well, with 0
    before it: values that are rare inside a sequence, such as 0 itself, may be common there.
    """
    for with_start in (False, True):
        per_output: list[list[Step]] = []
        reads: dict[str, set[str]] = {}
        for row, name in enumerate(problem.outputs):
            # others of the same row that do not read this one, by whatever way
            asked = problem.asked.outputs
            others = [other for other in asked if name not in _reached(other, reads) | {other}]
            found = _rules(assembly, problem, row, others, effort, engine, with_start=with_start)
            if not found:
                return
            per_output.append([Step(name, candidate.expr) for candidate in found[:CANDIDATES]])
            reads[name] = {*problem.outputs} & set().union(*map(read_now, per_output[-1]))
        some = False
        for outputs in product(*per_output):
            draft = assembly.recurrence(in_order(outputs))
            settled = settle_start(draft, problem, assembly)
            if settled is not None:
                some = True
                yield settled
        if some:
            return


def _rules(
    assembly: Assembly,
    problem: Problem,
    row: int,
    others: list[str],
    effort: float,
    engine: Engine,
    *,
    with_start: bool,
) -> list[Candidate]:
    """Exact candidates for an output: of others of the same row if these say it, else of its leaves."""
    name, share = problem.outputs[row], effort / len(problem.outputs)
    leaves = needed_leaves(assembly, problem, row)
    for values in from_others(assembly, problem, row, leaves, others):
        found = regress(assembly, problem, row, values, share, engine, with_start)
        if found:
            return found
    if len(leaves) > WIDEST:
        text = f"{name} depends on {len(leaves)} values, too many to regress directly."
        raise NotExtracted(text, Reason.TOO_MANY)
    many = len(leaves) > MOST_LEAVES and _ways(problem, leaves) > MOST_WAYS
    share *= 1.0 if not many else SHORT_SEARCH if problem.whole else SHORT_SEARCH_OF_REALS
    found = [] if with_start else regress_mean(assembly, problem, row, leaves, share, engine)
    found = found or regress(assembly, problem, row, leaves, share, engine, with_start)
    if not found and not with_start:
        found = regress_change(assembly, problem, row, leaves, share, engine)
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


def _ways(problem: Problem, leaves: tuple[Var, ...]) -> float:
    """How many values the leaves have together, as far as their domains say."""
    names = (*problem.inputs, *problem.outputs)
    domains = dict(zip(names, (*problem.domains, *problem.output_domains), strict=True))
    known = [domains.get(leaf.name) for leaf in leaves]
    return float(np.prod([float(d.size) if d is not None and d.discrete else np.inf for d in known]))


def needed_leaves(assembly: Assembly, problem: Problem, row: int) -> tuple[Var, ...]:
    """The leaves of an output, without those that discrete data show to be dispensable.

    Aggregates go first, then past outputs, then inputs, the farther back the earlier. Means that are leaves
    themselves, at several lags, stay together: one function of them may be what the output is made of.
    """
    leaves = assembly.output_leaves(row)
    if not all(domain.discrete for domain in (*problem.domains, problem.output_domains[row])):
        return leaves
    columns, target = table(assembly, problem.training, leaves, row)
    while leaves and not len(target):  # no position has all of them, so that no rule can need the farthest
        leaves = tuple(leaf for leaf in leaves if leaf.lag < max(leaf.lag for leaf in leaves))
        columns, target = table(assembly, problem.training, leaves, row)
    if not determines(columns, target)[0]:
        text = f"the {len(leaves)} values that {problem.outputs[row]} is computed from do not determine it."
        raise NotExtracted(text, Reason.UNDETERMINED)
    costs = [leaf_cost(leaf, problem) for leaf in leaves]
    if assembly.means:
        lags = Counter(leaf.name for leaf in leaves if leaf.name not in (*problem.inputs, *problem.outputs))
        costs = [
            0.1 * leaf.lag if lags[leaf.name] > 1 else cost for leaf, cost in zip(leaves, costs, strict=True)
        ]
    return tuple(leaves[i] for i in needed(columns, target, costs))


def regress(
    assembly: Assembly,
    problem: Problem,
    row: int,
    leaves: tuple[Var, ...],
    effort: float,
    engine: Engine,
    with_start: bool = False,
) -> list[Candidate]:
    """The exact candidates for one output, simplest first."""
    columns, target = table(assembly, problem.training, leaves, row, with_start=with_start)
    if not len(target):
        return []  # a leaf lies further back than the sequences are long
    domains = leaf_domains(problem, leaves, columns, assembly)
    if surely_lossy(columns, target, tuple(domain.discrete for domain in domains)):
        return []  # no function of these values is the output
    if problem.output_domains[row].discrete:
        tolerance = WHOLE_TOLERANCE
    else:
        tolerance = REAL_TOLERANCE * max(float(np.std(target)), 1e-12)
    return _exact(problem, row, leaves, columns, target, tolerance, effort, engine, assembly)


def regress_change(
    assembly: Assembly, problem: Problem, row: int, leaves: tuple[Var, ...], effort: float, engine: Engine
) -> list[Candidate]:
    """Exact candidates for what an output adds to its last value, if the rows show that its past is not
    needed for that: of an output that grows without end rows hardly repeat, of its changes they do."""
    last = Var(problem.outputs[row], 1)
    others = tuple(leaf for leaf in leaves if leaf.name not in problem.outputs)
    if last not in leaves or not others or not problem.whole or problem.output_domains[row].categories:
        return []
    columns, target = table(assembly, problem.training, (*others, last), row)
    rest, change = columns[:, :-1], target - columns[:, -1]
    consistent, repeats = determines(rest, change)
    kept = needed(rest, change, [leaf_cost(leaf, problem) for leaf in others]) if consistent else []
    if not kept or (len(kept) == len(others) and repeats < LEAST_REPEATS):
        return []
    some, rest = tuple(others[i] for i in kept), rest[:, kept]
    found = _exact(problem, row, some, rest, change, WHOLE_TOLERANCE, effort, engine, assembly)
    return [replace(candidate, expr=last + candidate.expr) for candidate in found]


def regress_mean(
    assembly: Assembly, problem: Problem, row: int, leaves: tuple[Var, ...], effort: float, engine: Engine
) -> list[Candidate]:
    """The output as a mean of everything so far: what it is the mean of is the gain of its sum, which is
    regressed on the leaves beside its last value and the count of positions."""
    last = Var(problem.outputs[row], 1)
    counting = {step.name for step in assembly.steps if step.definition in _counting(step.name)}
    count = next((leaf for leaf in leaves if leaf.name in counting and not leaf.lag), None)
    others = tuple(leaf for leaf in leaves if leaf not in (last, count))
    if last not in leaves or count is None or not others or problem.output_domains[row].discrete:
        return []
    columns, target = table(assembly, problem.training, (*others, last, count), row)
    if not len(target):
        return []
    rest, before, number = columns[:, :-2], columns[:, -2], columns[:, -1]
    gain = np.round(number * target - (number - 1) * before, GAIN_DECIMALS)
    discrete = tuple(domain.discrete for domain in leaf_domains(problem, others, rest, assembly))
    if surely_lossy(rest, gain, discrete) or (all(discrete) and not determines(rest, gain)[0]):
        return []
    tolerance = REAL_TOLERANCE * max(float(np.std(gain)), 1e-12)
    found = _exact(problem, row, others, rest, gain, tolerance, effort, engine, assembly)[:1]
    total = assembly.local(f"g{row}")
    for candidate in found:
        assembly.add(total, Var(total, 1) + candidate.expr)
    return [replace(candidate, expr=Var(total) / count) for candidate in found]


def _counting(name: str) -> tuple[Expr, ...]:
    return Var(name, 1) + 1, 1 + Var(name, 1)


def _exact(
    problem: Problem,
    row: int,
    leaves: tuple[Var, ...],
    columns: np.ndarray,
    target: np.ndarray,
    tolerance: float,
    effort: float,
    engine: Engine,
    assembly: Assembly,
) -> list[Candidate]:
    front = search_over_texts(
        engine,
        columns,
        target,
        variables=leaves,
        domains=leaf_domains(problem, leaves, columns, assembly),
        answer=problem.output_domains[row],
        tolerance=tolerance,
        effort=effort,
        operators=sensible_operators(problem, row),
    )
    return [candidate for candidate in front if candidate.exact]


def sensible_operators(problem: Problem, row: int) -> frozenset[str] | None:
    """Whole numbers from reals are decisions, not waves: a sine that has the right sign is no explanation."""
    if problem.output_domains[row].discrete and not all(domain.discrete for domain in problem.domains):
        return frozenset(name for name, entry in OPERATORS.items() if not entry.irrational)
    return None


def settle_start(draft: Recurrence, problem: Problem, assembly: Assembly) -> Recurrence | None:
    """The simplest start values with which the rule reproduces every position of validation sequences."""
    check = checked_sequences(problem.validation)
    for candidate in usual_starts(draft, problem, assembly):
        if reproduces(candidate, check, problem):
            return candidate
    deepest = max(draft.depths().values(), default=0)
    if not reproduces(draft, begun(check, deepest), problem):
        return None  # the rule itself is wrong
    for candidate in delayed_starts(draft, problem):
        if reproduces(candidate, check, problem):
            return candidate
    return unusual_start(draft, problem, lambda found: reproduces(found, check, problem))


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
