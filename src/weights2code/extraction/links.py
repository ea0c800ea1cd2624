"""The link between the network and the program: which network it is, and how far both are equal.

The program is found. The member that it was read from is compared with it; if they differ, or only luck
keeps outputs on the right side of a rounding border, another member of the rung may be right as it is; else
the network goes back to training, with the sequences on which it is least right, its choices settled; and if
no sub-MLP sees what the rule combines, it is wired for the rule and trained. The best of them is the network
that is meant. Where the formula came from stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weights2code.data import Problem, Regime, Sequences
from weights2code.effort import Effort, TimeUp, time_is_up
from weights2code.explain.explanation import match_heads
from weights2code.extraction.judge import model_agreement
from weights2code.extraction.members import MEMBERS_TRIED, member
from weights2code.extraction.values import Extraction, Log
from weights2code.graph import DiscreteGraph
from weights2code.language import Recurrence
from weights2code.network.certify import Checked, certify_network
from weights2code.network.retune import retuned
from weights2code.network.trial import outputs_of
from weights2code.network.wired_for import wired_for
from weights2code.verify.links import NetworkCertificate, Sequence
from weights2code.verify.testing import probes

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: A margin that is no luck, of the half that there can be; an error of reals that is as good, of their size.
NO_LUCK, SMALL = 0.25, 1e-4
#: Rounds of training on, sequences that are drawn for one, and its effort in seconds of a usual machine.
ROUNDS, DRAWN, EFFORT = 3, 128, 1.0
#: Verdicts in order.
ORDER = ("proved", "exhaustive", "bounded", "tested", "differs")


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A network, the member that it is or comes from, and what is known of it and the program."""

    graph: DiscreteGraph
    member: int | None
    checked: Checked

    @property
    def certificate(self) -> NetworkCertificate:
        return self.checked.certificate

    def rank(self) -> tuple[int, float]:
        """Smaller is better: the verdict, then how far from being wrong."""
        found = self.certificate
        far = -min(found.margin, NO_LUCK) if found.margin is not None else (found.error or 0.0)
        return ORDER.index(found.verdict), far


def with_network(extraction: Extraction, trained: Trained, problem: Problem, log: Log) -> Extraction:
    """The extraction with the network that is meant, and what is known of it and the program."""
    problem = problem.under(extraction.program.regime)
    program = extraction.program.recurrence
    best: _Candidate | None = None
    try:
        for found in _candidates(extraction, trained, problem, log):
            if best is None or found.rank() < best.rank():
                best = found
            if _right(best.certificate, program, problem) or time_is_up():
                break
    except TimeUp:
        pass
    if best is None:
        return extraction
    return _linked(extraction, best, problem, log.seed)


def _right(found: NetworkCertificate, program: Recurrence, problem: Problem) -> bool:
    """Whether nothing need be done to a network any more."""
    if found.verdict == "bounded":
        return found.error is not None and found.error <= SMALL * _scale(program, problem)
    return found.verdict in ("proved", "exhaustive") and (found.margin or 0.0) >= NO_LUCK


def _scale(program: Recurrence, problem: Problem) -> float:
    outputs = np.abs(outputs_of(program, problem.validation.x))
    return float(np.max(outputs, where=np.isfinite(outputs), initial=0.0))


def _candidates(extraction: Extraction, trained: Trained, problem: Problem, log: Log) -> Iterator[_Candidate]:
    """Networks in the order in which they are preferred; each is made only if those before will not do."""
    program = extraction.program.recurrence

    def candidate(graph: DiscreteGraph, index: int | None, rounds: int = 0) -> _Candidate:
        checked = certify_network(graph, program, problem, log.seed)
        certificate = replace(checked.certificate, trained_on=rounds)
        return _Candidate(graph, index, replace(checked, certificate=certificate))

    own = candidate(extraction.graph, extraction.member)
    yield own
    if not extraction.certificate.verified or problem.regime is not Regime.EXACT:
        return  # a rule that is not known to be right is nothing to learn from
    if own.certificate.verdict == "differs":
        for index in range(min(MEMBERS_TRIED, len(trained.losses))):
            if index != extraction.member:
                yield candidate(member(trained, index, problem).graph, index)
    yield from _trained_on(own, program, problem, log, candidate)
    wired = wired_for(program, extraction.graph, problem, log.seed)
    if wired is not None:
        first = _Candidate(wired, None, Checked(own.certificate))
        yield from _trained_on(first, program, problem, log, candidate)


def _trained_on(own, program, problem, log, candidate) -> Iterator[_Candidate]:  # type: ignore[no-untyped-def]
    """The network after more training, with the sequences that it was least right on."""
    worst: list[Sequence] = list(own.checked.worst)
    graph = own.graph
    for count in range(1, ROUNDS + 1):
        learned = _to_learn_from(worst, program, problem, log.seed + count)
        graph = retuned(graph, learned, effort=Effort(EFFORT), whole=problem.integer_outputs)
        found = candidate(graph, own.member, count)
        yield found
        if not found.checked.worst:
            return
        worst += found.checked.worst


def _to_learn_from(worst: list[Sequence], program: Recurrence, problem: Problem, seed: int) -> Sequences:
    """Sequences that are not right yet, and drawn ones, with the program's outputs."""
    rng, length = np.random.default_rng(seed), problem.length
    drawn = probes(rng, problem.domains, DRAWN, length, problem.sampler)
    if problem.sampler is None and not problem.validation.given.any():
        drawn = np.concatenate([drawn, problem.validation.x[:DRAWN, :length]]) if _as_long(problem) else drawn
    longest = max([length, *(len(sequence) for sequence in worst)])
    x = np.zeros((len(worst) + len(drawn), longest, drawn.shape[2]))
    lengths = np.array([len(sequence) for sequence in worst] + [drawn.shape[1]] * len(drawn))
    for place, sequence in enumerate(worst):
        x[place, : len(sequence)] = sequence
    x[len(worst) :, : drawn.shape[1]] = drawn
    y = outputs_of(program, x)
    y = np.round(y) if problem.integer_outputs else y
    sound = np.isfinite(y).all(axis=(1, 2))
    return Sequences(x[sound], y[sound], lengths[sound])


def _as_long(problem: Problem) -> bool:
    return problem.validation.x.shape[1] >= problem.length


def _linked(extraction: Extraction, best: _Candidate, problem: Problem, seed: int) -> Extraction:
    """The extraction with its network, its certificate saying so, and the text repeating it."""
    certificate, matched = extraction.certificate, extraction.matched
    if best.graph is not extraction.graph:
        matched = match_heads(best.graph, problem.validation)
        if problem.reference is not None:
            agreement = model_agreement(extraction.program.recurrence, best.graph, problem, seed)
            certificate = replace(certificate, model=agreement)
    certificate = replace(certificate, network=best.certificate)
    if not certificate.model_fits and best.certificate.equal:
        # what was said of it is no longer so
        kept = tuple(note for note in certificate.notes if not note.startswith(UNFIT))
        certificate = replace(certificate, model_fits=True, notes=kept)
    program = extraction.program.with_verdict(certificate.words())
    return replace(
        extraction,
        graph=best.graph,
        explained=extraction.explained if best.graph is extraction.graph else None,
        program=program,
        certificate=certificate,
        matched=matched,
        member=best.member,
    )


#: How what is said of a network begins that is not right itself.
UNFIT = "the discrete model does not fit"
