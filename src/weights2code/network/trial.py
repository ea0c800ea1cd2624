"""Network and program run side by side, at several lengths.

As long as both agree, the network's past outputs are the program's; so whole numbers are compared with the
program's outputs given as the past, which shows the first difference wherever it is. Reals are compared
twice: one step ahead, and each running on its own past.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.graph import DiscreteGraph
from weights2code.graph.machine import free_running, rounded
from weights2code.language import Recurrence
from weights2code.verify.links import Sequence
from weights2code.verify.testing import differences, probes, shortest_wrong_prefix

#: Sequences of each length that are drawn, of those that are run free, and positions of one batch.
COUNT, FREE, POSITIONS = 96, 16, 400
#: Sequences that are kept to learn from.
KEPT = 256
#: Lengths, in units of that of training; the network costs as the square of it.
LENGTHS = (1, 4, 10)
#: Outputs beyond this are left out: float64 holds no halves there.
LARGEST = 2.0**50


@dataclass(frozen=True, slots=True)
class Trial:
    """How far apart network and program are: one step ahead, and free-running where outputs are reals."""

    sequences: int
    lengths: tuple[int, ...]
    error: float
    free_running: float | None
    counterexample: Sequence | None
    #: Sequences that end where both are farthest apart, worst first.
    worst: tuple[Sequence, ...] = ()


def run_side_by_side(graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int) -> Trial:
    """Compare on drawn sequences, and on those of the problem, as long as no output passes `LARGEST`."""
    whole, rng, own = problem.integer_outputs, np.random.default_rng(seed), problem.validation
    fixed = graph.layout.name == "concat"
    longer = (min(graph.length * factor, max(POSITIONS, graph.length)) for factor in LENGTHS)
    lengths = (graph.length,) if fixed else tuple(dict.fromkeys(longer))
    count, error, free = 0, 0.0, 0.0
    examples: list[Sequence] = []
    worst: list[tuple[float, Sequence]] = []
    for length in lengths:
        x = probes(rng, problem.domains, COUNT, length, problem.sampler)
        if length == graph.length == own.x.shape[1] and not own.given.any():
            x = np.concatenate([x, own.x[:COUNT]])
        right = outputs_of(program, x)
        right = np.round(right) if whole else right
        answer = one_step(graph, x, right, whole=whole)
        small = np.isfinite(right) & (np.abs(right) <= LARGEST)
        counts = np.logical_and.accumulate(small.all(2), axis=1)[..., None] & small
        counts[:, : graph.layout.first_scored if fixed else 0] = False
        apart = np.where(counts, differences(answer, right), 0.0)
        error, count = max(error, float(apart.max())), count + len(x)
        worst += [] if fixed else _farthest(x, apart.max(2))
        wrong = counts & whole & (rounded(answer) != right)
        if wrong.any():
            examples.append(shortest_wrong_prefix(x, wrong, cut=not fixed))
        if not whole and not fixed:
            apart = differences(free_running(graph, x[:FREE], whole=whole), right[:FREE])
            free = max(free, float(np.where(counts[:FREE], apart, 0.0).max()))
    least = tuple(sequence for _, sequence in sorted(worst, reverse=True)[:KEPT])
    example = min(examples, key=len, default=None)
    return Trial(count, lengths, error, None if whole or fixed else free, example, least)


def _farthest(x: np.ndarray, apart: np.ndarray) -> list[tuple[float, Sequence]]:
    """Of each sequence its beginning up to where both are farthest apart."""
    ends = apart.argmax(1)
    order = np.argsort(-apart.max(1), kind="stable")[:KEPT].tolist()
    return [(float(apart[i, ends[i]]), tuple(map(tuple, x[i, : ends[i] + 1].tolist()))) for i in order]


def drawn(problem: Problem, seed: int) -> np.ndarray:
    """Inputs of the training length as they come: drawn ones, or those of own data."""
    rng, own = np.random.default_rng(seed), problem.validation
    if problem.sampler is not None:
        return np.asarray(problem.sampler(rng, 4 * COUNT, problem.length), dtype=float)
    same = own.x.shape[1] == problem.length and not own.given.any()
    return own.x[: 4 * COUNT] if same else probes(rng, problem.domains, 4 * COUNT, problem.length, None)


def outputs_of(program: Recurrence, x: np.ndarray) -> np.ndarray:
    """The program's outputs, whatever they are."""
    with np.errstate(all="ignore"):
        return program.run(x)


def one_step(graph: DiscreteGraph, x: np.ndarray, past: np.ndarray, *, whole: bool) -> np.ndarray:
    """The network's outputs (n, T, outputs) where `past` was put out before, rounded for whole numbers."""
    past = np.where(np.isfinite(past), past, 0.0)
    past = np.round(past) if whole else past
    with np.errstate(all="ignore"):
        return graph.run(Sequences(x.astype(float), past, np.full(len(x), x.shape[1])))
