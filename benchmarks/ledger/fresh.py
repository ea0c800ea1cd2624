"""Count what is solved of random programs that nobody develops on; nothing else is shown.

    python benchmarks/ledger/fresh.py [--count 24] [--processes N] [--seed N]
    python benchmarks/ledger/fresh.py --kept

A seed that nobody has seen is drawn; with `--kept` it is those of the ledger that are kept, and the counts
are left in `results/kept.json`, which pages are made from.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import problems  # with which the generator can be imported
import programs
import replay
import runs

from weights2code.experiments.engines.local import cores
from weights2code.experiments.records import write_record
from weights2code.experiments.tables import markdown

KEPT = Path(__file__).parent / "results" / "kept.json"
#: Seeds beyond those that records and pages name.
FROM, UP_TO = 10_000, 2**31


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--seed", type=int, help="measure this one again")
    parser.add_argument("--kept", action="store_true", help="measure the kept seeds of the ledger")
    options = parser.parse_args()
    if options.kept:
        asked = [record for record in replay.recorded("runs") if record["group"] in problems.KEPT]
        print(f"kept: {', '.join(sorted(problems.KEPT))}")
    else:
        seed = options.seed or FROM + secrets.randbelow(UP_TO - FROM)
        print(f"seed {seed}")
        asked = [
            {"key": program.name, "group": f"steps {seed}", "name": program.name, "text": asdict(program)}
            for program in programs.draw(options.count, seed)
        ]
    rows = counted(asked, options.processes)
    print(markdown(tuple(rows[0]), [tuple(row.values()) for row in rows]))
    if options.kept:
        write_record(KEPT, "python benchmarks/ledger/fresh.py --kept", rows)


def counted(asked: list[dict[str, Any]], processes: int) -> list[dict[str, Any]]:
    """A row a size, and one for all."""
    with tempfile.TemporaryDirectory() as folder:  # nothing of it is kept
        found = replay.answers(runs, asked, Path(folder) / "rows.jsonl", None, processes)
    counts: dict[str, Counter[str]] = {}
    for record in asked:
        answer = found[record["key"]]
        for size in (str(record["text"]["size"]), "all"):
            count = counts.setdefault(size, Counter())
            count["programs"] += 1
            count["solved"] += answer.get("solved", False)
            count["proved"] += answer.get("solved", False) and answer.get("verdict") == "proved"
            count["seconds"] += round(answer.get("seconds", 0.0))
    names = ("programs", "solved", "proved", "seconds")
    return [{"size": size} | {name: counts[size][name] for name in names} for size in sorted(counts)]


if __name__ == "__main__":
    main()
