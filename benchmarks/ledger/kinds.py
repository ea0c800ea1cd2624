"""The four kinds of records, each by how it is answered again and how two answers are compared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import calls
import claims
import problems
import runs

from weights2code.experiments.benchmark import prepare
from weights2code.experiments.engines.local import Local
from weights2code.experiments.jobs import Job
from weights2code.experiments.stores import Lines
from weights2code.experiments.sweep import run_sweep

Record = dict[str, Any]
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Kind:
    """What a replay needs to know of its records.

    Parameters
    ----------
    name, work : of the records, and of the answers: kinds whose answers are the same work share them.
    answer : the present answer to a record, in a process of its own.
    compare : words for what became of a record; of `words`, and those in `named` are shown with their record.
    limit : seconds by the clock after which an answer is given up.
    """

    name: str
    work: str
    answer: Callable[[Record], Record]
    compare: Callable[[Record, Record], tuple[str, ...]]
    solved: Callable[[Record], bool]
    describe: Callable[[Record, Record], str]
    words: tuple[str, ...]
    named: tuple[str, ...] = ("lost", "false", "known false")
    limit: float = 1200.0
    every: int = 10
    prepare: Callable[[list[Record]], None] = lambda records: prepare()


def solved(record: Record) -> bool:
    return record["answer"]["solved"]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("calls", "calls", calls.replay, runs.by_size, solved, calls.describe,
             ("same", "lost", "won", "longer", "shorter"), limit=300.0, every=100, prepare=calls.prepare),
        Kind("claims", "claims", claims.replay, lambda r, a: (claims.compare(r, a),), claims.settled,
             claims.describe, ("same", "lost", "won", "false", "known false"), limit=300.0, every=100),
        Kind("runs", "runs", runs.replay, runs.compare, solved, runs.describe,
             ("same", "lost", "won", "longer", "shorter", "weaker"), prepare=runs.prepare),
        Kind("views", "runs", runs.replay, runs.compare_views, solved, runs.describe_view,
             ("same", "lost", "longer", "shorter"), prepare=runs.prepare),
    )
}  # fmt: skip


def kept(group: str) -> bool:
    """Whether a group is for counting only."""
    return group == "kept" or group in problems.KEPT


def answers(
    kind: Kind,
    records: Sequence[Record],
    file: str,
    asked: Any,
    processes: int,
    answer: Callable[[Record], Record] | None = None,
) -> dict[str, Record]:
    """The answers by key; those that are there already, of this source, are not asked for again."""
    store, ask = Lines(HERE / "runs" / f"{file}.jsonl", asked), answer or kind.answer
    todo = [record for record in records if record["key"] not in store.known]
    kind.prepare(todo)
    told = iter(range(1, len(todo) + 1))

    def on_row(row: Record) -> None:
        if (count := next(told)) % kind.every == 0 or count == len(todo):
            print(f"{count} of {len(todo)}", file=sys.stderr, flush=True)

    jobs = [Job(record["key"], lambda record, _: ask(record), record) for record in records]
    rows = run_sweep(jobs, store, Local(processes, forked=True, limit=kind.limit), on_row, tries=1)
    return {row["key"]: answer_of(row) for row in rows}


def answer_of(row: Record) -> Record:
    """What was answered, or the error in its place, without what the runner says."""
    if row["status"] == "failed":
        return {"error": row["error"]}
    told = {"key", "status", "tries"} | ({"error"} if row["error"] is None else set())
    return {name: value for name, value in row.items() if name not in told}
