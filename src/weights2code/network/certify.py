"""The verdict on a network and its program: the same claim as that of a program and its specification.

The network is a recurrence (`graph.machine`) in one order of float64 operations, which is what `load_network`
computes; the other side is the text of the program. Whole numbers: what the network gives before it is
rounded stays near the program's output in every state that both reach, closed by running both; or by
induction, where values grow or windows are too many. Reals: one step ahead, over the values that both may
read. The kernel alone decides; tests come first, so that there is something to learn from where they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, log2
from typing import Any

import numpy as np

from weights2code.data import Problem
from weights2code.effort import Effort
from weights2code.errors import NotExtracted
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.graph.machine import machine_of
from weights2code.kernel import claims as kernel
from weights2code.kernel.claims import Claim, Closure, Inductive, Network, Proved, Refuted, Within
from weights2code.kernel.closing import Unsuited
from weights2code.language import Recurrence, Var
from weights2code.language.arithmetic import off_by
from weights2code.language.python_source import python_source
from weights2code.language.ranges import bounds_of, positions_below
from weights2code.language.regions import places
from weights2code.language.sums import Unwritten
from weights2code.network.trial import Trial, drawn, outputs_of, run_side_by_side
from weights2code.network.windows import windows_of
from weights2code.verify.induction import invariant_for, largest_limit
from weights2code.verify.links import (
    BEYOND,
    NetworkCertificate,
    Offered,
    Sequence,
    at_least,
    checked,
    with_texts,
)

#: Transitions that are taken at first, and at last where nothing else decides; heads that point by content
#: cost as much as so many others.
FIRST, MOST, POINTING = 60_000, 150_000, 8
#: Effort for invariants, in seconds of a usual machine, and positions that are counted at most.
EFFORT, MOST_POSITIONS = 0.5, 256
#: How far from the program outputs may be: with a margin, just below a half, and a half where both are run.
WIDER, WIDE, HALF = Fraction(1, 64), Fraction(1, 4), Fraction(1, 2)
NEARLY = HALF - Fraction(1, 1 << 20)
#: Rounding of float32 is so many times that of float64.
SINGLE = 2.0**29


@dataclass(frozen=True, slots=True)
class Checked:
    """A certificate, and sequences on which the network is least right, worst first, to learn from."""

    certificate: NetworkCertificate
    worst: tuple[Sequence, ...] = ()


def certify_network(
    graph: DiscreteGraph, program: Recurrence, problem: Problem, seed: int, stored: Offered | None = None
) -> Checked:
    """Compare a network with the text of its program, as far as can be done with little effort.

    `stored` is a certificate that was found before; it is checked before any other is looked for.
    """
    trial = run_side_by_side(graph, program, problem, seed)
    found = _compared(graph, program, problem, trial, seed, stored)
    example = with_texts(found.counterexample, problem.inputs, problem.categories)
    worst = trial.worst if found.counterexample is None else (found.counterexample, *trial.worst)
    return Checked(replace(found, counterexample=example), worst)


def claim_of(graph: DiscreteGraph, program: Recurrence, problem: Problem) -> Claim:
    """What is claimed of a network and its program."""
    program = replace(program, outputs=problem.outputs)
    known, own, truths = problem.categories, problem.output_categories, problem.output_truths
    source = python_source(program, problem.domains, "program", categories=own, truths=truths)
    texts = (tuple(map(known.get, program.inputs)), tuple(map(own.get, problem.outputs)))
    text = kernel.ProgramText(source, program.inputs, *texts)
    network = Network(machine_of(graph, whole=problem.integer_outputs))
    return Claim(network, text, problem.domains, HALF if problem.integer_outputs else Fraction(BEYOND))


def _compared(
    graph: DiscreteGraph,
    program: Recurrence,
    problem: Problem,
    trial: Trial,
    seed: int,
    stored: Offered | None,
) -> NetworkCertificate:
    try:
        claim = claim_of(graph, program, problem)
    except NotExtracted:
        return _different(trial.counterexample, trial) if trial.counterexample else _tested(trial, problem)
    ways = _of_whole if problem.integer_outputs else _of_reals
    shorter = None
    for number, (asked, proposal) in enumerate(ways(claim, graph, problem, seed, stored)):
        if number and trial.counterexample is not None:
            break  # it is known to be another; closing came first, for a shorter sequence
        answer = checked(asked, proposal)
        if isinstance(answer, Refuted):
            return _different(answer.sequence, trial)
        if isinstance(answer, Proved):
            if not (isinstance(answer.certificate, Within) or answer.error <= NEARLY):
                continue  # another order of operations may round otherwise
            if answer.length is None:
                return _proved(answer, program, trial, problem)
            shorter = answer if answer.length > 1 else shorter
    if trial.counterexample is not None:
        return _different(trial.counterexample, trial)
    return _tested(trial, problem) if shorter is None else _proved(shorter, program, trial, problem)


def _of_whole(
    claim: Claim, graph: DiscreteGraph, problem: Problem, seed: int, stored: Offered | None
) -> Iterator[tuple[Claim, kernel.Certificate]]:
    """What may show that both are equal, cheap things first."""
    if stored is not None and (proposal := stored.proposal()) is not None:
        within = stored.within()
        margins = _margins(within is not None) if isinstance(proposal, Inductive) else (HALF,)
        if within is None or within >= _least_limit(claim, problem):
            yield from ((replace(claim, eps=eps, within=within), proposal) for eps in margins)
    assert isinstance(claim.left, Network)
    machine = claim.left.machine
    windows = windows_of(machine, drawn(problem, seed))
    share = POINTING if machine.retrieves() else 1
    linear = not any(isinstance(graph.nodes[index], OperatorNode) for index in graph.live())
    if claim.discrete:  # windows of sums are many, and need no closing
        yield claim, Closure(FIRST // (5 if linear else share), windows=windows)
    yield from _inductive(claim, seed, _least_limit(claim, problem))
    if claim.discrete:
        yield claim, Closure(MOST // share, windows=windows)


def _margins(grows: bool) -> tuple[Fraction, ...]:
    """How near to ask for, the nearest first; where values grow, the nearest leaves them no room."""
    return (WIDE, NEARLY) if grows else (WIDER, WIDE, NEARLY)


def _least_limit(claim: Claim, problem: Problem) -> float:
    """Twice the largest output of the data: to assume that past outputs are smaller is of no use."""
    try:
        program = claim.right.recurrence(claim.domains)
    except (Unsuited, Unwritten):
        return inf
    outputs = np.abs(outputs_of(program, problem.validation.x))
    return 2 * float(np.max(outputs, where=np.isfinite(outputs), initial=1.0))


def _inductive(claim: Claim, seed: int, least: float) -> Iterator[tuple[Claim, Inductive]]:
    """An invariant, for the widest margin that has one; a smaller limit than `least` is of no use."""
    effort = Effort(EFFORT)
    try:
        program = claim.right.recurrence(claim.domains)
        bounds = bounds_of(program, claim.domains)
        grows = not all(bounds[name].finite for name in program.outputs)
        for eps in _margins(grows):
            near = replace(claim, eps=eps)
            joint = near.joint()
            limit = None
            if grows:
                limit = largest_limit(joint, effort, eps, seed)
                off = None if limit is None else _rounding(near, limit)
                if limit is None or off is None or limit < least:
                    continue
                room = float(Fraction(1, 2) - eps) / off if off else 1.0
                limit = limit if room > 1 else 1 << int(log2(limit * room))  # rounding grows with values
            found = invariant_for(joint, effort, eps=eps, limit=limit, seed=seed, stages=2)
            if isinstance(found, Inductive):
                yield replace(near, within=limit), found
            if isinstance(found, Inductive) or effort.spent():
                return
    except (Unsuited, Unwritten, ArithmeticError, ValueError):
        return


def _rounding(claim: Claim, limit: int | None) -> float | None:
    """How far float64 may be off, in whatever order; None if there is no bound."""
    assert isinstance(claim.left, Network)
    try:
        program, network = (side.recurrence(claim.domains) for side in (claim.right, claim.left))
    except (Unsuited, Unwritten):
        return None
    return off_by(network, claim.left.machine.outputs, program, claim.domains, limit)


def _of_reals(
    claim: Claim, graph: DiscreteGraph, problem: Problem, seed: int, stored: Offered | None
) -> Iterator[tuple[Claim, kernel.Certificate]]:
    """Where past values lie along sequences as they come, and steps between them."""
    x = drawn(problem, seed)
    try:
        joint, program = claim.beside(), claim.right.recurrence(claim.domains)
        with np.errstate(all="ignore"):
            trace = program.trace(x)
        region: dict[int | None, dict[Var, Any]] = {}
        found = list(places(joint))
    except (Unsuited, Unwritten, ArithmeticError, ValueError):
        return
    depth = max((leaf.lag for leaf in found[0].leaves), default=0)
    for place in found:
        first, last = (depth, x.shape[1]) if place.age is None else (place.age, place.age + 1)
        past = {
            leaf: trace[leaf.name.removeprefix("r.")][:, first - leaf.lag : last - leaf.lag].ravel()
            for leaf in place.leaves
            if leaf.name not in joint.machine.inputs
        }
        if first >= x.shape[1] or not all(np.isfinite(values).all() for values in past.values()):
            return
        nearer = {leaf: past.get(Var(leaf.name, leaf.lag - 1)) for leaf in past}
        region[place.age] = {
            leaf: (_ends(values), None if (after := nearer[leaf]) is None else _ends(after - values))
            for leaf, values in past.items()
        }
    yield claim, Within(region)


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _proved(answer: Proved, program: Recurrence, trial: Trial, problem: Problem) -> NetworkCertificate:
    """What a proof says, in words."""
    domain = ", ".join(dict.fromkeys(str(item) for item in problem.domains))
    every, proposal, error = (
        f"at every length for inputs in {domain}",
        answer.certificate,
        float(answer.error),
    )
    if isinstance(proposal, Within):
        return _bounded(answer, proposal, domain, trial, problem)
    verdict, margin = "proved", 0.5 - error
    if isinstance(proposal, Closure):
        order, rounding = "in the order in which load_network adds up", _rounding(answer.claim, None)
        if rounding is not None and rounding < margin:
            order = f"errors of float64{' and float32' * (SINGLE * rounding < margin)} arithmetic included"
            margin -= rounding
        error = 0.5 - margin
        how = f"in all {answer.words.replace(' (', ' that both reach (')}"
        if answer.length is not None:
            verdict, every = "exhaustive", f"up to length {answer.length}"
    else:
        assert isinstance(proposal, Inductive)
        order, how = "errors of float64 arithmetic included", "by induction with z3, one step ahead,"
        limit = answer.claim.limit
        if limit is not None:
            positions = positions_below(program, problem.domains, limit, MOST_POSITIONS)
            power = limit.bit_length() - 1
            every += f", as long as no past value exceeds 2**{power} (not in the first {positions} positions)"
    method = f"{how} outputs stay {at_least(margin)} from where they would round otherwise, {order}"
    return NetworkCertificate(verdict, method, every, margin, error, None, trial.sequences, proof=answer)


def _bounded(
    answer: Proved, proposal: Within, domain: str, trial: Trial, problem: Problem
) -> NetworkCertificate:
    """A bound one step ahead, with the tests beside it."""
    free = _finite(trial.free_running or 0.0)
    method = (
        f"{answer.words}, over all these values, by boxes, errors of float64 arithmetic included; on its own "
        f"past outputs it was off by up to {free:.3g} in {trial.sequences} sequences of length "
        f"{', '.join(map(str, trial.lengths))}"
    )
    ends: dict[str, tuple[float, float]] = {}
    for leaf, (own, _) in proposal.region[None].items():
        low, high = ends.get(leaf.name, own)
        ends[leaf.name] = min(low, own[0]), max(high, own[1])
    told = (f"{n.removeprefix('r.')} between {low:.3g} and {high:.3g}" for n, (low, high) in ends.items())
    covers = f"for inputs in {domain}"
    if ends:
        covers += (
            f" and past values of {'; '.join(told)}, which at the first positions, and from one position to "
            f"the next, stay within what sequences of length {problem.length} show"
        )
    error = float(answer.error)
    return NetworkCertificate("bounded", method, covers, None, error, free, trial.sequences, proof=answer)


def _different(example: Sequence, trial: Trial) -> NetworkCertificate:
    said = ("differs", "it rounds to another number", "the counterexample")
    return NetworkCertificate(*said, None, _finite(trial.error), None, trial.sequences, example)


def _tested(trial: Trial, problem: Problem) -> NetworkCertificate:
    lengths = ", ".join(map(str, trial.lengths))
    method = f"{trial.sequences} sequences of length {lengths}; the largest difference is {trial.error:.3g}"
    margin = 0.5 - trial.error if problem.integer_outputs else None
    free = None if trial.free_running is None else _finite(trial.free_running)
    said = ("tested", method, f"lengths {lengths}", margin)
    return NetworkCertificate(*said, _finite(trial.error), free, trial.sequences)


def _finite(value: float) -> float:
    """Neither infinite nor no number, which a certificate could not say."""
    return value if value < BEYOND else BEYOND
