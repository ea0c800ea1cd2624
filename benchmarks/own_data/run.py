"""Fit every file and judge the programs by the machines behind the files.

    python benchmarks/own_data/run.py [--group simple|hard|fresh] [--time-limit S] [--only NAME ...]

Results are written to `results/own_data.json` and `results/own_data.md` (`--record` names others) when all
cases are there; a run that was stopped goes on where it was. `--only` shows single cases and records nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from cases import CASES, Case
from make import write

from weights2code import pipeline
from weights2code.data import file_source
from weights2code.experiments.limits import formula
from weights2code.experiments.tables import markdown
from weights2code.settings import Settings
from weights2code.source import problem_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows, of_network, of_rule, right_network

RESULTS, RUNS = Path(__file__).parent / "results", Path(__file__).parent / "runs"
GROUPS = ("simple", "hard", "fresh")


def fit(case: Case, time_limit: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = write(case, Path(folder))
        source = file_source(path, case.inputs, case.targets, "sequence", "step")
        settings = Settings(time_limit=time_limit)
        began, busy = time.monotonic(), time.process_time()
        outcome = pipeline.run(source, settings)
        seconds, busy = time.monotonic() - began, time.process_time() - busy
        whole = problem_of(source, settings).integer_outputs
    program, certificate = outcome.program, outcome.certificate
    return {
        "name": case.name,
        "field": case.field,
        "hard": case.hard,
        "group": case.kind,
        "solved": outcome.exit_code == 0 and case.judge(program and program.run).solved,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(busy, 1),
        "verdict": certificate.verdict if certificate else "not extracted",
        "exit": outcome.exit_code,
        **of_network(certificate),
        **of_rule(outcome),
        "right_network": right_network(outcome, whole),
        "formula": program.formula() if program else None,
        "attempts": [attempt.to_dict() for attempt in outcome.attempts],
    }


def group_of(row: dict[str, Any]) -> str:
    """The group that a row of results belongs to; old ones only say whether they are hard."""
    return row.get("group", "hard" if row["hard"] else "simple")


def report(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    parts = [
        "# Own data",
        "Seconds are wall time, and in brackets processor time, on a machine shared with other work.",
    ]
    for title in GROUPS:
        part = [row for row in rows if group_of(row) == title]
        if not part:
            continue
        good, busy = sum(row["solved"] for row in part), median(row["cpu_seconds"] for row in part)
        parts.append(f"## {title}: {good} of {len(part)} solved, median {busy:.0f} s of processor time")
        cells = [
            (row["name"], row["field"], "yes" if row["solved"] else "no", row["verdict"], row["network"],
             f"{row['seconds']} ({row['cpu_seconds']})", f"`{formula(row)}`")
            for row in part
        ]  # fmt: skip
        parts.append(markdown(("file", "field", "solved", "verdict", "network", "seconds", "program"), cells))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--group", choices=GROUPS, default=None)
    parser.add_argument("--record", default="own_data")
    parser.add_argument("--time-limit", type=float, default=120.0)
    options = parser.parse_args()
    chosen = [case for case in CASES if options.group in (None, case.kind)]
    if options.only:
        for case in chosen:
            if case.name in options.only:
                show(fit(case, options.time_limit))
        return
    rows = Rows(RUNS / f"{options.record}.jsonl", [options.group, options.time_limit])
    done = {row["name"] for row in rows.rows}
    for case in chosen:
        if case.name not in done:
            rows.add(fit(case, options.time_limit))
            show(rows.rows[-1])
    seconds = round(sum(row["seconds"] for row in rows.rows), 1)
    (RESULTS / f"{options.record}.md").write_text(report(rows.rows), encoding="utf-8")
    command = " ".join(["python benchmarks/own_data/run.py", *sys.argv[1:]])
    rows.finish(RESULTS / f"{options.record}.json", command, seconds=seconds)


def show(row: dict[str, Any]) -> None:
    print(row["name"], row["solved"], row["verdict"], row["seconds"], row["formula"], flush=True)


if __name__ == "__main__":
    main()
