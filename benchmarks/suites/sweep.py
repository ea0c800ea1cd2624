"""Run whole suites of built-in tasks through the pipeline and say what happened, task by task.

    python benchmarks/suites/sweep.py --suite mips --seeds 0,1,2 --out benchmarks/suites/results/mips.json

A task counts as solved if the run ends with exit code 0 and the program, run free, equals the reference
machine on fresh sequences at its own length and at length 40.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np


def one(name: str, seed: int, time_limit: float) -> dict[str, Any]:
    """One run in this process."""
    from weights2code import pipeline, tasks
    from weights2code.settings import Settings

    began = time.perf_counter()
    row: dict[str, Any] = {"task": name, "seed": seed}
    try:
        outcome = pipeline.run(name, Settings(seed=seed, time_limit=time_limit))
    except Exception as error:  # one failed run does not end the sweep
        return row | {
            "error": f"{type(error).__name__}: {error}",
            "solved": False,
            "seconds": time.perf_counter() - began,
        }
    row |= {
        "seconds": round(time.perf_counter() - began, 2),
        "exit": outcome.exit_code,
        "attempts": outcome.attempts,
    }
    if outcome.program is None or outcome.certificate is None:
        return row | {"verdict": "-", "solved": False}
    task = tasks.get(name)
    right = True
    for length in (task.length, 40):
        x, y = task.sample(200, length=length, seed=seed + 9999)
        with np.errstate(all="ignore"):
            right &= bool(np.allclose(outcome.program.run(x), y, atol=1e-3, rtol=0))
    return row | {
        "verdict": outcome.certificate.verdict,
        "method": outcome.certificate.method,
        "explanation": outcome.certificate.explain(),
        "notes": list(outcome.certificate.notes),
        "formula": outcome.program.formula(),
        "source": outcome.program.source(),
        "origin": outcome.program.origin,
        "body": outcome.program.body,
        "operations": outcome.program.operations,
        "rmse": outcome.certificate.rmse,
        "accuracy": outcome.certificate.accuracy,
        "solved": right and outcome.exit_code == 0,
    }


def one_command(name: str, seed: int, time_limit: float) -> dict[str, Any]:
    """One run as a user starts it: a process of its own, all files written, `program.py` itself judged."""
    from weights2code import tasks
    from weights2code.program import run_program

    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run"
        command = [sys.executable, "-m", "weights2code", "run", name, "--seed", str(seed), "--quiet"]
        command += ["--time-limit", str(time_limit), "--out", str(folder)]
        code = subprocess.run(command, capture_output=True, check=False).returncode
        row = {"task": name, "seed": seed, "seconds": round(time.perf_counter() - began, 2), "exit": code}
        if not (folder / "program.py").exists():
            return row | {"verdict": "-", "solved": False}
        certificate = json.loads((folder / "certificate.json").read_text())
        task = tasks.get(name)
        right = True
        for length in (task.length, 40):
            x, y = task.sample(100, length=length, seed=seed + 9999)
            sequences = [item[:, 0] if item.shape[1] == 1 else item for item in x]
            answers = run_program(folder / "program.py", sequences)
            right &= all(
                np.allclose(np.asarray(a).reshape(b.shape), b, atol=1e-3, rtol=0)
                for a, b in zip(answers, y, strict=True)
            )
        return row | {
            "verdict": certificate["verdict"],
            "method": certificate["method"],
            "formula": certificate["formula"],
            "origin": certificate["origin"],
            "body": certificate["program_length"]["body"],
            "operations": certificate["program_length"]["operations"],
            "rmse": certificate["rmse"],
            "accuracy": certificate["accuracy"],
            "attempts": certificate["attempts"],
            "solved": right and code == 0,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", help="task names; all of the suite if none is given")
    parser.add_argument("--suite", default="mips")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--command", action="store_true", help="run the command, not the library")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    from weights2code import tasks

    names = options.tasks or [task.name for task in tasks.all_tasks(options.suite)]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        job = one_command if options.command else one
        futures = [pool.submit(job, name, seed, options.time_limit) for seed in seeds for name in names]
        for future in as_completed(futures):
            row = future.result()
            rows.append(row)
            mark = "ok  " if row["solved"] else "MISS"
            text = row.get("formula") or row.get("error") or "; ".join(row.get("attempts", ())[-3:])
            verdict = row.get("verdict", "-")
            line = f"{mark} {row['seed']} {row['task']:26s} {row['seconds']:6.1f} s {verdict:10s}"
            print(line, text.replace("\n", "; ")[:150], flush=True)
    total = time.perf_counter() - began
    solved = sum(row["solved"] for row in rows)
    proved = sum(row.get("verdict") == "proved" and row["solved"] for row in rows)
    seconds = [row["seconds"] for row in rows]
    print(
        f"{solved} of {len(rows)} solved, {proved} proved, {total:.0f} s with {options.jobs} processes; "
        f"a run takes {statistics.median(seconds):.1f} s (median), {max(seconds):.1f} s (longest)"
    )
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        rows.sort(key=lambda row: (row["task"], row["seed"]))
        machine = {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        }
        summary = {
            "command": " ".join(["python", *sys.argv]),
            "seconds": round(total, 1),
            "machine": machine,
            "solved": solved,
            "proved": proved,
        }
        options.out.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
