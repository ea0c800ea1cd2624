"""Write the ledger down: what the code as it is can do, as records that can be replayed.

    python benchmarks/ledger/record.py runs|views|calls|claims [--processes N] [--groups G ...]

`runs` searches for the rule of every problem and hears the calls of the engine meanwhile; `views` are taken
from the runs that were solved; `calls` answers those that were heard, and keeps the ones that are worth their
time; `claims` makes its pairs anew. A recording that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import calls
import claims
import kinds
import pool
import problems
import questions
import runs
import store

from records import Rows
from weights2code.experiments.engines.local import cores

HERE = Path(__file__).parent
Record = dict[str, Any]


def heard_run(record: Record) -> Record:
    """A run whose calls of the engine are written down."""
    calls.listen(record["group"], record["name"])
    return runs.replay(record)


def record_runs(groups: list[str], processes: int) -> list[Record]:
    asked = [case.record() for group in groups for case in problems.cases(group)]
    runs.prepare(asked)
    return answered("runs", asked, heard_run, processes)


def record_views() -> list[Record]:
    """Of solved runs whose programs are known: which problem, and what its program reads."""
    return [
        record | {"answer": {name: record["answer"][name] for name in ("solved", "view", "seconds")}}
        for record in store.read("runs")[1]
        if record["answer"]["solved"] and "view" in record["answer"]
    ]


def record_calls(processes: int) -> list[Record]:
    return [
        record
        for record in answered("calls", [*calls.heard(), *questions.all_questions()], calls.replay, processes)
        if calls.worth_keeping(record)
    ]


def answered(name: str, asked: list[Record], answer: Any, processes: int) -> list[Record]:
    """The records with the answers that they get."""
    rows = Rows(HERE / "runs" / f"{name}-record.jsonl", "record")
    known = {row["key"]: row["answer"] for row in rows.rows}
    todo = [record for record in asked if record["key"] not in known]
    kind = kinds.KINDS[name]
    for count, (record, found) in enumerate(
        pool.work_off(todo, answer, processes, batch=kind.batch, limit=kind.limit), start=1
    ):
        known[record["key"]] = found
        rows.add({"key": record["key"], "answer": found})
        print(f"{count} of {len(todo)}", file=sys.stderr, flush=True)
    return [
        record | {"answer": known[record["key"]]} for record in asked if "error" not in known[record["key"]]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=tuple(kinds.KINDS))
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--groups", nargs="*", default=problems.GROUPS, choices=problems.GROUPS)
    options = parser.parse_args()
    if options.kind == "runs":
        records = record_runs(options.groups, options.processes)
    elif options.kind == "views":
        records = record_views()
    elif options.kind == "calls":
        records = record_calls(options.processes)
    else:
        records = list(claims.make())
    file = store.write(options.kind, records, " ".join(["python benchmarks/ledger/record.py", *sys.argv[1:]]))
    print(f"{len(records)} records, {file.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
