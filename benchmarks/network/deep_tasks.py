"""Deep networks of built-in tasks: is the rule read from their nodes?

    python benchmarks/network/deep_tasks.py [--seeds 0,1,2] [--only TASK ...]

An architecture of two layers whose functions choose what they read is trained once for every task and seed,
and kept in `runs/deep_tasks/`: what is measured is the reading of networks that are given. Rules that are
regressed from the leaves do not count: nodes of the network must be in them. A row a network: the verdict,
the cut that the rule was found at, the nodes that are in it, seconds of reading. Results are written to
`results/deep_tasks.json` and `.md`; `--only` shows single tasks and records nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
from weights2code import tasks
from weights2code.data import Problem
from weights2code.data.problem import Regime
from weights2code.effort import within
from weights2code.experiments.limits import formula
from weights2code.experiments.tables import markdown
from weights2code.extraction.from_networks import extract
from weights2code.extraction.values import Log
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.search import Trained
from weights2code.training.train import rungs_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import write_record

HERE = Path(__file__).parent
TASKS = ("bit_addition", "div_3", "Div_5", "Parity_Last4", "Base_7_Addition", "bit_dot_prod_mod_2")
#: The one architecture.
SIZES: dict[str, Any] = {"layers": 2, "heads": 4, "submlps": 3, "arity": 4}
#: Seconds that one network may be read for.
SECONDS = 60.0
#: Sequences for the judgement, and how many times longer they are than in training.
FRESH, LONGER = 200, 4


def network_of(problem: Problem, settings: Settings) -> Trained:
    """The network of a task and a seed, trained unless it is there."""
    file = HERE / "runs" / "deep_tasks" / f"{problem.name}-{settings.seed}.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        next(rungs_of(problem, settings)).save(file)
    return Trained.load(file, problem)


def measure(name: str, seed: int) -> dict[str, Any]:
    """One network, read."""
    settings = Settings(seed=seed, lowest_cut=1, **SIZES)
    problem = problem_of(name, settings)
    trained, log = network_of(problem, settings), Log(seed, lowest_cut=1)
    began = time.process_time()
    with within(SECONDS):
        found = extract(trained, problem, Regime.EXACT, log)
    rule = found.certificate.rule if found else None
    return {
        "task": name,
        "seed": seed,
        "fitted": trained.fitted,
        "solved": found is not None and found.certificate.verified and right(name, found.program.run),
        "verdict": found.certificate.verdict if found else "not extracted",
        "cut": rule.cut if rule else None,
        "nodes": list(rule.nodes) if rule else None,
        "formula": found.program.formula() if found else None,
        "attempts": [attempt.to_dict() for attempt in log.attempts],
        "seconds": round(time.process_time() - began, 2),
    }


def right(name: str, run: Any) -> bool:
    """Whether a program equals its task on fresh, longer sequences."""
    task = tasks.get(name)
    x, y = task.sample(FRESH, length=LONGER * task.length, seed=1)
    return bool((abs(run(x) - y) <= 1e-6).all())


def report(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    cells = [
        (row["task"], row["seed"], "yes" if row["fitted"] else "no", row["verdict"],
         "-" if row["cut"] is None else row["cut"], ", ".join(row["nodes"] or ["-"]), row["seconds"],
         f"`{formula(row)}`")
        for row in rows
    ]  # fmt: skip
    head = ("task", "seed", "fits", "verdict", "cut", "nodes", "seconds", "program")
    fitted, solved = (sum(row[key] for row in rows) for key in ("fitted", "solved"))
    counts = f"{solved} of {len(rows)} networks read, {fitted} of them fit."
    return f"# Deep networks, read from their nodes\n\n{counts}\n\n{markdown(head, cells)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    rows = []
    for seed in map(int, options.seeds.split(",")):
        for name in options.only or TASKS:
            row = measure(name, seed)
            rows.append(row)
            print(name, seed, "fits" if row["fitted"] else "-", row["verdict"], "cut", row["cut"],
                  f"{row['seconds']} s", formula(row), flush=True)  # fmt: skip
    if options.only is None:
        record = HERE / "results" / "deep_tasks.json"
        command = " ".join(["python benchmarks/network/deep_tasks.py", *sys.argv[1:]])
        record.parent.mkdir(parents=True, exist_ok=True)
        record.with_suffix(".md").write_text(report(rows), encoding="utf-8")
        write_record(record, command, sizes=SIZES, rows=rows)


if __name__ == "__main__":
    main()
