"""The suite of formal languages: is the program found and proved, and what do merged states give beside it?

    python benchmarks/languages/run.py [--seeds 0,1,2] [--time-limit S] [--processes N] [--only TASK ...]

A row a task and seed: whether it is solved (exit code 0, and the judge of all benchmarks), the verdicts on
program and network, seconds, the length of the program (lines of its body, and operations). Beside it, on the
very rows that the search was given, RPNI (AALpy): its states, whether the same judge finds them right,
seconds. `results/languages.json` is written when all runs are there; a run that was stopped goes on where it
was. `--only` shows single tasks and records nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import merging

from weights2code import tasks
from weights2code.experiments.judging import solves
from weights2code.experiments.limits import formula

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows, of_network, of_rule

HERE = Path(__file__).parent
#: Seconds for a search, and for RPNI.
SECONDS = 60.0
#: Imported once for all runs, so that the times are those of the searches.
PRELOADED = ["weights2code.experiments.heavy", "weights2code.training.train", "scipy.optimize", "sympy", "z3"]


def measure(name: str, seed: int, time_limit: float) -> dict[str, Any]:
    """One task, in this process; an error is a result."""
    from weights2code import pipeline
    from weights2code.settings import Settings
    from weights2code.source import problem_of

    task, settings = tasks.get(name), Settings(seed=seed, time_limit=time_limit)
    problem = problem_of(task.name, settings)
    beside = merging.measure(problem.training.x, problem.training.y, task, seed, time_limit)
    began, busy = time.perf_counter(), time.process_time()
    try:
        outcome = pipeline.search(problem, settings)
    except Exception as error:
        row: dict[str, Any] = {"verdict": "error", "exit": None, "solved": False, "attempts": []}
        row |= {"error": f"{type(error).__name__}: {error}", "network": "none"}
    else:
        found, certificate = outcome.program, outcome.certificate
        row = {
            "verdict": certificate.verdict if certificate else "not extracted",
            "method": certificate.method if certificate else "",
            "exit": outcome.exit_code,
            "solved": outcome.exit_code == 0 and solves(found and found.run, task, seed).solved,
            "formula": found.formula() if found else None,
            "source": found.source() if found else None,
            "body": found.body if found else None,
            "operations": found.operations if found else None,
            **of_network(certificate),
            **of_rule(outcome),
            "attempts": [attempt.to_dict() for attempt in outcome.attempts],
        }
    row |= {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - busy, 2),
    }
    return {"task": task.name, "seed": seed, "finite": is_finite(task), **row, **beside}


def is_finite(task: tasks.Task) -> bool:
    """Whether a machine of few states computes it."""
    from weights2code.tasks import languages

    return task in languages.FINITE


def measured(item: tuple[str, int, float]) -> dict[str, Any]:
    return measure(*item)


def show(row: dict[str, Any]) -> None:
    told = "ok  " if row["solved"] else "MISS"
    beside = f"rpni {row['rpni_states']} {'right' if row['rpni_exact'] else 'wrong'} {row['rpni_seconds']} s"
    words = (told, row["task"], row["seed"], row["verdict"], "network", row["network"], f"{row['seconds']} s")
    print(*words, f"| {beside} |", row.get("error") or formula(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--time-limit", type=float, default=SECONDS, help="for each search and each merging")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    names = [task.name for task in tasks.all_tasks("languages")]
    asked = [(name, seed) for seed in seeds for name in options.only or names]
    rows = None
    if options.only is None:
        rows = Rows(HERE / "runs" / "languages.jsonl", [seeds, options.time_limit])
        done = {(row["task"], row["seed"]) for row in rows.rows}
        asked = [item for item in asked if item not in done]
    # every run in a fresh process: what one leaves in memory must not cost the next
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with context.Pool(options.processes, maxtasksperchild=1) as pool:
        items = [(name, seed, options.time_limit) for name, seed in asked]
        for row in pool.imap_unordered(measured, items):
            show(row)
            if rows is not None:
                rows.add(row)
    if rows is None:
        return
    rows.rows.sort(key=lambda row: (names.index(row["task"]), row["seed"]))
    command = " ".join(["python benchmarks/languages/run.py", *sys.argv[1:]])
    spent = round(sum(row["seconds"] for row in rows.rows), 1)
    rows.finish(
        HERE / "results" / "languages.json",
        command,
        seeds=seeds,
        time_limit=options.time_limit,
        run_seconds=spent,
    )


if __name__ == "__main__":
    main()
