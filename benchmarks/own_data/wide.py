"""Ten million rows of a hundred columns: what `w2c fit` costs in memory and seconds, beside PyArrow alone.

    python benchmarks/own_data/wide.py [--rows N] [--csv-rows N]

The file holds a tank (inflow, outflow, level, minute by minute: one sequence) and 96 columns that have
nothing to do with it. Each row of the record is one command in a process of its own, with three inputs named
or with all columns, from Parquet and from CSV. Seconds are counted from the start of the command, imports
included. Beside them stand the seconds that PyArrow takes for the same columns in a process of its own, on
one thread as we do, and of a Parquet file one column after the other, as all at once they need more than
twice their size. `times_columns` is the most memory that the command used, over the bytes of the columns that
were used, in their own types; `times_arrow` its process time for reading over PyArrow's: the machine may be
shared. The result is `results/wide.json`; a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows

RESULTS = Path(__file__).parent / "results"
RUNS = Path(__file__).parent / "runs"
#: Columns that have nothing to do with the tank, and rows that are made at a time.
OTHERS = 96
PIECE = 1_000_000
CAPACITY = 50
NAMED = ("inflow", "outflow", "other3")
WHEN, TARGET = "minute", "level"


def pieces(rows: int) -> Iterator[dict[str, Any]]:
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
        for i in range(OTHERS):
            whole = i % 2 == 1
            columns[f"other{i}"] = rng.integers(0, 100, count) if whole else rng.normal(20, 5, count).round(2)
        yield {**columns, TARGET: levels}


def write(path: Path, rows: int) -> None:
    import pyarrow as arrow
    from pyarrow import csv, parquet

    writer: Any = None
    for columns in pieces(rows):
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


def measure(path: Path, inputs: str, out: Path) -> dict[str, Any]:
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


def child(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def row_of(path: Path, rows: int, inputs: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """What is measured on one file, with some inputs or all columns."""
    everything = [WHEN, "inflow", "outflow", *(f"other{i}" for i in range(OTHERS)), TARGET]
    used = [WHEN, *inputs, TARGET] if inputs else everything
    arrow = child("--arrow", str(path), ",".join(used))
    found = child("--measure", str(path), ",".join(inputs), str(folder / f"{path.suffix[1:]}-{len(used)}"))
    return {
        "file": path.suffix[1:],
        "rows": rows,
        "file_gib": round(path.stat().st_size / 2**30, 3),
        "columns_used": len(used),
        **arrow,
        **found,
        "times_columns": round(found["peak_gib"] / arrow["columns_gib"], 2),
        "times_arrow": round(found["cpu_seconds_to_read"] / max(arrow["arrow_cpu_seconds"], 0.01), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the Parquet file")
    parser.add_argument("--csv-rows", type=int, default=1_000_000, help="of the CSV file; 0 is none")
    parser.add_argument("--out", type=Path, default=RESULTS / "wide.json")
    parser.add_argument("--write", nargs=2, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--arrow", nargs=2, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(Path(options.write[0]), int(options.write[1]))
        print("{}")
    elif options.arrow:
        print(json.dumps(measure_arrow(Path(options.arrow[0]), options.arrow[1].split(","))))
    elif options.measure:
        path, inputs, out = options.measure
        print(json.dumps(measure(Path(path), inputs, Path(out))))
    else:
        rows = Rows(RUNS / "wide.jsonl", [options.rows, options.csv_rows])
        files = [(".parquet", options.rows), (".csv", options.csv_rows)]
        asked = [(suffix, count, inputs) for suffix, count in files if count for inputs in (NAMED, ())]
        with tempfile.TemporaryDirectory() as name:
            for suffix, count, inputs in asked[len(rows.rows) :]:
                path = Path(name) / f"tank{suffix}"
                if not path.exists():
                    child("--write", str(path), str(count))
                rows.add(row_of(path, count, inputs, Path(name)))
                print(json.dumps(rows.rows[-1]), flush=True)
                if not inputs:
                    path.unlink()
        command = " ".join(["python benchmarks/own_data/wide.py", *sys.argv[1:]])
        rows.finish(options.out, command, seconds=round(sum(row["seconds"] for row in rows.rows), 1))


if __name__ == "__main__":
    main()
