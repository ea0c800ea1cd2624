"""Rungs that need not be trained: the data show that no function of what they read gives the output.

If two rows agree in every value that a rung can read and differ in the output, no program of the rung is
exact. That can be asked before training wherever the values are known: of a window, and of a few location
heads, whose possible sets of values are tried one by one. Rows are positions at which every
lag lies inside the sequence, so what lies before the start contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.data.sufficiency import LEAST_REPEATS, determines
from weights2code.errors import Reason
from weights2code.heads import HEADS
from weights2code.training.ladder import Rung, window_of

#: Sequences that are asked first: most contradictions show in a few.
FIRST_ASKED = 500
#: Sets of values that are tried, at most.
MOST_SETS = 500

#: Values that can be read: the column among inputs and outputs, and how far back.
Leaves = list[tuple[int, int]]
#: Sequences -> rows of values (row, value) and of outputs (row, output).
Table = Callable[[Sequences], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rung that was not trained."""

    rung: str
    reason: Reason


def ruled_out(rung: Rung, problem: Problem, before: Sequence[Rung] = ()) -> Reason | None:
    """Why training the rung would be in vain, given the rungs `before` it; None if it may fit.

    Only whole numbers that a machine specifies are asked: rows of reals do not repeat, and of own data some
    may be mistakes.
    """
    specified = problem.reference is not None or problem.original is not None  # the latter by its states
    if not specified or not problem.whole or rung.layout == "concat":
        return None
    if rung.kind == "window":
        smaller = (_window(other, problem) for other in before if other.kind == "window")
        if any(_evident(leaves, problem.training) for leaves in smaller):
            return Reason.NOTHING_NEW
        sets: Iterable[Table] = [partial(leaf_rows, _window(rung, problem))]
    elif rung.kind == "annealed" and only_location(rung) and rung.sizes["layers"] == 1:
        sets = (partial(leaf_rows, leaves) for leaves in _choices(rung, problem))
    else:
        return None
    may_do = any(_consistent(table, problem.training) for table in sets)
    return None if may_do else Reason.UNDETERMINED


def _window(rung: Rung, problem: Problem) -> Leaves:
    """Every channel at every offset."""
    present = present_values(problem, rung.layout == "autoregressive")
    offsets = range(rung.sizes["arity"] // len(present))
    return [(column, lag + offset) for offset in offsets for column, lag in present]


def present_values(problem: Problem, past: bool) -> Leaves:
    """The channels at the present position: inputs, and outputs one step back."""
    inputs, outputs = len(problem.inputs), len(problem.outputs)
    return [(i, 0) for i in range(inputs)] + [(inputs + i, 1) for i in range(outputs if past else 0)]


def only_location(rung: Rung) -> bool:
    """Whether it has no heads but those that look back a fixed number of steps."""
    return not any(rung.sizes.get(kind) for kind in HEADS if kind != "location")


def _choices(rung: Rung, problem: Problem) -> Iterator[Leaves]:
    """What the members may read: the channels, and one value further back for each head; near ones first.

    Where those sets are too many, everything that any of them holds.
    """
    present = present_values(problem, any(variant.past for variant in rung.variants))
    offsets = range(1, window_of(problem))
    further = [(column, lag + offset) for offset in offsets for column, lag in present]
    heads = min(rung.sizes["location"], len(further))
    if comb(len(further), heads) > MOST_SETS:
        return iter([present + further])
    sets = sorted(combinations(further, heads), key=lambda chosen: max(lag for _, lag in chosen))
    return ([*present, *chosen] for chosen in sets)


def leaf_rows(leaves: Leaves, sequences: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Leaf values and outputs at the positions where every lag lies inside the sequence."""
    values = np.concatenate([sequences.x, sequences.y], 2)
    deepest, end = max(lag for _, lag in leaves), values.shape[1]
    scored = sequences.scored[:, deepest:]
    columns = [values[:, deepest - lag : end - lag, column][scored] for column, lag in leaves]
    return np.column_stack(columns), sequences.y[:, deepest:][scored]


def _consistent(table: Table, sequences: Sequences) -> bool:
    """Whether no two rows contradict each other; a few sequences are asked first."""
    for part in (slice(0, FIRST_ASKED), slice(None)):
        columns, targets = table(sequences.take(part))
        if len(targets) and not all(determines(columns, target)[0] for target in targets.T):
            return False
    return True


def _evident(leaves: Leaves, sequences: Sequences) -> bool:
    """Whether many rows repeat, and none contradicts another."""
    columns, targets = leaf_rows(leaves, sequences)
    found = [determines(columns, target) for target in targets.T] if len(targets) else [(False, 0.0)]
    return all(same and repeats >= LEAST_REPEATS for same, repeats in found)
