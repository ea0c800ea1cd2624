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
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import calls
import claims
import kinds
import problems
import questions
import runs
import store

from weights2code.experiments.engines.local import cores

Record = dict[str, Any]


def heard_run(record: Record) -> Record:
    """A run whose calls of the engine are written down."""
    calls.listen(record["group"], record["name"])
    return runs.replay(record)


def record_views() -> list[Record]:
    """Of solved runs whose programs are known: which problem, and what its program reads."""
    return [
        record | {"answer": {name: record["answer"][name] for name in ("solved", "view", "seconds")}}
        for record in store.read("runs")[1]
        if record["answer"]["solved"] and "view" in record["answer"]
    ]


def answered(name: str, asked: list[Record], answer: Any, processes: int) -> list[Record]:
    """The records with the answers that they get."""
    found = kinds.answers(kinds.KINDS[name], asked, f"{name}-record", "record", processes, answer)
    known = [record | {"answer": found[record["key"]]} for record in asked]
    return [record for record in known if "solved" in record["answer"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=tuple(kinds.KINDS))
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--groups", nargs="*", default=problems.GROUPS, choices=problems.GROUPS)
    options = parser.parse_args()
    if options.kind == "runs":
        asked = [record for group in options.groups for record in problems.records(group)]
        records = answered("runs", asked, heard_run, options.processes)
    elif options.kind == "views":
        records = record_views()
    elif options.kind == "calls":
        asked = [*calls.heard(), *questions.all_questions()]
        found = answered("calls", asked, calls.replay, options.processes)
        records = [record for record in found if calls.worth_keeping(record)]
    else:
        records = list(claims.make())
    file = store.write(options.kind, records, " ".join(["python benchmarks/ledger/record.py", *sys.argv[1:]]))
    print(f"{len(records)} records, {file.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
