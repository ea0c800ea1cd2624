"""Where does the Gumbel noise enter the paper's sampling? Both readings, on short trainings of its recipe.

    python benchmarks/training/noise.py

(logits + g) / tau against logits / tau + g, everything else alike: the paper's architecture of each task,
three members, batch 128 and a thirtieth of its steps. Losses are those of the discrete models, relative to
the variance.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.search import train_rung
from weights2code.training.train import ladder_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows

TASKS = ("sum_last2", "abs_of_diff", "unique_prev2", "maximum_prev2", "spring")


def losses(task: str, cooled: bool, epochs: int, steps: int, seed: int) -> dict[str, Any]:
    """The discrete losses of three members, lowest first."""
    settings = Settings(recipe="paper", members=3, samples=100_000, seed=seed)
    problem = problem_of(task, settings)
    (rung,) = ladder_of(problem, settings)
    recipe = replace(rung.recipe, epochs=epochs, steps_per_epoch=steps, batch=128, cooled=cooled)
    began = time.perf_counter()
    trained = train_rung(replace(rung, recipe=recipe), problem, settings, torch.device("cpu"))
    seconds = round(time.perf_counter() - began, 1)
    soft = sorted(trained.history[-1].soft_loss)
    return {"task": task, "cooled": cooled, "hard": sorted(trained.losses), "soft": soft, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "noise.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    asked = [arguments.tasks, arguments.epochs, arguments.steps, arguments.seed]
    rows = Rows(Path(__file__).parent / "runs" / "noise.jsonl", asked)
    done = {(row["task"], row["cooled"]) for row in rows.rows}
    for task in arguments.tasks.split(","):
        for cooled in (False, True):
            if (task, cooled) not in done:
                rows.add(losses(task, cooled, arguments.epochs, arguments.steps, arguments.seed))
                print(json.dumps(rows.rows[-1]), flush=True)
    seconds = round(sum(row["seconds"] for row in rows.rows), 1)
    command = " ".join(["python benchmarks/training/noise.py", *sys.argv[1:]])
    rows.finish(arguments.out, command, seconds=seconds)


if __name__ == "__main__":
    main()
