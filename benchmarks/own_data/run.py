"""Fit every file and judge the programs by the machines behind the files.

    python benchmarks/own_data/run.py [--group all|simple|hard|fresh|deep] [--part develop|kept|all]
                                      [--time-limit S] [--processes N] [--only NAME ...]

Deep files have rules of three and four steps, and a record of their own; a part of them was kept back at
first. `--group all` is all others.
"""

from __future__ import annotations

from cases import CASES
from deep_cases import DEEP

from weights2code.experiments.benchmark import Case, Options, run
from weights2code.settings import Settings

GROUPS = ("all", "simple", "hard", "fresh", "deep")


def cases(options: Options) -> dict[str, Case]:
    settings = Settings(time_limit=options.time_limit)
    chosen = DEEP if options.group == "deep" else CASES
    return {
        case.name: Case(case.name, case.problem, case.judge, settings, case.labels)
        for case in chosen
        if options.group in ("all", case.group) and (case.part in ("", options.part) or options.part == "all")
    }


def record(options: Options) -> str:
    if options.group == "deep":
        return "deep" if options.part == "all" else f"deep_{options.part}"
    return "own_data" if options.group == "all" else f"own_data_{options.group}"


if __name__ == "__main__":
    parts = ["develop", "kept", "all"]
    run(__file__, __doc__, cases, record=record, group=list(GROUPS), part=parts, time_limit=120.0)
