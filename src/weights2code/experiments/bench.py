"""The benchmark: tasks times seeds as one sweep, and what it says about them.

It leaves `bench.json` (everything), `bench.csv` (a line a run) and `bench.md`.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from weights2code.experiments.jobs import RESULT, RUNS, Job, Row, damaged
from weights2code.experiments.limits import LIMITS, Failure, failure, formula
from weights2code.experiments.provenance import place
from weights2code.experiments.tables import markdown
from weights2code.json_values import text, truth
from weights2code.run_folder import write_atomically

WORK = "weights2code.experiments.work:run_task"
JSON, CSV, MARKDOWN = "bench.json", "bench.csv", "bench.md"

#: Columns of the CSV file; longer texts are in the JSON file.
COLUMNS: tuple[str, ...] = (
    "task", "seed", "status", "solved", "verdict", "exit", "seconds", "training_seconds",
    "extraction_seconds", "tries", "resumed", "rung", "loss", "formula", "origin", "body", "lines",
    "raw_lines", "operations", "rmse", "accuracy", "max_abs_error", "method", "error",
)  # fmt: skip


def bench_jobs(names: Sequence[str], seeds: Sequence[int], settings: dict[str, Any]) -> list[Job]:
    """A job for each seed and task, seed by seed, so that a sweep that is stopped has seen all tasks."""
    return [
        Job(f"{name}-seed{seed}", WORK, {"task": name, "settings": {**settings, "seed": seed}})
        for seed in seeds
        for name in names
    ]


def completed(rows: Sequence[Row], jobs: Sequence[Job]) -> list[Row]:
    """The rows, sorted by task and seed; those of runs that ended in an error say at least whose they are."""
    order = {name: place for place, name in enumerate(dict.fromkeys(job.arguments["task"] for job in jobs))}
    told = [
        {"solved": False} | row | {"task": job.arguments["task"], "seed": job.arguments["settings"]["seed"]}
        for job, row in zip(jobs, rows, strict=True)
    ]
    for row in told:
        check_row(row)
    return sorted(told, key=lambda row: (order[row["task"]], row["seed"]))


def check_row(row: Row) -> None:
    """Refuse a row, read from a file, that the tables could not show."""
    try:
        truth(row["solved"], "solved")
        for name in ("verdict", "method", "formula", "error"):
            if row.get(name) is not None:
                text(row[name], name)
        failure(row)
    except (KeyError, TypeError, ValueError, AttributeError):
        where = Path(RUNS) / str(row["key"]) / RESULT
        raise damaged(where) from None


def failures(rows: Sequence[Row]) -> list[tuple[Row, Failure]]:
    """The runs that were not solved, or solved but not proved, with the reason."""
    return [(row, found) for row in rows if (found := failure(row))]


def numbers(rows: Sequence[Row]) -> dict[str, Any]:
    """Counts and times over all runs."""
    seconds = [row["seconds"] for row in rows]
    limits = Counter(found.limit for _, found in failures(rows))
    return {
        "runs": len(rows),
        "solved": sum(row["solved"] for row in rows),
        "proved": sum(row["solved"] and row["verdict"] == "proved" for row in rows),
        "limits": {limit: limits[limit] for limit in LIMITS if limits[limit]},
        "median_seconds": round(statistics.median(seconds), 2),
        "longest_seconds": round(max(seconds), 2),
        "run_seconds": round(sum(seconds), 1),
        "retried": sum(row["tries"] > 1 for row in rows),
        "resumed": sum(bool(row.get("resumed")) for row in rows),
    }


def headline(summary: dict[str, Any]) -> str:
    """The summary in one sentence."""
    lost = f"; {summary['retried']} were lost and tried again" if summary["retried"] else ""
    return (
        f"{summary['solved']} of {summary['runs']} runs solved, {summary['proved']} proved, in "
        f"{summary['seconds']:.0f} s; a run takes {summary['median_seconds']:.1f} s (median), "
        f"{summary['longest_seconds']:.1f} s (longest){lost}"
    )


# -- files --------------------------------------------------------------------------------------------------


def write_bench(out: Path, summary: dict[str, Any], rows: Sequence[Row]) -> list[Path]:
    """Write the three files; their paths."""
    texts = {
        JSON: json.dumps({"summary": summary, "rows": rows}, indent=1, allow_nan=False) + "\n",
        CSV: as_csv(rows),
        MARKDOWN: as_markdown(summary, rows),
    }
    for name, content in texts.items():
        write_atomically(out / name, content)
    return [out / name for name in texts]


def as_csv(rows: Iterable[Row]) -> str:
    """A line a run."""
    table = io.StringIO()
    writer = csv.DictWriter(table, COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


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
