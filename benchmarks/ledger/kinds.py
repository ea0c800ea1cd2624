"""The four kinds of records, each by how it is answered again and how two answers are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import calls
import claims
import problems
import runs

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a replay needs to know of its records.

    Parameters
    ----------
    name, work
        Of the records, and of the answers: kinds whose answers are the same work share them.
    answer
        The present answer to a record, in a process of its own that works off `batch` of them.
    compare
        Words for what became of a record; of `words`, and those in `named` are shown with their record.
    limit
        Seconds by the clock after which an answer is given up.
    """

    name: str
    work: str
    answer: Callable[[Record], Record]
    compare: Callable[[Record, Record], tuple[str, ...]]
    solved: Callable[[Record], bool]
    describe: Callable[[Record, Record], str]
    words: tuple[str, ...]
    named: tuple[str, ...] = ("lost", "false", "known false")
    batch: int = 1
    limit: float = 1200.0
    every: int = 10
    prepare: Callable[[list[Record]], None] = lambda records: None


def kept(group: str) -> bool:
    """Whether a group is for counting only."""
    return group == "kept" or group in problems.KEPT


def by_size(record: Record, answer: Record) -> tuple[str, ...]:
    """Lost and won by what is solved; of what stays solved, whether it got longer or shorter."""
    then, now = record["answer"], answer
    if then["solved"] != now.get("solved", False):
        return ("lost",) if then["solved"] else ("won",)
    if not then["solved"] or then["size"] == now["size"]:
        return ("same",)
    return ("longer",) if now["size"] > then["size"] else ("shorter",)


def solved(record: Record) -> bool:
    return record["answer"]["solved"]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("calls", "calls", calls.replay, by_size, solved, calls.describe,
             ("same", "lost", "won", "longer", "shorter"), batch=20, limit=300.0, every=100),
        Kind("claims", "claims", claims.replay, lambda r, a: (claims.compare(r, a),), claims.settled,
             claims.describe, ("same", "lost", "won", "false", "known false"), batch=20, limit=300.0,
             every=100),
        Kind("runs", "runs", runs.replay, runs.compare, solved, runs.describe,
             ("same", "lost", "won", "longer", "shorter", "weaker"), prepare=runs.prepare),
        Kind("views", "runs", runs.replay, runs.compare_views, solved, runs.describe_view,
             ("same", "lost", "longer", "shorter"), prepare=runs.prepare),
    )
}  # fmt: skip
