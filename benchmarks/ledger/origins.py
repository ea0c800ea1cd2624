"""Where the rules of the last replay of runs came from, group by group, as a record that pages show.

    python benchmarks/ledger/replay.py runs && python benchmarks/ledger/origins.py

A rule is short because of what it reads; that is shown by the annealed reads of a network, or by the rows:
visible values, running quantities, registers, states that merging found. Counted are solved runs.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import replay

from weights2code.experiments.cases import ANNEALED, WAYS
from weights2code.experiments.records import write_record
from weights2code.experiments.stores import Lines

RESULT = Path(__file__).parent / "results" / "origins.json"
COMMAND = "python benchmarks/ledger/replay.py runs{} && python benchmarks/ledger/origins.py"


def main() -> None:
    known = Lines(replay.kept_in("runs"), []).known
    groups: dict[str, Counter[str]] = {}
    records = replay.recorded("runs")
    for record in records:
        if (answer := known.get(record["key"], {}).get("answer")) is not None:
            counts = groups.setdefault(record["group"], Counter())
            counts.update(["runs", *["solved", answer.get("way", "")] * answer.get("solved", False)])
    if not groups:
        raise SystemExit(
            "nothing was replayed with this src/; first: python benchmarks/ledger/replay.py runs"
        )
    names = ("runs", "solved", ANNEALED, *WAYS)
    rows = [{"group": group} | {name: counts[name] for name in names} for group, counts in groups.items()]
    whole = len(known) >= len(records)
    write_record(RESULT, COMMAND.format("" if whole else f" --share {len(known) / len(records):.1g}"), rows)
    for row in rows:
        print(*row.values(), sep=" | ")


if __name__ == "__main__":
    main()
