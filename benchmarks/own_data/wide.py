"""Large files: what `w2c fit` costs in memory and seconds, beside PyArrow alone.

    python benchmarks/own_data/wide.py [--rows N] [--csv-rows N] --processes 1

A file holds a tank (inflow, outflow, level, minute by minute: one sequence) and 96 columns that have nothing
to do with it, but for `long`, which is the tank alone. Each row of the record is one command in a process of
its own, with some inputs named or with all columns, from Parquet (ten million rows) and from CSV (a million).
Seconds are counted from the start of the command, imports included. Beside them stand the seconds that
PyArrow takes for the same columns in a process of its own, on one thread as we do, and of a Parquet file one
column after the other, as all at once they need more than twice their size. `times_columns` is the most
memory that the command used, over the bytes of the columns that were used, in their own types;
`times_arrow` its process time for reading over PyArrow's: the machine may be shared.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weights2code.experiments.benchmark import Options

#: Columns that have nothing to do with the tank, and rows that are made at a time.
OTHERS = 96
PIECE = 1_000_000
CAPACITY = 50
WHEN, TARGET = "minute", "level"


@dataclass(frozen=True)
class Large:
    """One file, and the inputs that are named; none are all columns."""

    suffix: str
    rows: int
    others: int = OTHERS
    inputs: tuple[str, ...] = ()

    @property
    def used(self) -> list[str]:
        everything = ["inflow", "outflow", *(f"other{i}" for i in range(self.others))]
        return [WHEN, *(self.inputs or everything), TARGET]


def cases(options: Options) -> dict[str, Large]:
    named = ("inflow", "outflow", "other3")
    files = {".parquet": options.rows, ".csv": options.csv_rows}
    found = {
        f"{suffix[1:]} {kind}": Large(suffix, rows, inputs=inputs)
        for suffix, rows in files.items()
        for kind, inputs in (("named", named), ("all", ()))
    }
    return found | {"long": Large(".csv", options.csv_rows, 0, named[:2])}


def pieces(rows: int, others: int) -> Iterator[dict[str, Any]]:
    """Columns of the table, so many rows at a time."""
    import numpy as np

    rng, level = np.random.default_rng(0), 0
    for first in range(0, rows, PIECE):
        count = min(PIECE, rows - first)
        inflow, outflow = rng.integers(0, 9, count), rng.integers(0, 9, count)
        levels = np.empty(count, np.int64)
        for t, change in enumerate((inflow - outflow).tolist()):
            level = min(max(level + change, 0), CAPACITY)
            levels[t] = level
        columns = {WHEN: np.arange(first, first + count), "inflow": inflow, "outflow": outflow}
        for i in range(others):
            whole = i % 2 == 1
            columns[f"other{i}"] = rng.integers(0, 100, count) if whole else rng.normal(20, 5, count).round(2)
        yield {**columns, TARGET: levels}


def write(path: Path, rows: int, others: int) -> None:
    import pyarrow as arrow
    from pyarrow import csv, parquet

    writer: Any = None
    for columns in pieces(rows, others):
        table = arrow.table(columns)
        if writer is None:
            make = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
            writer = make(str(path), table.schema)
        writer.write_table(table)
    writer.close()


def measure_arrow(path: Path, columns: list[str]) -> dict[str, Any]:
    """The same columns by PyArrow alone, as arrays of NumPy."""
    import pyarrow as arrow
    from pyarrow import csv, parquet

    began, busy, size = time.monotonic(), time.process_time(), 0
    if path.suffix == ".csv":
        wanted = csv.ConvertOptions(include_columns=columns)
        table = csv.read_csv(path, csv.ReadOptions(use_threads=False), convert_options=wanted)
        size = sum(table.column(name).to_numpy().nbytes for name in columns)
    else:
        file = parquet.ParquetFile(path)
        for name in columns:
            size += file.read(columns=[name], use_threads=False).column(0).to_numpy().nbytes
    return {
        "arrow_seconds": round(time.monotonic() - began, 2),
        "arrow_cpu_seconds": round(time.process_time() - busy, 2),
        "arrow_gib": peak(),
        "columns_gib": round(size / 2**30, 3),
        "pyarrow": arrow.__version__,
    }


def peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3)


def measure_fit(path: Path, inputs: str, out: Path) -> dict[str, Any]:
    """One command in this process, with the time noted at which its stages begin and end."""
    began, noted = time.monotonic(), {}

    def note(name: str) -> None:
        noted.setdefault(name, round(time.monotonic() - began, 2))
        noted.setdefault(f"{name}_cpu", time.process_time())
        noted.setdefault(f"{name}_gib", peak())

    from weights2code import source
    from weights2code.cli import commands, main
    from weights2code.training import train

    from_file, rungs_of, file_source = source.from_file, train.rungs_of, commands.described

    def described(*arguments: Any, **more: Any) -> Any:
        note("begun")
        found = file_source(*arguments, **more)
        note("described")
        return found

    def read(*arguments: Any) -> Any:
        note("reading")
        problem = from_file(*arguments)
        note("read")
        return problem

    def rungs(*arguments: Any, **more: Any) -> Iterator[Any]:
        note("first_rung_begins")
        for trained in rungs_of(*arguments, **more):
            note("first_rung_done")
            yield trained

    source.from_file, train.rungs_of, commands.described = read, rungs, described
    chosen = ["--inputs", inputs] if inputs else []
    options = ["--targets", TARGET, "--order", WHEN, "--out", str(out), "--quiet"]
    code = main(["fit", str(path), *chosen, *options])
    certificate = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    return {
        "seconds_to_describe": round(noted["described"] - noted["begun"], 2),
        "seconds_to_read": round(noted["read"] - noted["reading"], 2),
        "cpu_seconds_to_read": round(noted["read_cpu"] - noted["reading_cpu"], 2),
        "seconds_until_first_rung": noted.get("first_rung_begins"),
        "seconds_until_first_rung_is_done": noted.get("first_rung_done"),
        "seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(time.process_time(), 2),
        "gib_at_first": noted["begun_gib"],
        "gib_after_reading": noted["read_gib"],
        "peak_gib": peak(),
        "exit_code": code,
        "verdict": certificate["verdict"],
        "formula": certificate["formula"],
    }


STEPS = {
    "write": lambda path, rows, others: write(Path(path), int(rows), int(others)),
    "arrow": lambda path, columns: measure_arrow(Path(path), columns.split(",")),
    "fit": lambda path, inputs, out: measure_fit(Path(path), inputs, Path(out)),
}


def child(*words: str) -> Any:
    """A step in a process of its own, which has imported nothing."""
    done = subprocess.run([sys.executable, __file__, "step", *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(case: Large) -> dict[str, Any]:
    """What is measured on one file, with some inputs or all columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"tank{case.suffix}"
        child("write", str(path), str(case.rows), str(case.others))
        size = path.stat().st_size
        arrow = child("arrow", str(path), ",".join(case.used))
        found = child("fit", str(path), ",".join(case.inputs), f"{folder}/run")
    return {
        "file": case.suffix[1:],
        "rows": case.rows,
        "file_gib": round(size / 2**30, 3),
        "columns_used": len(case.used),
        **arrow,
        **found,
        "times_columns": round(found["peak_gib"] / arrow["columns_gib"], 2),
        "times_arrow": round(found["cpu_seconds_to_read"] / max(arrow["arrow_cpu_seconds"], 0.01), 2),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["step"]:
        print(json.dumps(STEPS[sys.argv[2]](*sys.argv[3:])))
    else:
        from weights2code.experiments.benchmark import run

        run(__file__, __doc__, cases, measure, show=json.dumps, rows=10_000_000, csv_rows=1_000_000)
