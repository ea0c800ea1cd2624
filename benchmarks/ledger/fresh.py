"""Draw a seed that nobody has seen and count what is solved of its programs; nothing else is shown.

python benchmarks/ledger/fresh.py [--count 24] [--generator steps|trees] [--processes N] [--seed N]
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import pool
import problems
import runs

from weights2code.experiments.engines.local import cores
from weights2code.experiments.tables import markdown

#: Seeds beyond those that records and pages name.
FROM, UP_TO = 10_000, 2**31


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--generator", choices=("steps", "trees"), default="steps")
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--seed", type=int, help="measure this one again")
    options = parser.parse_args()
    seed = options.seed or FROM + secrets.randbelow(UP_TO - FROM)
    group = f"{options.generator} {seed}"
    problems.RANDOM[group] = (options.generator, options.count, seed, None)
    programs = {program.name: program for program in problems.random_programs(group)}
    asked = [{"key": f"{group}/{name}", "group": group, "name": name} for name in programs]
    runs.prepare(asked)
    counts: dict[str, Counter[str]] = {}
    for record, answer in pool.work_off(asked, runs.replay, options.processes, batch=1, limit=1200.0):
        for size in (str(programs[record["name"]].size), "all"):
            found = counts.setdefault(size, Counter())
            found["programs"] += 1
            found["solved"] += answer.get("solved", False)
            found["proved"] += answer.get("solved", False) and answer.get("verdict") == "proved"
            found["seconds"] += round(answer.get("seconds", 0.0))
    head = ("size", "programs", "solved", "proved", "seconds")
    print(f"seed {seed}, {options.generator}")
    print(markdown(head, [(size, *(counts[size][name] for name in head[1:])) for size in sorted(counts)]))


if __name__ == "__main__":
    main()
