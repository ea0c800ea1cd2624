"""What limits a run that was not solved, or solved but not proved: read off what it tried."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from weights2code.experiments.jobs import Row

#: What limits a failure, and what that means.
LIMITS = {
    "training": "no model found the values that the output depends on",
    "routing": "a live attention head matches no routing hypothesis",
    "regression": "the values are there, but no exact formula of them was found",
    "proof": "the program is right in every test, but was not proved",
    "test": "the program passed its check, perhaps only after rounding, but does not equal the rule",
    "defect": "the run ended in an error",
}

#: What an attempt says, in the order of the stages; the first text that occurs names the limit.
SIGNS = (
    ("do not determine", "training"),
    ("matches no routing hypothesis", "routing"),
    ("no formula of its values is exact", "regression"),
    ("no exact rule was found", "regression"),
    ("too many to regress", "regression"),
    ("failed", "regression"),
    ("does not fit", "training"),
)
_ATTEMPT = re.compile(
    r"(?P<rung>[^,]+), member \d+ \(hard loss (?P<loss>[^)]+)\)(?:, as noise)?: (?P<why>.*)"
)


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


def nearest(attempts: Iterable[str]) -> Failure:
    """The limit of the attempt that came nearest: the one with the lowest hard loss."""
    attempts = tuple(attempts)
    found = [match for match in map(_ATTEMPT.fullmatch, attempts) if match]
    if not found:
        return Failure("training", "; ".join(attempts) or "nothing was tried within the time limit")
    best = min(found, key=lambda match: _loss(match["loss"]))
    limit = next((limit for sign, limit in SIGNS if sign in best["why"]), "regression")
    return Failure(limit, f"{best['rung']} (hard loss {best['loss']}): {best['why']}")


def _loss(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.inf


def formula(run: Row, most: int = 160) -> str:
    """The formula of a run on one line, cut off where nobody would read on."""
    text = "; ".join((run.get("formula") or "-").splitlines())
    return text if len(text) <= most else text[: most - 3] + "..."
