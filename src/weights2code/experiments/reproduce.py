"""Running an experiment: its jobs as a sweep, then the table, the figure and the record in its folder.

```
DIR/experiment.json    command, commit, machine, date, versions, seconds, table, rows of all runs
DIR/table.csv, table.md, figure.svg, figure.png
DIR/runs/<key>/        one folder a run; what is done is skipped, so a stopped experiment goes on
```
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weights2code.errors import InputError
from weights2code.experiments.comparison import shown
from weights2code.experiments.engines.engine import Engine
from weights2code.experiments.experiment import Experiment, Options, Table, labelled
from weights2code.experiments.jobs import DONE, Job, Row, plain
from weights2code.experiments.provenance import provenance
from weights2code.experiments.sweep import run_sweep, spent
from weights2code.run_folder import write_atomically

RECORD = "experiment.json"
#: What rows say that most tables and pages do not need: it stays in the folders of the runs.
LEFT_OUT = ("source", "explanation", "method")


def planned(experiment: Experiment, options: Options) -> list[Job]:
    """The jobs, or a sentence about why there are none."""
    own = experiment.tasks(options.suite)
    unknown = [name for name in options.tasks if name not in own]
    if unknown:
        raise InputError(
            f"{experiment.name} is not about {', '.join(unknown)}; its tasks are {', '.join(own)}."
        )
    return experiment.jobs(options)


def reproduce(
    experiment: Experiment,
    options: Options,
    out: Path,
    engine: Engine,
    command: str,
    on_row: Callable[[Row], None] | None = None,
) -> dict[str, Any]:
    """Do what is not done yet and write everything; returns the record."""
    jobs = planned(experiment, options)
    rows = labelled(run_sweep(jobs, out, engine, on_row), jobs)
    table = experiment.table(rows)
    left_out = () if experiment.keeps_programs else LEFT_OUT
    record = {
        "experiment": experiment.name,
        "reproduces": experiment.reproduces,
        **provenance(command, options.device),
        "options": plain(asdict(options)),
        "wall_seconds": round(spent(out), 1),
        "run_seconds": round(sum(row["seconds"] or 0.0 for row in rows), 1),
        "failed": [row["key"] for row in rows if row["status"] != DONE],
        "standing": dict(Counter(line.standing for line in table.lines if line.standing)),
        "table": table_dict(table),
        "rows": [{name: value for name, value in row.items() if name not in left_out} for row in rows],
    }
    write_figure(experiment, rows, out)
    write_atomically(out / "table.csv", csv_text(table))
    write_atomically(out / "table.md", markdown(experiment, table, record))
    write_atomically(out / RECORD, json.dumps(plain(record), indent=1, allow_nan=False) + "\n")
    return record


def table_dict(table: Table) -> dict[str, Any]:
    return {
        "columns": dict(table.columns),
        "lines": [{"cells": dict(l.cells), "standing": l.standing, "why": l.why} for l in table.lines],
        "notes": list(table.notes),
    }


def csv_text(table: Table) -> str:
    """Every column under its own name, every digit, and how each row stands."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names = list(table.columns)
    compared = any(line.standing for line in table.lines)
    writer.writerow([*names, *(("compared_with_the_paper",) if compared else ())])
    for line in table.lines:
        cells = [line.cells.get(name) for name in names]
        writer.writerow(
            [*("" if c is None else c for c in cells), *((line.standing or "",) if compared else ())]
        )
    return buffer.getvalue()


def markdown_table(table: Table) -> str:
    """The table for people."""
    compared = any(line.standing for line in table.lines)
    head = [*table.columns.values(), *(("beside the paper",) if compared else ())]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in table.lines:
        cells = [_cell(line.cells.get(name)) for name in table.columns]
        cells += [line.standing or "-"] if compared else []
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    text = shown(value)
    if "\n" in text:
        return "<br>".join(f"`{part}`" for part in text.splitlines()).replace("|", "\\|")
    return (f"`{text}`" if "[t" in text else text).replace("|", "\\|")


def markdown(experiment: Experiment, table: Table, record: dict[str, Any]) -> str:
    machine = record["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores"
    if "accelerator" in machine:
        where += f", {machine['accelerator']}"
    made = (
        f"Made by `{record['command']}`, commit {record['commit'] or 'unknown'}, on {where}, "
        f"{record['date']}, in {record['wall_seconds']:.0f} s."
    )
    failed = f"Runs that ended in an error: {', '.join(record['failed'])}." if record["failed"] else ""
    parts = [f"# {experiment.reproduces}", markdown_table(table), *table.notes, failed, made]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_figure(experiment: Experiment, rows: Sequence[Row], out: Path) -> None:
    """The figure as SVG, and as PNG where the extra `plots` is installed."""
    drawing = experiment.figure(rows) if experiment.figure else None
    if drawing is None:
        return
    from weights2code.report.report import png

    write_atomically(out / "figure.svg", drawing.document())
    with suppress(InputError):  # the SVG is the figure; PNG needs one more package
        write_atomically(out / "figure.png", png(drawing))
