"""The objective: mean squared error, with the linear head learned or solved in closed form.

Variable projection: for any stream the best linear head is a least-squares solution, so it need not be
learned, and by the envelope theorem the loss's gradient with the head held at its optimum is the whole
gradient. This is what makes stiff linear dynamics solvable, where the output is many times larger than the
input.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weights2code.model import HARD, DiscreteTransformer, Sampling

#: Ridge of the closed-form head, relative to each feature's own mean square: a sum may be far larger than
#: what it adds up.
RIDGE = 1e-8


#: Channels, targets, and where they are scored; what is kept to judge by may have another length.
Batch = tuple[
    Float[Tensor, "channel pos batch"], Float[Tensor, "output pos batch"], Bool[Tensor, "pos batch"]
]
Validation = tuple[
    Float[Tensor, "channel kept_pos kept"],
    Float[Tensor, "output kept_pos kept"],
    Bool[Tensor, "kept_pos kept"],
]


def solve_head(
    features: Float[Tensor, "member feature column"],
    targets: Float[Tensor, "output column"],
    weight: Float[Tensor, " column"],
    ridge: float = RIDGE,
) -> Float[Tensor, "member output feature_and_one"]:
    """Least-squares weights (the intercept last) in float64, detached from the graph."""
    with torch.no_grad():
        ones = features.new_ones(features.shape[0], 1, features.shape[2])
        design = torch.cat([features, ones], 1).double()
        weighted = design * weight.double()
        gram = weighted @ design.transpose(1, 2)
        size = gram.diagonal(dim1=1, dim2=2)
        gram.diagonal(dim1=1, dim2=2).add_(ridge * size + 1e-12)
        right = weighted @ targets.double().T
        # A member with infinite features (a diverged sub-MLP) must not spoil the batch.
        bad = ~torch.isfinite(gram).all(-1).all(-1)
        if bad.any():
            gram[bad] = torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
            right[bad] = 0.0
        factor, failed = torch.linalg.cholesky_ex(gram)
        solution = torch.cholesky_solve(right, factor)
        if failed.any():
            rescue = torch.linalg.lstsq(gram[failed > 0], right[failed > 0]).solution
            solution[failed > 0] = rescue
        return solution.transpose(1, 2)


def member_losses(
    prediction: Float[Tensor, "member output pos batch"],
    targets: Float[Tensor, "output pos batch"],
    scored: Bool[Tensor, "pos batch"],
    variance: Float[Tensor, " output"],
) -> Float[Tensor, " member"]:
    """Mean squared error of each member over scored positions, each output divided by its variance."""
    error = (prediction - targets).square() / variance[:, None, None].to(prediction.dtype)
    return (error * scored).sum((1, 2, 3)) / (scored.sum() * targets.shape[0])


def target_variance(
    targets: Float[Tensor, "output pos batch"], scored: Bool[Tensor, "pos batch"]
) -> Float[Tensor, " output"]:
    """Variance of each output over the scored positions (1 where it is constant)."""
    columns = targets[:, scored].double()
    variance = columns.var(1, unbiased=False)
    return torch.where(variance > 0, variance, torch.ones_like(variance))


@dataclass(frozen=True, slots=True)
class Solved:
    """The closed-form part of each member: head and output weights of the last layer's sub-MLPs."""

    head: Float[Tensor, "member output variable_and_one"]
    output_weight: Float[Tensor, "member submlp hidden"] | None
    prediction: Float[Tensor, "member output pos batch"]

    def write(self, model: DiscreteTransformer) -> None:
        """Make it the model's own."""
        with torch.no_grad():
            model.head.copy_(self.head)
            if self.output_weight is not None:
                last = model.architecture.layers - 1
                model.output_weight[:, last] = self.output_weight[:, :, None, :].to(model.head.dtype)
                model.output_bias[:, last] = 0.0


def closed_form(
    model: DiscreteTransformer,
    batch: Batch,
    sampling: Sampling = HARD,
    table: Float[Tensor, "member row option"] | None = None,
    project: bool = False,
) -> Solved:
    """Run the members and solve their linear head; the prediction carries the gradient, the head does not.

    With `project`, the output weights of the last layer's sub-MLPs are solved too: the head alone reads
    them, so output weights and head weight are one linear map of the hidden units. With several outputs
    each of these sub-MLPs then serves one of them, in turn.
    """
    channels, targets, scored = batch
    if project:
        flat, hidden = model.features(channels, sampling, table)
    else:
        flat, hidden = model.stream(channels, sampling, table).flatten(2), None
    mask = model.variable_mask.to(flat.dtype)
    before = flat * mask[:, : flat.shape[1], None]
    outputs, width = targets.shape[0], before.shape[1]
    weight = scored.flatten().to(flat.dtype)
    total = model.architecture.stream_width(model.architecture.layers)
    head = flat.new_zeros(model.members, outputs, total + 1, dtype=torch.float64)
    inner = None
    if hidden is not None:
        hidden = hidden * mask[:, width:, None, None]
        inner = torch.zeros(hidden.shape[:3], dtype=torch.float64, device=flat.device)
    predictions = []
    for output in range(outputs):
        own = before
        if hidden is not None:
            own = torch.cat([before, hidden[:, output::outputs].flatten(1, 2)], 1)
        solution = solve_head(own, targets[output : output + 1].flatten(1), weight)[:, 0]
        head[:, output, :width], head[:, output, -1] = solution[:, :width], solution[:, -1]
        if inner is not None:
            part = solution[:, width:-1].unflatten(1, (-1, inner.shape[2]))
            inner[:, output::outputs] = part
            head[:, output, width + output : total : outputs] = 1.0
        row = solution.to(flat.dtype)
        predictions.append((row[:, None, :-1] @ own).squeeze(1) + row[:, -1:])
    prediction = torch.stack(predictions, 1).unflatten(-1, channels.shape[1:])
    return Solved(head, inner, prediction)
