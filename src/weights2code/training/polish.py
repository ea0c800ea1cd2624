"""Discrete polishing: coordinate descent on the choices, with the head re-solved for every candidate.

All one-step neighbours of a member, every other option of one module's choices, form an ensemble, so one
batched hard forward pass judges them all. The best neighbour is kept if it lowers the loss. From an empty
start (every location head at its null slot) this is forward selection followed by exchanges, and it solves
linear dynamics without any gradient.
"""

from __future__ import annotations

import math
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from weights2code.effort import check_time
from weights2code.model.transformer import DiscreteTransformer
from weights2code.training.step import Batch, closed_form, member_losses

#: A neighbour must lower the loss by this share to be taken: float noise is no improvement.
LEAST_GAIN = 1e-3
#: Losses (relative to the variance) below this are zero.
ZERO = 1e-13
#: Rounds over all modules, and combinations of a module's choices that are tried together, at most.
SWEEPS = 6
MOST_COMBINATIONS = 128


def hard_losses(
    model: DiscreteTransformer,
    table: Float[Tensor, "candidate row option"],
    data: Batch,
    variance: Float[Tensor, " output"],
) -> Float[Tensor, " candidate"]:
    """Loss of each table of choices with its own best head; `model` has one member."""
    with torch.no_grad():
        repeated = model if table.shape[0] == model.members else model.take([0] * table.shape[0])
        prediction = closed_form(repeated, data, table=table).prediction
        losses = member_losses(prediction, data[1], data[2], variance)
        return torch.nan_to_num(losses, nan=torch.inf)


def polish(model: DiscreteTransformer, data: Batch, variance: Float[Tensor, " output"]) -> None:
    """Settle every member on better choices.

    The modules' choices are changed one module at a time, jointly where the module has few combinations,
    else one row at a time. Float64: neighbours can differ by little.
    """
    data = (data[0].double(), data[1].double(), data[2])
    settled = [_better(model.take([member]).double(), data, variance) for member in range(model.members)]
    with torch.no_grad():
        model.choices.copy_(one_hot(torch.stack(settled), model) * 10.0)


def _better(
    model: DiscreteTransformer, data: Batch, variance: Float[Tensor, " output"]
) -> Int[Tensor, " row"]:
    """Better choices for the one member of a model."""
    choice = model.hard_choices()[0]
    allowed = [torch.nonzero(row).flatten().tolist() for row in model.choice_mask[0]]
    loss = float(hard_losses(model, one_hot(choice[None], model), data, variance)[0])
    for _ in range(SWEEPS):
        before = loss
        for rows in module_rows(model):
            if loss < ZERO:
                return choice
            check_time()
            options = list(product(*(allowed[row] for row in rows)))
            candidates = choice.repeat(len(options), 1)
            candidates[:, rows] = torch.tensor(options, dtype=torch.long, device=choice.device)
            losses = hard_losses(model, one_hot(candidates, model), data, variance)
            best = int(losses.argmin())
            if float(losses[best]) < loss * (1 - LEAST_GAIN):
                choice, loss = candidates[best], float(losses[best])
        if loss < ZERO or loss > before * (1 - LEAST_GAIN):
            break
    return choice


def module_rows(model: DiscreteTransformer) -> list[list[int]]:
    """Rows of the table that are changed together: all of a module's, or one by one if those are many."""
    groups: dict[str, list[int]] = {}
    for row, choice in enumerate(model.wiring.choices):
        groups.setdefault(choice.module, []).append(row)
    result: list[list[int]] = []
    for rows in groups.values():
        combinations = math.prod(model.choice_mask[0, rows].sum(-1).tolist())
        result += [rows] if combinations <= MOST_COMBINATIONS else [[row] for row in rows]
    return result


def one_hot(
    choice: Int[Tensor, "member row"], model: DiscreteTransformer
) -> Float[Tensor, "member row option"]:
    """A table of choices from indices."""
    return torch.nn.functional.one_hot(choice, model.wiring.width).to(model.choices.dtype)


def clear_location_heads(model: DiscreteTransformer) -> None:
    """The empty start: every location head of every member at its null slot."""
    with torch.no_grad():
        for row, choice in enumerate(model.wiring.choices):
            if choice.decides == "offset":
                model.choices[:, row, choice.options - 1] = 10.0
