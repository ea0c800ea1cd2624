"""The benchmark: tasks times seeds as one sweep, and what it says about them.

It leaves `bench.json` (everything), `bench.csv` (a line a run) and `bench.md`.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.limits import LIMITS, Failure, failure
from weights2code.experiments.provenance import place
from weights2code.experiments.records import Record
from weights2code.experiments.stores import RESULT, RUNS, damaged
from weights2code.experiments.tables import listed
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


def write_bench(out: Path, record: Record) -> list[Path]:
    """Write the three files; their paths."""
    record.write(out / JSON)
    write_atomically(out / CSV, as_csv(record.rows))
    write_atomically(out / MARKDOWN, as_markdown(record.head, record.rows))
    return [out / name for name in (JSON, CSV, MARKDOWN)]


def as_csv(rows: Iterable[Row]) -> str:
    """A line a run."""
    table = io.StringIO()
    writer = csv.DictWriter(table, COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


def as_markdown(head: Row, rows: Sequence[Row]) -> str:
    """The summary, a table of the runs, and what limits the failures."""
    runs = {"task": "task", "seed": "seed", "solved": "solved", "verdict": "verdict", "seconds": "seconds"}
    found = [{"task": row["task"], "seed": row["seed"], **asdict(why)} for row, why in failures(rows)]
    limits = [
        f"- {limit}: {LIMITS[limit]}" for limit in LIMITS if any(row["limit"] == limit for row in found)
    ]
    why = listed(found, {name: name for name in ("task", "seed", "limit", "evidence")})
    versions = ", ".join(f"{name} {number}" for name, number in head["versions"].items())
    parts = [
        f"# Benchmark\n\n{headline(head)}.",
        listed(rows, runs | {"program": "formula"}),
        "## What limits the failures",
        "\n\n".join((why, "\n".join(limits))) if found else "There are none: every run is solved and proved.",
        f"## How it was measured\n\n`{head['command']}`",
        f"{head['date']}, commit {head['commit']}; {place(head['machine'])}; {versions}. Seconds are "
        "those of a run, training included, without the start of Python and the loading of libraries.",
    ]
    if head["resumed"]:
        parts.append(f"{head['resumed']} runs were cut short and continued: theirs are of the last part.")
    return "\n\n".join(parts) + "\n"
