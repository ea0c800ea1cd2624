"""From a trained rung to a certified program (paper, section 4).

Members that are promising are pruned, explained and turned into programs, best first, until one is verified;
why the others were not enough is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weights2code.data import Problem, Sequences, from_arrays
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import explain, match_routers, stream_values, unmatched
from weights2code.explain.operators import explain_operator
from weights2code.graph import DiscreteGraph, prune_by_effect
from weights2code.language import Expr, Recurrence
from weights2code.program import Program
from weights2code.results import Extraction
from weights2code.rules.assembly import Assembly
from weights2code.rules.from_leaves import direct_recurrences
from weights2code.settings import Settings
from weights2code.simplify import simplify_recurrence
from weights2code.verify import Certificate, certify
from weights2code.verify.own_data import certify_measured

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: Validation sequences that pruning looks at.
PRUNING_SEQUENCES = 256
#: Members of a rung that are worth explaining, and the relative hard loss from which one is.
MEMBERS_TRIED = 3
PROMISING = 0.02
#: Share of positions at which a member must be right for its leaves to be tried although it does not fit.
NEARLY_RIGHT = 0.9
#: Seconds for the regressions of one member, for the proof of one program, and for its listing.
REGRESSION_SECONDS = 4.0
PROOF_SECONDS = 5.0
EXPLANATION_SECONDS = 1.5
#: Training sequences of a known machine that rules are regressed on: the paper's million would only be slow.
REGRESSED_ON = 8192
#: Searches for one rule: the first, and one more for each that a counterexample refutes.
ROUNDS = 2
#: Training sequences whose beginnings are put before a refuting sequence.
BEGINNINGS = 24
#: Whole-number outputs must be whole to this digit.
LAST_DIGIT = 1e-3
#: Recurrences with more nodes than this are written as they are: nobody will read them anyway.
SIMPLIFIED = 120


def extractions(
    trained: Trained, problem: Problem, settings: Settings, attempts: list[str], resort: bool = False
) -> Iterator[Extraction]:
    """Extract the promising members of a rung, best first, until one is verified; failures are noted.

    Members with a head that matches no hypothesis wait until the others have been tried.
    """
    promising = _promising(trained, problem, attempts, resort=resort)
    for found in _explainable_first(promising, problem):
        extraction = _attempt(found, problem, settings, attempts)
        if extraction is not None:
            yield extraction
            if extraction.certificate.verified:
                return


@dataclass(frozen=True, slots=True)
class _Promising:
    """A pruned member that is worth explaining."""

    label: str
    graph: DiscreteGraph
    fits: bool


def _promising(
    trained: Trained, problem: Problem, attempts: list[str], *, resort: bool
) -> Iterator[_Promising]:
    """The best members of a rung that differ in structure.

    A member that fits is explained as it is. One that is right at most positions may have found the right
    values without fitting yet: its leaves are tried. As a last resort the best member's leaves are tried
    however badly it fits.
    """
    from weights2code.graph.from_model import graph_of

    seen: set[tuple[Any, ...]] = set()
    for member, loss in enumerate(trained.losses):
        label = f"{trained.rung}, member {member} (hard loss {loss:.2g})"
        if len(seen) == MEMBERS_TRIED:
            return
        fits = loss <= PROMISING
        nearly = problem.integer_outputs and trained.accuracies[member] >= NEARLY_RIGHT
        if not fits and (seen or not (nearly or resort)):
            if not member:
                attempts.append(f"{label}: does not fit")
            return
        graph = prune(graph_of(trained.model, member, trained.layout, problem), problem)
        shape = structure(graph)
        if shape not in seen:
            seen.add(shape)
            yield _Promising(label, graph, fits)


def _explainable_first(promising: Iterator[_Promising], problem: Problem) -> Iterator[_Promising]:
    """Those whose heads all match, as they come; then the others."""
    waiting = []
    for found in promising:
        if unmatched(found.graph, match_routers(found.graph, problem.validation)):
            waiting.append(found)
        else:
            yield found
    yield from waiting


def _attempt(
    found: _Promising, problem: Problem, settings: Settings, attempts: list[str]
) -> Extraction | None:
    """The program of one member; None if there is none. Either is noted."""
    try:
        extraction = extract_graph(found.graph, problem, settings.seed, leaves_only=not found.fits)
    except NotExtracted as error:
        attempts.append(f"{found.label}: {error}")
        return None
    if not found.fits:
        extraction = replace(extraction, certificate=with_caveat(extraction.certificate))
    attempts.append(f"{found.label}: {extraction.program.origin}, {extraction.certificate.verdict}")
    return extraction


def with_caveat(certificate: Certificate) -> Certificate:
    """Say it where the discrete model itself is not right: the program stands on its own check."""
    share = certificate.model.accuracy if certificate.model else None
    if share == 1.0:  # every output rounds to the right number: that is a fit, if a loose one
        return certificate
    found = "" if share is None else f" (it agrees with the program at {share:.1%} of the positions)"
    note = f"the discrete model does not fit{found}; the rule was regressed from the values that it reads"
    return replace(certificate, model_fits=False, notes=(*certificate.notes, note))


def structure(graph: DiscreteGraph) -> tuple[Any, ...]:
    """What two members must share to be the same explanation."""
    from weights2code.graph import RouterNode, sources

    live = graph.live()
    nodes = [graph.nodes[index] for index in live]
    offsets = tuple(node.offset if isinstance(node, RouterNode) else None for node in nodes)
    return live, tuple(sources(node) for node in nodes), offsets


def prune(graph: DiscreteGraph, problem: Problem) -> DiscreteGraph:
    """Drop what the output does not need, on validation sequences."""
    encoded = graph.layout.encode(problem.validation.take(slice(0, PRUNING_SEQUENCES)), np.float64)
    order = (2, 1, 0)
    return prune_by_effect(
        graph, encoded.channels.transpose(order), encoded.targets.transpose(order), encoded.scored.T
    )


def extract_graph(
    graph: DiscreteGraph, problem: Problem, seed: int = 0, leaves_only: bool = False
) -> Extraction:
    """The best program of a graph: regressed from its leaves, or composed of its nodes.

    A model that does not fit yet may still have found the right values; `leaves_only` asks for a program
    that is exact on them, and for nothing less.
    """
    sequences = problem.validation
    matches = match_routers(graph, sequences)
    unexplained = unmatched(graph, matches)
    best: Extraction | None = None
    values = stream_values(graph, sequences)
    assembly = Assembly(
        graph,
        matches,
        fit=lambda index: explain_operator(graph, index, values, problem, EXPLANATION_SECONDS),
        domains=dict(zip(problem.inputs, problem.domains, strict=True)),
    )
    if leaves_only and not problem.integer_outputs:
        raise NotExtracted("the model does not fit, and real outputs give no other sign of the right values.")
    known = lighter(problem)
    for _ in range(ROUNDS):
        refuted = False
        for recurrence in direct_recurrences(assembly, known, REGRESSION_SECONDS):
            origin = "regressed from the live leaves"
            program, certificate = certified(recurrence, origin, graph, problem, seed)
            if unexplained:
                note = f"{unexplained}; the rule was regressed from the values that it can select"
                certificate = replace(certificate, notes=(*certificate.notes, note))
            if best is None or better(certificate, best.certificate):
                best = Extraction(graph, None, program, certificate)
            if certificate.verified:
                return best
            if certificate.counterexample:
                known, refuted = with_counterexample(known, certificate), True
        if not refuted:
            break
    if unexplained:
        raise NotExtracted(f"{unexplained}.")
    if leaves_only and best is None:
        raise NotExtracted("the model does not fit, and no formula of its values is exact.")
    if leaves_only and best is not None:
        return best
    if problem.reference is None and not problem.integer_outputs:  # a copy of the model copies its noise
        if best is None:
            raise NotExtracted("no exact rule was found from the live leaves.")
        return best
    explained = explain(graph, problem, sequences, matches, REGRESSION_SECONDS)
    recurrence = Assembly(graph, matches, explained.operators).compose()
    program, certificate = certified(recurrence, "composed of the live nodes", graph, problem, seed)
    if best is None or better(certificate, best.certificate):
        best = Extraction(graph, explained, program, certificate)
    return best


def lighter(problem: Problem) -> Problem:
    """The problem with as many training sequences as regressions want, if a machine can make more."""
    if problem.reference is None or len(problem.training.x) <= REGRESSED_ON:
        return problem
    return replace(problem, training=problem.training.take(slice(0, REGRESSED_ON)))


def with_counterexample(problem: Problem, certificate: Certificate) -> Problem:
    """The refuting sequence joins the training sequences: the next rule must get it right too.

    Rules are regressed where every lag lies inside the sequence, so the refuting inputs also come after the
    beginnings of some training sequences.
    """
    if problem.reference is None or certificate.counterexample is None:
        return problem
    training = problem.training
    _, length, columns = training.x.shape
    found = np.array(certificate.counterexample, dtype=float).reshape(-1, columns)
    if len(found) > length:
        return problem  # it shows only beyond the training length
    x = np.concatenate([np.zeros((1, length, columns)), training.x[:BEGINNINGS]])
    x[0, : len(found)] = found
    x[1:, length - len(found) :] = found
    grown = Sequences(
        np.concatenate([training.x, x]),
        np.concatenate([training.y, problem.reference.run(x)]),
        np.concatenate([training.lengths, [len(found)], np.full(len(x) - 1, length)]),
    )
    return replace(problem, training=grown)


def with_explanation(extraction: Extraction, problem: Problem) -> Extraction:
    """Explain every live node of the graph, for the listing and the report, if that is not done yet."""
    if extraction.explained is not None:
        return extraction
    graph, sequences = extraction.graph, problem.validation
    matches = match_routers(graph, sequences)
    if unmatched(graph, matches):
        return extraction  # no listing without a hypothesis for every head
    explained = explain(graph, problem, sequences, matches, EXPLANATION_SECONDS)
    return replace(extraction, explained=explained)


def certified(
    recurrence: Recurrence, origin: str, graph: DiscreteGraph, problem: Problem, seed: int
) -> tuple[Program, Certificate]:
    """Simplify a recurrence, certify it, and put the verdict into the program."""
    if (
        sum(step.definition.size() for step in recurrence.steps if isinstance(step.definition, Expr))
        <= SIMPLIFIED
    ):
        recurrence = simplify_recurrence(recurrence, problem.domains)
    certificate = certificate_of(recurrence, graph, problem, seed)
    whole = problem.integer_outputs and not problem.mistakes
    if whole and certificate.verified and certificate.max_abs_error > LAST_DIGIT:
        method = f"{certificate.method}, but only after rounding: outputs are off by up to "
        method += f"{certificate.max_abs_error:.2g}"
        certificate = replace(certificate, verdict="failed", method=method)
    program = Program(problem.name, recurrence, problem.domains, problem.integer_outputs, origin)
    return program.with_verdict(certificate.explain()), certificate


def certificate_of(recurrence: Recurrence, graph: DiscreteGraph, problem: Problem, seed: int) -> Certificate:
    """The reference machine is the specification where there is one, else held-out sequences are."""
    if problem.reference is not None:
        reference = problem.reference

        def discrete_model(x: np.ndarray) -> np.ndarray:
            return graph.run(from_arrays(x, reference.run(x)))

        return certify(
            recurrence,
            reference=reference,
            domains=problem.domains,
            length=problem.length,
            integer_outputs=problem.integer_outputs,
            sampler=problem.sampler,
            seed=seed + 1,
            time_limit=PROOF_SECONDS,
            discrete_model=discrete_model,
        )
    return certify_measured(recurrence, problem, seed)


def better(one: Certificate, other: Certificate) -> bool:
    return (not one.verified, one.rmse) < (not other.verified, other.rmse)
