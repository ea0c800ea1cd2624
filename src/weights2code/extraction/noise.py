"""Own data that are not exact: when to take what a model leaves over for noise, and what then is the rule.

Each rung of the ladder lowers the loss as long as there is a rule left to learn. Under noise the loss stops
falling above zero, so a program that leaves nothing but noise is kept until a larger rung does better, and
is confirmed by the first one that does not: the ladder need not be climbed to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import match_routers, require_matches, stream_values
from weights2code.explain.operators import explain_operator
from weights2code.extraction.mistakes import ORIGIN as FROM_MAJORITIES
from weights2code.extraction.mistakes import Judge, with_mistakes
from weights2code.graph import DiscreteGraph, prune_by_effect
from weights2code.language import Recurrence
from weights2code.program import Program
from weights2code.results import Extraction
from weights2code.rules.assembly import Assembly
from weights2code.rules.under_noise import noisy_recurrences
from weights2code.verify.residuals import residuals, structure

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: A rung is worth a rule under noise if it leaves less of the variance than this.
EXPLAINS = 0.9
#: A rung does better than another if its loss is below this share of the other's.
BETTER = 0.95
#: Pruning may raise a loss by this factor.
PRUNING = 1.02
#: Sequences that a head is solved on again, and that pruning is judged by.
MOST_SEQUENCES = 1000
PRUNED_ON = 300
#: Where a program comes from that was fitted to measured targets.
UNDER_NOISE = "regressed from the live leaves, under noise"
#: Deviation that a whole number may have.
WHOLE = 1e-6
#: The root mean square of what rounding leaves, 1 / sqrt(12), and a little for rounded past values.
ROUNDED = 0.35
#: Whole-number outputs with a range of at least this may be rounded readings.
MANY = 20


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """What a rung gave if its loss is noise, and the share of the variance that its program leaves.

    `exact` programs leave nothing but the digits that were not written, and need no confirmation. Whole
    numbers are `settled` if what is left are mistakes in the data, or no more than rounding.
    """

    extraction: Extraction
    trained: Trained
    left: float
    exact: bool
    settled: bool = False

    def confirmed_by(self, larger: Trained, problem: Problem) -> bool:
        """Whether nothing but noise is left: the program is verified, and a larger rung does no better.

        Other whole numbers are more likely a rule that was not found yet: for them the ladder is climbed.
        """
        if problem.integer_outputs and not self.settled:
            return False
        return self.extraction.certificate.verified and honest_loss(larger, problem) > BETTER * self.left


def honest_loss(trained: Trained, problem: Problem) -> float:
    """The best member's share of the variance, its head solved on training sequences and judged on others.

    The recorded loss solves the head on the sequences that it is judged by, which hides some of the noise.
    """
    errors, scored = _errors(trained, problem, problem.validation)
    return float(np.mean(np.mean(errors[scored] ** 2, axis=0) / variances(problem)))


def only_noise(trained: Trained, problem: Problem) -> bool:
    """Whether the best member leaves over what follows nothing that came before, and is not exact.

    Then no exact rule is worth looking for: there is noise, and a rule under noise is what is left to find.
    """
    if problem.integer_outputs or trained.fitted:
        return False
    part = problem.training.take(slice(0, MOST_SEQUENCES))
    errors, scored = _errors(trained, problem, part)
    first = np.where(scored.any(1), scored.argmax(1), part.lengths)
    part = Sequences(part.x, part.y, part.lengths, first)
    loss = np.mean(errors[scored] ** 2, axis=0) / variances(problem)
    if not np.all(loss < EXPLAINS):
        return False
    return not any(structure(errors[..., row], part) for row in range(errors.shape[2]))


def _errors(trained: Trained, problem: Problem, sequences: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Errors (n, T, outputs) of the best member, 0 where nothing is scored, and what is scored (n, T)."""
    from weights2code.graph.from_model import graph_of

    graph = graph_of(trained.model, 0, trained.layout, problem)

    def rows(part: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        encoded = graph.layout.encode(part, np.float64)
        scored = encoded.scored.T
        stream = graph.stream(encoded.channels.transpose(2, 1, 0))[scored]
        design = np.column_stack([stream, np.ones(len(stream))])
        return design, encoded.targets.transpose(2, 1, 0)[scored], scored

    design, wanted, _ = rows(problem.training.take(slice(0, MOST_SEQUENCES)))
    judged, right, scored = rows(sequences)
    errors = np.zeros((*scored.shape, wanted.shape[1]))
    for output in range(wanted.shape[1]):
        used = np.append(graph.head[output, :-1] != 0, True)
        solution = np.linalg.lstsq(design[:, used], wanted[:, output], rcond=1e-10)[0]
        error = judged[:, used] @ solution - right[:, output]
        errors[scored, output] = error * graph.layout.output_scales[output]
    return errors, scored


def variances(problem: Problem) -> np.ndarray:
    """Of each output, over what was learned from and judged by: the unit of all losses here."""
    parts = [part.y[part.scored] for part in (problem.training, problem.validation)]
    return np.maximum(np.var(np.concatenate(parts), axis=0), 1e-300)


def under_noise(
    trained: Trained,
    problem: Problem,
    attempts: list[str],
    before: Noisy | None,
    time_limit: float,
    judge: Judge,
) -> Noisy | None:
    """Take the rung's loss for noise, and keep its program until a larger rung does better."""
    loss = honest_loss(trained, problem)
    relaxed = with_real_outputs(problem)
    if loss > EXPLAINS or (before and loss > BETTER * before.left):
        return before
    if relaxed.integer_outputs:
        return wrong_now_and_then(trained, problem, attempts, time_limit, judge) or before
    best = regressed(trained, relaxed, attempts, loss, time_limit, judge)
    if best is None:
        return before
    machine = best.program.recurrence
    if problem.integer_outputs and always_right(machine, problem.training):
        program, certificate = judge(machine, "regressed from the live leaves", best.graph, problem)
        if certificate.verified:  # it was not noise after all
            return Noisy(Extraction(best.graph, None, program, certificate), trained, 0.0, True)
    found = [residuals(machine, problem.validation, one_step=one) for one in (False, True)]
    left = min(float(np.mean([item.rmse**2 for item in items] / variances(problem))) for items in found)
    exact = best.certificate.verified and any(all(item.exact for item in items) for items in found)
    exact = exact and not problem.integer_outputs
    return Noisy(best, trained, left, exact, settled=only_rounded(machine, problem.training))


def wrong_now_and_then(
    trained: Trained, problem: Problem, attempts: list[str], time_limit: float, judge: Judge
) -> Noisy | None:
    """Take what the rung gets wrong for mistakes in the data, if the certificate does."""
    from weights2code.graph.from_model import graph_of

    graph = pruned(graph_of(trained.model, 0, trained.layout, problem), problem)
    label = f"{trained.rung}, member 0 (right at {trained.accuracies[0]:.1%}), with mistakes"
    try:
        found = with_mistakes(trained, graph, problem, time_limit, judge)
    except NotExtracted as error:
        attempts.append(f"{label}: {error}")
        return None
    if found is None:
        return None
    attempts.append(f"{label}: {found.certificate.verdict}")
    wrong = 1 - (found.certificate.accuracy or 0.0)
    if not found.certificate.verified:
        return None
    # A model may answer with a probability, which costs less than a wrong bit.
    left = residuals(found.program.recurrence, problem.validation, one_step=False)
    share = float(np.mean([item.rmse**2 for item in left] / variances(problem)))
    return Noisy(found, trained, share * (1 - wrong), False, settled=True)


def only_rounded(machine: Recurrence, sequences: Sequences) -> bool:
    """Whether every output is off by no more than rounding it and its past can do, free-running."""
    with np.errstate(all="ignore"):
        answers = machine.run(sequences.x, sequences.y, sequences.given)
    error = np.abs(answers - sequences.y)[sequences.scored]
    return bool(np.all(error <= 1.0) and np.sqrt(np.mean(error**2)) <= ROUNDED)


def always_right(machine: Recurrence, sequences: Sequences) -> bool:
    """Whether every output is the right whole number, free-running."""
    with np.errstate(all="ignore"):
        answers = machine.run(sequences.x, sequences.y, sequences.given)
    return bool(np.all(np.abs(answers - sequences.y)[sequences.scored] < WHOLE))


def best_so_far(
    climbed: Sequence[Trained], problem: Problem, attempts: list[str], time_limit: float, judge: Judge
) -> tuple[Extraction, Trained] | None:
    """Where nothing was verified: the rule that explains most, for what it is worth, with its verdict."""
    losses = [(honest_loss(trained, problem), trained) for trained in climbed]
    for loss, trained in sorted(losses, key=lambda item: item[0]):
        found = regressed(trained, problem, attempts, loss, time_limit, judge)
        if found is not None:
            return found, trained
    return None


def regressed(
    trained: Trained, problem: Problem, attempts: list[str], loss: float, time_limit: float, judge: Judge
) -> Extraction | None:
    """The better of the rules that the best member's leaves give under noise; None if there is none."""
    from weights2code.graph.from_model import graph_of

    graph = pruned(graph_of(trained.model, 0, trained.layout, problem), problem)
    label = f"{trained.rung}, member 0 (hard loss {loss:.2g}), as noise"
    best: Extraction | None = None
    try:
        matches = match_routers(graph, problem.validation)
        require_matches(graph, matches)
        values = stream_values(graph, problem.validation)
        assembly = Assembly(
            graph,
            matches,
            fit=lambda index: explain_operator(graph, index, values, problem, time_limit / 4),
            domains=dict(zip(problem.inputs, problem.domains, strict=True)),
        )
        for recurrence in noisy_recurrences(assembly, problem, time_limit):
            program, certificate = judge(recurrence, UNDER_NOISE, graph, problem)
            if best is None or (not certificate.verified, certificate.rmse) < (
                not best.certificate.verified,
                best.certificate.rmse,
            ):
                best = Extraction(graph, None, program, certificate)
            if certificate.verified:
                break
    except NotExtracted as error:
        attempts.append(f"{label}: {error}")
    if best is not None:
        attempts.append(f"{label}: {best.certificate.verdict}")
    return best


def pruned(graph: DiscreteGraph, problem: Problem) -> DiscreteGraph:
    """Without what the loss does not need; hardly any loss may be added, since all of it is noise."""
    encoded = graph.layout.encode(problem.training.take(slice(0, PRUNED_ON)), np.float64)
    order = (2, 1, 0)
    channels, targets = encoded.channels.transpose(order), encoded.targets.transpose(order)
    return prune_by_effect(graph, channels, targets, encoded.scored.T, PRUNING)


def with_real_outputs(problem: Problem) -> Problem:
    """Whole numbers that take many values may be rounded readings: under noise they are reals."""
    domains = tuple(
        replace(domain, kind="reals") if domain.discrete and domain.high - domain.low >= MANY else domain
        for domain in problem.output_domains
    )
    return replace(problem, output_domains=domains)


def as_judged(problem: Problem, program: Program) -> Problem:
    """The problem with the noise or the mistakes that a program of own data was certified under."""
    if problem.reference is not None or not problem.integer_outputs:
        return problem
    if program.origin == FROM_MAJORITIES:
        return replace(problem, mistakes=True)
    return with_real_outputs(problem) if program.origin == UNDER_NOISE else problem
