"""Where does the Gumbel noise enter the paper's sampling? Both readings, on short trainings of its recipe.

    python benchmarks/training/noise.py

(logits + g) / tau against logits / tau + g, everything else alike: the paper's architecture of each task,
three members, batch 128 and a thirtieth of its steps. Losses are those of the discrete models, relative to
the variance.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import torch

from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.search import train_rung
from weights2code.training.train import ladder_of

TASKS = ("sum_last2", "abs_of_diff", "unique_prev2", "maximum_prev2", "spring")
Asked = tuple[str, bool, Options]


def cases(options: Options) -> dict[str, Asked]:
    both = product(options.tasks, (False, True))
    return {f"{task}{' cooled' * cooled}": (task, cooled, options) for task, cooled in both}


def measure(asked: Asked) -> Row:
    """The discrete losses of three members, lowest first."""
    task, cooled, options = asked
    settings = Settings(recipe="paper", members=3, samples=100_000, seed=options.seed)
    problem = problem_of(task, settings)
    (rung,) = ladder_of(problem, settings)
    numbers = {"epochs": options.epochs, "steps_per_epoch": options.steps, "batch": 128}
    recipe = replace(rung.recipe, **numbers, cooled=cooled)
    trained = train_rung(replace(rung, recipe=recipe), problem, settings, torch.device("cpu"))
    soft = sorted(trained.history[-1].soft_loss)
    return {"task": task, "cooled": cooled, "hard": sorted(trained.losses), "soft": soft}


if __name__ == "__main__":
    run(__file__, __doc__, cases, measure, show=str, tasks=TASKS, epochs=10, steps=300, seed=0)
