"""What passes between the steps of extraction: a member worth explaining, its program, what was tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weights2code.data import Regime
from weights2code.errors import Reason
from weights2code.explain.explanation import ExplainedGraph, MatchedGraph
from weights2code.extraction.attempt import Attempt, reason_of
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

    def note(self, tried: str | Member, came: Extraction | Exception, regime: Regime = Regime.EXACT) -> None:
        """A member of a rung, or what the words say, became a program, right or wrong; or why it did not."""
        said: dict[str, Any] = {"rung": tried, "regime": regime}
        if isinstance(tried, Member):
            said |= {"rung": tried.rung, "member": tried.index, "loss": tried.loss}
        if isinstance(came, Extraction):
            self.rules.append(came.program.recurrence)
            wrong = None if came.certificate.verified else Reason.WRONG
            said |= {"verdict": came.certificate.verdict, "origin": str(came.program.origin), "reason": wrong}
        else:
            why = reason_of(came)
            said |= {"reason": why.reason, "detail": str(why)}
        self.attempts.append(Attempt(**said))
