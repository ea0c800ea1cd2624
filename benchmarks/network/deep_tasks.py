"""Deep networks of built-in tasks: is the rule read from their nodes?

    python benchmarks/network/deep_tasks.py [--seeds 0,1,2] [--only TASK ...]

An architecture of two layers whose functions choose what they read is trained once for every task and seed,
and kept in `runs/deep_tasks/`: what is measured is the reading of networks that are given. Rules that are
regressed from the leaves do not count: nodes of the network must be in them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from weights2code.data import Problem
from weights2code.data.problem import Regime
from weights2code.effort import within
from weights2code.experiments.benchmark import Case, Options, run
from weights2code.experiments.cases import facts
from weights2code.experiments.jobs import Row
from weights2code.extraction.from_networks import extract
from weights2code.extraction.values import Log
from weights2code.results import Outcome
from weights2code.settings import Settings
from weights2code.training.storage import Trained
from weights2code.training.train import rungs_of

TASKS = ("bit_addition", "div_3", "Div_5", "Parity_Last4", "Base_7_Addition", "bit_dot_prod_mod_2")
#: The one architecture, and seconds that one network may be read for.
SIZES: dict[str, Any] = {"layers": 2, "heads": 4, "submlps": 3, "arity": 4}
SECONDS = 60.0


def cases(options: Options) -> dict[str, Case]:
    made = [
        Case.of_task(name, Settings(seed=seed, lowest_cut=1, **SIZES))
        for seed in options.seeds
        for name in TASKS
    ]
    return {case.name: case for case in made}


def network_of(problem: Problem, settings: Settings) -> Trained:
    """The network of a task and a seed, trained unless it is there."""
    file = Path(__file__).parent / "runs" / "deep_tasks" / f"{problem.name}-{settings.seed}.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        next(rungs_of(problem, settings)).save(file)
    return Trained.load(file, problem)


def measure(case: Case) -> Row:
    """One network, read."""
    problem = case.problem(case.settings)
    trained, log = network_of(problem, case.settings), Log(case.settings.seed, lowest_cut=1)
    began = time.process_time()
    with within(SECONDS):
        found = extract(trained, problem, Regime.EXACT, log)
    row: Row = {**case.labels, "fitted": trained.fitted, "seconds": round(time.process_time() - began, 2)}
    outcome = Outcome(found, trained, tuple(log.attempts), row["seconds"])
    solved = outcome.exit_code == 0 and case.judge(outcome.program and outcome.program.run).solved
    return row | facts(outcome, problem.integer_outputs) | {"solved": solved}


if __name__ == "__main__":
    run(__file__, __doc__, cases, measure, seeds=(0, 1, 2))
