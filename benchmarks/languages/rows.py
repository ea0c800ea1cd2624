"""How many rows a machine needs: fits of own data to finite languages, and merged states beside them.

    python benchmarks/languages/rows.py [--sequences 50,100,200,400] [--seeds 0,1,2] [--time-limit S]
                                        [--processes N] [--only TASK ...]

The fit sees so many sequences of length 12 and nothing else, as from a file. Its program is judged like every
other, at the lengths of the task; so are the states of RPNI (AALpy), which gets the same rows.
`results/rows.json` is written when all fits are there; what was stopped goes on where it was. `--only` shows
single languages and records nothing.
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
from run import PRELOADED

from weights2code import tasks
from weights2code.experiments.judging import solves
from weights2code.experiments.limits import formula
from weights2code.tasks.languages import FINITE

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows

HERE = Path(__file__).parent
#: The length of the sequences, and seconds for a fit.
SHORT, SECONDS = 12, 20.0


def measure(name: str, sequences: int, seed: int, time_limit: float) -> dict[str, Any]:
    """One fit, in this process; an error is a result."""
    from weights2code import ProgramRegressor

    task = tasks.get(name)
    x, y = task.sample(sequences, length=SHORT, seed=seed)
    beside = merging.measure(x, y, task, seed, time_limit)
    row: dict[str, Any] = {"task": task.name, "sequences": sequences, "seed": seed, "solved": False}
    began = time.perf_counter()
    try:
        model = ProgramRegressor(random_state=seed, time_limit=time_limit).fit(x, y[:, :, 0])
    except Exception as error:
        row |= {"verdict": "-", "formula": None, "error": f"{type(error).__name__}: {error}"}
        row["seconds"] = round(time.perf_counter() - began, 2)
        return row | beside
    row["seconds"] = round(time.perf_counter() - began, 2)
    row["solved"] = solves(lambda x: model.predict(x)[:, :, None], task, seed).solved
    row |= {"verdict": model.certificate_.verdict, "formula": "\n".join(model.equations_)}
    return row | beside


def measured(item: tuple[str, int, int, float]) -> dict[str, Any]:
    return measure(*item)


def show(row: dict[str, Any]) -> None:
    told = "ok  " if row["solved"] else "MISS"
    beside = f"rpni {row['rpni_states']} {'right' if row['rpni_exact'] else 'wrong'}"
    words = (told, row["task"], row["sequences"], row["seed"], row["verdict"], f"{row['seconds']} s")
    print(*words, f"| {beside} |", (row.get("error") or formula(row))[:150], flush=True)


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sequences", type=numbers, default=[50, 100, 200, 400])
    parser.add_argument("--seeds", type=numbers, default=[0, 1, 2])
    parser.add_argument("--time-limit", type=float, default=SECONDS, help="for each fit and each merging")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    names = [task.name for task in FINITE]
    asked = [
        (name, count, seed)
        for seed in options.seeds
        for count in options.sequences
        for name in options.only or names
    ]
    rows = None
    if options.only is None:
        rows = Rows(HERE / "runs" / "rows.jsonl", [options.sequences, options.seeds, options.time_limit])
        done = {(row["task"], row["sequences"], row["seed"]) for row in rows.rows}
        asked = [item for item in asked if item not in done]
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with context.Pool(options.processes, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(measured, [(*item, options.time_limit) for item in asked]):
            show(row)
            if rows is not None:
                rows.add(row)
    if rows is None:
        return
    rows.rows.sort(key=lambda row: (names.index(row["task"]), row["sequences"], row["seed"]))
    command = " ".join(["python benchmarks/languages/rows.py", *sys.argv[1:]])
    spent = round(sum(row["seconds"] for row in rows.rows), 1)
    rows.finish(
        HERE / "results" / "rows.json",
        command,
        sequences=options.sequences,
        seeds=options.seeds,
        time_limit=options.time_limit,
        run_seconds=spent,
    )


if __name__ == "__main__":
    main()
