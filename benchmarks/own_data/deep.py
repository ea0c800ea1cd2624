"""Fit the files whose rules take three or four steps, and judge the programs like those of the other files.

    python benchmarks/own_data/deep.py [--part develop|kept|all] [--time-limit S] [--processes N]
                                       [--only NAME ...]

The kept part was unseen until a first measurement. Results of all files are written to `results/deep.json`,
those of a part to `results/deep_PART.json` (`--record` names others), with a table beside it; a run that was
stopped goes on where it was. `--only` shows single files and records nothing.
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

from deep_cases import DEEP, DeepCase
from run import RESULTS, RUNS, fit, show

from weights2code.experiments.limits import formula
from weights2code.experiments.tables import markdown

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows

PARTS = ("develop", "kept", "all")


#: A fit that ends in an error.
FAILED = {"solved": False, "exit": None, "verdict": "error", "network": "none", "origin": None, "cut": None}
FAILED |= {"nodes": None, "right_network": False, "formula": None, "attempts": []}


def fit_deep(deep: DeepCase, time_limit: float) -> dict[str, Any]:
    """One file; an error is a result."""
    began = time.monotonic()
    try:
        row = fit(deep.case, time_limit)
    except Exception as error:
        row = {"name": deep.name, "field": deep.case.field, "seconds": round(time.monotonic() - began, 1)}
        row |= FAILED | {"error": f"{type(error).__name__}: {error}"}
    return row | {"part": deep.part, "steps": deep.steps, "rule": deep.law()}


def fit_named(job: tuple[str, float]) -> dict[str, Any]:
    """One file, in a process of its own."""
    name, time_limit = job
    return fit_deep(next(deep for deep in DEEP if deep.name == name), time_limit)


def report(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    good = sum(row["solved"] for row in rows)
    cells = [
        (row["name"], row["part"], row["steps"], "yes" if row["solved"] else "no", row["verdict"],
         row["network"], "-" if row["cut"] is None else row["cut"], row["seconds"], f"`{row['rule']}`",
         f"`{formula(row)}`")
        for row in rows
    ]  # fmt: skip
    head = ("file", "part", "steps", "solved", "verdict", "network", "cut", "seconds", "rule", "program")
    words = "Cut: where in the network the rule was found, 0 for the leaves."
    return f"# Deep rules in own data\n\n{good} of {len(rows)} solved. {words}\n\n{markdown(head, cells)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=PARTS, default="develop")
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", default=None)
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    chosen = [deep for deep in DEEP if options.part in ("all", deep.part)]
    if options.only:
        for deep in chosen:
            if deep.name in options.only:
                show(fit_deep(deep, options.time_limit))
        return
    record = options.record or ("deep" if options.part == "all" else f"deep_{options.part}")
    rows = Rows(RUNS / f"{record}.jsonl", [options.part, options.time_limit])
    done = {row["name"] for row in rows.rows}
    left = [(deep.name, options.time_limit) for deep in chosen if deep.name not in done]
    with get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(fit_named, left):
            rows.add(row)
            show(row)
    order = [deep.name for deep in chosen]
    rows.rows.sort(key=lambda row: order.index(row["name"]))
    seconds = round(sum(row["seconds"] for row in rows.rows), 1)
    (RESULTS / f"{record}.md").write_text(report(rows.rows), encoding="utf-8")
    command = " ".join(["python benchmarks/own_data/deep.py", *sys.argv[1:]])
    rows.finish(RESULTS / f"{record}.json", command, seconds=seconds)


if __name__ == "__main__":
    main()
