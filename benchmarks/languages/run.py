"""The suite of formal languages: is the program found and proved, and what do merged states give beside it?

    python benchmarks/languages/run.py [--seeds 0,1,2] [--time-limit S] [--processes N] [--only TASK ...]

Beside each run, on the very rows that the search was given, RPNI (AALpy): its states, whether the same judge
finds them right, seconds. The limit is for each search and each merging.
"""

from __future__ import annotations

import merging

from weights2code.experiments.benchmark import Case, Options, run, solve
from weights2code.experiments.jobs import Row
from weights2code.settings import Settings
from weights2code.tasks import all_tasks, get
from weights2code.tasks.languages import FINITE


def cases(options: Options) -> dict[str, Case]:
    made = [
        Case.of_task(task.name, Settings(seed=seed, time_limit=options.time_limit), finite=task in FINITE)
        for task in all_tasks("languages")
        for seed in options.seeds
    ]
    return {case.name: case for case in made}


def measure(case: Case) -> Row:
    rows, settings = case.problem(case.settings).training, case.settings
    beside = merging.measure(
        rows.x, rows.y, get(case.labels["task"]), settings.seed, settings.time_limit or 60
    )
    return solve(case) | beside


if __name__ == "__main__":
    run(__file__, __doc__, cases, measure, record="languages", seeds=(0, 1, 2), time_limit=60.0)
