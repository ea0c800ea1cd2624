"""How many members of a deep rung fit? The ladder's own against what it replaced, with the same steps.

    OMP_NUM_THREADS=1 python benchmarks/training/deep.py --processes 2

Twenty tasks that want depth: fourteen random programs of two and three operations without hidden memory,
most of which the ladder missed, and six built-in ones. `before` is the rung of old: a head in closed form at
every step, three heads and functions of three values, everywhere. `deep` and `deeper` are the ladder's
rungs, focused on what the data show to be enough. Members that fit are those whose hard loss ends under .01
when all are trained to the end, with the same steps; a run is right if a finished member is right everywhere
on the validation sequences; seconds, on one core, are those of the rung as it is, which halves its members
and stops early. The recipe was chosen with training seed 0; the record is of others.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from weights2code.data import Problem
from weights2code.run_folder import write_atomically
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training import search
from weights2code.training.focus import focused, sufficient
from weights2code.training.ladder import FAST_LADDER, Rung, Variant
from weights2code.training.recipes import Recipe
from weights2code.training.train import keep_freed_memory

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "random_programs"))
from generate import programs
from run import problem_of as random_problem

from records import write_record

RESULTS = Path(__file__).parent / "results"
#: Random programs as seed/number, and built-in tasks.
RANDOM = ("3/12", "3/20", "3/50", "3/52", "3/55", "3/73", "3/85", "3/86", "11/28", "11/84", "12/11", "12/86",
          "13/58", "13/82")  # fmt: skip
BUILT_IN = ("bit_addition", "div_3", "Div_5", "Parity_Last4", "Base_7_Addition", "bit_dot_prod_mod_2")
FITS = 0.01
BEFORE = Rung(
    "deep",
    {"layers": 2, "location": 3, "submlps": 3, "arity": 3},
    Recipe(epochs=40, steps_per_epoch=50, halvings=(0.5, 0.75)),
    (Variant(8, past=False), Variant(24)),
)


random_programs = cache(programs)


@cache
def problem(task: str) -> Problem:
    if "/" not in task:
        return problem_of(task, Settings())
    seed, number = map(int, task.split("/"))
    return random_problem(random_programs(100, seed)[number], seed)


def rung_of(which: str, task: str) -> Rung:
    if which == "before":
        return BEFORE
    rung = next(rung for rung in FAST_LADDER if rung.name == which)
    return focused(rung, problem(task), sufficient(problem(task)))


def measure(job: tuple[str, str, int, bool]) -> dict[str, Any]:
    """One training; `whole` trains every member to the end."""
    task, which, seed, whole = job
    torch.set_num_threads(1)
    keep_freed_memory()
    rung = rung_of(which, task)
    if whole:
        rung = replace(rung, recipe=replace(rung.recipe, halvings=()))
        search.stop_of = lambda *_: None
    began = time.process_time()
    trained = search.train_rung(rung, problem(task), Settings(seed=seed), torch.device("cpu"))
    row = {"task": task, "rung": which, "seed": seed, "whole": whole, "members": rung.members}
    return row | {
        "fit": sum(loss < FITS for loss in trained.history[-1].hard_loss),
        "loss": min(trained.losses),
        "fitted": trained.fitted,
        "right": sum(accuracy == 1.0 for accuracy in trained.accuracies),
        "epochs": len(trained.history),
        "seconds": round(time.process_time() - began, 1),
    }


def report(rows: list[dict[str, Any]], names: list[str]) -> str:
    """The table in Markdown: sums over the seeds, means of the seconds."""
    lines = ["| task |" + "".join(f" {name}: fit | {name}: right | {name}: seconds |" for name in names)]
    lines.append("|---" * (1 + 3 * len(names)) + "|")
    for task in dict.fromkeys(row["task"] for row in rows):
        cells = [task]
        for name in names:
            own = [row for row in rows if (row["task"], row["rung"]) == (task, name)]
            whole, real = ([row for row in own if row["whole"] == kind] for kind in (True, False))
            members = sum(row["members"] for row in whole)
            seconds = [row["seconds"] for row in real]
            cells.append(f"{sum(row['fit'] for row in whole)} of {members}" if whole else "-")
            cells.append(f"{sum(row['fitted'] for row in own)} of {len(own)} runs" if own else "-")
            cells.append(f"{sum(seconds) / len(seconds):.0f}" if real else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="5,6")
    parser.add_argument("--tasks", default=",".join((*RANDOM, *BUILT_IN)))
    parser.add_argument("--rungs", default="before,deep")
    parser.add_argument("--only-real", action="store_true", help="no shares: the rungs as they are alone")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "deep.json")
    options = parser.parse_args()
    names, kinds = options.rungs.split(","), (False,) if options.only_real else (True, False)
    jobs = [
        (task, name, seed, whole)
        for whole in kinds
        for name in names
        for task in options.tasks.split(",")
        for seed in map(int, options.seeds.split(","))
    ]
    rows = []
    with mp.get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(measure, jobs):
            rows.append(row)
            print(row, flush=True)
    rows.sort(key=lambda row: jobs.index((row["task"], row["rung"], row["seed"], row["whole"])))
    command = " ".join(["python benchmarks/training/deep.py", *sys.argv[1:]])
    write_record(options.out, command, rows=rows)
    _, _, explained = (__doc__ or "").partition("--processes 2")
    text = f"# Deep rungs, before and after\n\n{explained.strip()}\n\n{report(rows, names)}\n"
    write_atomically(options.out.with_suffix(".md"), text)
    print(report(rows, names))


if __name__ == "__main__":
    main()
