"""One rung of the ladder as one batched program: all members are trained at once, the best are finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from weights2code.data import Encoded, Layout, Problem, fit_layout
from weights2code.effort import TimeUp, work
from weights2code.errors import InputError
from weights2code.graph import prune_by_threshold
from weights2code.graph.from_model import graph_of
from weights2code.heads import EQUALITY_SHARPNESS, sharpness_for
from weights2code.model.sampler import HARD
from weights2code.model.transformer import DiscreteTransformer
from weights2code.progress import Progress
from weights2code.settings import Settings
from weights2code.training.build import build, hide
from weights2code.training.ladder import Rung
from weights2code.training.loop import (
    LoopState,
    evaluate_hard,
    load_loop,
    run_loop,
    save_loop,
    start,
    to_batch,
    tune,
)
from weights2code.training.polish import clear_location_heads, polish
from weights2code.training.step import Batch, Validation, sequences_of, target_variance
from weights2code.training.storage import Epoch, RungKind, Trained

#: Relative hard loss at which a rung counts as fitted: real outputs, and integer ones (which must also all
#: round to the right number).
FITTED_REAL = 1e-6
FITTED_INTEGER = 1e-3
#: A hard loss that tuning need not improve.
FITTED_EXACTLY = 1e-10
#: Annealing stops early at this hard loss, for real and for integer outputs: the structure is found, and
#: tuning does the rest. Tuning does nothing for heads that look for content, which must get it right
#: themselves.
STOP_BELOW = {False: 1e-7, True: 1e-4}
#: Members that are polished and tuned after annealing, and sequences that judge discrete moves.
FINALISTS = 4
POLISH_SEQUENCES = 128
#: Weights of the head that count when members are ordered by what they use, as a share of the largest.
NOTICED = 1e-3
#: Sequences of own data of at least this length can do without their first output in training.
SHORTEST_WITH_START = 4

#: Seconds between two checkpoints of a rung: epochs of small rungs are shorter than writing one is worth.
CHECKPOINT_INTERVAL = 1.0

#: Called with the record of a rung under way whenever its checkpoint was written.
Record = Callable[[Sequence[Epoch]], None]


def pick_device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda was asked for, but PyTorch finds no CUDA device; use cpu or auto.")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


@dataclass(slots=True, eq=False)
class Prepared:
    """A rung before its training: the ensemble, and the data that it learns from and is judged by."""

    layout: Layout
    model: DiscreteTransformer
    training: Batch
    validation: Validation

    @staticmethod
    def of(rung: Rung, problem: Problem, settings: Settings, device: torch.device) -> Prepared:
        layout = fit_layout(rung.layout, problem.training, first_scored_of(rung, problem))
        dtype, sharpness = _comparison(rung, problem, layout)
        encoded, judged = layout.encode(problem.training, dtype), layout.encode(problem.validation, dtype)
        training, validation = to_batch(encoded, device), to_batch(judged, device)
        model = build(rung, problem, layout.channels, value_range(encoded), settings.seed, sharpness)
        if settings.hide:
            hide(model, settings.hide, problem, rung.layout)
        return Prepared(layout, model.to(device, training[0].dtype), training, validation)


def train_rung(
    rung: Rung,
    problem: Problem,
    settings: Settings,
    device: torch.device,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    record: Record | None = None,
    *,
    some: bool = False,
    ordered: bool = True,
) -> Trained:
    """Anneal the whole ensemble, then settle and tune its best members; `ordered` puts the best first.

    If the time limit cuts it short: what there is of it, or `TimeUp` if there is `some` other rung.
    """
    began, before = time.perf_counter(), work()
    own = Prepared.of(rung, problem, settings, device)
    state = start(own.model, rung.recipe)
    unfinished, saved, identity = False, time.monotonic(), {"rung": rung.name, "seed": settings.seed}

    def on_epoch(state: LoopState) -> None:
        """Now and then a checkpoint and the record, and always a word."""
        nonlocal saved
        if checkpoint and time.monotonic() - saved >= CHECKPOINT_INTERVAL:
            save_loop(checkpoint, state, identity)
            saved = time.monotonic()
            if record:
                record(state.history)
        if progress:
            last = state.history[-1]
            detail = f"loss {min(last.hard_loss):.1e}, temperature {last.temperature:.2g}"
            progress(f"network {rung.name}", state.epoch, rung.recipe.epochs, detail)

    try:
        if rung.recipe.epochs:
            if checkpoint and checkpoint.exists():
                load_loop(checkpoint, state, rung.recipe, identity)
                began -= sum(epoch.seconds for epoch in state.history)
            stop = stop_of(rung, problem)
            run_loop(
                state, own.training, own.validation, rung.recipe, settings.seed, rung.name, on_epoch, stop
            )
        if rung.recipe.solves_head:
            state.model = finish(rung, state.model, own.training, own.validation, settings.seed)
    except TimeUp:
        if some:
            raise
        unfinished = True
    data = (own.validation[0].double(), own.validation[1].double(), own.validation[2])
    asked = rung.name, rung.kind, rung.recipe.head, own.layout
    found = rank(*asked, state.model.double(), data, problem, ordered=ordered)
    seconds, history = time.perf_counter() - began, tuple(state.history)
    if not history:  # discrete from the start, so soft and hard are the same
        losses, count = found.losses, len(found.losses)
        lists = losses, losses, (0.0,) * count, (1.0,) * count
        history = (Epoch(rung.name, 0, *lists, rung.recipe.annealing.last, seconds),)
    return replace(found, history=history, seconds=seconds, work=work() - before, unfinished=unfinished)


def stop_of(rung: Rung, problem: Problem) -> float | None:
    """Below which hard loss annealing has found what it can find, and finishing does the rest."""
    if not rung.recipe.solves_head:
        return None
    return STOP_BELOW[problem.integer_outputs and not rung.sizes.get("pointer")]


def finish(
    rung: Rung, model: DiscreteTransformer, training: Batch, validation: Validation, seed: int
) -> DiscreteTransformer:
    """Polish the discrete choices of the best members and tune them; only those are kept."""
    head = rung.recipe.head
    assert head != "learned"
    variance = target_variance(training[1], training[2])
    losses = evaluate_hard(model, validation, variance, head)
    if not rung.recipe.epochs:
        clear_location_heads(model)
    model = model.take(losses.argsort()[:FINALISTS].tolist() if rung.recipe.epochs else range(model.members))
    if rung.recipe.polish:
        polish(model, sequences_of(training, slice(POLISH_SEQUENCES)), variance)
    if float(losses.min()) > FITTED_EXACTLY:
        tune(model, training, validation, rung.recipe.tune_steps, seed, head)
    return model


def rank(
    name: str,
    kind: RungKind,
    head: str,
    layout: Layout,
    model: DiscreteTransformer,
    data: Validation,
    problem: Problem,
    *,
    ordered: bool = True,
) -> Trained:
    """Order the members: those that fit first, among them the ones that use least, then by loss."""
    losses = evaluate_hard(model, data, target_variance(data[1], data[2]), head)
    accuracy = rounding_accuracy(model, data, layout)
    integer = problem.integer_outputs
    fits = (losses < FITTED_INTEGER) & (accuracy == 1.0) if integer else losses < FITTED_REAL
    weights = model.weights()

    def key(member: int) -> tuple[bool, int, float]:
        """How many variables the output depends on is a first guess at the size of its program."""
        used = 0
        if fits[member]:
            graph = graph_of(weights, member, layout, problem)
            used = len(prune_by_threshold(graph, NOTICED * float(np.abs(graph.head[:, :-1]).max())).live())
        return (not bool(fits[member]), used, float(losses[member]))

    order = sorted(range(model.members), key=key) if ordered else list(range(model.members))
    return Trained(
        name,
        kind,
        layout,
        weights.take(order),
        tuple(losses[order].tolist()),
        tuple(accuracy[order].tolist()),
        bool(fits[order[0]] if ordered else fits.any()),
        (),
        0.0,
        integer_outputs=integer,
    )


def rounding_accuracy(model: DiscreteTransformer, data: Batch, layout: Layout) -> torch.Tensor:
    """Share of scored outputs of each member that round to the target, in the user's units."""
    scale = torch.tensor(layout.output_scales, dtype=torch.float64, device=data[0].device)[:, None, None]
    with torch.no_grad():
        error = (model(data[0], HARD) - data[1]) * scale
    right = (error.abs() < 0.5) & data[2]
    return right.sum((1, 2, 3)) / (data[2].sum() * data[1].shape[0])


def value_range(encoded: Encoded) -> tuple[float, float]:
    """Range of everything that the stream starts with; bins of the encoding cover it."""
    low = min(float(encoded.channels.min()), float(encoded.targets.min()))
    high = max(float(encoded.channels.max()), float(encoded.targets.max()))
    return (low, high) if high > low else (low, low + 1.0)


def _comparison(rung: Rung, problem: Problem, layout: Layout) -> tuple[type, float]:
    """The precision that the rung computes with and how sharply it compares keys: both must be enough to
    tell apart all values that equality heads meet, such as long ids that differ in their last digit."""
    if not rung.sizes.get("equality"):
        return np.float32, EQUALITY_SHARPNESS
    parts = (problem.training, problem.validation)
    values = np.unique(np.concatenate([layout.encode(part, np.float64).channels.ravel() for part in parts]))
    rounded = np.unique(values.astype(np.float32))
    return (np.float32 if len(rounded) == len(values) else np.float64), sharpness_for(values)


def first_scored_of(rung: Rung, problem: Problem) -> int:
    """In `concat` the first outputs cannot be told from windows that are cut off.

    Own data may begin anywhere, a balance at what was in the account: the first output teaches no rule, and
    start values are settled later. A machine that was merged from them begins where they do. Otherwise all
    are scored.
    """
    if rung.layout == "concat":
        return min(3, problem.length - 1)
    anywhere = problem.reference is None and problem.original is None
    return 1 if anywhere and problem.length >= SHORTEST_WITH_START else 0
