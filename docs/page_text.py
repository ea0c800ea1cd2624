"""Pieces of Markdown that the pages of results are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from weights2code.experiments.tables import code
from weights2code.experiments.tables import markdown as table

__all__ = [
    "MADE",
    "RENEW",
    "SOLVED",
    "SOLVED_MEANS",
    "code",
    "networks_of",
    "page",
    "table",
    "taught",
    "unmeasured",
    "verdicts",
    "yes",
]

#: How to take the figures of one record, by its name.
RENEW = "python benchmarks/renew.py {}"
#: The one meaning of the word, which the index of results and the README tell; other pages link it.
SOLVED_MEANS = (
    "*Solved* means the same everywhere: the run ends with exit code 0, and its program, run free on inputs "
    "alone, equals the truth on 200 fresh sequences at each of three lengths: the T of training, 4T and 40. "
    "Whole numbers and texts must be equal; reals within 1e-6 of the largest output of the sequence (at "
    "least 1), or within the noise where noise of a known size was put on the data."
)
SOLVED = "[solved](index.md#what-solved-means)"
MADE = "<!-- made by docs/make_results.py: do not edit -->"


def page(title: str, *parts: str) -> str:
    return "\n\n".join((MADE, f"# {title}", *(part for part in parts if part))) + "\n"


def unmeasured(command: str) -> str:
    return f"Not measured yet. The command is:\n\n```\n{command}\n```"


def yes(condition: bool) -> str:
    return "yes" if condition else "no"


def taught(row: dict[str, Any]) -> str | None:
    """The verdict on the network that was made for the rule of a run; None if there was none, or if its
    record is from before both had verdicts: `network` is that of the one that was left then."""
    found = row.get("taught", "none")
    return None if found == "none" else found


def networks_of(row: dict[str, Any]) -> str:
    """The verdict on the trained network of a run, and on one that was taught."""
    made = taught(row)
    return row.get("network", "none") + (f", taught {made}" if made else "")


def verdicts(rows: Sequence[dict[str, Any]], order: Sequence[str]) -> list[tuple[str, int]]:
    """How often each verdict was given: on trained networks, then on those that were taught."""
    found = Counter(row.get("network", "none") for row in rows)
    found.update(f"taught {made}" for row in rows if (made := taught(row)))
    words = (*order, *(f"taught {verdict}" for verdict in order))
    return [(word, found[word]) for word in words if found[word]]
