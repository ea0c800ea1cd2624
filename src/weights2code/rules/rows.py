"""Rows of the values that a rule may read, and of what it is to give: what leaves are regressed by."""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.language import Domain, Recurrence, Start, Var, infer, texts
from weights2code.language.categories import with_locals
from weights2code.rules.assembly import Reads


def leaf_cost(leaf: Var, problem: Problem) -> float:
    """Inputs are cheapest, then past outputs, then aggregates; the farther back the dearer."""
    kind = 1.0 if leaf.name in problem.inputs else 2.0 if leaf.name in problem.outputs else 3.0
    return kind + 0.1 * leaf.lag


def leaf_domains(
    problem: Problem, leaves: tuple[Var, ...], columns: np.ndarray, assembly: Reads
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
    assembly: Reads, sequences: Sequences, leaves: tuple[Var, ...], row: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of leaf values and targets, from positions where every lag lies inside the sequence."""
    values, length = sequence_values(assembly, sequences), sequences.x.shape[1]
    chosen = sequences.scored & (np.arange(length) >= first_position(assembly, leaves))
    target = sequences.y[..., row][chosen]
    padded = [np.pad(values[leaf.name], ((0, 0), (leaf.lag, 0)))[:, :length] for leaf in leaves]
    columns = [column[chosen] for column in padded]
    return np.stack(columns, 1) if columns else np.zeros((len(target), 0)), target


def first_position(assembly: Reads, leaves: tuple[Var, ...]) -> int:
    """The first position at which none of these values depends on what lies before the start."""
    return max((leaf.lag + assembly.known_from(leaf.name) for leaf in leaves), default=0)


def sequence_values(assembly: Reads, sequences: Sequences) -> dict[str, np.ndarray]:
    """Every named sequence (n, T), past outputs teacher-forced."""
    values = {name: sequences.x[..., i] for i, name in enumerate(assembly.inputs)}
    values |= {name: sequences.y[..., i] for i, name in enumerate(assembly.outputs)}
    if assembly.steps:
        names = (*assembly.inputs, *assembly.outputs)
        known = {*names, *(step.name for step in assembly.steps)}
        start: dict[str, Start] = {n: v for n, v in assembly.start.items() if n in known and v != 0}
        helper = Recurrence(names, tuple(assembly.steps), (), start)
        with np.errstate(all="ignore"):  # what no row needs may divide by zero
            values |= helper.trace(np.concatenate([sequences.x, sequences.y], 2))
    return values
