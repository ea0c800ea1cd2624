"""The training loop: annealed search over structures, many members at once (paper, sections 5 and 6.1).

An epoch ends with an evaluation and a checkpoint. All randomness of an epoch comes from a generator
seeded by (seed, epoch), so a run that resumes at an epoch's start repeats the unbroken one bit by bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from weights2code.data import Encoded
from weights2code.effort import check_time
from weights2code.json_values import any_number, items, mapping, number, text, whole
from weights2code.model import HARD, DiscreteTransformer
from weights2code.training.adamw import AdamW
from weights2code.training.fused.program import FusedTraining, can_fuse
from weights2code.training.recipes import Recipe
from weights2code.training.step import (
    Batch,
    Validation,
    can_compile,
    closed_form,
    first_scored,
    make_step,
    member_losses,
    noise_source,
    target_variance,
    training_step,
)

#: Halving leaves at least this many members, and looks at the best of so many epochs.
LEAST_MEMBERS = 8
EPOCHS_JUDGED = 2
#: Learning rate and batch of the steps with fixed choices.
TUNING_RATE = 0.01
TUNING_BATCH = 128


@dataclass(frozen=True, slots=True)
class Epoch:
    """One line of `metrics.jsonl`; lists hold one entry a member, losses are relative to the variance."""

    stage: str
    epoch: int
    soft_loss: list[float]
    hard_loss: list[float]
    discrepancy: list[float]
    agreement: list[float]
    temperature: float
    seconds: float

    def of_members(self, members: list[int]) -> Epoch:
        """The line with the entries of some members only."""
        lists = {
            name: [values[member] for member in members] if (values := getattr(self, name)) else []
            for name in ("soft_loss", "hard_loss", "discrepancy", "agreement")
        }
        return replace(self, **lists)

    @staticmethod
    def from_dict(data: Any) -> Epoch:
        """Inverse of `asdict`; losses may be infinite."""
        data = mapping(data, "an epoch")
        lists = {
            which: [any_number(value, which) for value in items(data[which], which)]
            for which in ("soft_loss", "hard_loss", "discrepancy", "agreement")
        }
        return Epoch(
            stage=text(data["stage"], "a stage"),
            epoch=whole(data["epoch"], "an epoch"),
            temperature=any_number(data["temperature"], "a temperature"),
            seconds=float(number(data["seconds"], "seconds")),
            **lists,
        )

    def to_dict(self) -> dict[str, Any]:
        """Four digits and the best values, for `metrics.jsonl`."""

        def short(values: list[float]) -> list[float]:
            return [float(f"{value:.4g}") for value in values]

        return {
            "stage": self.stage,
            "epoch": self.epoch,
            "temperature": float(f"{self.temperature:.4g}"),
            "seconds": round(self.seconds, 3),
            "best_hard_loss": min(short(self.hard_loss)),
            "best_soft_loss": min(short(self.soft_loss)),
            "soft_loss": short(self.soft_loss),
            "hard_loss": short(self.hard_loss),
            "discrepancy": short(self.discrepancy),
            "agreement": short(self.agreement),
        }


@dataclass(slots=True)
class LoopState:
    """Everything that a checkpoint must hold to go on: weights, moments, and the record so far."""

    model: DiscreteTransformer
    optimizer: AdamW
    epoch: int = 0
    history: list[Epoch] = field(default_factory=list)
    choices: list[Tensor] = field(default_factory=list)
    best_loss: Tensor | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)


def to_batch(encoded: Encoded, device: torch.device) -> Batch:
    """Encoded sequences as tensors."""
    arrays = encoded.channels, encoded.targets, encoded.scored
    return tuple(torch.from_numpy(array).to(device) for array in arrays)  # type: ignore[return-value]


def sequences_of(data: Validation, chosen: slice | Tensor) -> Batch:
    """Some of the sequences of a batch."""
    return tuple(tensor[..., chosen] for tensor in data)  # type: ignore[return-value]


def start(model: DiscreteTransformer, recipe: Recipe) -> LoopState:
    """A fresh loop around a model."""
    parameters = [
        parameter
        for name, parameter in model.named_parameters()
        if parameter.numel() and not (name == "head" and recipe.solves_head)
    ]
    optimizer = AdamW(parameters or [model.head], recipe.learning_rate, recipe.weight_decay)
    return LoopState(model, optimizer)


def run_loop(
    state: LoopState,
    training: Batch,
    validation: Validation,
    recipe: Recipe,
    seed: int,
    stage: str = "search",
    on_epoch: Callable[[LoopState], None] | None = None,
    stop_below: float | None = None,
) -> None:
    """Run the remaining epochs, or until a hard loss stays below that; afterwards the model's head is set and
    the agreement is known."""
    device = state.model.choices.device
    variance = target_variance(training[1], training[2])
    fused = device.type == "cuda" and can_compile() and can_fuse(state.model, training, recipe)
    with nullcontext(torch.Generator(device)) if fused else noise_source(device) as generator:
        run_epoch = None
        while state.epoch < recipe.epochs and not _settled(state, stop_below):
            began = time.perf_counter()
            if run_epoch is None:
                run_epoch = _epoch_of(state, training, recipe, variance, seed, generator, fused=fused)
            generator.manual_seed(seed * 1_000_003 + state.epoch)
            soft = run_epoch(state.epoch)
            state.model.leak = recipe.leak_at(1.0)
            hard = evaluate_hard(state.model, validation, variance, recipe.head)
            state.choices.append(state.model.hard_choices())
            state.epoch += 1
            tau = recipe.annealing.tau(state.epoch / recipe.epochs)
            seconds = time.perf_counter() - began
            gap = (hard - soft).tolist()
            line = Epoch(stage, state.epoch, soft.tolist(), hard.tolist(), gap, [], tau, seconds)
            state.history.append(line)
            if recipe.keep_best:
                _remember_best(state, hard)
            if _time_to_halve(state, recipe):
                keep_members(state, recipe, _better_half(state))
                run_epoch = None
            if on_epoch is not None:
                on_epoch(state)
    _record_agreement(state)
    if recipe.keep_best and state.best_weights:
        state.model.load_state_dict(state.best_weights)


def _epoch_of(
    state: LoopState,
    training: Batch,
    recipe: Recipe,
    variance: Tensor,
    seed: int,
    generator: torch.Generator,
    *,
    fused: bool,
) -> Callable[[int], Float[Tensor, " member"]]:
    """What runs one epoch, given its number: step by step, or as recorded graphs of fused kernels."""
    if fused:
        program = FusedTraining(state.model, state.optimizer, training, recipe, variance, seed)
        return lambda epoch: program.run_epoch(epoch, generator)
    first = first_scored(training[2])
    step = make_step(state.model, state.optimizer, recipe, variance, generator, first)
    return lambda epoch: _train_epoch(state, training, recipe, generator, step)


def _time_to_halve(state: LoopState, recipe: Recipe) -> bool:
    ends = (round(share * recipe.epochs) for share in recipe.halvings)
    return state.epoch in ends and state.model.members > LEAST_MEMBERS


def _better_half(state: LoopState) -> list[int]:
    """The members with the lowest hard losses of late, in their old order."""
    recent = [epoch.hard_loss for epoch in state.history[-EPOCHS_JUDGED:]]
    lowest = [min(losses) for losses in zip(*recent, strict=True)]
    count = max(LEAST_MEMBERS, (len(lowest) + 1) // 2)
    return sorted(sorted(range(len(lowest)), key=lowest.__getitem__)[:count])


def keep_members(state: LoopState, recipe: Recipe, members: list[int]) -> None:
    """Go on with some members only: weights, moments and the record so far."""
    moments = state.optimizer.moments()
    shorter = start(state.model.take(members), recipe)
    index = torch.tensor(members, device=state.model.choices.device)
    kept = {
        number: {key: value[index] if value.dim() else value for key, value in entry.items()}
        for number, entry in moments.items()
    }
    shorter.optimizer.remember(kept)
    state.model, state.optimizer = shorter.model, shorter.optimizer
    state.choices = [choices[index] for choices in state.choices]
    state.history = [epoch.of_members(members) for epoch in state.history]
    if state.best_loss is not None:
        state.best_loss = state.best_loss[index]
        state.best_weights = {name: value[index] for name, value in state.best_weights.items()}


def _settled(state: LoopState, stop_below: float | None) -> bool:
    """Whether the best was below that in two epochs running: judged by the record alone, so that a run that
    resumes here stops where an unbroken one does."""
    if stop_below is None or len(state.history) < 2:
        return False
    return max(min(epoch.hard_loss) for epoch in state.history[-2:]) < stop_below


def _train_epoch(
    state: LoopState,
    training: Batch,
    recipe: Recipe,
    generator: torch.Generator,
    step: Callable[[Batch, float], Tensor],
) -> Float[Tensor, " member"]:
    """One epoch of steps; returns each member's mean training loss."""
    device, count = training[0].device, training[0].shape[2]
    shuffled = sequences_of(training, torch.randperm(count, generator=generator, device=device))
    total = torch.zeros(state.model.members, device=device)
    batch = min(recipe.batch, count)
    for index in range(recipe.steps_per_epoch):
        check_time()
        progress = (state.epoch * recipe.steps_per_epoch + index) / max(recipe.steps, 1)
        first = (index * batch) % max(count - batch + 1, 1)
        total += step(sequences_of(shuffled, slice(first, first + batch)), progress)
    return total / recipe.steps_per_epoch


def evaluate_hard(
    model: DiscreteTransformer, data: Batch, variance: Float[Tensor, " output"], head: str = "learned"
) -> Float[Tensor, " member"]:
    """Loss of the argmax model of each member; a head that the recipe solves is solved and stored first."""
    channels, targets, scored = data
    with torch.no_grad():
        if head != "learned":
            closed_form(model, data, project=head == "projected").write(model)
        losses = member_losses(model(channels, HARD), targets, scored, variance)
    return torch.nan_to_num(losses, nan=torch.inf)


def _remember_best(state: LoopState, hard: Float[Tensor, " member"]) -> None:
    """Keep, for each member, the weights of its best validation epoch."""
    weights = {name: value.detach().clone() for name, value in state.model.state_dict().items()}
    if state.best_loss is None:
        state.best_loss, state.best_weights = hard.clone(), weights
        return
    better = hard < state.best_loss
    state.best_loss = torch.where(better, hard, state.best_loss)
    for name, value in weights.items():
        pick = better.view(-1, *[1] * (value.dim() - 1))
        state.best_weights[name] = torch.where(pick, value, state.best_weights[name])


def _record_agreement(state: LoopState) -> None:
    """A(e): the share of choices at epoch e that equal the final ones."""
    if not state.choices:
        return
    final = state.choices[-1]
    for index, (epoch, choices) in enumerate(zip(state.history, state.choices, strict=True)):
        share = (choices == final).double().mean(1) if final.shape[1] else torch.ones(len(final))
        state.history[index] = replace(epoch, agreement=share.tolist())


def tune(
    model: DiscreteTransformer,
    training: Batch,
    validation: Validation,
    steps: int,
    seed: int,
    head: Literal["closed", "projected"],
) -> None:
    """Train the sub-MLPs with the choices fixed, the head in closed form; the head is solved at the end."""
    variance = target_variance(training[1], training[2])
    if steps and model.hidden_weight.numel():
        names = ("hidden_weight", "hidden_bias", "output_weight", "output_bias")
        recipe = Recipe(learning_rate=TUNING_RATE, batch=TUNING_BATCH, head=head)
        trained = [getattr(model, name) for name in names]
        optimizer = AdamW(trained, TUNING_RATE)
        generator = torch.Generator().manual_seed(seed)
        count = training[0].shape[2]
        size = min(TUNING_BATCH, count)
        for step in range(steps):
            check_time()
            first = int(torch.randint(0, count - size + 1, (1,), generator=generator))
            part = sequences_of(training, slice(first, first + size))
            training_step(model, optimizer, part, recipe, variance, HARD, step / steps)
    evaluate_hard(model, validation, variance, head)
