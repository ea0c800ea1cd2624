"""The driver, from a problem to a certified program; it reads as the table of contents.

    task or file -> sequences -> model -> discrete graph -> explained graph -> program -> certificate

The ladder is climbed until a program is verified. Members that fit are tried best first; what was tried,
and why it was not enough, is kept and said.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weights2code.data import Problem, Sequences, from_arrays, from_task
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import ExplainedGraph, explain, match_routers, require_matches
from weights2code.graph import DiscreteGraph, prune_by_effect
from weights2code.language import Expr, Recurrence
from weights2code.program import Program, simplify_recurrence
from weights2code.program.assembly import Assembly
from weights2code.program.direct import direct_recurrences
from weights2code.settings import Settings
from weights2code.verify import Certificate, certify, certify_on_data

if TYPE_CHECKING:
    from weights2code.training.search import Progress, Trained

#: Members of a rung that are worth explaining, and the relative hard loss from which one is.
MEMBERS_TRIED = 3
PROMISING = 0.02
#: Seconds for the regressions of one member and for the proof of one program.
REGRESSION_SECONDS = 4.0
PROOF_SECONDS = 5.0
#: Recurrences with more nodes than this are written as they are: nobody will read them anyway.
SIMPLIFIED = 120


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """What one member gave: its pruned graph, its explanation, and the best program made of it."""

    graph: DiscreteGraph
    explained: ExplainedGraph | None
    program: Program
    certificate: Certificate


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The end of a run; `exit_code` is the command's."""

    extraction: Extraction | None
    trained: Trained | None
    attempts: tuple[str, ...]
    seconds: float

    @property
    def program(self) -> Program | None:
        return self.extraction.program if self.extraction else None

    @property
    def certificate(self) -> Certificate | None:
        return self.extraction.certificate if self.extraction else None

    @property
    def exit_code(self) -> int:
        if self.extraction is None:
            return 3
        return 0 if self.extraction.certificate.verified else 1

    @property
    def message(self) -> str:
        if self.extraction is None:
            return "no program could be extracted; " + (
                self.attempts[-1] if self.attempts else "nothing was tried"
            )
        return self.extraction.certificate.explain()


def problem_of(source: str, settings: Settings, samples: int = 8192) -> tuple[Problem, Any]:
    """The problem that a task's name stands for, and the paper's settings of it."""
    from weights2code.tasks import get

    task = get(source)
    return from_task(task, samples, settings.seed, length=settings.length), task.paper


def search(
    problem: Problem, settings: Settings, paper: Any = None, progress: Progress | None = None
) -> Outcome:
    """Climb the ladder until a program is verified, or the time is up."""
    from weights2code.training.search import climb

    began = time.monotonic()
    attempts: list[str] = []
    best: tuple[Extraction, Trained] | None = None
    last: Trained | None = None
    for trained in climb(problem, settings, paper, progress=progress):
        last = trained
        for extraction in extractions(trained, problem, settings, attempts):
            if best is None or better(extraction.certificate, best[0].certificate):
                best = extraction, trained
            if extraction.certificate.verified:
                return Outcome(extraction, trained, tuple(attempts), time.monotonic() - began)
    extraction, chosen = best if best else (None, last)
    return Outcome(extraction, chosen, tuple(attempts), time.monotonic() - began)


def better(one: Certificate, other: Certificate) -> bool:
    return (not one.verified, one.rmse) < (not other.verified, other.rmse)


def extractions(
    trained: Trained, problem: Problem, settings: Settings, attempts: list[str]
) -> Iterator[Extraction]:
    """Extract the promising members of a rung, best first; failures are noted, not raised."""
    from weights2code.graph.from_model import graph_of

    seen: set[tuple[Any, ...]] = set()
    tried = 0
    for member, loss in enumerate(trained.losses):
        label = f"{trained.rung}, member {member} (hard loss {loss:.2g})"
        if loss > PROMISING or tried == MEMBERS_TRIED:
            attempts.append(
                f"{trained.rung}: best hard loss {trained.losses[0]:.2g}" if not member else f"{label}: left"
            )
            return
        graph = prune(graph_of(trained.model, member, trained.layout, problem), problem)
        shape = structure(graph)
        if shape in seen:
            continue
        seen.add(shape)
        tried += 1
        try:
            extraction = extract_graph(graph, problem, settings.seed)
        except NotExtracted as error:
            attempts.append(f"{label}: {error}")
            continue
        attempts.append(f"{label}: {extraction.program.origin}, {extraction.certificate.verdict}")
        yield extraction


def structure(graph: DiscreteGraph) -> tuple[Any, ...]:
    """What two members must share to be the same explanation."""
    from weights2code.graph import RouterNode, sources

    live = graph.live()
    nodes = [graph.nodes[index] for index in live]
    offsets = tuple(node.offset if isinstance(node, RouterNode) else None for node in nodes)
    return live, tuple(sources(node) for node in nodes), offsets


def prune(graph: DiscreteGraph, problem: Problem) -> DiscreteGraph:
    """Drop what the output does not need, on validation sequences."""
    encoded = graph.layout.encode(problem.validation, np.float64)
    order = (2, 1, 0)
    return prune_by_effect(
        graph, encoded.channels.transpose(order), encoded.targets.transpose(order), encoded.scored.T
    )


def extract_graph(graph: DiscreteGraph, problem: Problem, seed: int = 0) -> Extraction:
    """The best program of a graph: regressed from its leaves, or composed of its nodes."""
    sequences = problem.validation
    matches = match_routers(graph, sequences)
    require_matches(graph, matches)
    best: Extraction | None = None
    for recurrence in direct_recurrences(Assembly(graph, matches), problem, REGRESSION_SECONDS):
        program, certificate = certified(recurrence, "regressed from the live leaves", graph, problem, seed)
        if best is None or better(certificate, best.certificate):
            best = Extraction(graph, None, program, certificate)
        if certificate.verified:
            return best
    explained = explain(graph, problem, sequences, matches, REGRESSION_SECONDS)
    recurrence = Assembly(graph, matches, explained.operators).compose()
    program, certificate = certified(recurrence, "composed of the live nodes", graph, problem, seed)
    if best is None or better(certificate, best.certificate):
        best = Extraction(graph, explained, program, certificate)
    return replace(best, explained=explained)


def certified(
    recurrence: Recurrence, origin: str, graph: DiscreteGraph, problem: Problem, seed: int
) -> tuple[Program, Certificate]:
    """Simplify a recurrence, certify it, and put the verdict into the program."""
    if sum(step.definition.size() for step in recurrence.steps if isinstance(step.definition, Expr)) <= SIMPLIFIED:
        recurrence = simplify_recurrence(recurrence, problem.domains)
    certificate = certificate_of(recurrence, graph, problem, seed)
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
    kept = problem.held_out or problem.validation
    return certify_on_data(recurrence, pairs(kept), integer_outputs=problem.integer_outputs, seed=seed)


def pairs(sequences: Sequences) -> list[tuple[np.ndarray, np.ndarray]]:
    """Single sequences without their padding."""
    return [
        (x[:length], y[:length])
        for x, y, length in zip(sequences.x, sequences.y, sequences.lengths, strict=True)
    ]
