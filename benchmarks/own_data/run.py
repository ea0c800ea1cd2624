"""Fit every file and judge the programs by the machines behind the files.

python benchmarks/own_data/run.py [--time-limit S] [--processes N] [--only NAME ...]
"""

from __future__ import annotations

from cases import CASES

from weights2code.experiments.benchmark import Case, Options, run
from weights2code.settings import Settings


def cases(options: Options) -> dict[str, Case]:
    settings = Settings(time_limit=options.time_limit)
    return {case.name: Case(case.name, case.problem, case.judge, settings, case.labels) for case in CASES}


if __name__ == "__main__":
    run(__file__, __doc__, cases, record=lambda options: "own_data", time_limit=120.0)
