"""What the paper leaves open about its recipe, varied one thing at a time, full trainings.

    python benchmarks/training/recipe.py [--part recipe|recipe_rates|recipe_drops] [--tasks A,B]
                                         [--variations A;B] [--members N] [--device cuda]

Each task with the paper's architecture of it, a million sequences, its epochs and batch. Losses are those of
the discrete models, relative to the variance, best checkpoint; beside them the paper's training loss on the
same scale. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from weights2code.experiments import paper_numbers
from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row

#: The paper's rate, and its epochs; two tasks train longer, at a lower rate.
PRINTED, USUAL_EPOCHS = 0.05, 50
#: The tasks and the variations of each record.
RECORDS = {
    "recipe": (
        "abs_of_diff,add_mod_3,unique_prev2,bit_dot_prod_mod_2,quadratic_drop",
        "plain;leak .1;leak .1, fading;leak .3, fading;fading, hidden 32;fading, uncooled noise;"
        "fading, noise .3;fading, rate .02;fading, rate .01;fading, no weight decay",
    ),
    "recipe_rates": (
        "quadratic_drop,abs_of_diff,bit_addition,add_mod_3,unique_prev2,linear_drop",
        "rate .01;fading, rate .02, hidden 32;fading, rate .01, hidden 32;fading, rate .01, hidden 64;"
        "fading, rate .01, uncooled noise;fading, rate .005",
    ),
    "recipe_drops": (
        "linear_drop,quadratic_drop",
        "fading, rate .01;fading, rate .002;fading, rate .005, noise .3;fading, rate .01, noise 2;"
        "fading, rate .005, no weight decay;fading, rate .005, hidden 32;fading, rate .005, hidden 64",
    ),
}
Asked = tuple[str, tuple[str, ...], Options]


def cases(options: Options) -> dict[str, Asked]:
    tasks, variations = RECORDS[options.part]
    named = tuple((options.variations or variations).split(";"))
    return {task: (task, named, options) for task in (options.tasks or tasks).split(",")}


def measure(asked: Asked) -> Row:
    """All variations of one task, one after the other."""
    task, variations, options = asked
    import numpy as np
    import torch

    from weights2code.settings import Settings
    from weights2code.source import problem_of
    from weights2code.training.ladder import ladder_of
    from weights2code.training.search import train_rung

    torch.set_num_threads(1)
    settings = Settings(recipe="paper", members=options.members)
    problem = problem_of(task, settings)
    (rung,) = ladder_of(problem, settings)
    paper = paper_numbers.number(paper_numbers.by_task("architectures")[task]["train_loss"])
    began, rows = time.perf_counter(), []
    for name in variations:
        given = numbers(name)
        sizes = {**rung.sizes, "hidden": given.get("hidden", 16)}
        one = replace(rung, sizes=sizes, recipe=varied(rung.recipe, given))
        trained = train_rung(one, problem, settings, torch.device(options.device), ordered=False)
        variance = float(problem.training.y[:, trained.layout.first_scored :].var((0, 1)).mean())
        row = {"task": task, "variation": name, "paper": paper / variance if paper else None}
        row["losses"] = np.min([epoch.hard_loss for epoch in trained.history], axis=0).tolist()
        rows.append(
            row | {"accuracies": list(trained.accuracies), "soft": list(trained.history[-1].soft_loss)}
        )
    return {"task": task, "seconds": round(time.perf_counter() - began, 1), "members": rows}


def numbers(variation: str) -> dict[str, Any]:
    """The numbers of the recipe, and the width of the model, that a variation names."""
    found: dict[str, Any] = {"leak_fades": "fading" in variation}
    found |= {"leak": 0.1} if found["leak_fades"] else {}
    for words in variation.split(", "):
        if words == "uncooled noise":
            found["cooled"] = False
        elif words == "no weight decay":
            found["weight_decay"] = 0.0
        elif words not in ("plain", "fading"):
            name, value = words.split()
            found[{"rate": "learning_rate"}.get(name, name)] = (
                int(value) if name == "hidden" else float(value)
            )
    return found


def varied(recipe: Any, given: dict[str, Any]) -> Any:
    """The recipe with what a variation changes; a task with a lower rate of its own keeps it."""
    given = {"leak": 0.0, "learning_rate": PRINTED, **given}
    if recipe.epochs > USUAL_EPOCHS:  # a task that the paper trains longer, at a rate of its own
        given["learning_rate"] = recipe.learning_rate
    return replace(recipe, **{name: value for name, value in given.items() if name != "hidden"})


def shown(row: Row) -> str:
    lines = [(one["variation"], *(f"{loss:.1e}" for loss in one["losses"])) for one in row.get("members", ())]
    return "\n".join(" ".join((row["key"], *line)) for line in lines) or f"{row['key']}: {row['error']}"


if __name__ == "__main__":
    own = {"part": [*RECORDS], "tasks": "", "variations": "", "members": 4, "device": "cuda"}
    run(__file__, __doc__, cases, measure, record=lambda options: options.part, show=shown, **own)
