"""Two versions of the package on the same tasks, from records of `benchmarks/training/rungs.py record`.

    python benchmarks/suites/compare.py BEFORE.jsonl AFTER.jsonl --names OLD NEW [--out DIR]

Take both records on one machine in one run, the two sweeps side by side, so that they share its load. A row a
suite: what was solved and proved, processor seconds, and their ratio; then every task whose outcome differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from weights2code.experiments.tables import markdown

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import write_record

RESULTS = Path(__file__).parent / "results"
TITLES = {"mips": "MIPS", "paper": "the paper's, not in MIPS", "own": "own data", "random": "random programs"}

Rows = dict[tuple[str, str], dict[str, Any]]


def read(path: Path) -> Rows:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["suite"], row["name"]): row for row in rows if row["without"] is None}


def summary(before: Rows, after: Rows) -> list[dict[str, Any]]:
    """A row a suite, over the tasks that both records hold, and one for all."""
    both = sorted(before.keys() & after.keys())
    suites = [*dict.fromkeys(suite for suite, _ in both), "all"]
    rows = []
    for suite in suites:
        keys = [key for key in both if suite in (key[0], "all")]
        row: dict[str, Any] = {"suite": suite, "tasks": len(keys)}
        for label, record in (("before", before), ("after", after)):
            for what in ("solved", "proved"):
                row[f"{what} {label}"] = sum(bool(record[key][what]) for key in keys)
            row[f"seconds {label}"] = round(sum(record[key]["cpu_seconds"] for key in keys), 1)
        row["ratio"] = round(row["seconds after"] / max(row["seconds before"], 1e-9), 3)
        rows.append(row)
    return rows


def page(rows: list[dict[str, Any]], before: Rows, after: Rows, names: tuple[str, str]) -> str:
    head = ("suite", "tasks", "solved", "proved", "processor seconds", "ratio")
    cells = [
        (
            TITLES.get(row["suite"], row["suite"]),
            str(row["tasks"]),
            *(
                f"{row[f'{what} before']} → {row[f'{what} after']}"
                for what in ("solved", "proved", "seconds")
            ),
            f"{row['ratio']:.2f}",
        )
        for row in rows
    ]
    lines = ["# The suites before and after", "", f"Before: {names[0]}. After: {names[1]}. Seed 0, random "]
    lines[-1] += "programs of seed 3 with 25 s each; both sweeps side by side on one machine."
    lines += ["", markdown(head, cells), ""]
    for what in ("solved", "proved"):
        changed = [
            key for key in sorted(before.keys() & after.keys()) if before[key][what] != after[key][what]
        ]
        for word, wanted in (("lost", True), ("gained", False)):
            found = ", ".join(
                f"{suite}/{name}" for suite, name in changed if before[suite, name][what] is wanted
            )
            lines.append(f"- {what}, {word}: {found or 'none'}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--names", nargs=2, required=True, help="commits of the two")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    before, after = read(options.before), read(options.after)
    rows = summary(before, after)
    text = page(rows, before, after, tuple(options.names))
    options.out.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/suites/compare.py, after rungs.py record at both commits"
    write_record(options.out / "before_after.json", command, compared=options.names, rows=rows)
    (options.out / "before_after.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
