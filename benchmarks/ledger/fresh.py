"""Count what is solved of programs that nobody develops on; nothing else is shown.

    python benchmarks/ledger/fresh.py [--count 24] [--generator steps|trees] [--processes N] [--seed N]
    python benchmarks/ledger/fresh.py --leaves [--sizes 1,2,3,4,5] [--count 40] [--seed N]
    python benchmarks/ledger/fresh.py --kept

With `--leaves` the formula of each program is asked for from its true leaves, by the engine alone.
A seed that nobody has seen is drawn; with `--kept` it is those of the ledger that are kept, and the counts
are left in `results/kept.json`, which pages are made from.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import kinds
import problems
import questions
import store

from weights2code.experiments.engines.local import cores
from weights2code.experiments.records import write_record
from weights2code.experiments.tables import markdown

KEPT = Path(__file__).parent / "results" / "kept.json"
#: Seeds beyond those that records and pages name.
FROM, UP_TO = 10_000, 2**31


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--generator", choices=("steps", "trees"), default="steps")
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--seed", type=int, help="measure this one again")
    parser.add_argument("--leaves", action="store_true", help="from the true leaves of random trees")
    parser.add_argument("--sizes", default="1,2,3,4,5", help="of programs whose leaves are given")
    parser.add_argument("--kept", action="store_true", help="measure the kept seeds of the ledger")
    options = parser.parse_args()
    seed = options.seed or FROM + secrets.randbelow(UP_TO - FROM)
    kind = kinds.KINDS["runs"]
    if options.leaves:
        sizes = [int(size) for size in options.sizes.split(",")]
        print(f"seed {seed}, leaves, {options.count} programs of each size")
        asked = [
            record | {"size": size, "key": f"{size} {record['key']}"}
            for size in sizes
            for record in questions.leaves(seed, options.count, (size,))
        ]
        kind = kinds.KINDS["calls"]
    elif options.kept:
        asked = [record for record in store.read("runs")[1] if record["group"] in problems.KEPT]
        print(f"kept: {', '.join(sorted(problems.KEPT))}")
    else:
        group = f"{options.generator} {seed}"
        problems.RANDOM[group] = (options.generator, options.count, seed, None)
        sizes = {program.name: program.size for program in problems.random_programs(group)}
        asked = [record | {"size": sizes[record["name"]]} for record in problems.records(group)]
        print(f"seed {seed}, {options.generator}")
    rows = counted(asked, options.processes, kind)
    print(markdown(tuple(rows[0]), [tuple(row.values()) for row in rows]))
    if options.kept:
        write_record(KEPT, "python benchmarks/ledger/fresh.py --kept", rows)


def counted(asked: list[dict[str, Any]], processes: int, kind: kinds.Kind) -> list[dict[str, Any]]:
    """A row a size, and one for all."""
    with tempfile.TemporaryDirectory() as folder:  # nothing of it is kept
        found = kinds.answers(replace(kind, limit=1200.0), asked, f"{folder}/rows", None, processes)
    counts: dict[str, Counter[str]] = {}
    for record in asked:
        answer = found[record["key"]]
        for size in (str(record.get("size") or record["text"]["size"]), "all"):
            count = counts.setdefault(size, Counter())
            count["programs"] += 1
            count["solved"] += answer.get("solved", False)
            count["proved"] += answer.get("solved", False) and answer.get("verdict") == "proved"
            count["seconds"] += round(answer.get("seconds", 0.0))
    names = ("programs", "solved", "proved", "seconds")
    return [{"size": size} | {name: counts[size][name] for name in names} for size in sorted(counts)]


if __name__ == "__main__":
    main()
