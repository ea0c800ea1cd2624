"""The objective: mean squared error, with the linear head learned or solved in closed form.

Variable projection: for any stream the best linear head is a least-squares solution, so it need not be
learned, and by the envelope theorem the loss's gradient with the head held at its optimum is the whole
gradient. This is what makes stiff linear dynamics solvable, where the output is many times larger than the
input.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weights2code.model import DiscreteTransformer

#: Ridge of the closed-form head, relative to the mean square of the features.
RIDGE = 1e-8


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
        gram.diagonal(dim1=1, dim2=2).add_(ridge * size.mean(1, keepdim=True) + 1e-12)
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


def target_variance(targets: Tensor, scored: Tensor) -> Float[Tensor, " output"]:
    """Variance of each output over the scored positions (1 where it is constant)."""
    columns = targets[:, scored].double()
    variance = columns.var(1, unbiased=False)
    return torch.where(variance > 0, variance, torch.ones_like(variance))


def closed_form(
    model: DiscreteTransformer,
    stream: Float[Tensor, "member variable pos batch"],
    targets: Float[Tensor, "output pos batch"],
    scored: Bool[Tensor, "pos batch"],
) -> Float[Tensor, "member output variable_and_one"]:
    """The best head of each member on this batch, over the variables that it may see."""
    features = (stream * model.variable_mask[:, :, None, None]).flatten(2)
    return solve_head(features, targets.flatten(1), scored.flatten().to(stream.dtype))
