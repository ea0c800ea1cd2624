"""The benchmark: tasks times seeds as one sweep, and what it says about them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from weights2code.experiments.jobs import Job, Row
from weights2code.experiments.limits import LIMITS, Failure, failure

WORK = "weights2code.experiments.work:run_task"


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
        {"task": job.arguments["task"], "seed": job.arguments["settings"]["seed"], "solved": False} | row
        for job, row in zip(jobs, rows, strict=True)
    ]
    return sorted(told, key=lambda row: (order[row["task"]], row["seed"]))


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
