"""Outputs beside a hidden state where inputs are real numbers: formulas that are right on every row.

Rows never repeat there. But rows that are near each other in all that an output is made of have outputs that
are near or the same, so a set of values that is not enough is seen before a formula is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.spatial import KDTree

from weights2code.data import Problem, Sequences
from weights2code.effort import Effort, time_is_up
from weights2code.graph import shifted
from weights2code.language import Expr, Var, uniform
from weights2code.memory.formulas import formula_of
from weights2code.memory.hidden import Memory

#: Effort for a formula, in seconds of a usual machine.
FORMULA_EFFORT = 1.0
#: Sequences at the ends of the domains.
ENDS = 200
#: Rows whose nearest others are looked at, what that costs, and how much outputs of those may differ beside
#: outputs of any.
ROWS, A_LOOK, ALIKE = 6_000, 0.03, 0.3
#: How seldom outputs of near rows differ where nothing is hidden, and the share of rows there whose output is
#: linear in near ones; rows that are asked for that.
SELDOM, MOSTLY, FEW = 0.05, 0.85, 500


def with_answers(
    problem: Problem, rule: Callable[[Var], Expr], start: float, rows: int, effort: Effort
) -> Memory | None:
    """The state that goes on by a rule of its last value, with a formula for every output; None if there is
    none for some, or if none needs the state."""
    name = "state"
    while name in (*problem.inputs, *problem.outputs):
        name += "_"
    state = Var(name)
    formula = rule(Var(name, 1))
    known = Memory(None, (name,), np.array([[start]]), (formula,), ())
    sequences = _with_ends(problem, problem.training.take(slice(0, max(1, rows // problem.length))))
    columns = {state: known.states(problem.inputs).run(sequences.x)[..., 0]}
    for lag in (1, 2):
        columns[Var(name, lag)] = shifted(columns[Var(name, lag - 1)], 1, start)
    for place, own in enumerate(problem.inputs):
        for lag in range(3):
            columns[Var(own, lag)] = shifted(sequences.x[..., place], lag, 0.0)
    for place, own in enumerate(problem.outputs):
        columns[Var(own, 1)] = shifted(sequences.y[..., place], 1, 0.0)
    values = {variable: own[sequences.scored] for variable, own in columns.items()}
    answers: list[Expr] = []
    for place in range(len(problem.outputs)):
        answer = _answer(problem, state, values, sequences.y[..., place][sequences.scored], effort)
        if answer is None:
            return None
        answers.append(answer)
    if not any(variable.name == name for answer in answers for variable in answer.variables()):
        return None  # what is visible is enough
    return Memory(None, (name,), np.array([[start]]), (formula,), tuple(answers))


def _with_ends(problem: Problem, sequences: Sequences) -> Sequences:
    """The same, and a few at the ends of the domains if there is a reference to ask: formulas that agree
    everywhere else may differ where comparisons are equal."""
    if problem.reference is None:
        return sequences
    rng, length = np.random.default_rng(0), sequences.x.shape[1]
    x = uniform(rng, problem.domains, ENDS, length)
    ends = np.array([(domain.low, domain.high) for domain in problem.domains])
    at_end = rng.random(x.shape) < 0.5
    x = np.where(at_end, np.where(rng.random(x.shape) < 0.5, ends[:, 0], ends[:, 1]), x)
    more = Sequences(x, problem.reference.run(x), np.full(ENDS, length))
    return Sequences(
        np.concatenate([sequences.x, more.x]),
        np.concatenate([sequences.y, more.y]),
        np.concatenate([sequences.lengths, more.lengths]),
    )


def _answer(
    problem: Problem, state: Var, columns: dict[Var, np.ndarray], target: np.ndarray, effort: Effort
) -> Expr | None:
    """A formula of the state and of visible values, the fewest first."""
    few = len(np.unique(columns[state][:ROWS])) < ROWS // 10
    domains = dict(zip(problem.inputs, problem.domains, strict=True))
    domains |= dict(zip(problem.outputs, problem.output_domains, strict=True))
    real = {name for name, domain in domains.items() if not domain.discrete} | (
        set() if few else {state.name}
    )
    for chosen in leaves(problem, state):
        if effort.spent() or time_is_up():
            return None
        rows = np.column_stack([columns[variable] for variable in chosen])
        answers = target
        if not any(variable.name in real for variable in chosen):
            rows, once, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
            if (target[once][which.ravel()] != target).any():
                continue
            answers = target[once]
        else:
            effort.spend(A_LOOK)
            if unlike(rows[:ROWS], target[:ROWS]) > ALIKE:
                continue
            effort.spend(FORMULA_EFFORT)
        formula = formula_of(rows, answers, chosen, FORMULA_EFFORT)
        if formula is not None:
            return formula
    return None


def unlike(rows: np.ndarray, target: np.ndarray) -> float:
    """How much outputs of rows that are near each other differ, beside outputs of any rows."""
    scale = rows.std(0)
    rows = rows[:, scale > 0] / scale[scale > 0]
    by_chance = np.abs(target - np.roll(target, len(target) // 2)).mean()
    if not rows.shape[1] or not by_chance:
        return 1.0
    near = np.asarray(KDTree(rows).query(rows, 2)[1])[:, 1]
    return float(np.abs(target - target[near]).mean() / by_chance)


def may_hide(problem: Problem) -> bool:
    """Whether there are real inputs from their true start, no texts, and near rows show that something is
    hidden."""
    if problem.whole or all(domain.discrete for domain in problem.domains):
        return False
    if problem.training.given.any() or problem.original is not None:
        return False
    if any(domain.categories for domain in (*problem.domains, *problem.output_domains)):
        return False
    return not visible_enough(problem)


def visible_enough(problem: Problem) -> bool:
    """Whether rows that are near in what is visible nearly always say what an output is: then hardly anything
    is hidden. Of a real one, whether it is linear in them."""
    part = problem.training.take(slice(0, max(1, ROWS // problem.length)))
    now, then = part.x[part.scored], shifted(part.x, 1, 0.0)[part.scored]
    last = shifted(part.y, 1, 0.0)[part.scored]
    ways = [now, np.hstack([now, then]), np.hstack([now, last])]
    for place, domain in enumerate(problem.output_domains):
        target = part.y[..., place][part.scored]
        if domain.discrete and min(unlike(rows, target) for rows in ways) > SELDOM:
            return False
        if not domain.discrete and max(_linear(rows, target) for rows in ways) < MOSTLY:
            return False
    return True


def _linear(rows: np.ndarray, target: np.ndarray) -> float:
    """The share of some rows whose output is what a linear function of their neighbours says."""
    scale = rows.std(0)
    rows = rows[:, scale > 0] / scale[scale > 0]
    count = 2 * rows.shape[1] + 3
    near = np.asarray(KDTree(rows).query(rows[:FEW], count)[1])
    around = np.concatenate([rows[near], np.ones((*near.shape, 1))], -1)
    others, own = around[:, 1:], around[:, 0]
    weights = np.linalg.pinv(others) @ target[near[:, 1:], None]
    error = np.abs((own[:, None] @ weights)[:, 0, 0] - target[near[:, 0]])
    return float((error <= 1e-6 * max(float(target.std()), 1e-12)).mean())


def leaves(problem: Problem, state: Var) -> Iterator[tuple[Var, ...]]:
    """What an output may be made of beside a state."""
    last, before = Var(state.name, 1), Var(state.name, 2)
    now = tuple(Var(name) for name in problem.inputs)
    then = tuple(Var(name, 1) for name in problem.inputs)
    outputs = tuple(Var(name, 1) for name in problem.outputs)
    yield (state, last, before)
    yield (state, *outputs)
    yield (state, *outputs, *now)
    yield (state, *now)
    yield (state, last, *now)
    yield (state, *now, *then)
    yield (state, last, before, *now)
