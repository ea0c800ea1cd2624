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
from weights2code.language import Recurrence
from weights2code.network.running import free_running, rounded
from weights2code.verify.links import Sequence
from weights2code.verify.testing import probes

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

    @property
    def margin(self) -> float:
        return 0.5 - self.error


def run_side_by_side(
    graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int, most: float = LARGEST
) -> Trial:
    """Compare on drawn sequences, and on those of the problem, as long as no output passes `most`."""
    whole, rng = problem.integer_outputs, np.random.default_rng(seed)
    fixed = graph.layout.name == "concat"
    lengths = (graph.length,) if fixed else tuple(dict.fromkeys(_lengths(graph.length)))
    count, error, free = 0, 0.0, 0.0
    example: Sequence | None = None
    worst: list[tuple[float, Sequence]] = []
    for length in lengths:
        drawn = probes(rng, problem.domains, COUNT, length, problem.sampler)
        if length == graph.length and not problem.validation.given.any():
            same = problem.validation.x.shape[1] == length
            drawn = np.concatenate([drawn, problem.validation.x[:COUNT]]) if same else drawn
        right = outputs_of(program, drawn)
        right = np.round(right) if whole else right
        answer = one_step(graph, drawn, right, whole=whole)
        skip = graph.layout.first_scored if fixed else 0
        small = np.isfinite(right) & (np.abs(right) <= min(most, LARGEST))
        counts = np.logical_and.accumulate(small.all(2), axis=1)[..., None] & small
        counts[:, :skip] = False
        apart = np.where(counts, np.abs(answer - right), 0.0)
        apart = np.where(np.isnan(apart), np.inf, apart)
        error, count = max(error, float(apart.max())), count + len(drawn)
        worst += [] if fixed else _farthest(drawn, apart.max(2))
        wrong = np.asarray(np.any(counts & whole & (rounded(answer) != right), axis=2))
        if wrong.any():
            found = shortest(drawn, wrong, cut=not fixed)
            example = found if example is None or len(found) < len(example) else example
        if not whole and not fixed:
            some = drawn[:FREE]
            own = free_running(graph, some, whole=whole)
            apart = np.where(counts[:FREE], np.abs(own - right[:FREE]), 0.0)
            free = max(free, float(np.where(np.isnan(apart), np.inf, apart).max()))
    least = tuple(sequence for _, sequence in sorted(worst, reverse=True)[:KEPT])
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


def _lengths(length: int) -> list[int]:
    return [min(length * factor, max(POSITIONS, length)) for factor in LENGTHS]


def outputs_of(program: Recurrence, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return program.run(x)


def one_step(graph: DiscreteGraph, x: np.ndarray, past: np.ndarray, *, whole: bool) -> np.ndarray:
    """The network's outputs (n, T, outputs) where `past` was put out before, rounded for whole numbers."""
    past = np.where(np.isfinite(past), past, 0.0)
    past = np.round(past) if whole else past
    with np.errstate(all="ignore"):
        return graph.run(Sequences(x.astype(float), past, np.full(len(x), x.shape[1])))


def shortest(x: np.ndarray, wrong: np.ndarray, *, cut: bool) -> Sequence:
    """The inputs up to the earliest wrong position; all of them if later ones matter too."""
    first = np.where(wrong.any(1), wrong.argmax(1), wrong.shape[1])
    row = int(first.argmin())
    return tuple(tuple(values) for values in x[row, : first[row] + 1 if cut else None].tolist())
