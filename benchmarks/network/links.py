"""What is known of the networks behind the programs: every task of the paper and of MIPS, from start to end.

    python benchmarks/network/links.py [--suite paper|mips] [--seeds 0,1,2] [--processes N] [--only TASK ...]

A row a run: the verdict on the program, that on its network as it was trained, and that on the network that
was taught where that was needed, with all that tables say of them; and the seconds of the link alone.
"""

from __future__ import annotations

import time
from typing import Any

from weights2code import pipeline
from weights2code.experiments.benchmark import Case, Options, run, solve
from weights2code.experiments.jobs import Row
from weights2code.settings import Settings
from weights2code.tasks import all_tasks

#: Where the pipeline makes, or compares, a network.
LINKS = ("with_network", "with_made_network")


def cases(options: Options) -> dict[str, Case]:
    suites = ("paper", "mips") if options.suite == "both" else (options.suite,)
    tasks = dict.fromkeys(task for suite in suites for task in all_tasks(suite))
    made = [
        Case.of_task(t.name, Settings(seed=seed), suites=list(t.suites), whole=t.integer_outputs)
        for t in tasks
        for seed in options.seeds
    ]
    return {case.name: case for case in made}


def measure(case: Case) -> Row:
    """A run in a process of its own, whose links are timed where they are made."""
    spent = 0.0

    def timed(link: Any) -> Any:
        def linked(*arguments: Any, **named: Any) -> Any:
            nonlocal spent
            began = time.process_time()
            try:
                return link(*arguments, **named)
            finally:
                spent += time.process_time() - began

        return linked

    for name in LINKS:
        setattr(pipeline, name, timed(getattr(pipeline, name)))
    return solve(case) | {"link_seconds": round(spent, 2)}


if __name__ == "__main__":
    run(__file__, __doc__, cases, measure, suite=["both", "paper", "mips"], seeds=(0, 1, 2))
