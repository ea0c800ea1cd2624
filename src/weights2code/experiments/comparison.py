"""How our numbers stand beside the paper's: better, equal or worse, by one rule for all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isnan
from statistics import mean
from typing import Any, Literal

from weights2code.experiments.jobs import DONE, Row

#: How a row of ours stands beside the paper's; None where the paper has no number.
Standing = Literal["better", "equal", "worse", "mixed"] | None

#: Errors below this are rounding: nobody is better there.
ROUNDING = 1e-6
#: Printed accuracies have two digits.
PRINTED = 0.005


def lower_is_better(ours: float | None, theirs: float | None) -> Standing:
    """Errors and losses: both at rounding are equal."""
    if ours is None or theirs is None:
        return None if theirs is None else "worse"
    if max(ours, theirs) <= ROUNDING or ours == theirs:
        return "equal"
    return "better" if ours < theirs else "worse"


def higher_is_better(ours: float | None, theirs: float | None, resolution: float = PRINTED) -> Standing:
    """Accuracies and success rates: equal within what is printed."""
    if ours is None or theirs is None:
        return None if theirs is None else "worse"
    if abs(ours - theirs) <= resolution:
        return "equal"
    return "better" if ours > theirs else "worse"


def combined(*standings: Standing) -> Standing:
    """Of several measures: better in some and worse in others is mixed."""
    known = {standing for standing in standings if standing is not None}
    if {"better", "worse"} <= known or "mixed" in known:
        return "mixed"
    return next((word for word in ("better", "worse", "equal") if word in known), None)


def lower(*names: str) -> Callable[[Row, Sequence[Row]], Standing]:
    """The standing of a line whose cells `names` should be below the paper's, `paper_<name>`."""

    def standing(cells: Row, rows: Sequence[Row]) -> Standing:
        each: list[Standing] = [lower_is_better(cells[name], cells[f"paper_{name}"]) for name in names]
        return combined(*each)

    return standing


def average(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def share(rows: Sequence[Row], has: str | Callable[[Row], object]) -> str:
    """`2/3`: how many of the rows have it, or pass the test."""
    passed = (row.get(has) if isinstance(has, str) else has(row) for row in rows)
    return f"{sum(map(bool, passed))}/{len(rows)}"


def reason(rows: Sequence[Row]) -> str:
    """Why runs are not solved, in the words of their last attempts; empty if all are."""
    found: list[str] = []
    for row in rows:
        if row["status"] != DONE:
            found.append(f"the run ended in an error ({row['error']})")
        elif not row.get("solved"):
            attempts = row.get("attempts")
            found.append(attempts[-1]["text"] if attempts else "nothing was tried")
    return "; ".join(dict.fromkeys(found))


def shown(value: Any) -> str:
    """A cell for people: short numbers, a dash for nothing."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "-" if isnan(value) else "0" if value == 0 else f"{value:.3g}"
    return str(value)
