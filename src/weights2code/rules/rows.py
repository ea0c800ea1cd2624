"""Rows of the values that a rule may read, and of what it is to give: what leaves are regressed by."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Domain, Recurrence, Start, Var, infer, texts
from weights2code.language.categories import with_locals
from weights2code.rules.assembly import Assembly


def leaf_cost(leaf: Var, problem: Problem) -> float:
    """Inputs are cheapest, then past outputs, then aggregates; the farther back the dearer."""
    kind = 1.0 if leaf.name in problem.inputs else 2.0 if leaf.name in problem.outputs else 3.0
    return kind + 0.1 * leaf.lag


def leaf_domains(
    problem: Problem, leaves: tuple[Var, ...], columns: np.ndarray, assembly: Assembly
) -> tuple[Domain, ...]:
    """The declared domains of inputs, and of whatever holds texts; of all else what the data show."""
    declared = dict(zip(problem.inputs, problem.domains, strict=True))
    if problem.categories:
        draft = Recurrence(problem.inputs + problem.outputs, tuple(assembly.steps), ())
        declared |= {name: texts(known) for name, known in with_locals(draft, problem.categories).items()}
    return tuple(
        declared[v.name] if v.name in declared else infer(c) for v, c in zip(leaves, columns.T, strict=True)
    )


def table(
    assembly: Assembly,
    sequences: Sequences,
    leaves: tuple[Var, ...],
    row: int,
    *,
    with_start: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of leaf values and targets, from positions where every lag lies inside the sequence.

    With `with_start` from the others too, 0 standing for what lies before the start.
    """
    values = sequence_values(assembly, sequences)
    length = sequences.x.shape[1]
    deepest = 0 if with_start else first_position(assembly, leaves)
    chosen = sequences.scored & (np.arange(length) >= deepest)
    target = sequences.y[..., row][chosen]
    if not leaves:
        return np.zeros((len(target), 0)), target
    padded = [np.pad(values[leaf.name], ((0, 0), (leaf.lag, 0)))[:, :length] for leaf in leaves]
    columns = np.column_stack([column[chosen] for column in padded])
    finite = np.isfinite(columns).all(1) | (not with_start)
    return columns[finite], target[finite]


def first_position(assembly: Assembly, leaves: tuple[Var, ...]) -> int:
    """The first position at which none of these values depends on what lies before the start."""
    return max((leaf.lag + assembly.known_from(leaf.name) for leaf in leaves), default=0)


def sequence_values(assembly: Assembly, sequences: Sequences) -> dict[str, np.ndarray]:
    """Every named sequence (n, T), past outputs teacher-forced."""
    graph = assembly.graph
    values = {name: sequences.x[..., i] for i, name in enumerate(graph.inputs)}
    values |= {name: sequences.y[..., i] for i, name in enumerate(graph.outputs)}
    if assembly.steps:
        names = (*graph.inputs, *graph.outputs)
        known = {*names, *(step.name for step in assembly.steps)}
        start: dict[str, Start] = {n: v for n, v in assembly.start.items() if n in known and v != 0}
        helper = Recurrence(names, tuple(assembly.steps), (), start)
        values |= helper.trace(np.concatenate([sequences.x, sequences.y], 2))
    return values
