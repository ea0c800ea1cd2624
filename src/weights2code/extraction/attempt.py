"""A note of one thing that was tried, and what came of it."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weights2code.data import Regime
from weights2code.effort import PATIENCE, TimeLimit, TimeUp, time_is_up
from weights2code.errors import NotExtracted, Reason
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import mapping, number, text
from weights2code.views.guessing import Guess


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try: which view, or which member of which rung, under which regime, and what came of it.

    `rung` names the view where it was the rows that showed one; that has no `member` and no loss. `verdict`
    and `origin` are those of the program; without one both are empty. `reason` says why there is none or why
    it is not enough, `detail` the same in words.
    """

    rung: str
    member: int | None = None
    loss: float = math.inf
    regime: Regime = Regime.EXACT
    verdict: str = ""
    origin: str = ""
    reason: Reason | None = None
    detail: str = ""

    def __str__(self) -> str:
        taken = "" if self.regime is Regime.EXACT else f", {_TAKEN[self.regime]}"
        came = f"{self.origin}, {self.verdict}" if self.verdict else self.detail
        if self.member is None:
            return f"{self.rung}{taken}: {came}"
        return f"{self.rung}, member {self.member} (hard loss {self.loss:.2g}){taken}: {came}"

    def brief(self) -> str:
        """What was tried, and what came of it; figures are left to the certificate and the page."""
        return f"{self.rung}: {self.verdict or self.detail}"

    def to_dict(self) -> dict[str, Any]:
        """JSON form, which has no infinities; the sentence stands beside the values."""
        return to_fields(self, lambda beyond: None) | {"text": str(self)}

    @staticmethod
    def from_dict(data: Any) -> Attempt:
        """Inverse of `to_dict`."""
        data = mapping(data, "an attempt")
        loss, regime, reason = (data[name] for name in ("loss", "regime", "reason"))
        return from_fields(
            Attempt,
            data,
            "an attempt",
            loss=math.inf if loss is None else float(number(loss, "a loss")),
            regime=Regime(text(regime, "a regime")),
            reason=None if reason is None else Reason(text(reason, "a reason")),
        )

    @staticmethod
    def cut_short(limit: TimeLimit) -> Attempt:
        """What the time limit did not leave time for."""
        detail = f"{limit.seconds:g} s were not enough for all that could be tried"
        if limit.by_clock:
            detail = (
                f"{PATIENCE * limit.seconds:g} s of processor time had passed, though the work done was less "
                f"than {limit.seconds:g} s of a usual machine: this one is slow; a larger limit lets it go on"
            )
        return Attempt(_CUT, reason=Reason.NO_TIME, detail=detail)

    @staticmethod
    def guessed(guesses: Sequence[Guess]) -> Attempt:
        """What the rows have ruled out."""
        return Attempt("rows", reason=Reason.NOT_EVIDENT, detail="; ".join(map(str, guesses)))

    @property
    def cuts(self) -> bool:
        """Whether this says that the time limit cut the whole search short."""
        return self.rung == _CUT


#: In place of a rung: what cut all of them short.
_CUT = "time limit"
#: What an attempt took the targets for.
_TAKEN = {Regime.ROUNDED: "as rounded readings", Regime.NOISY: "as noise", Regime.MISTAKES: "with mistakes"}


def reason_of(error: Exception) -> NotExtracted:
    """Why an attempt ended in an error: what was not found when the time was up might have been found later,
    and what nobody foresaw is a defect."""
    if isinstance(error, TimeUp):
        return NotExtracted(f"{error}.", Reason.NO_TIME)
    if isinstance(error, NotExtracted):
        late = f"{error} The time limit cut the search short."
        return NotExtracted(late, Reason.NO_TIME) if time_is_up() else error
    logging.getLogger(__name__).debug("an attempt ended in a defect", exc_info=error)
    text = f"a defect of this package ended it ({type(error).__name__}: {error}); please report it"
    return NotExtracted(text, Reason.DEFECT)
