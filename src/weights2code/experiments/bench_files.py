"""The files that a benchmark leaves: `bench.json` (everything), `bench.csv` (a line a run), `bench.md`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from weights2code.experiments.bench import failures, headline
from weights2code.experiments.jobs import Row
from weights2code.experiments.limits import LIMITS, formula
from weights2code.experiments.provenance import place
from weights2code.experiments.tables import markdown
from weights2code.run_folder import write_atomically

JSON, CSV, MARKDOWN = "bench.json", "bench.csv", "bench.md"

#: Columns of the CSV file; longer texts are in the JSON file.
COLUMNS: tuple[str, ...] = (
    "task", "seed", "status", "solved", "verdict", "exit", "seconds", "training_seconds",
    "extraction_seconds", "tries", "resumed", "rung", "loss", "formula", "origin", "body", "lines",
    "raw_lines", "operations", "rmse", "accuracy", "max_abs_error", "method", "error",
)  # fmt: skip


def write_bench(out: Path, summary: dict[str, Any], rows: Sequence[Row]) -> list[Path]:
    """Write the three files; their paths."""
    texts = {
        JSON: json.dumps({"summary": summary, "rows": rows}, indent=1, allow_nan=False) + "\n",
        CSV: as_csv(rows),
        MARKDOWN: as_markdown(summary, rows),
    }
    for name, text in texts.items():
        write_atomically(out / name, text)
    return [out / name for name in texts]


def as_csv(rows: Iterable[Row]) -> str:
    """A line a run."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_markdown(summary: dict[str, Any], rows: Sequence[Row]) -> str:
    """The summary, a table of the runs, and what limits the failures."""
    machine = summary["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in summary["versions"].items())
    commit = f", commit {summary['commit']}" if summary["commit"] else ""
    parts = [
        "# Benchmark",
        f"{headline(summary)}.",
        markdown(
            ("task", "seed", "solved", "verdict", "seconds", "program"),
            (
                (f"`{row['task']}`", row["seed"], "yes" if row["solved"] else "no", row.get("verdict", "-"),
                 f"{row['seconds']:.1f}", f"`{formula(row)}`" if row.get("formula") else "-")
                for row in rows
            ),
        ),
        "## What limits the failures",
        _failure_table(rows),
        "## How it was measured",
        f"`{summary['command']}`",
        f"{summary['date']}{commit}; {place(machine)}, {machine['system']}; {versions}. "
        "Seconds are those of a run, training included, without the start of Python and the loading of "
        "libraries.",
    ]  # fmt: skip
    if summary["resumed"]:
        parts.append(f"{summary['resumed']} runs were cut short and continued: theirs are of the last part.")
    return "\n\n".join(parts) + "\n"


def _failure_table(rows: Sequence[Row]) -> str:
    found = failures(rows)
    if not found:
        return "There are none: every run is solved and proved."
    named = ((f"`{row['task']}`", row["seed"], why.limit, why.evidence) for row, why in found)
    met = dict.fromkeys(why.limit for _, why in found)
    meaning = "\n".join(f"- {limit}: {LIMITS[limit]}" for limit in LIMITS if limit in met)
    return f"{markdown(('task', 'seed', 'limit', 'evidence'), named)}\n\n{meaning}"
