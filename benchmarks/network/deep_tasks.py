"""Deep built-in tasks with windows forbidden to the ladder: is the rule read from the nodes of the network?

    python benchmarks/network/deep_tasks.py [--seeds 0,1,2,3,4] [--rungs NAME,...] [--processes N]
                                            [--time-limit S] [--only TASK ...]

Only the rungs that are named may be trained; by default those whose functions choose what they read, in two
layers or more. Rules that are regressed from the leaves do not count: nodes of the network must be in them. A
row a run: the verdict on the program, that on its network, the origin, the cut that the rule was found at and
the nodes that are in it, seconds. Results are written to `results/deep_tasks.json` and `.md` when all runs
are there; a run that was stopped goes on where it was. `--only` shows single tasks and records nothing.
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
from weights2code.experiments.judging import solves
from weights2code.experiments.limits import formula
from weights2code.experiments.tables import markdown
from weights2code.settings import Settings
from weights2code.training.ladder import FAST_LADDER, Rung

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows, of_network, of_rule, right_network

HERE = Path(__file__).parent
TASKS = ("bit_addition", "div_3", "Div_5", "Parity_Last4", "Base_7_Addition", "bit_dot_prod_mod_2")
#: A limit of its own: at the usual one, what is asked for by name is trained to its end.
SECONDS = 180.0


def is_deep(rung: Rung) -> bool:
    """Whether functions choose what they read, in more than one layer."""
    return rung.kind == "annealed" and rung.sizes.get("layers", 1) > 1


DEEP_RUNGS = tuple(rung.option for rung in FAST_LADDER if is_deep(rung))


def measure(name: str, seed: int, rungs: tuple[str, ...], time_limit: float) -> dict[str, Any]:
    """One run, in this process; an error is a result."""
    task, settings = tasks.get(name), Settings(seed=seed, time_limit=time_limit, rungs=rungs, lowest_cut=1)
    began, busy = time.monotonic(), time.process_time()
    try:
        outcome = pipeline.run(name, settings)
    except Exception as error:
        row: dict[str, Any] = {"verdict": "error", "exit": None, "solved": False, "formula": None}
        row |= {"error": f"{type(error).__name__}: {error}", "network": "none", "origin": None, "cut": None}
        row |= {"nodes": None, "right_network": False, "attempts": []}
    else:
        found, certificate = outcome.program, outcome.certificate
        row = {
            "verdict": certificate.verdict if certificate else "not extracted",
            "exit": outcome.exit_code,
            "solved": outcome.exit_code == 0 and solves(found and found.run, task, seed).solved,
            "formula": found.formula() if found else None,
            **of_network(certificate),
            **of_rule(outcome),
            "right_network": right_network(outcome, task.integer_outputs),
            "attempts": [attempt.to_dict() for attempt in outcome.attempts],
        }
    row |= {
        "seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(time.process_time() - busy, 2),
    }
    return {"task": name, "seed": seed, **row}


def measured(item: tuple[str, int, tuple[str, ...], float]) -> dict[str, Any]:
    return measure(*item)


def show(row: dict[str, Any]) -> None:
    words = (row["task"], row["seed"], row["verdict"], "network", row["network"], "cut", row["cut"])
    print(*words, f"{row['seconds']} s", row.get("error") or formula(row), flush=True)


def report(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    cells = [
        (row["task"], row["seed"], "yes" if row["solved"] else "no", row["verdict"], row["network"],
         row["origin"] or "-", "-" if row["cut"] is None else row["cut"],
         "-" if row["nodes"] is None else ", ".join(row["nodes"]), row["seconds"], f"`{formula(row)}`")
        for row in rows
    ]  # fmt: skip
    head = ("task", "seed", "solved", "verdict", "network", "origin", "cut", "nodes", "seconds", "program")
    proved = sum(row["solved"] and row["verdict"] == "proved" for row in rows)
    counts = f"{proved} of {len(rows)} runs proved, {sum(row['solved'] for row in rows)} solved."
    return f"# Deep tasks without windows\n\n{counts}\n\n{markdown(head, cells)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--rungs", default=",".join(DEEP_RUNGS))
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--time-limit", type=float, default=SECONDS)
    parser.add_argument("--record", default="deep_tasks")
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    seeds, rungs = [int(seed) for seed in options.seeds.split(",")], tuple(options.rungs.split(","))
    asked = [(name, seed) for name in options.only or TASKS for seed in seeds]
    rows = None
    if options.only is None:
        rows = Rows(HERE / "runs" / f"{options.record}.jsonl", [seeds, rungs, options.time_limit])
        done = {(row["task"], row["seed"]) for row in rows.rows}
        asked = [item for item in asked if item not in done]
    # every run in a fresh process: what one leaves in memory must not cost the next
    with get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
        items = [(name, seed, rungs, options.time_limit) for name, seed in asked]
        for row in pool.imap_unordered(measured, items):
            show(row)
            if rows is not None:
                rows.add(row)
    if rows is None:
        return
    rows.rows.sort(key=lambda row: (TASKS.index(row["task"]), row["seed"]))
    record = HERE / "results" / f"{options.record}.json"
    record.with_suffix(".md").write_text(report(rows.rows), encoding="utf-8")
    command = " ".join(["python benchmarks/network/deep_tasks.py", *sys.argv[1:]])
    spent = round(sum(row["seconds"] for row in rows.rows), 1)
    rows.finish(record, command, rungs=rungs, time_limit=options.time_limit, run_seconds=spent)


if __name__ == "__main__":
    main()
