"""What passes between the steps of extraction: a member worth explaining, its program, what was tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weights2code.data import Regime
from weights2code.errors import NotExtracted, Reason
from weights2code.explain.explanation import ExplainedGraph, MatchedGraph
from weights2code.extraction.attempt import Attempt
from weights2code.graph import DiscreteGraph
from weights2code.language import Recurrence
from weights2code.program import Program
from weights2code.verify import Certificate
from weights2code.views.guessing import Guess


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A pruned member of a rung with what its heads were found to do; `loss` is its hard loss.

    One that `fits` is read; the leaves of one that is `nearly` right are searched in full.
    """

    rung: str
    index: int
    loss: float
    matched: MatchedGraph
    fits: bool = True
    nearly: bool = True

    @property
    def graph(self) -> DiscreteGraph:
        return self.matched.graph


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """A program with its certificate; the network that it was read from, or that was made for it, explained.

    `matched` is what the heads were found to do, and `member` its place in its rung; None if the graph was
    read from a folder. A rule that the rows showed has no `network` until one is made for it.
    """

    network: DiscreteGraph | None
    explained: ExplainedGraph | None
    program: Program
    certificate: Certificate
    matched: MatchedGraph | None = None
    member: int | None = None

    @property
    def graph(self) -> DiscreteGraph:
        """The network, which there must be."""
        assert self.network is not None
        return self.network

    def better_than(self, other: Extraction | None) -> bool:
        """Verified before not verified, then the smaller error."""
        if other is None:
            return True
        one, two = self.certificate, other.certificate
        return (not one.verified, one.rmse) < (not two.verified, two.rmse)


@dataclass(slots=True)
class Log:
    """What goes along with all extractions of a run: the seed, and what was tried.

    Exact rules are looked for from the `lowest_cut` on; from 1 on nodes of the network must be in them.
    """

    seed: int = 0
    lowest_cut: int = 0
    attempts: list[Attempt] = field(default_factory=list)
    #: Outputs that nothing foretells better than guessing; columns whose numbers may stand for something.
    guesses: tuple[Guess, ...] = ()
    codes: tuple[str, ...] = ()
    #: Rules that were judged, right or wrong.
    rules: list[Recurrence] = field(default_factory=list)

    def found(self, member: Member, regime: Regime, extraction: Extraction) -> None:
        """A program came of it, right or wrong."""
        self.rules.append(extraction.program.recurrence)
        self._note(member, regime, **_came(extraction))

    def judged(self, words: str, regime: Regime, extraction: Extraction) -> None:
        """A rule of the rows became a program, right or wrong."""
        self.rules.append(extraction.program.recurrence)
        self.attempts.append(Attempt(words, regime=regime, **_came(extraction)))

    def missed(self, member: Member, regime: Regime, error: NotExtracted) -> None:
        """No program came of it."""
        self._note(member, regime, reason=error.reason, detail=str(error))

    def failed(self, what: str, error: NotExtracted) -> None:
        """Something beside a single member ended in a defect."""
        self.attempts.append(Attempt(what, reason=error.reason, detail=str(error)))

    def _note(self, member: Member, regime: Regime, **came: Any) -> None:
        self.attempts.append(Attempt(member.rung, member.index, member.loss, regime, **came))


def _came(extraction: Extraction) -> dict[str, Any]:
    """What an attempt says of the program that came of it."""
    certificate = extraction.certificate
    reason = None if certificate.verified else Reason.WRONG
    return {"verdict": certificate.verdict, "origin": str(extraction.program.origin), "reason": reason}
