"""Outputs that follow from other outputs of the same row: a status from the balance, an alarm from the level.

What an output is computed from may be many values, where one of the other outputs says it all. Discrete rows
show that: one output of the same row determines it, alone or beside one other value. Where rows hardly repeat
every other output is asked by itself whether it decides an output of few values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from weights2code.data import Problem
from weights2code.language import Expr, Step, Var
from weights2code.rules.assembly import Reads
from weights2code.rules.rows import table
from weights2code.views.evidence import Evidence

#: Answers that another output alone may decide.
FEW_ANSWERS = 12


def from_others(
    assembly: Reads, problem: Problem, row: int, leaves: Sequence[Var], others: Sequence[str]
) -> Iterator[tuple[Var, ...]]:
    """Values, fewer than the leaves and with an output of the same row among them, that may decide one."""
    present = tuple(Var(name) for name in others)
    if not present or len(leaves) < 2:
        return
    if problem.whole:
        values = (*present, *leaves)
        columns, target = table(assembly, problem.training, values, row)
        seen = Evidence(target)
        for kept in (kept for size in (1, 2) for kept in combinations(range(len(values)), size)):
            if kept[0] >= len(present) or len(kept) >= len(leaves):
                continue  # no output of the same row, or no fewer values
            if seen.enough(columns[:, kept].T):
                yield tuple(values[i] for i in kept)
                return
        return
    answers = problem.training.y[..., row][problem.training.scored]
    if problem.output_domains[row].discrete and len(np.unique(answers)) <= FEW_ANSWERS:
        yield from ((variable,) for variable in present)


def in_order(steps: Sequence[Step]) -> list[Step]:
    """Steps so that each comes after those whose present value it reads."""
    ordered, waiting = list[Step](), list(steps)
    while waiting:
        names = {step.name for step in waiting}
        ready = [step for step in waiting if not read_now(step) & (names - {step.name})]
        assert ready, "outputs of one row read each other"
        ordered += ready
        waiting = [step for step in waiting if step not in ready]
    return ordered


def read_now(step: Step) -> set[str]:
    """The names whose present value a step reads."""
    assert isinstance(step.definition, Expr)
    return {variable.name for variable in step.definition.variables() if not variable.lag}
