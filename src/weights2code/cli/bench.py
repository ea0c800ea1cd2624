"""`w2c bench`: many tasks and seeds as one sweep that can be stopped and goes on, and a table at the end."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from weights2code.cli.engine_options import engine_from, seeds_of
from weights2code.cli.interrupts import stopping_says, whole_output
from weights2code.cli.parser import settings_from
from weights2code.cli.progress import sweep_reporter
from weights2code.errors import InputError, Stopped
from weights2code.experiments.bench import bench_jobs, completed, failures, headline, numbers, write_bench
from weights2code.experiments.jobs import Row
from weights2code.experiments.limits import LIMITS, failure, formula
from weights2code.experiments.provenance import provenance
from weights2code.experiments.records import Record
from weights2code.experiments.stores import Folders
from weights2code.experiments.sweep import run_sweep
from weights2code.experiments.tables import grouped

#: Failures that the table on the terminal names; the files have all.
MOST_SHOWN = 40


def bench(options: argparse.Namespace) -> int:
    """Run the benchmark; 0 if every run is solved."""
    names, seeds = names_of(options), seeds_of(options.seeds)
    jobs = bench_jobs(names, seeds, settings_from(options).changed())  # the seed comes with each job
    out = Path(options.out or Path("w2c-runs") / f"bench-{'tasks' if options.tasks else suite_of(options)}")
    engine = engine_from(options)
    silent = options.quiet or options.json
    store = Folders(out)
    before = len(store.rows(jobs))

    def stopped() -> str:
        done = len(store.rows(jobs))
        return f"stopped; {done} of {len(jobs)} runs are done. Go on with `{command_of(options, out)}`."

    try:
        with (
            stopping_says(stopped),
            sweep_reporter(len(jobs), before, silent, described) as on_row,
        ):
            rows = completed(run_sweep(jobs, store, engine, on_row), jobs)
    except KeyboardInterrupt:
        raise Stopped(stopped()) from None
    asked = {"suite": suite_of(options), "tasks": names, "seeds": seeds, "engine": options.engine}
    head = provenance(command_of(options, out), options.device or "cpu")
    head |= {"seconds": round(store.spent(), 1), **numbers(rows)}
    record = Record(head, rows, asked)
    files = write_bench(out, record)
    with whole_output():
        show(options, record, files)
    return int(head["solved"] < head["runs"])


def suite_of(options: argparse.Namespace) -> str:
    return options.suite or ("all" if options.tasks else "paper")


def names_of(options: argparse.Namespace) -> list[str]:
    """The tasks that the options name, each once, under their one name."""
    from weights2code import tasks

    suite = [task.name for task in tasks.all_tasks(suite_of(options))]
    named = list(dict.fromkeys(tasks.get(name).name for name in options.tasks)) or suite
    strange = [name for name in named if name not in suite]
    if strange:
        raise InputError(f"the suite {options.suite} has no task {strange[0]}; leave --suite out.")
    return named


def command_of(options: argparse.Namespace, out: Path) -> str:
    """The command that was given, with the folder named."""
    line = options.command_line
    return line if options.out else f"{line} --out {out}"


def described(row: Row) -> tuple[bool, str]:
    """How a run went, in one line."""
    if row["error"]:
        return False, f"{row['key']}: {row['error']}"
    found = failure(row)
    text = f"{row['key']}: {row['verdict']} in {row['seconds']:.1f} s"
    if row["solved"]:
        return True, f"{text}: {formula(row, 100)}"
    return False, f"{text}: {found.limit}: {found.evidence}" if found else text


def show(options: argparse.Namespace, record: Record, files: list[Path]) -> None:
    """The result: one JSON object, one line, or a table."""
    summary, rows = record.asked | record.head, record.rows
    if options.json:
        print(json.dumps({"summary": summary, "rows": rows, "files": [str(file) for file in files]}))
    elif options.quiet:
        print(headline(summary))
    else:
        print("\n".join(plain_lines(summary, rows)))
        print(f"files: {', '.join(str(file) for file in files)}")


def plain_lines(summary: dict[str, Any], rows: list[Row]) -> list[str]:
    """The table as lines: a task each, then the failures, then the sum."""
    lines = [f"{'task':28s} {'solved':>7s} {'proved':>7s} {'seconds':>8s}  program"]
    for name, solved, proved, seconds, program in by_task(rows):
        lines.append(f"{name:28s} {solved:>7s} {proved:>7s} {seconds:>8s}  {program}")
    found = failures(rows)
    for row, why in found[:MOST_SHOWN]:
        lines.append(f"{why.limit}: {row['task']}, seed {row['seed']}: {why.evidence}")
    if len(found) > MOST_SHOWN:
        lines.append(f"and {len(found) - MOST_SHOWN} more")
    lines += [f"{limit}: {count} ({LIMITS[limit]})" for limit, count in summary["limits"].items()]
    return [*lines, headline(summary)]


def by_task(rows: list[Row]) -> list[tuple[str, str, str, str, str]]:
    """Task, seeds solved, seeds proved, median seconds, and a program."""
    lines = []
    for (name,), found in grouped(rows, "task").items():
        solved = [run for run in found if run["solved"]]
        proved = [run for run in solved if run["verdict"] == "proved"]
        shown = (proved or solved or [{}])[0]
        seconds = f"{median(run['seconds'] for run in found):.1f}"
        counts = (f"{len(solved)}/{len(found)}", f"{len(proved)}/{len(found)}")
        lines.append((name, *counts, seconds, formula(shown, 90)))
    return lines
