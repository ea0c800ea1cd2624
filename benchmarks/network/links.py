"""What is known of the networks behind the programs: every task of the paper and of MIPS, from start to end.

    python benchmarks/network/links.py [--suite paper|mips] [--seeds 0,1,2] [--processes N] [--only TASK ...]

A row a run: the verdict on the program, that on its network as it was trained, and that on the network that
was taught where that was needed; margin, error and what is covered of the one that equals the program, how it
was made, how far the listing is from it, and seconds, in all and of the link alone. Results are written to
`results/links.json` when all runs are there, and `docs/results/network.md` is made from it; a run that was
stopped goes on where it was. `--only` shows single tasks and records nothing.
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
from weights2code import pipeline, tasks
from weights2code.settings import Settings
from weights2code.tasks import all_tasks

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows, of_network

HERE = Path(__file__).parent
SUITES = ("paper", "mips")


def measure(name: str, seed: int) -> dict[str, Any]:
    """One run; the link is timed where the pipeline makes it."""
    task, spent = tasks.get(name), 0.0
    usual = pipeline.with_network

    def timed(*arguments: Any, **named: Any) -> Any:
        nonlocal spent
        began = time.process_time()
        try:
            return usual(*arguments, **named)
        finally:
            spent += time.process_time() - began

    pipeline.with_network = timed
    began, busy = time.monotonic(), time.process_time()
    try:
        outcome = pipeline.run(name, Settings(seed=seed))
    finally:
        pipeline.with_network = usual
    certificate = outcome.certificate
    return {
        "task": name,
        "seed": seed,
        "suites": list(task.suites),
        "whole": task.integer_outputs,
        "exit_code": outcome.exit_code,
        "verdict": certificate.verdict if certificate else "not extracted",
        "origin": str(outcome.program.origin) if outcome.program else None,
        **of_network(certificate),
        "seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(time.process_time() - busy, 2),
        "link_seconds": round(spent, 2),
    }


def measured(item: tuple[str, int]) -> dict[str, Any]:
    return measure(*item)


def show(row: dict[str, Any]) -> None:
    networks = (row["network"], "taught", row["taught"], row["made"])
    words = (row["task"], row["seed"], row["verdict"], *networks, row["covers"], row["margin"])
    print(*words, row["network_error"], f"{row['link_seconds']} of {row['cpu_seconds']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, default=None)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--record", default="links")
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    suites = SUITES if options.suite is None else (options.suite,)
    names = list(dict.fromkeys(task.name for suite in suites for task in all_tasks(suite)))
    asked = [(name, seed) for seed in seeds for name in options.only or names]
    rows = None
    if options.only is None:
        rows = Rows(HERE / "runs" / f"{options.record}.jsonl", [options.suite, seeds])
        done = {(row["task"], row["seed"]) for row in rows.rows}
        asked = [item for item in asked if item not in done]
    # every run in a fresh process: what one leaves in memory must not cost the next
    with get_context("spawn").Pool(options.processes, maxtasksperchild=8) as pool:
        for row in pool.imap_unordered(measured, asked):
            show(row)
            if rows is not None:
                rows.add(row)
    if rows is None:
        return
    order = {name: place for place, name in enumerate(names)}
    rows.rows.sort(key=lambda row: (order[row["task"]], row["seed"]))
    command = " ".join(["python benchmarks/network/links.py", *sys.argv[1:]])
    spent = round(sum(row["cpu_seconds"] for row in rows.rows), 1)
    rows.finish(HERE / "results" / f"{options.record}.json", command, run_seconds=spent)


if __name__ == "__main__":
    main()
