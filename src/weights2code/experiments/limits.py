"""What limits a run that was not solved, or solved but not proved: read off what it tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weights2code.errors import Reason
from weights2code.experiments.jobs import Row
from weights2code.extraction.attempt import Attempt

#: What limits a failure, and what that means.
LIMITS = {
    "training": "no model found the values that the output depends on",
    "routing": "a live attention head matches no routing hypothesis",
    "regression": "the values are there, but no exact formula of them was found",
    "proof": "the program is right in every test, but was not proved",
    "test": "the program passed its check, perhaps only after rounding, but does not equal the rule",
    "defect": "the run ended in an error",
}

#: Which of them a reason points to.
LIMIT_OF = {
    Reason.UNFIT: "training",
    Reason.UNDETERMINED: "training",
    Reason.NOTHING_NEW: "training",
    Reason.NOT_ASKED_FOR: "training",
    Reason.NOT_EVIDENT: "training",
    Reason.UNMATCHED: "routing",
    Reason.TOO_MANY: "regression",
    Reason.TOO_RARE: "regression",
    Reason.NO_FORMULA: "regression",
    Reason.WRONG: "regression",
    Reason.NO_TIME: "training",
    Reason.DEFECT: "defect",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What limits a run, and the attempt that shows it."""

    limit: str
    evidence: str


def failure(run: Row) -> Failure | None:
    """What limited a run; None if it is solved and proved."""
    if run.get("error"):
        return Failure("defect", run["error"])
    if run["solved"]:
        return None if run["verdict"] == "proved" else Failure("proof", run["method"])
    if run.get("exit") == 0:
        return Failure("test", f"verdict {run['verdict']}, not equal on fresh sequences: {formula(run)}")
    return nearest(run.get("attempts", ()))


def nearest(attempts: Iterable[Row]) -> Failure:
    """The limit of the attempt that came nearest, the one with the lowest hard loss; and the time limit's."""
    found = [Attempt.from_dict(attempt) for attempt in attempts]
    if not found:
        return Failure("training", "nothing was tried within the time limit")
    best = min(found, key=lambda attempt: attempt.loss)
    evidence = "; ".join(map(str, dict.fromkeys([best, *(attempt for attempt in found if attempt.cuts)])))
    return Failure(LIMIT_OF[best.reason] if best.reason else "regression", evidence)


def formula(run: Row, most: int = 160) -> str:
    """The formula of a run on one line, cut off where nobody would read on."""
    text = "; ".join((run.get("formula") or "-").splitlines())
    return text if len(text) <= most else text[: most - 3] + "..."
