"""What is measured on a trained model and its programs: the numbers that the paper's tables hold.

The discrete model is judged as it was trained, past outputs given. Programs are judged free-running at the
task's own length, the short one at every position, the paper's listing from the first scored position on
(in `concat` the windows of the first positions are cut off). The listing is judged with past outputs given
too, as the paper seems to have done: the squares of its RMSE are its training losses.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weights2code.data import Problem
from weights2code.errors import NotExtracted
from weights2code.experiments.jobs import Row
from weights2code.explain.explanation import ExplainedGraph, match_heads
from weights2code.graph import DiscreteGraph
from weights2code.program.listing import listing_machine, listing_source, raw_outputs

if TYPE_CHECKING:
    from weights2code.program import Program

#: Fresh sequences that programs are judged on, and those that a listing runs on, one by one.
FRESH = 1000
LISTED = 40
#: Seconds for the regressions of a listing that nothing certifies.
UNCERTIFIED_SECONDS = 4.0
#: Their seed is the run's and this.
APART = 77_777


@dataclass(frozen=True, slots=True)
class Score:
    """Errors in the user's units; accuracy is None where outputs are real."""

    rmse: float | None
    accuracy: float | None

    @property
    def mse(self) -> float | None:
        return None if self.rmse is None else self.rmse**2

    def row(self, prefix: str) -> Row:
        return {f"{prefix}_rmse": self.rmse, f"{prefix}_accuracy": self.accuracy}


def score(problem: Problem, predicted: np.ndarray, wanted: np.ndarray) -> Score:
    """The paper's two measures: RMSE, and accuracy after rounding on whole-number tasks."""
    with np.errstate(all="ignore"):
        error = np.abs(predicted - wanted)
        rmse = float(np.sqrt(np.mean(error**2)))
        accuracy = float(np.mean(error < 0.5)) if problem.integer_outputs else None
    return Score(rmse if np.isfinite(rmse) else None, accuracy)


def fresh(problem: Problem, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences that nothing was learned from, and the right outputs."""
    assert problem.sampler is not None
    assert problem.reference is not None
    x = problem.sampler(np.random.default_rng(seed + APART), count, problem.length)
    return x, problem.reference.run(x)


def program_score(program: Program, problem: Problem, seed: int) -> Score:
    """The short program, free-running."""
    x, y = fresh(problem, FRESH, seed)
    with np.errstate(all="ignore"):
        return score(problem, program.run(x), y)


def model_score(graph: DiscreteGraph, problem: Problem) -> Score:
    """The discrete model on validation sequences, past outputs given, at its scored positions."""
    channels, targets, scored = graph.encode(problem.validation)
    scales = np.array(graph.layout.output_scales)
    with np.errstate(all="ignore"):
        predicted = graph.predict(channels)
    return score(problem, predicted[scored] * scales, targets[scored] * scales)


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing in the paper's style: its lines, its errors.

    All lines count, as in the paper, whose formulas have a line each however long they are: one that is
    broken over several lines counts once.
    """

    lines: int
    score: Score
    given_past: Score

    def row(self, prefix: str = "listing") -> Row:
        errors = self.score.row(prefix) | self.given_past.row(f"{prefix}_given")
        return {f"{prefix}_lines": self.lines, **errors}


def listing_of(explained: ExplainedGraph, problem: Problem, seed: int) -> Listing:
    """The listing of an explained graph on fresh sequences, run free and with past outputs given."""
    machine = listing_machine(explained, problem)
    x, y = fresh(problem, LISTED, seed)
    predicted, given = raw_outputs(machine, x), raw_outputs(machine, x, y)
    first = explained.graph.layout.first_scored
    free, given_past = (score(problem, found[:, first:], y[:, first:]) for found in (predicted, given))
    return Listing(unbroken_lines(listing_source(explained, problem)), free, given_past)


def unbroken_lines(source: str) -> int:
    """Lines of a text of Python if no statement were broken over several."""
    simple = (node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Assign, ast.Return)))
    broken = sum((node.end_lineno or node.lineno) - node.lineno for node in simple)
    return source.count("\n") - broken


def program_row(program: Program, explained: ExplainedGraph | None, problem: Problem, seed: int) -> Row:
    """The numbers of a program and of its listing, and what each live head does in words."""
    row = program_score(program, problem.asked, seed).row("program")
    if explained is None:
        return row
    heads = {
        explained.graph.nodes[index].name: found.hypothesis.describe() if found.hypothesis else None
        for index, found in explained.routers.items()
    }
    row |= {"heads_found": heads}
    try:
        return row | listing_of(explained, problem, seed).row()
    except NotExtracted:  # a live head that nothing explains has no line
        return row


def explained_as_it_is(graph: DiscreteGraph, problem: Problem, seconds: float) -> ExplainedGraph:
    """Every live node explained, whatever it is: heads that match nothing get the nearest hypothesis.

    This is what the paper does with a model; it serves to count and judge listings, never to certify one.
    """
    explained = match_heads(graph, problem.validation).explain(problem, seconds)
    nearest = {index: found.or_nearest() for index, found in explained.routers.items()}
    return replace(explained, routers=nearest)


def restricted(explained: ExplainedGraph, graph: DiscreteGraph) -> ExplainedGraph:
    """The same explanations for a graph of which less is live."""
    live = graph.live()
    return ExplainedGraph(
        graph,
        {index: found for index, found in explained.routers.items() if index in live},
        {index: found for index, found in explained.operators.items() if index in live},
    )


def listing_as_it_is(graph: DiscreteGraph, problem: Problem, seed: int, seconds: float) -> Listing | None:
    """The listing of a graph without any certificate; None where it cannot be written."""
    try:
        return listing_of(explained_as_it_is(graph, problem, seconds), problem, seed)
    except NotExtracted:
        return None


def uncertified(graph: DiscreteGraph, problem: Problem, seed: int) -> Row:
    """The numbers of the listing where no program could be certified: what the paper would report."""
    from weights2code.extraction.members import prune

    try:
        found = listing_as_it_is(prune(graph, problem), problem, seed, UNCERTIFIED_SECONDS)
    except (ValueError, ArithmeticError):  # a model that diverged has nothing to list
        found = None
    return found.row() if found else {}
