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
    "plain": {},
    "leak .1": {"leak": 0.1, "leak_fades": False},
    "leak .1, fading": {"leak": 0.1},
    "leak .3, fading": {"leak": 0.3},
    "fading, hidden 32": {"leak": 0.1, "hidden": 32},
    "fading, uncooled noise": {"leak": 0.1, "cooled": False},
    "fading, noise .3": {"leak": 0.1, "noise": 0.3},
    "fading, rate .02": {"leak": 0.1, "learning_rate": 0.02},
    "fading, rate .01": {"leak": 0.1, "learning_rate": 0.01},
    "fading, no weight decay": {"leak": 0.1, "weight_decay": 0.0},
    "rate .01": {"learning_rate": 0.01},
    "fading, rate .02, hidden 32": {"leak": 0.1, "learning_rate": 0.02, "hidden": 32},
    "fading, rate .01, hidden 32": {"leak": 0.1, "learning_rate": 0.01, "hidden": 32},
    "fading, rate .01, hidden 64": {"leak": 0.1, "learning_rate": 0.01, "hidden": 64},
    "fading, rate .01, uncooled noise": {"leak": 0.1, "learning_rate": 0.01, "cooled": False},
    "fading, rate .005": {"leak": 0.1, "learning_rate": 0.005},
    "fading, rate .002": {"leak": 0.1, "learning_rate": 0.002},
    "fading, rate .01, noise .3": {"leak": 0.1, "learning_rate": 0.01, "noise": 0.3},
    "fading, rate .005, noise .3": {"leak": 0.1, "learning_rate": 0.005, "noise": 0.3},
    "fading, rate .002, noise .3": {"leak": 0.1, "learning_rate": 0.002, "noise": 0.3},
    "fading, rate .005, no weight decay": {"leak": 0.1, "learning_rate": 0.005, "weight_decay": 0.0},
    "fading, rate .005, hidden 32": {"leak": 0.1, "learning_rate": 0.005, "hidden": 32},
    "fading, rate .005, hidden 64": {"leak": 0.1, "learning_rate": 0.005, "hidden": 64},
    "fading, rate .01, noise 2": {"leak": 0.1, "learning_rate": 0.01, "noise": 2.0},
}
#: The paper's rate, and its epochs; two tasks train longer, at a lower rate.
PRINTED, USUAL_EPOCHS = 0.05, 50
Asked = tuple[str, tuple[str, ...], int, str, int | None, int | None]


def train(asked: Asked) -> list[dict[str, Any]]:
    """All variations of one task, as members of one batched program."""
    task, variations, members, device, epochs, samples = asked
    import torch

    from weights2code.data import fit_layout
    from weights2code.settings import Settings
    from weights2code.source import problem_of
    from weights2code.training.fused.program import FusedTraining
    from weights2code.training.loop import evaluate_hard, start, to_batch
    from weights2code.training.search import first_scored_of, rounding_accuracy
    from weights2code.training.step import target_variance
    from weights2code.training.train import ladder_of

    torch.set_num_threads(1)
    settings = Settings(recipe="paper", members=members, epochs=epochs, samples=samples)
    problem = problem_of(task, settings)
    (rung,) = ladder_of(problem, settings)
    layout = fit_layout(rung.layout, problem.training, first_scored_of(rung, problem))
    training, validation = (
        to_batch(layout.encode(part), torch.device(device)) for part in (problem.training, problem.validation)
    )
    variance = target_variance(training[1], training[2])
    recipes = [varied(rung.recipe, VARIATIONS[name]) for name in variations]
    model = side_by_side(rung, problem, training, [VARIATIONS[name] for name in variations]).to(device)
    of_members = [recipe for recipe in recipes for _ in range(members)]
    began = time.perf_counter()
    program = FusedTraining(
        model, start(model, rung.recipe).optimizer, training, rung.recipe, variance, settings.seed, of_members
    )
    model.leak = torch.tensor([recipe.leak_at(1.0) for recipe in of_members], device=device)
    model.leak = model.leak.repeat_interleave(model.architecture.submlps)[:, None, None]
    generator = torch.Generator(device=device)
    best = torch.full((len(of_members),), torch.inf, device=device)
    right, soft = torch.zeros_like(best), best
    for epoch in range(rung.recipe.epochs):
        generator.manual_seed(settings.seed * 1_000_003 + epoch)
        soft = program.run_epoch(epoch, generator)
        hard = evaluate_hard(model, validation, variance)
        accuracy = rounding_accuracy(model, validation, layout).to(best.dtype)
        right = torch.where(hard < best, accuracy, right)
        best = torch.minimum(hard, best)
    seconds = round(time.perf_counter() - began, 1)
    scales = torch.tensor(layout.output_scales, dtype=torch.float64, device=device)
    paper = paper_numbers.number(paper_numbers.by_task("architectures")[task]["train_loss"])
    relative = paper / float((variance * scales**2).mean()) if paper else None
    return [
        {
            "task": task,
            "variation": name,
            "losses": best[own].tolist(),
            "accuracies": right[own].tolist(),
            "soft": soft[own].tolist(),
            "paper": relative,
            "seconds": seconds,
        }
        for name, own in (
            (name, slice(index * members, (index + 1) * members)) for index, name in enumerate(variations)
        )
    ]


def varied(recipe: Any, given: dict[str, Any]) -> Any:
    """The recipe with what a variation changes; a task with a lower rate of its own keeps it."""
    given = {"leak": 0.0, "learning_rate": PRINTED, **given}
    if recipe.epochs > USUAL_EPOCHS:  # a task that the paper trains longer, at a rate of its own
        given["learning_rate"] = recipe.learning_rate
    return replace(recipe, **{name: value for name, value in given.items() if name != "hidden"})


def side_by_side(rung: Any, problem: Any, training: Any, given: list[dict[str, Any]]) -> Any:
    """One ensemble of all variations: units that a narrow one lacks have weights of 0, which stay so."""
    import torch

    from weights2code.training.build import build

    low = min(float(training[0].min()), float(training[1].min()))
    high = max(float(training[0].max()), float(training[1].max()))
    widths = [one.get("hidden", 16) for one in given]
    every = sum(variant.members for variant in rung.variants) * len(given)
    variants = tuple(replace(variant, members=every) for variant in rung.variants)

    def built(hidden: int, variants: Any) -> Any:
        own = replace(rung, sizes={**rung.sizes, "hidden": hidden}, variants=variants)
        return build(own, problem, training[0].shape[0], (low, high), 0)

    whole, members = built(max(widths), variants), every // len(given)
    units = {"hidden_weight": 3, "hidden_bias": 3, "output_weight": 4}
    with torch.no_grad():
        for index, width in enumerate(widths):
            narrow = dict(built(width, rung.variants).named_parameters())
            for name, parameter in whole.named_parameters():
                own = parameter[index * members : (index + 1) * members]
                if name in units:
                    own.zero_()
                    own = own.narrow(units[name], 0, width)
                own.copy_(narrow[name])
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--variations", default=";".join(VARIATIONS), help="names, with ; between them")
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "recipe.json")
    arguments = parser.parse_args()
    tasks, variations = arguments.tasks.split(","), arguments.variations.split(";")
    numbers = (arguments.members, arguments.device, arguments.epochs, arguments.samples)
    rows = Rows(Path(__file__).parent / "runs" / "recipe.jsonl", [variations, *numbers])
    done = {row["task"] for row in rows.rows}
    asked = [(task, tuple(variations), *numbers) for task in tasks if task not in done]
    with get_context("spawn").Pool(arguments.jobs) as pool:
        for row in (row for found in pool.imap_unordered(train, asked) for row in found):
            rows.add(row)
            said = [f"{row['task']:22s} {row['variation']:24s}", *(f"{loss:.1e}" for loss in row["losses"])]
            print(*said, f" paper {row['paper'] or 0:.1e}  {row['seconds']} s", flush=True)
    command = f"python benchmarks/training/recipe.py {shlex.join(sys.argv[1:])}".strip()
    rows.finish(arguments.out, command, arguments.device)


if __name__ == "__main__":
    main()
