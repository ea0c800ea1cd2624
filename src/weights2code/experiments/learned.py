"""Models whose output head is learned, as the paper's is: what its ablations and its dynamics are about.

The default recipe solves the head in closed form and stops as soon as the structure is found, so it has no
l1 penalty, no long annealing and hardly any dynamics to show. `paper` trains the paper's own way. `fast` is
the paper's loop with small numbers: a learned head and full annealing, but location heads, a few restarts,
batches of 64 and a thousand steps or so. Every restart has its row: nothing is selected.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights2code.experiments.experiment import Options
from weights2code.experiments.jobs import Job, Row, trains
from weights2code.experiments.members import asked
from weights2code.experiments.study import study_jobs
from weights2code.experiments.trained_models import folder_of, models_of

if TYPE_CHECKING:
    from weights2code.data import Problem
    from weights2code.settings import Settings
    from weights2code.training.ladder import Rung
    from weights2code.training.storage import Trained

LEARNED = f"{__name__}:anneal"

#: The fast numbers: restarts a seed, epochs, steps an epoch, batch, noise.
RESTARTS = 4
EPOCHS = 50
STEPS = 20
BATCH = 64
NOISE = 0.3
#: The paper's threshold is not given; this removes what its listings would print as 0.00.
EPSILON = 0.005
#: Seconds for the regressions of one listing.
REGRESSION_EFFORT = 3.0
#: Hard loss, relative to the variance, at which a model counts as fitting.
FITS = 1e-3
MODEL = "model.safetensors"


def learned_jobs(
    key: str,
    task: str,
    options: Options,
    sizes: dict[str, int],
    epochs: int | None = None,
    l1: float = 0.0,
    listings: bool = True,
    **label: Any,
) -> list[Job]:
    """One job a seed with the fast numbers; with the paper's, one for all of them.

    Models that are there already take the place of a training with the paper's.
    """
    given: Row = {"layout": options.layout_of(task), "l1": l1, **sizes}
    given |= {} if epochs is None else {"epochs": epochs}
    more = {"listings": listings}
    if options.models and (l1 or epochs is not None):
        more["only_the_same"] = True
    jobs = study_jobs(
        key,
        task,
        options,
        {"members": RESTARTS, **given},
        given,
        (LEARNED, LEARNED),
        recipe=options.recipe,
        **label,
    )
    return [replace(job, arguments=job.arguments | more) for job in jobs]


def train_models(arguments: dict[str, Any], folder: Path) -> None:
    """Train the members of the paper's recipe and leave them in the folder; small trainings gain nothing by
    it and are left to `anneal`."""
    trained = (folder / MODEL).exists() or "models" in arguments
    if arguments["settings"].get("recipe") == "paper" and not trained:
        trained_in(*asked(arguments), folder)


@trains(train_models)
def anneal(arguments: dict[str, Any], folder: Path) -> Row:
    """Train, or take models that are there, then, if asked, list every member in the paper's way, with its
    pruning step and without.

    Returns
    -------
    dict
        Under `members` a row each: a restart (`fast`) or a seed (`paper`); under `curves` soft and hard
        loss, discrepancy, agreement and temperature over the epochs, of the member that ends with the
        lowest hard loss (`fast`) or of all of them.
    """
    problem, settings = asked(arguments)
    trained = _taken(arguments) if "models" in arguments else trained_in(problem, settings, folder)
    began = time.perf_counter()
    members = [
        member_row(trained, member, problem, settings.seed, listings=arguments["listings"])
        for member in range(len(trained.losses))
    ]
    return {
        **arguments["label"],
        "seed": settings.seed,
        "layout": settings.layout,
        "training_seconds": round(trained.seconds, 3),
        "extraction_seconds": round(time.perf_counter() - began, 3),
        "seconds": round(trained.seconds + time.perf_counter() - began, 3),
        "members": members,
        "curves": curves(trained, problem, best_only=settings.recipe == "fast"),
    }


def _taken(arguments: dict[str, Any]) -> Trained:
    """Models that are there: those of the same run, else of the task and the sizes; a penalty, and epochs of
    its own, only the same run has."""
    from weights2code.training.storage import Trained

    own = folder_of(arguments) / MODEL
    if own.exists() or "only_the_same" in arguments:
        return Trained.load(own)
    sizes = {name: arguments["settings"][name] for name in ("layers", "heads", "submlps")}
    return next(iter(models_of(Path(arguments["models"]), arguments["task"], sizes).values()))


def trained_in(problem: Problem, settings: Settings, folder: Path) -> Trained:
    """The trained members; those of an earlier try are taken up where it stopped."""
    import torch

    from weights2code.training import train
    from weights2code.training.search import pick_device, train_rung
    from weights2code.training.storage import Trained

    if (folder / MODEL).exists():
        return Trained.load(folder / MODEL)
    torch.set_num_threads(train.THREADS)
    train.keep_freed_memory()
    if settings.recipe == "paper":
        (rung,) = train.ladder_of(problem, settings)
    else:
        rung = fast_rung(settings)
    checkpoint = folder / "current.safetensors"
    trained = train_rung(rung, problem, settings, pick_device(settings.device), checkpoint)
    trained.save(folder / MODEL)
    checkpoint.unlink(missing_ok=True)
    return trained


def fast_rung(settings: Settings) -> Rung:
    """One architecture of location heads with a learned head and no early end."""
    from weights2code.training.ladder import Rung, Variant
    from weights2code.training.recipes import Recipe

    recipe = Recipe(
        epochs=EPOCHS if settings.epochs is None else settings.epochs,
        steps_per_epoch=STEPS,
        batch=BATCH,
        noise=NOISE,
        head="learned",
        l1=settings.l1,
        tune_steps=0,
    )
    sizes = {"layers": settings.layers, "location": settings.heads, "submlps": settings.submlps, "arity": 2}
    concat = settings.layout == "concat"
    variant = Variant(settings.members or RESTARTS, past=settings.layout != "tagging")
    return Rung("learned head", sizes, recipe, (variant,), "concat" if concat else "autoregressive")


def short_training(rows: Sequence[Row]) -> str:
    """Why models of the fast numbers may be behind: how little they train."""
    trained = next((row["curves"]["soft_loss"] for row in rows if "curves" in row), None)
    if trained is None or rows[0].get("recipe") != "fast":
        return ""
    epochs = len(trained)
    return f"{epochs * STEPS} steps of batch {BATCH}; the paper's {epochs} epochs are {epochs * 1953} of 512"


def member_row(trained: Trained, member: int, problem: Problem, seed: int, *, listings: bool) -> Row:
    """Losses of one member, and its listings: as it is, pruned by the paper's threshold, pruned by effect."""
    from weights2code.errors import NotExtracted
    from weights2code.experiments.measures import (
        explained_as_it_is,
        listing_as_it_is,
        listing_of,
        model_score,
        restricted,
    )
    from weights2code.extraction.members import prune
    from weights2code.graph import prune_by_threshold
    from weights2code.graph.from_model import graph_of

    graph = graph_of(trained.weights, member, trained.layout, problem)
    found = model_score(graph, problem)
    row: Row = {
        "member": member,
        "loss": trained.losses[member],
        "mse": found.mse,
        "model_accuracy": found.accuracy,
        "fits": trained.losses[member] < FITS,
    }
    if not listings:
        return row
    whole = explained_as_it_is(graph, problem, REGRESSION_EFFORT)
    for name, pruned in (("unpruned", graph), ("pruned", prune_by_threshold(graph, EPSILON))):
        try:
            row |= listing_of(restricted(whole, pruned), problem, seed).row(name)
        except NotExtracted:
            continue
    by_effect = listing_as_it_is(prune(graph, problem), problem, seed, REGRESSION_EFFORT)
    return row | (by_effect.row("by_effect") if by_effect else {})


def curves(trained: Trained, problem: Problem, *, best_only: bool) -> Row:
    """Metrics over epochs; losses relative to the variance, as the loop records them."""
    import numpy as np

    history = trained.history
    last = np.array(history[-1].hard_loss)
    chosen = [int(np.argmin(last))] if best_only else list(range(len(last)))

    def over_epochs(name: str) -> list[float]:
        return [float(np.mean(np.array(getattr(epoch, name))[chosen])) for epoch in history]

    return {
        **{name: over_epochs(name) for name in ("soft_loss", "hard_loss", "discrepancy", "agreement")},
        "temperature": [epoch.temperature for epoch in history],
    }
