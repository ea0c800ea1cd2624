"""Fit tables as users would, with `w2c fit`, and judge the programs by `w2c predict` on fresh ones.

    python benchmarks/tables/run.py [--part develop|kept|all] [--time-limit S] [--processes N]
                                    [--only NAME ...]

Programs are judged like all others, by what `w2c predict` answers. Tested but not solved: the fit ended with
exit code 0 all the same. The kept part is for one measurement at the end. Beside it what people would do
without us (`baselines.py`). A run that was stopped goes on where it was; `--only` shows single tables and
records nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from baselines import baselines
from fields import TABLES
from table import Row, Table, numbered, write

from weights2code.experiments.tables import markdown

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows

RESULTS, RUNS = Path(__file__).parent / "results", Path(__file__).parent / "runs"
PARTS = ("develop", "kept", "all")
OUTCOMES = ("solved", "tested, not solved", "failed")
#: Seconds after the limit until a fit is ended by force.
GRACE = 120


def fit(table: Table, time_limit: float) -> dict[str, Any]:
    """One table, from the command line."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / f"{table.name}.csv", Path(folder) / "run"
        rows = table.rows(0, table.sequences, table.length)
        write(data, with_holes(table, rows))
        command = ["fit", str(data), "--targets", ",".join(table.targets), "--sequence", "sequence"]
        command += ["--order", "step", *table.options, "--out", str(run), "--json"]
        began = time.monotonic()
        done = w2c(*command, "--time-limit", str(time_limit), limit=time_limit + GRACE)
        seconds = time.monotonic() - began
        said = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        judgement = table.judge(lambda x: predicted(table, run, x))
    certificate = said.get("certificate") or {}
    return {
        "name": table.name,
        "field": table.field,
        "part": table.part,
        "exit": done.returncode,
        "solved": done.returncode == 0 and judgement.solved,
        "verdict": certificate.get("verdict", "not extracted"),
        **{key: (certificate.get(key) or {}).get("verdict", "none") for key in ("network", "taught")},
        "formula": said.get("formula"),
        "worst": None if judgement.solved else judgement.worst,
        "seconds": round(seconds, 1),
        "error": done.stderr.strip()[-300:] if done.returncode == 2 else None,
    }


def with_holes(table: Table, rows: list[Row]) -> list[Row]:
    """The same rows, some cells of the inputs empty; where the last value is carried on, rules read that."""
    if not table.holes:
        return rows
    rng = np.random.default_rng(0)
    holes = [{name for name in table.columns if rng.random() < table.holes} for _ in rows]
    if "last" in table.options:
        holes = [names if row["step"] else set() for names, row in zip(holes, rows, strict=True)]
        rows = carried(table, rows, holes)
    return [
        {name: None if name in names else cell for name, cell in row.items()}
        for names, row in zip(holes, rows, strict=True)
    ]


def carried(table: Table, rows: list[Row], holes: list[set[str]]) -> list[Row]:
    """The rows with the last value in the place of each hole, and the targets that the rule then gives."""
    state, before, found = table.start, {}, []
    for row, names in zip(rows, holes, strict=True):
        state = state if row["step"] else table.start
        row = row | {name: before[name] for name in names}
        state, targets = table.step(state, row)
        before = row | dict(zip(table.targets, targets, strict=True))
        found.append(before)
    return found


def w2c(*arguments: str, limit: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "weights2code", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 3, "", "ended by force")


def predicted(table: Table, run: Path, x: np.ndarray) -> np.ndarray:
    """What the program of a folder answers to a table of these inputs."""
    fresh, answers = run.parent / "fresh.csv", run.parent / "answers.csv"
    answers.unlink(missing_ok=True)
    write(fresh, numbered(table.read(x)))
    done = w2c("predict", str(run), str(fresh), "--out", str(answers), "--quiet", limit=300)
    if not answers.exists():
        raise RuntimeError(done.stderr.strip()[-300:])
    with answers.open(encoding="utf-8") as file:
        said = list(csv.DictReader(file))
    example = table.rows(0, 1, 1)[0]
    read = [[value_of(row[name], example[name]) for name in table.targets] for row in said]
    return np.array(read, dtype=object).reshape(*x.shape[:2], -1)


def value_of(answer: str, example: Any) -> Any:
    """The value that a cell says, of the kind of an example; truth values may be written as numbers."""
    if isinstance(example, str):
        return answer
    return float({"true": "1", "false": "0"}.get(answer.lower(), answer))


def judged(job: tuple[str, float]) -> dict[str, Any]:
    """One table, ours and the others' answers."""
    name, time_limit = job
    table = next(table for table in TABLES if table.name == name)
    ours = fit(table, time_limit)
    return ours | baselines(table, ours["seconds"])


def outcome(row: dict[str, Any]) -> str:
    return OUTCOMES[0] if row["solved"] else OUTCOMES[1] if row["exit"] == 0 else OUTCOMES[2]


def report(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    counts = {name: sum(outcome(row) == name for row in rows) for name in OUTCOMES}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    others = {name: sum(row[name] == "exact" for row in rows) for name in ("tree", "rpni", "operon")}
    cells = [
        (row["name"], row["field"], row["part"], outcome(row), row["verdict"], row["seconds"], row["tree"],
         row["rpni"], row["operon"], f"`{' ; '.join(row['formula'] or ())}`")
        for row in rows
    ]  # fmt: skip
    head = ("table", "field", "part", "outcome", "verdict", "seconds", "tree", "RPNI", "Operon", "program")
    return (
        f"# Tables as people have them\n\n{len(rows)} tables: {said}; median "
        f"{median(row['seconds'] for row in rows):.0f} s. A decision tree on lagged "
        f"one-hot columns is right on {others['tree']}, RPNI on {others['rpni']}, Operon on "
        f"{others['operon']}.\n\n"
        f"{markdown(head, cells)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=PARTS, default="develop")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    chosen = [table for table in TABLES if options.part in ("all", table.part)]
    if options.only:
        for table in TABLES:
            if table.name in options.only:
                show(judged((table.name, options.time_limit)))
        return
    record = "tables" if options.part == "all" else f"tables_{options.part}"
    rows = Rows(RUNS / f"{record}.jsonl", [options.part, options.time_limit])
    done = {row["name"] for row in rows.rows}
    left = [(table.name, options.time_limit) for table in chosen if table.name not in done]
    with get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(judged, left):
            rows.add(row)
            show(row)
    order = [table.name for table in chosen]
    rows.rows.sort(key=lambda row: order.index(row["name"]))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{record}.md").write_text(report(rows.rows), encoding="utf-8")
    command = " ".join(["python benchmarks/tables/run.py", *sys.argv[1:]])
    rows.finish(RESULTS / f"{record}.json", command, time_limit=options.time_limit)


def show(row: dict[str, Any]) -> None:
    beside = f"tree {row['tree']}, RPNI {row['rpni']}, Operon {row['operon']}"
    told = f"{row['name']:20} {outcome(row):18} {row['verdict']:14} {row['seconds']:6.1f} s"
    print(f"{told}  {beside}  {row['error'] or ' ; '.join(row['formula'] or ())}", flush=True)


if __name__ == "__main__":
    main()
