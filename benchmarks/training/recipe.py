"""What the paper leaves open about its recipe, varied one thing at a time, full trainings.

    python benchmarks/training/recipe.py [--device cuda] [--members N] [--tasks A,B] [--variations A,B]

Each task with the paper's architecture of it, a million sequences, its epochs and batch. Losses are those of
the discrete models, relative to the variance, best checkpoint; beside them the paper's training loss on the
same scale. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import Rows
from weights2code.experiments import paper_numbers

#: The tasks on which the plain recipe fell behind the paper, and some on which it did not.
TASKS = (
    "add_mod_3", "unique_prev2", "abs_of_diff", "balanced_parenthesis", "div_3", "maximum_prev2",
    "bit_dot_prod_mod_2", "linear_drop", "quadratic_drop", "bit_addition",
)  # fmt: skip
#: Numbers of the recipe, and sizes of the model, that differ from the plain one.
VARIATIONS: dict[str, dict[str, Any]] = {
    "plain": {"leak": 0.0},
    "leak .1": {"leak": 0.1, "leak_fades": False},
    "leak .1, fading": {"leak": 0.1},
    "leak .3, fading": {"leak": 0.3},
    "fading, hidden 32": {"leak": 0.1, "hidden": 32},
    "fading, hidden 64": {"leak": 0.1, "hidden": 64},
    "fading, uncooled noise": {"leak": 0.1, "cooled": False},
    "fading, noise .3": {"leak": 0.1, "noise": 0.3},
    "fading, rate .02": {"leak": 0.1, "learning_rate": 0.02},
    "fading, rate .01": {"leak": 0.1, "learning_rate": 0.01},
    "fading, no weight decay": {"leak": 0.1, "weight_decay": 0.0},
}
SIZES = ("hidden",)


def train(asked: tuple[str, str, int, str, int | None, int | None]) -> dict[str, Any]:
    """One variation of one task."""
    task, variation, members, device, epochs, samples = asked
    import torch

    from weights2code.settings import Settings
    from weights2code.source import problem_of
    from weights2code.training.ladder import Variant
    from weights2code.training.search import train_rung
    from weights2code.training.step import target_variance
    from weights2code.training.train import ladder_of

    torch.set_num_threads(1)
    settings = Settings(recipe="paper", members=members, epochs=epochs, samples=samples)
    problem = problem_of(task, settings)
    (rung,) = ladder_of(problem, settings)
    given = dict(VARIATIONS[variation])
    sizes = {name: given.pop(name) for name in SIZES if name in given}
    if "learning_rate" in given and rung.recipe.learning_rate < given["learning_rate"]:
        del given["learning_rate"]  # tasks with a lower one of their own keep it
    variants = tuple(Variant(members, past=variant.past) for variant in rung.variants)
    rung = replace(
        rung, recipe=replace(rung.recipe, **given), sizes={**rung.sizes, **sizes}, variants=variants
    )
    began = time.perf_counter()
    trained = train_rung(rung, problem, settings, torch.device(device))
    seconds = time.perf_counter() - began
    first = trained.layout.first_scored
    targets = torch.from_numpy(problem.validation.y[:, first:]).permute(2, 1, 0).double()
    variance = float(target_variance(targets, torch.ones(targets.shape[1:], dtype=torch.bool)).mean())
    paper = paper_numbers.number(paper_numbers.by_task("architectures")[task]["train_loss"])
    return {
        "task": task,
        "variation": variation,
        "losses": sorted(trained.losses),
        "accuracies": sorted(trained.accuracies, reverse=True),
        "soft": sorted(trained.history[-1].soft_loss),
        "paper": paper / variance if paper else None,
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--variations", default=";".join(VARIATIONS), help="names, with ; between them")
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "recipe.json")
    arguments = parser.parse_args()
    tasks, variations = arguments.tasks.split(","), arguments.variations.split(";")
    numbers = (arguments.members, arguments.device, arguments.epochs, arguments.samples)
    rows = Rows(Path(__file__).parent / "runs" / "recipe.jsonl", numbers)
    done = {(row["task"], row["variation"]) for row in rows.rows}
    asked = [
        (task, variation, *numbers)
        for variation in variations
        for task in tasks
        if (task, variation) not in done
    ]
    with get_context("spawn").Pool(arguments.jobs) as pool:
        for row in pool.imap_unordered(train, asked):
            rows.add(row)
            said = [f"{row['task']:22s} {row['variation']:24s}", *(f"{loss:.1e}" for loss in row["losses"])]
            print(*said, f" paper {row['paper'] or 0:.1e}  {row['seconds']} s", flush=True)
    command = f"python benchmarks/training/recipe.py {shlex.join(sys.argv[1:])}".strip()
    rows.finish(arguments.out, command, arguments.device)


if __name__ == "__main__":
    main()
