"""A note of one thing that was tried, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weights2code.data import Regime
from weights2code.errors import Reason
from weights2code.json_values import mapping, number, text, whole


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try: which member under which regime, and what came of it.

    A rung that was not trained, or not come to, has no `member` and no loss. `verdict` and `origin` are
    those of the program; without one both are empty. `reason` says why there is none or why it is not
    enough, `detail` the same in words.
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
        if self.member is None:
            return f"{self.rung}: {self.detail}"
        taken = "" if self.regime is Regime.EXACT else f", {_TAKEN[self.regime]}"
        came = f"{self.origin}, {self.verdict}" if self.verdict else self.detail
        return f"{self.rung}, member {self.member} (hard loss {self.loss:.2g}){taken}: {came}"

    def to_dict(self) -> dict[str, Any]:
        """JSON form, which has no infinities; the sentence stands beside the values."""
        return {
            "rung": self.rung,
            "member": self.member,
            "loss": self.loss if math.isfinite(self.loss) else None,
            "regime": str(self.regime),
            "verdict": self.verdict,
            "origin": self.origin,
            "reason": None if self.reason is None else str(self.reason),
            "detail": self.detail,
            "text": str(self),
        }

    @staticmethod
    def not_trained(rung: str, reason: Reason) -> Attempt:
        """A rung whose training would have been in vain."""
        why = {
            Reason.NOTHING_NEW: "those of a smaller rung do already determine the output",
            Reason.NOT_ASKED_FOR: "the data show no memory that is needed",
            Reason.NOT_EVIDENT: "no few values are seen to determine the output",
        }.get(reason, "the values that it reads do not determine the output")
        return Attempt(rung, reason=reason, detail=f"not trained, since {why}")

    @staticmethod
    def cut_short(seconds: float) -> Attempt:
        """What the time limit did not leave time for."""
        detail = f"{seconds:g} s were not enough for all that could be tried"
        return Attempt(_CUT, reason=Reason.NO_TIME, detail=detail)

    @property
    def cuts(self) -> bool:
        """Whether this says that the time limit cut the whole search short."""
        return self.rung == _CUT

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Attempt:
        """Inverse of `to_dict`."""
        data = mapping(data, "an attempt")
        loss, reason = data["loss"], data["reason"]
        return Attempt(
            text(data["rung"], "a rung"),
            None if data["member"] is None else whole(data["member"], "a member"),
            math.inf if loss is None else float(number(loss, "a loss")),
            Regime(text(data["regime"], "a regime")),
            text(data["verdict"], "a verdict"),
            text(data["origin"], "an origin"),
            None if reason is None else Reason(text(reason, "a reason")),
            text(data["detail"], "a detail"),
        )


#: In place of a rung: what cut all of them short.
_CUT = "time limit"
#: What an attempt took the targets for.
_TAKEN = {Regime.ROUNDED: "as rounded readings", Regime.NOISY: "as noise", Regime.MISTAKES: "with mistakes"}
