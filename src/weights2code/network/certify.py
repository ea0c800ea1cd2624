"""The verdict on a network and its program: cheapest evidence first, strongest claim last.

Whole numbers: the contexts that the program can reach are explored; where they do not end, because values
grow or windows are too many, the difference of both is bounded over the linear pieces of the network; what
neither decides is enumerated to a length. Reals are bounded over the pieces. Tests at several lengths come
first, so that nothing is called equal that a test would show to differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.language import Recurrence
from weights2code.network.bounds.limits import Limit, largest_error, limit_of_values
from weights2code.network.contexts.exploration import DOUBLE, MORE, Explored, Narrow, explore
from weights2code.network.contexts.pointing import windows_on
from weights2code.network.contexts.rounding import sensitivity
from weights2code.network.contexts.scoring import SINGLE
from weights2code.network.contexts.view import Unsuited, View
from weights2code.network.trial import LARGEST, Trial, drawn, one_step, outputs_of, run_side_by_side, shortest
from weights2code.verify.exhaustive import all_sequences, longest_length
from weights2code.verify.links import BEYOND, NetworkCertificate, Sequence, at_least, with_texts
from weights2code.verify.ranges import positions_below

#: Effort for one network, in seconds of a usual machine, and for a first look whether exploration ends.
EFFORT, FIRST_LOOK, LIMIT_EFFORT = 1.0, 0.2, 2.0
#: The margin that bounds over pieces leave where they can, and positions that are counted at most.
WIDE, MOST_POSITIONS = 0.25, 256
#: Sequences that are enumerated at most where nothing else decides.
ENUMERATED, LONGEST = 1 << 13, 64


@dataclass(frozen=True, slots=True)
class Checked:
    """A certificate, and sequences on which the network is least right, worst first, to learn from."""

    certificate: NetworkCertificate
    worst: tuple[Sequence, ...] = ()


def certify_network(graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int) -> Checked:
    """Compare a network with its program, as far as can be done with little effort."""
    found = _compared(graph, program, problem, seed)
    example = with_texts(found.certificate.counterexample, problem.inputs, problem.categories)
    return replace(found, certificate=replace(found.certificate, counterexample=example))


def _compared(graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int) -> Checked:
    if not problem.integer_outputs:
        return _reals(graph, program, problem, seed)
    linear = not any(isinstance(graph.nodes[index], OperatorNode) for index in graph.live())
    limit = _limit(graph, program, problem) if linear else None
    explored = None if limit else _explored(graph, program, problem, FIRST_LOOK)
    if not linear and (explored is None or not (explored.closed or explored.wrong)):
        limit = _limit(graph, program, problem)
    trial = run_side_by_side(graph, program, problem, seed, LARGEST if limit is None else limit.value)
    if explored is not None and explored.wrong:
        return _differs(graph, program, explored, trial)
    if trial.counterexample is not None:
        worst = explored.worst if explored else ()
        shorter = _enumerated(graph, program, problem, trial, len(trial.counterexample) - 1)
        if shorter is not None and shorter.verdict == "differs":
            return Checked(shorter, (trial.counterexample, *worst))
        return Checked(_different(trial.counterexample, trial), (trial.counterexample, *worst))
    if limit is not None:
        return Checked(_below(limit, program, trial, problem))
    if explored is not None and not explored.closed:
        explored = _explored(graph, program, problem, EFFORT)
        if explored is not None and explored.wrong:
            return _differs(graph, program, explored, trial)
    if explored is not None and explored.length:
        return Checked(_equal(explored, trial, problem), explored.worst)
    return Checked(_enumerated(graph, program, problem, trial) or _tested(trial, problem))


def _limit(graph: DiscreteGraph, program: Recurrence, problem: Problem) -> Limit | None:
    """Up to which values both are equal: with a margin if there can be one."""
    outputs = np.abs(outputs_of(program, problem.validation.x))
    least = 2.0 * float(np.max(outputs, where=np.isfinite(outputs), initial=1.0))
    effort = Effort(LIMIT_EFFORT)
    for margin in (WIDE, 0.0):
        found = limit_of_values(graph, program, problem.domains, effort, margin, least)
        if found is not None:
            return found
    return None


def _below(limit: Limit, program: Recurrence, trial: Trial, problem: Problem) -> NetworkCertificate:
    """Equal as long as values stay below a limit."""
    covers, margin = f"at every length for inputs in {_domain(problem)}", 0.5 - limit.error
    if limit.value < np.inf:
        positions = positions_below(program, problem.domains, int(limit.value), MOST_POSITIONS)
        power = int(np.log2(limit.value))
        covers += f", as long as no past value exceeds 2**{power} (not in the first {positions} positions)"
    method = (
        "over all values that they may read, by branch and bound over the linear pieces, outputs stay "
        f"{at_least(margin)} from the nearest rounding border, errors of float64 arithmetic included"
    )
    return NetworkCertificate("proved", method, covers, margin, limit.error, None, trial.sequences)


def _domain(problem: Problem) -> str:
    return ", ".join(dict.fromkeys(str(domain) for domain in problem.domains))


def _reals(graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int) -> Checked:
    """A bound over the linear pieces, with the tests beside it."""
    trial = run_side_by_side(graph, program, problem, seed)
    x = drawn(problem, seed)
    bound = largest_error(graph, program, problem.domains, x, Effort(EFFORT))
    if bound is None:
        return Checked(_tested(trial, problem))
    past = ""
    if bound.past:
        past = (
            f" and past values of {'; '.join(bound.past)}, which at the first positions, and from one "
            f"position to the next, stay within what {x.shape[0]} sequences of length {x.shape[1]} show"
        )
    free = _finite(trial.free_running or 0.0)
    exactly = "the largest difference" if bound.finished else "a bound of the difference"
    method = (
        f"{exactly} over all these values, by branch and bound over the linear pieces, errors of float64 "
        f"arithmetic included; on its own past outputs it was off by up to {free:.3g} in {trial.sequences} "
        f"sequences of length {', '.join(map(str, trial.lengths))}"
    )
    covers = f"for inputs in {_domain(problem)}{past}"
    certificate = NetworkCertificate("bounded", method, covers, None, bound.error, free, trial.sequences)
    return Checked(certificate)


def _explored(graph: DiscreteGraph, program: Recurrence, problem: Problem, effort: float) -> Explored | None:
    from weights2code.explain.explanation import stream_values

    windows = windows_on(graph, stream_values(graph, problem.validation))
    if windows is None:
        return None
    while True:
        try:
            return explore(View.of(graph, windows), program, problem.domains, Effort(effort))
        except Narrow as found:  # other values turn up than in the data
            windows[found.index] = found.window
        except Unsuited:
            return None


def _equal(explored: Explored, trial: Trial, problem: Problem) -> NetworkCertificate:
    domain = _domain(problem)
    rounding = (
        "float64 and float32" if 0.5 - explored.error > MORE * SINGLE * explored.rounding else "float64"
    )
    words = (
        f"on all {explored.contexts} contexts that the program can reach, outputs stay "
        f"{at_least(explored.margin)} from the nearest rounding border, errors of {rounding} arithmetic "
        "included"
    )
    where = (
        f"at every length for inputs in {domain}" if explored.closed else f"up to length {explored.length}"
    )
    return NetworkCertificate(
        "proved" if explored.closed else "exhaustive",
        words,
        where,
        explored.margin,
        0.5 - explored.margin,
        None,
        trial.sequences,
    )


def _differs(graph: DiscreteGraph, program: Recurrence, explored: Explored, trial: Trial) -> Checked:
    """The shortest sequence that shows it; where rounding could go either way, nothing is claimed."""
    known = (explored.counterexample, trial.counterexample)
    example = next((one for one in known if one is not None and _shows(graph, program, one)), None)
    if example is None:
        near = "some outputs lie so near a rounding border that rounding errors decide"
        error, ran = _finite(explored.error), trial.sequences
        certificate = NetworkCertificate("tested", near, "the tested lengths", 0.0, error, None, ran)
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
    graph: DiscreteGraph, program: Recurrence, problem: Problem, trial: Trial, most: int = LONGEST
) -> NetworkCertificate | None:
    """Every sequence up to a length, run; of the one length that there is where inputs come first."""
    fixed = graph.layout.name == "concat"
    length = longest_length(problem.domains, ENUMERATED)
    length = (graph.length if length >= graph.length else 0) if fixed else min(length, most)
    if length < 2 or (fixed and most < length):
        return None
    skip = graph.layout.first_scored if fixed else 0
    error, rounding = 0.0, 0.0
    for x in all_sequences(problem.domains, length):
        right = np.round(outputs_of(program, x))
        apart = np.abs(one_step(graph, x, right, whole=True) - right)
        apart[:, :skip] = 0.0
        if not np.all(apart < 0.5):
            example = shortest(x, np.asarray(np.any(~(apart < 0.5), axis=2)), cut=not fixed)
            return _different(example, trial, float(apart.max()))
        error = max(error, float(apart.max()))
        moved = sensitivity(graph, Sequences(x.astype(float), right, np.full(len(x), length)))
        rounding = max(rounding, MORE * DOUBLE * float(moved[:, skip:].max()))
    margin = 0.5 - error - rounding
    if margin <= 0:
        return None
    method = (
        f"all were run; outputs stay {at_least(margin)} from the nearest rounding border, errors of float64 "
        "arithmetic included"
    )
    covers = f"of length {length}, from its position {skip + 1} on" if fixed else f"up to length {length}"
    return NetworkCertificate("exhaustive", method, covers, margin, error + rounding, None, trial.sequences)


def _tested(trial: Trial, problem: Problem) -> NetworkCertificate:
    lengths = ", ".join(map(str, trial.lengths))
    method = f"{trial.sequences} sequences of length {lengths}; the largest difference is {trial.error:.3g}"
    margin = trial.margin if problem.integer_outputs else None
    free = None if trial.free_running is None else _finite(trial.free_running)
    return NetworkCertificate(
        "tested", method, f"lengths {lengths}", margin, _finite(trial.error), free, trial.sequences
    )


def _finite(value: float) -> float:
    """Neither infinite nor no number, which a certificate could not say."""
    return value if value < BEYOND else BEYOND
