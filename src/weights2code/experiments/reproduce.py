"""Running an experiment: its jobs as a sweep, then the table, the figure and the record in its folder.

```
DIR/experiment.json    the record: command, commit, machine, date, versions, seconds; rows of all runs
DIR/table.csv, table.md, figure.svg, figure.png
DIR/runs/<key>/        one folder a run; what is done is skipped, so a stopped experiment goes on
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from weights2code.errors import InputError
from weights2code.experiments.engines.engine import Engine
from weights2code.experiments.experiment import Experiment, Options
from weights2code.experiments.jobs import DONE, Job, Row
from weights2code.experiments.provenance import place, provenance
from weights2code.experiments.records import Record
from weights2code.experiments.stores import Folders
from weights2code.experiments.sweep import run_sweep
from weights2code.experiments.tables import Table, csv_text, markdown_table
from weights2code.run_folder import write_atomically

RECORD = "experiment.json"
#: What rows say that tables and pages do not need: it stays in the folders of the runs.
LEFT_OUT = ("source", "explanation", "method")
#: What a record says about where models come from that another experiment trained.
WHENCE = ("command", "commit", "src", "date", "machine", "wall_seconds")


def reproduce(
    experiment: Experiment,
    options: Options,
    out: Path,
    engine: Engine,
    command: str,
    on_row: Callable[[Row], None] | None = None,
) -> tuple[Record, Table]:
    """Do what is not done yet and write everything."""
    jobs, store = experiment.jobs(options), Folders(out)
    rows = labelled(run_sweep(jobs, store, engine, on_row), jobs)
    table = experiment.table(rows)
    left_out = () if experiment.keeps_programs else LEFT_OUT
    head = {
        "experiment": experiment.name,
        "reproduces": experiment.reproduces,
        **provenance(command, options.device),
        "wall_seconds": round(store.spent(), 1),
        "run_seconds": round(sum(row["seconds"] or 0.0 for row in rows), 1),
        "failed": [row["key"] for row in rows if row["status"] != DONE],
        "standing": dict(Counter(line.standing for line in table.lines if line.standing)),
        **trained_by(options.models),
    }
    kept = [{name: value for name, value in row.items() if name not in left_out} for row in rows]
    record = Record(head, kept, asdict(options) | {"models": Path(options.models).name})
    write_figure(experiment, rows, out)
    write_atomically(out / "table.csv", csv_text(table))
    write_atomically(out / "table.md", page(experiment, table, head))
    record.write(out / RECORD)
    return record, table


def trained_by(models: str) -> Row:
    """Where models come from that were there already, if an experiment left them."""
    made = Record.read(Path(models) / RECORD) if models else None
    return {"trained_by": [{name: made.head[name] for name in WHENCE if name in made.head}]} if made else {}


def labelled(rows: Sequence[Row], jobs: Sequence[Job]) -> list[Row]:
    """Rows with the labels of their jobs, so that a failed run is still known by its task."""
    return [{**job.arguments.get("label", {}), **row} for row, job in zip(rows, jobs, strict=True)]


def page(experiment: Experiment, table: Table, head: Row) -> str:
    """The table with its notes, and where it comes from."""
    made = (
        f"Made by `{head['command']}`, commit {head['commit'] or 'unknown'}, on "
        f"{place(head['machine'])}, "
        f"{head['date']}, in {head['wall_seconds']:.0f} s."
    )
    failed = f"Runs that ended in an error: {', '.join(head['failed'])}." if head["failed"] else ""
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
