"""A window on the few values that rows show to be enough, and whether a smaller rung may do without it.

A wide window is given everything within reach, most of which does not matter. Where rows of whole numbers
repeat they say which values do (`focus.py`), and a window on those alone is trained in a fraction of the
time. Functions of two values each come first all the same if a sum of them may be the output. That is asked
of the rows too: the sum is linear in what each function is at each pair of values.
"""

from __future__ import annotations

from itertools import combinations, islice
from math import comb

import numpy as np

from weights2code.data import Problem
from weights2code.training.ladder import MOST_OPERANDS, Rung
from weights2code.training.remembering import window_on
from weights2code.training.ruled_out import Leaves, leaf_rows, only_location

#: Sequences that are asked, and different rows of them.
MOST_SEQUENCES, MOST_ROWS = 2000, 400
#: Ways to choose what the functions read.
MOST_WAYS = 120
#: What an exact sum may leave.
EXACT = 1e-6


def few_values(rung: Rung, problem: Problem, leaves: Leaves | None) -> Rung | None:
    """The rung as a window on values that are enough; None if none are known, or it may not read them."""
    if leaves is None or len(leaves) > MOST_OPERANDS:
        return None
    past = any(column >= len(problem.inputs) for column, _ in leaves)
    return None if past and rung.layout == "tagging" else window_on(tuple(leaves), problem, rung)


def may_add_up(rung: Rung, problem: Problem, leaves: Leaves) -> bool:
    """Whether the output may be a sum that a rung of one layer computes: of the values, times constants, and
    of functions of a few of them each."""
    if rung.kind != "annealed" or rung.sizes["layers"] != 1 or not only_location(rung):
        return False
    heads, operands, functions = (rung.sizes[size] for size in ("location", "arity", "submlps"))
    if sum(lag > (column >= len(problem.inputs)) for column, lag in leaves) > heads:
        return False
    each = min(operands, len(leaves))
    rows, targets = _different(leaves, problem)
    ways = combinations(combinations(range(len(leaves)), each), min(functions, comb(len(leaves), each)))
    for chosen in islice(ways, MOST_WAYS):
        unknowns = [np.ones((len(rows), 1)), rows, *(_indicators(rows[:, list(read)]) for read in chosen)]
        design = np.concatenate(unknowns, axis=1)
        if design.shape[1] > MOST_ROWS:
            return True  # nobody knows
        solution = np.linalg.lstsq(design, targets, rcond=None)[0]
        left = np.abs(design @ solution - targets).max()
        if left <= EXACT * max(1.0, float(np.abs(targets).max())):
            return True
    return False


def _different(leaves: Leaves, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of values and outputs, each once."""
    rows, targets = leaf_rows(leaves, problem.training.take(slice(0, MOST_SEQUENCES)))
    both = np.unique(np.concatenate([rows, targets], axis=1), axis=0)
    both = both[:: 1 + len(both) // MOST_ROWS]
    return both[:, : rows.shape[1]], both[:, rows.shape[1] :]


def _indicators(values: np.ndarray) -> np.ndarray:
    """A column for every row of values that comes up, 1 where it does."""
    _, codes = np.unique(values, axis=0, return_inverse=True)
    return np.eye(int(codes.max()) + 1)[codes.reshape(-1)]
