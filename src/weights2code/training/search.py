"""One rung of the ladder as one batched program: all members are trained at once, the best are finished."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from weights2code.data import Encoded, Layout, Problem, fit_layout
from weights2code.effort import TimeUp, now
from weights2code.errors import InputError
from weights2code.graph import DiscreteGraph
from weights2code.graph.to_model import model_of
from weights2code.heads import EQUALITY_SHARPNESS, sharpness_for
from weights2code.json_values import any_number, items, number, text, truth, whole
from weights2code.model import HARD, DiscreteTransformer
from weights2code.settings import Settings
from weights2code.training import storage
from weights2code.training.build import build, hide
from weights2code.training.ladder import Rung, RungKind
from weights2code.training.loop import (
    Epoch,
    LoopState,
    evaluate_hard,
    run_loop,
    sequences_of,
    start,
    to_batch,
    tune,
)
from weights2code.training.polish import clear_location_heads, polish_member
from weights2code.training.step import Batch, Validation, target_variance

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
#: Sequences of own data of at least this length can do without their first output in training.
SHORTEST_WITH_START = 4

#: Seconds between two checkpoints of a rung: epochs of small rungs are shorter than writing one is worth.
CHECKPOINT_INTERVAL = 1.0

#: Called after every epoch with the rung's name, epochs done, epochs in all, best hard loss, temperature.
Progress = Callable[[str, int, int, float, float], None]
#: Called with the record of a rung under way whenever its checkpoint was written.
Record = Callable[[Sequence[Epoch]], None]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What a rung found: its best members, best first; `unfinished` if the time limit cut it short.

    `integer_outputs` says whether outputs are rounded; the oldest files do not say. `member` is marked in
    files of older runs, where what became of the network that the program was read from took its place.
    """

    rung: str
    kind: RungKind
    layout: Layout
    model: DiscreteTransformer
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    fitted: bool
    history: tuple[Epoch, ...]
    seconds: float
    unfinished: bool = False
    member: int | None = None
    integer_outputs: bool | None = None

    def taught(self, graph: DiscreteGraph, loss: float, accuracy: float, *, integer_outputs: bool) -> Trained:
        """A network that was made for the rule, alone, with its loss; what was learned before is not its."""
        return replace(
            self,
            model=model_of(graph, self.model),
            losses=(loss,),
            accuracies=(accuracy,),
            history=(),
            member=None,
            integer_outputs=integer_outputs,
        )

    def header(self) -> dict[str, Any]:
        return storage.model_header(self.model, self.layout) | {
            "rung": self.rung,
            "kind": self.kind,
            "losses": list(self.losses),
            "accuracies": list(self.accuracies),
            "fitted": self.fitted,
            "history": [asdict(epoch) for epoch in self.history],
            "seconds": self.seconds,
            "integer_outputs": self.integer_outputs,
        }

    def save(self, path: Path) -> None:
        storage.write_tensors(path, storage.model_tensors(self.model), self.header())

    @staticmethod
    def load(path: Path, problem: Problem | None = None) -> Trained:
        """Inverse of `save`; a model of other columns than the problem's is refused."""
        tensors, header = storage.read_tensors(path)
        try:
            model, layout = storage.model_from(tensors, header)
            check_layout(model, layout, problem)
            losses, accuracies = (
                tuple(any_number(value, which) for value in items(header[which], which))
                for which in ("losses", "accuracies")
            )
            kind = header.get("kind", "annealed")  # older files do not say
            finite = storage.finite_members(model)
            if any(loss < math.inf and not fine for loss, fine in zip(losses, finite, strict=False)):
                raise ValueError("its weights are not numbers")
            if kind not in get_args(RungKind) or not len(losses) == len(accuracies) == model.members:
                raise ValueError("kind, losses or accuracies are not those of its members")
            member, rounded = header.get("member"), header.get("integer_outputs")
            return Trained(
                text(header["rung"], "the rung"),
                kind,
                layout,
                model,
                losses,
                accuracies,
                truth(header["fitted"], "fitted"),
                tuple(Epoch.from_dict(row) for row in items(header["history"], "the history")),
                float(number(header["seconds"], "seconds")),
                member=None if member is None else whole(member, "the member", most=model.members - 1),
                integer_outputs=None if rounded is None else truth(rounded, "integer_outputs"),
            )
        except (KeyError, TypeError, ValueError, RuntimeError, InputError) as error:
            raise InputError(
                f"{path} does not hold a trained model ({error}); it was left untouched."
            ) from None


def check_layout(model: DiscreteTransformer, layout: Layout, problem: Problem | None) -> None:
    """Raise ValueError if a model that was read cannot run in its layout, or on the problem."""
    a = model.architecture
    if (a.channels, a.outputs) != (layout.channels, layout.outputs):
        raise ValueError("its channels are not those of its layout")
    if problem and (len(layout.input_scales), layout.outputs) != (len(problem.inputs), len(problem.outputs)):
        raise ValueError(f"it was trained on other columns than those of {problem.name}")
    if layout.first_scored >= (problem.length if problem else layout.first_scored + 1):
        raise ValueError("it scores no position")


def pick_device(name: str) -> torch.device:
    if name not in ("cpu", "cuda", "auto"):
        raise InputError(f"unknown device {name!r}; choose cpu, cuda or auto.")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda was asked for, but PyTorch finds no CUDA device; use cpu or auto.")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


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
    began = now()
    layout = fit_layout(rung.layout, problem.training, first_scored_of(rung, problem))
    dtype, sharpness = _comparison(rung, problem, layout)
    encoded, judged = layout.encode(problem.training, dtype), layout.encode(problem.validation, dtype)
    training, validation = to_batch(encoded, device), to_batch(judged, device)
    model = build(rung, problem, layout.channels, value_range(encoded), settings.seed, sharpness)
    model = model.to(device, training[0].dtype)
    if settings.hide:
        hide(model, settings.hide, problem, rung.layout)
    history: list[Epoch] = []
    unfinished = False
    try:
        if rung.recipe.epochs:
            state = start(model, rung.recipe)
            identity = {"rung": rung.name, "seed": settings.seed}
            if checkpoint and checkpoint.exists():
                storage.load_loop(checkpoint, state, rung.recipe, identity)
                began -= sum(epoch.seconds for epoch in state.history)
            on_epoch = _keeper(rung, checkpoint, identity, progress, record)
            stop = stop_of(rung, problem)
            try:
                run_loop(state, training, validation, rung.recipe, settings.seed, rung.name, on_epoch, stop)
            finally:
                model, history = state.model, state.history
        if rung.recipe.solves_head:
            model = finish(rung, model, training, validation, settings.seed)
    except TimeUp:
        if some:
            raise
        unfinished = True
    trained = rank(rung, layout, model, validation, problem, history, now() - began, ordered=ordered)
    recorded = trained.history or (_only_epoch(rung, trained),)
    return replace(trained, history=recorded, unfinished=unfinished)


def _keeper(
    rung: Rung,
    checkpoint: Path | None,
    identity: dict[str, Any],
    progress: Progress | None,
    record: Record | None,
) -> Callable[[LoopState], None]:
    """What happens after every epoch: now and then a checkpoint and the record, and always a word."""
    saved = time.monotonic()

    def on_epoch(state: LoopState) -> None:
        nonlocal saved
        if checkpoint and time.monotonic() - saved >= CHECKPOINT_INTERVAL:
            storage.save_loop(checkpoint, state, identity)
            saved = time.monotonic()
            if record:
                record(state.history)
        if progress:
            last = state.history[-1]
            progress(rung.name, state.epoch, rung.recipe.epochs, min(last.hard_loss), last.temperature)

    return on_epoch


def _only_epoch(rung: Rung, trained: Trained) -> Epoch:
    """The record of a rung without annealing: discrete from the start, so soft and hard are the same."""
    losses, none = list(trained.losses), [0.0] * len(trained.losses)
    agreement = [1.0] * len(losses)
    return Epoch(rung.name, 0, losses, losses, none, agreement, rung.recipe.annealing.last, trained.seconds)


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
    chosen = losses.argsort()[:FINALISTS].tolist() if rung.recipe.epochs else range(model.members)
    if rung.recipe.polish:
        sample = sequences_of(training, slice(POLISH_SEQUENCES))
        polished = [polish_member(model.take([member]), sample, variance) for member in chosen]
        model = stack(polished).to(training[0].dtype)
    else:
        model = model.take(list(chosen))
    if float(losses.min()) > FITTED_EXACTLY:
        tune(model, training, validation, rung.recipe.tune_steps, seed, head)
    return model


def stack(models: list[DiscreteTransformer]) -> DiscreteTransformer:
    """One ensemble from one-member models of the same architecture."""
    whole = models[0].take([0] * len(models))
    with torch.no_grad():
        for name, parameter in whole.named_parameters():
            parameter.copy_(torch.cat([dict(model.named_parameters())[name] for model in models]))
        for name, buffer in whole.named_buffers():
            buffer.copy_(torch.cat([dict(model.named_buffers())[name] for model in models]))
    return whole


def rank(
    rung: Rung,
    layout: Layout,
    model: DiscreteTransformer,
    validation: Validation,
    problem: Problem,
    history: list[Epoch],
    seconds: float,
    *,
    ordered: bool = True,
) -> Trained:
    """Order the members: those that fit first, among them the ones that use least, then by loss."""
    model = model.double()
    data = (validation[0].double(), validation[1].double(), validation[2])
    variance = target_variance(data[1], data[2])
    losses = evaluate_hard(model, data, variance, rung.recipe.head)
    accuracy = rounding_accuracy(model, data, layout)
    integer = problem.integer_outputs
    fits = (losses < FITTED_INTEGER) & (accuracy == 1.0) if integer else losses < FITTED_REAL
    used = [live_variables(model, member) for member in range(model.members)]

    def key(member: int) -> tuple[bool, int, float]:
        return (not bool(fits[member]), used[member] if fits[member] else 0, float(losses[member]))

    order = sorted(range(model.members), key=key) if ordered else list(range(model.members))
    return Trained(
        rung.name,
        rung.kind,
        layout,
        model.take(order),
        tuple(float(losses[i]) for i in order),
        tuple(float(accuracy[i]) for i in order),
        bool(fits[order[0]] if ordered else fits.any()),
        tuple(history),
        seconds,
        integer_outputs=integer,
    )


def rounding_accuracy(model: DiscreteTransformer, data: Batch, layout: Layout) -> torch.Tensor:
    """Share of scored outputs of each member that round to the target, in the user's units."""
    scale = torch.tensor(layout.output_scales, dtype=torch.float64, device=data[0].device)[:, None, None]
    with torch.no_grad():
        error = (model(data[0], HARD) - data[1]) * scale
    right = (error.abs() < 0.5) & data[2]
    return right.sum((1, 2, 3)) / (data[2].sum() * data[1].shape[0])


def live_variables(model: DiscreteTransformer, member: int) -> int:
    """How many variables of the stream the output of a member depends on: a first guess at program size."""
    weight = model.head[member, :, :-1].abs() * model.variable_mask[member]
    waiting = torch.nonzero((weight > 1e-3 * weight.max().clamp_min(1e-12)).any(0)).flatten().tolist()
    read: dict[str, set[int]] = {}
    for choice, option in zip(model.wiring.choices, model.hard_choices()[member].tolist(), strict=True):
        if choice.decides != "offset":
            read.setdefault(choice.module, set()).add(option)
    live: set[int] = set()
    while waiting:
        variable = waiting.pop()
        if variable not in live:
            live.add(variable)
            waiting += read.get(model.wiring.variables[variable].split("_", 1)[1], ())
    return len(live)


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
