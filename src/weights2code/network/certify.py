"""The verdict on a network and its program: cheapest evidence first, strongest claim last.

Whole numbers: the contexts that the program can reach are explored; where they do not end, because values
grow or windows are too many, the difference of both is bounded over the linear pieces of the network; what
neither decides is enumerated to a length. Reals are bounded over the pieces. Tests at several lengths come
first, so that nothing is called equal that a test would show to differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weights2code.data import Problem
from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph
from weights2code.language import Recurrence
from weights2code.network.exploration import SINGLE, Explored, explore
from weights2code.network.pointing import windows_on
from weights2code.network.trial import Trial, one_step, outputs_of, run_side_by_side
from weights2code.network.view import Unsuited, View
from weights2code.verify.exhaustive import all_sequences, longest_length
from weights2code.verify.links import NetworkCertificate, Sequence

#: Effort for one network, in seconds of a usual machine, and for a first look whether exploration ends.
EFFORT, FIRST_LOOK = 2.0, 0.3
#: Sequences that are enumerated at most where nothing else decides.
ENUMERATED = 1 << 13


@dataclass(frozen=True, slots=True)
class Checked:
    """A certificate, and sequences on which the network is least right, worst first, to learn from."""

    certificate: NetworkCertificate
    worst: tuple[Sequence, ...] = ()


def certify_network(graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int) -> Checked:
    """Compare a network with its program, as far as can be done with little effort."""
    trial = run_side_by_side(graph, program, problem, seed)
    if not problem.integer_outputs:
        return Checked(_tested(trial, problem))
    explored = _explored(graph, program, problem, FIRST_LOOK)
    if explored is not None and not explored.closed and not explored.wrong:
        explored = _explored(graph, program, problem, EFFORT)
    if explored is not None and (explored.wrong or trial.counterexample):
        return _differs(graph, program, explored, trial)
    if trial.counterexample is not None:
        return Checked(_different(trial.counterexample, trial), (trial.counterexample,))
    if explored is None:
        return Checked(_enumerated(graph, program, problem, trial) or _tested(trial, problem))
    return Checked(_equal(explored, trial, problem), explored.worst)


def _explored(graph: DiscreteGraph, program: Recurrence, problem: Problem, effort: float) -> Explored | None:
    from weights2code.explain.explanation import stream_values

    try:
        windows = windows_on(graph, stream_values(graph, problem.validation))
        if windows is None:
            return None
        return explore(View.of(graph, windows), program, problem.domains, Effort(effort))
    except Unsuited:
        return None


def _equal(explored: Explored, trial: Trial, problem: Problem) -> NetworkCertificate:
    domain = ", ".join(dict.fromkeys(str(domain) for domain in problem.domains))
    rounding = (
        "float64 and float32" if 0.5 - explored.error > 1.01 * SINGLE * explored.rounding else "float64"
    )
    words = (
        f"on all {explored.contexts} contexts that the program can reach, outputs stay {explored.margin:.2g} "
        f"from the nearest rounding border, errors of {rounding} arithmetic included"
    )
    where = (
        f"at every length for inputs in {domain}" if explored.closed else f"up to length {explored.length}"
    )
    return NetworkCertificate(
        "proved" if explored.closed else "exhaustive",
        words,
        where,
        explored.margin,
        explored.error,
        None,
        trial.sequences,
    )


def _differs(graph: DiscreteGraph, program: Recurrence, explored: Explored, trial: Trial) -> Checked:
    """The shortest sequence that shows it; where rounding could go either way, nothing is claimed."""
    example = explored.counterexample or trial.counterexample
    assert example is not None
    if not _shows(graph, program, example):
        near = "some outputs lie so near a rounding border that rounding errors decide"
        certificate = NetworkCertificate("tested", near, "the tested lengths", 0.0, explored.error)
        return Checked(certificate, explored.worst)
    worst = explored.worst or (example,)
    return Checked(_different(example, trial, max(explored.error, trial.error)), worst)


def _different(example: Sequence, trial: Trial, error: float | None = None) -> NetworkCertificate:
    return NetworkCertificate(
        "differs",
        "it rounds to another number",
        "the counterexample",
        None,
        _finite(trial.error if error is None else error),
        None,
        trial.sequences,
        example,
    )


def _shows(graph: DiscreteGraph, program: Recurrence, example: Sequence) -> bool:
    """Whether the network, run on the counterexample, rounds to something else at its end."""
    x = np.array(example, dtype=float)[None]
    right = outputs_of(program, x)
    answer = one_step(graph, x, right, whole=True)
    return bool(np.any(np.round(answer[:, -1]) != np.round(right[:, -1])))


def _enumerated(
    graph: DiscreteGraph, program: Recurrence, problem: Problem, trial: Trial
) -> NetworkCertificate | None:
    """Every sequence up to a length, run."""
    length = longest_length(problem.domains, ENUMERATED)
    if graph.layout.name == "concat" or length < 2:
        return None
    error = 0.0
    for x in all_sequences(problem.domains, length):
        right = outputs_of(program, x)
        apart = np.abs(one_step(graph, x, right, whole=True) - right)
        if not np.all(apart < 0.5):
            wrong = (~(apart < 0.5)).any(2)
            first = np.where(wrong.any(1), wrong.argmax(1), length)
            row = int(first.argmin())
            example = tuple(tuple(values) for values in x[row, : first[row] + 1].tolist())
            return _different(example, trial, float(apart.max()))
        error = max(error, float(apart.max()))
    method = f"all were run in float64, and outputs stay {0.5 - error:.2g} from the nearest rounding border"
    covers = f"up to length {length}"
    return NetworkCertificate("exhaustive", method, covers, 0.5 - error, error, None, trial.sequences)


def _tested(trial: Trial, problem: Problem) -> NetworkCertificate:
    lengths = ", ".join(map(str, trial.lengths))
    method = f"{trial.sequences} sequences of length {lengths}; the largest difference is {trial.error:.3g}"
    margin = trial.margin if problem.integer_outputs else None
    free = None if trial.free_running is None else _finite(trial.free_running)
    return NetworkCertificate(
        "tested", method, f"lengths {lengths}", margin, _finite(trial.error), free, trial.sequences
    )


def _finite(value: float) -> float:
    """JSON has no infinities."""
    return min(value, 1e300)
