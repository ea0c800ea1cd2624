"""The sampling function S(logits, tau) of the paper (appendix "Smooth Transition Mechanism").

p = (1 - alpha) * softmax((logits + g) / tau) + alpha * sparsemax((logits + g) / tau), with Gumbel noise g
and alpha rising from 0 at the first temperature to 1 at the last. Three modes share one function: sampled
(noise), soft (no noise) and hard (argmax, no noise).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from weights2code.errors import InputError

Mode = Literal["sampled", "soft", "hard"]


@dataclass(frozen=True, slots=True)
class Annealing:
    """Temperature from `first` to `last`, geometrically; alpha(tau) = (first - tau) / (first - last)."""

    first: float = 10.0
    last: float = 0.1

    def __post_init__(self) -> None:
        if not self.first > self.last > 0:
            raise InputError(
                f"the temperature must fall and stay positive, got {self.first:g} to {self.last:g}."
            )

    def tau(self, progress: float) -> float:
        """Temperature after a share `progress` (0 to 1) of the training."""
        return self.first * (self.last / self.first) ** progress

    def alpha(self, tau: float) -> float:
        return (self.first - tau) / (self.first - self.last)


class _Sparsemax(torch.autograd.Function):
    """Euclidean projection onto the simplex by Michelot's iteration: no sort, a few passes.

    Start with everything in the support; drop what the threshold makes negative; repeat until nothing
    changes. The support only shrinks, so at most as many passes as entries are needed.
    """

    @staticmethod
    def forward(ctx, logits: Tensor) -> Tensor:  # type: ignore[override]
        z = logits - logits.amax(-1, keepdim=True)
        support = z > -1.0  # entries a whole unit below the largest are never in the support
        size = support.sum(-1, keepdim=True)
        while True:
            threshold = (torch.where(support, z, 0.0).sum(-1, keepdim=True) - 1.0) / size
            support = support & (z > threshold)
            new_size = support.sum(-1, keepdim=True)
            if torch.equal(new_size, size):
                break
            size = new_size
        ctx.save_for_backward(support)
        return torch.where(support, z - threshold, 0.0)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:  # type: ignore[override]
        (support,) = ctx.saved_tensors
        inside = torch.where(support, grad, 0.0)
        mean = inside.sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return torch.where(support, grad - mean, 0.0)


class _SparsemaxFixedPasses(torch.autograd.Function):
    """The same projection with a fixed number of passes, for graph capture (no host synchronisation)."""

    @staticmethod
    def forward(ctx, logits: Tensor) -> Tensor:  # type: ignore[override]
        z = logits - logits.amax(-1, keepdim=True)
        support = z > -1.0
        threshold = torch.zeros_like(z[..., :1])
        for _ in range(z.shape[-1]):
            threshold = (torch.where(support, z, 0.0).sum(-1, keepdim=True) - 1.0) / support.sum(
                -1, keepdim=True
            )
            support = support & (z > threshold)
        ctx.save_for_backward(support)
        return torch.where(support, z - threshold, 0.0)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:  # type: ignore[override]
        return _Sparsemax.backward(ctx, grad)


def sparsemax(logits: Float[Tensor, "*row option"]) -> Float[Tensor, "*row option"]:
    """Sparsemax over the last axis; entries of minus infinity get exactly 0."""
    if logits.is_cuda:
        return _SparsemaxFixedPasses.apply(logits)  # type: ignore[return-value]
    return _Sparsemax.apply(logits)  # type: ignore[return-value]


def gumbel(like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard Gumbel noise: minus the log of an exponential variable."""
    return -torch.empty_like(like).exponential_(generator=generator).clamp_min_(1e-20).log_()


def one_hot_argmax(logits: Float[Tensor, "*row option"]) -> Float[Tensor, "*row option"]:
    """The hard choice: 1 at the (first) largest entry."""
    return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)


def sample(
    logits: Float[Tensor, "*row option"],
    tau: float | Tensor,
    alpha: float | Tensor,
    mode: Mode = "sampled",
    noise: float = 1.0,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*row option"]:
    """S(logits, tau): a point of the simplex in every row; one-hot in `hard` mode."""
    if mode == "hard":
        return one_hot_argmax(logits)
    if mode == "sampled" and noise:
        logits = logits + noise * gumbel(logits, generator)
    scaled = logits / tau
    return (1 - alpha) * scaled.softmax(-1) + alpha * sparsemax(scaled)
