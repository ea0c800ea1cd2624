"""The training loop: annealed search over structures, many members at once (paper, sections 5 and 6.1).

An epoch ends with an evaluation and a checkpoint. All randomness of an epoch comes from a generator seeded by
(seed, epoch), so a run that resumes at an epoch's start repeats the unbroken one bit by bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weights2code.data import Encoded
from weights2code.effort import charge, check_time, work
from weights2code.errors import InputError
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import items, number, whole
from weights2code.model.sampler import HARD
from weights2code.model.transformer import DiscreteTransformer
from weights2code.model.weights import Arrays
from weights2code.training.adamw import AdamW
from weights2code.training.recipes import Recipe
from weights2code.training.step import (
    Batch,
    Validation,
    batch_losses,
    closed_form,
    descend,
    epochs_of,
    member_losses,
    sequences_of,
    set_learning_rate,
    target_variance,
)
from weights2code.training.storage import Epoch, read_tensors, write_tensors

#: Halving leaves at least this many members, and looks at the best of so many epochs.
LEAST_MEMBERS = 8
EPOCHS_JUDGED = 2
#: Learning rate and batch of the steps with fixed choices.
TUNING_RATE = 0.01
TUNING_BATCH = 128


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
    #: What the epochs took, in seconds of a usual machine.
    work: float = 0.0


def to_batch(encoded: Encoded, device: torch.device) -> Batch:
    """Encoded sequences as tensors."""
    arrays = encoded.channels, encoded.targets, encoded.scored
    return tuple(torch.from_numpy(array).to(device) for array in arrays)  # type: ignore[return-value]


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
    variance = target_variance(training[1], training[2])
    halved = [round(share * recipe.epochs) for share in recipe.halvings]
    run_epoch = None
    while state.epoch < recipe.epochs and not _settled(state, stop_below):
        began, before = time.perf_counter(), work()
        if run_epoch is None:
            run_epoch = epochs_of(state.model, state.optimizer, training, recipe, variance, seed)
        soft = run_epoch(state.epoch)
        state.model.leak = recipe.leak_at(1.0)
        hard = evaluate_hard(state.model, validation, variance, recipe.head)
        state.choices.append(state.model.hard_choices())
        state.epoch += 1
        state.work += work() - before
        tau = recipe.annealing.tau(state.epoch / recipe.epochs)
        seconds = time.perf_counter() - began
        first, last, gap = (tuple(values.tolist()) for values in (soft, hard, hard - soft))
        state.history.append(Epoch(stage, state.epoch, first, last, gap, (), tau, seconds))
        if recipe.keep_best:
            _remember_best(state, hard)
        if state.epoch in halved and state.model.members > LEAST_MEMBERS:
            keep_members(state, recipe, _better_half(state))
            run_epoch = None
        if on_epoch is not None:
            on_epoch(state)
    _record_agreement(state)
    if recipe.keep_best and state.best_weights:
        state.model.load_state_dict(state.best_weights)


def _settled(state: LoopState, stop_below: float | None) -> bool:
    """Whether the best was below that in two epochs running: judged by the record alone, so that a run that
    resumes here stops where an unbroken one does."""
    last = [min(epoch.hard_loss) for epoch in state.history[-2:]]
    return stop_below is not None and len(last) == 2 and max(last) < stop_below


def _better_half(state: LoopState) -> list[int]:
    """The members with the lowest hard losses of late, in their old order."""
    lowest = np.min([epoch.hard_loss for epoch in state.history[-EPOCHS_JUDGED:]], 0)
    count = max(LEAST_MEMBERS, (len(lowest) + 1) // 2)
    return sorted(np.argsort(lowest, kind="stable")[:count].tolist())


def keep_members(state: LoopState, recipe: Recipe, members: list[int]) -> None:
    """Go on with some members only: weights, moments and the record so far."""
    index = torch.tensor(members, device=state.model.choices.device)
    shorter = start(state.model.take(members), recipe)
    both = zip(state.optimizer.state.values(), shorter.optimizer.state.values(), strict=True)
    for wide, own in both:
        for name, value in wide.items():
            own[name].copy_(value[index] if value.dim() else value)
    state.model, state.optimizer = shorter.model, shorter.optimizer
    state.choices = [choices[index] for choices in state.choices]
    state.history = [epoch.of_members(members) for epoch in state.history]
    if state.best_loss is not None:
        state.best_loss = state.best_loss[index]
        state.best_weights = {name: value[index] for name, value in state.best_weights.items()}


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
    for index, (epoch, choices) in enumerate(zip(state.history, state.choices, strict=True)):
        same = choices == state.choices[-1]
        share = same.double().mean(1) if same.shape[1] else torch.ones(len(same))
        state.history[index] = replace(epoch, agreement=tuple(share.tolist()))


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
        optimizer = AdamW([getattr(model, name) for name in names], TUNING_RATE)
        generator = torch.Generator().manual_seed(seed)
        count = training[0].shape[2]
        size = min(TUNING_BATCH, count)
        for step in range(steps):
            check_time()
            first = int(torch.randint(0, count - size + 1, (1,), generator=generator))
            part = sequences_of(training, slice(first, first + size))
            set_learning_rate(optimizer, recipe, step / steps)
            descend(model, optimizer, batch_losses(model, part, recipe, variance, HARD), recipe)
    evaluate_hard(model, validation, variance, head)


# -- checkpoints ---------------------------------------------------------------------------------------------


def tensors_of(state: LoopState) -> dict[str, Tensor]:
    """All tensors of a loop by the names that a checkpoint has them under."""
    found = {f"model.{name}": value.detach() for name, value in state.model.named_parameters()}
    found |= {f"mask.{name}": value for name, value in state.model.named_buffers()}
    for place, moments in enumerate(state.optimizer.state.values()):
        found |= {f"optimizer.{place}.{name}": value for name, value in moments.items()}
    found |= {f"choices.{epoch}": choices for epoch, choices in enumerate(state.choices)}
    found |= {f"best.{name}": value for name, value in state.best_weights.items()}
    return found if state.best_loss is None else found | {"best_loss": state.best_loss}


def save_loop(path: Path, state: LoopState, identity: dict[str, Any]) -> None:
    """A checkpoint in the middle of a rung."""
    header = {**identity, "members": state.model.members, "epoch": state.epoch, "work": state.work}
    header["history"] = [to_fields(epoch) for epoch in state.history]
    write_tensors(path, {name: value.cpu().numpy() for name, value in tensors_of(state).items()}, header)


def load_loop(path: Path, state: LoopState, recipe: Recipe, identity: dict[str, Any]) -> bool:
    """Continue from a checkpoint of the same rung; False if it belongs to another one."""
    arrays, header = read_tensors(path)
    if any(header.get(key) != value for key, value in identity.items()):
        return False
    try:
        _restore(state, recipe, arrays, header)
    except (LookupError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} does not fit this run ({error}); it was left untouched.") from None
    return True


def _restore(state: LoopState, recipe: Recipe, arrays: Arrays, header: dict[str, Any]) -> None:
    members = whole(header["members"], "the members", least=1, most=state.model.members)
    if members < state.model.members:  # some were given up before the checkpoint
        keep_members(state, recipe, list(range(members)))
    state.epoch = whole(header["epoch"], "the epoch")
    state.work = float(number(header["work"], "work"))
    rows = items(header["history"], "the history")
    state.history[:] = [from_fields(Epoch, row, "an epoch") for row in rows]
    if len(state.history) != state.epoch:
        raise ValueError(f"epoch {state.epoch} has a history of {len(state.history)}")
    state.choices[:] = [state.model.hard_choices() for _ in state.history]
    if recipe.keep_best and state.epoch:
        _remember_best(state, state.model.head.new_zeros(members))
    for name, own in tensors_of(state).items():
        if arrays[name].shape != own.shape:  # it must not be stretched to fit
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {tuple(own.shape)}")
        own.copy_(torch.from_numpy(arrays[name]))
    charge(state.work)  # a limit holds for both commands
