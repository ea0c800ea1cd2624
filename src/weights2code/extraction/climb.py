"""Rung after rung until a program is verified: what is tried at each, and when nothing more need be climbed.

A rule that is exact ends the climb. Own data need not be exact: each rung lowers the loss as long as there is
a rule left to learn, and under noise the loss stops falling above zero. So a program that leaves nothing but
noise is kept until a larger rung does better, and is confirmed by the first one that does not: the ladder
need not be climbed to its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from weights2code.data import Problem, Regime, Sequences
from weights2code.effort import time_is_up
from weights2code.extraction.extract import attempt, composed_program, defect, extract
from weights2code.extraction.judge import judged
from weights2code.extraction.members import fits, member, whole_graph
from weights2code.extraction.values import Extraction, Log
from weights2code.language import Recurrence
from weights2code.memory.hidden import Memory
from weights2code.program import Origin
from weights2code.verify.residuals import MOST_WRONG as MOST_MISTAKES
from weights2code.verify.residuals import residuals, structure

if TYPE_CHECKING:
    from weights2code.training.search import Trained

#: A rung is worth a rule under noise if it leaves less of the variance than this.
EXPLAINS = 0.9
#: A rung does better than another if its loss is below this share of the other's.
BETTER = 0.95
#: By how much efforts grow where nothing was found at the end.
PATIENCE = 2.5
#: Sequences that a head is solved on again.
MOST_SEQUENCES = 1000
#: Rungs without functions, which can only add.
ADDING = ("linear", "prefix", "lookup")
#: Deviation that a whole number may have.
WHOLE = 1e-6
#: The root mean square of what rounding leaves, 1 / sqrt(12), and a little for rounded past values.
ROUNDED = 0.35


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A program that leaves over only what may be noise, and the share of the variance that it leaves.

    `exact` programs leave nothing but the digits that were not written, and need no confirmation. Whole
    numbers are `settled` if what is left are mistakes in the data, or no more than rounding.
    """

    extraction: Extraction
    left: float
    exact: bool = False
    settled: bool = False


@dataclass(slots=True, eq=False)
class Climb:
    """The rungs so far, the best program of them and the rung that it comes from.

    `memory` is what was added to the problem, if anything was; `explained` the least loss of a rung that gave
    a rule for data that are not exact.
    """

    problem: Problem
    log: Log
    memory: Memory | None = None
    climbed: list[Trained] = field(default_factory=list)
    best: Extraction | None = None
    source: Trained | None = None
    kept: Kept | None = None
    explained: float = np.inf

    @property
    def verified(self) -> bool:
        return self.best is not None and self.best.certificate.verified

    def rung(self, trained: Trained) -> bool:
        """Extract one more rung; whether nothing more need be climbed.

        An error that nobody foresaw costs the rung, and the climb goes on.
        """
        self.climbed.append(trained)
        try:
            return self._extract(trained)
        except Exception as error:
            self.log.failed(trained.rung, defect(error))
            return False

    def _extract(self, trained: Trained) -> bool:
        if self.kept and self._confirmed_by(trained):
            return True
        regime = self.problem.inexact()
        if regime is None or not only_noise(trained, self.problem):
            found = extract(trained, self.problem, Regime.EXACT, self.log)
            self.take(found, trained)
            if found is not None and found.certificate.verified:
                return True
        if regime is None:
            return False
        kept = self._inexact(trained, regime)
        if kept is not None:
            self.kept = kept
            self.take(kept.extraction, trained)
        return self.kept is not None and self.kept.exact

    def take(self, found: Extraction | None, trained: Trained) -> None:
        """Keep the better program."""
        if found is not None and found.better_than(self.best):
            self.best, self.source = found, trained

    def settle(self) -> None:
        """Where nothing was found: of a machine the values of each rung once more, smallest first; of own
        data the rule that explains most, for what it is worth, with its verdict."""
        if self.best is not None:
            return
        exact = self.problem.reference is not None
        self.log.patience = (
            PATIENCE if exact and self.problem.whole else 1.0
        )  # whose rows tell what is needed
        order = self.climbed if exact else sorted(self.climbed, key=lambda t: honest_loss(t, self.problem))
        for trained in order:
            regime = Regime.EXACT if exact else Regime.NOISY
            found = extract(trained, self.problem, regime, self.log, resort=True)
            if found is not None and (found.certificate.verified or not exact):
                self.take(found, trained)
                return
        self._compose()

    def _compose(self) -> None:
        """A network that fits and gave no rule, put together from the formulas of its nodes.

        Of measured reals there is no such program: a copy of a model copies its noise.
        """
        if self.problem.reference is None and not self.problem.integer_outputs:
            return
        for trained in self.climbed:
            if fits(trained, 0, self.problem) and not time_is_up():
                found = attempt(member(trained, 0, self.problem), self.problem, self.log, composed_program)
                self.take(found, trained)
                if found is not None:
                    return

    # -- data that are not exact -----------------------------------------------------------------------------

    def _confirmed_by(self, larger: Trained) -> bool:
        """Whether nothing but noise is left: the program is verified, and a larger rung does no better.

        Other whole numbers are more likely a rule that was not found yet: for them the ladder is climbed.
        """
        assert self.kept is not None
        if self.problem.integer_outputs and not self.kept.settled:
            return False
        verified = self.kept.extraction.certificate.verified
        return verified and honest_loss(larger, self.problem) > BETTER * self.kept.left

    def _inexact(self, trained: Trained, regime: Regime) -> Kept | None:
        """Take what the rung leaves over for noise, rounding or mistakes, unless a smaller did as well."""
        if trained.kind in ADDING and any(domain.categories for domain in self.problem.domains):
            return None  # what adds the numbers of texts says nothing about noise
        loss = honest_loss(trained, self.problem)
        if loss > min(EXPLAINS, BETTER * self.explained) or (self.kept and loss > BETTER * self.kept.left):
            return None
        if regime is Regime.MISTAKES and trained.accuracies[0] < 1 - MOST_MISTAKES:
            return None
        found = extract(trained, self.problem, regime, self.log)
        if found is None:
            return None
        self.explained = min(loss, self.explained)
        if regime is Regime.MISTAKES:
            return self._with_mistakes(found)
        return self._exact_after_all(found) or self._with_noise(found)

    def _with_mistakes(self, found: Extraction) -> Kept | None:
        if not found.certificate.verified:
            return None
        # A model may answer with a probability, which costs less than a wrong bit.
        left = residuals(found.program.recurrence, self.problem.validation, one_step=False)
        share = float(np.mean([item.rmse**2 for item in left] / variances(self.problem)))
        return Kept(found, share * (found.certificate.accuracy or 0.0), settled=True)

    def _exact_after_all(self, found: Extraction) -> Kept | None:
        """A rule of whole numbers that is right everywhere: it was not noise."""
        machine = found.program.recurrence
        if not self.problem.integer_outputs or not always_right(machine, self.problem.training):
            return None
        assert found.matched is not None
        exactly = judged(machine, Origin.LEAVES, self.problem, self.log.seed, found.matched)
        exactly = replace(exactly, member=found.member)
        return Kept(exactly, 0.0, exact=True) if exactly.certificate.verified else None

    def _with_noise(self, found: Extraction) -> Kept:
        machine = found.program.recurrence
        both = [residuals(machine, self.problem.validation, one_step=one) for one in (False, True)]
        share = variances(self.problem)
        left = min(float(np.mean([item.rmse**2 for item in items] / share)) for items in both)
        exact = found.certificate.verified and any(all(item.exact for item in items) for items in both)
        exact = exact and not self.problem.integer_outputs
        return Kept(found, left, exact, settled=only_rounded(machine, self.problem.training))


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
    graph = whole_graph(trained, 0, problem)

    def rows(part: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        channels, targets, scored = graph.encode(part)
        stream = graph.stream(channels)[scored]
        return np.column_stack([stream, np.ones(len(stream))]), targets[scored], scored

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


def only_rounded(machine: Recurrence, sequences: Sequences) -> bool:
    """Whether every output is off by no more than rounding it and its past can do, free-running."""
    error = _free_running_errors(machine, sequences)
    return bool(np.all(error <= 1.0) and np.sqrt(np.mean(error**2)) <= ROUNDED)


def always_right(machine: Recurrence, sequences: Sequences) -> bool:
    """Whether every output is the right whole number, free-running."""
    return bool(np.all(_free_running_errors(machine, sequences) < WHOLE))


def _free_running_errors(machine: Recurrence, sequences: Sequences) -> np.ndarray:
    with np.errstate(all="ignore"):
        answers = machine.run(sequences.x, sequences.y, sequences.given)
    return np.abs(answers - sequences.y)[sequences.scored]
