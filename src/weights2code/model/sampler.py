"""The sampling function S(logits, tau) of the paper (appendix "Smooth Transition Mechanism").

p = (1 - alpha) * softmax(z) + alpha * sparsemax(z), with alpha rising from 0 at the first temperature to 1 at
the last. The paper does not say where the Gumbel noise g enters. z = (logits + g) / tau samples from the same
distribution at every temperature, so choices still flip at the end; z = logits / tau + g ("cooled") is nearly
random at first and settled at last, as training losses of 1e-16 ask for. `benchmarks/training/noise.py`
compares them. Three modes share one function: sampled (noise), soft (no noise) and hard (argmax, no noise).
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


@dataclass(frozen=True, slots=True)
class Sampling:
    """How choices are drawn in a forward pass: the temperature, the blend, the mode, the noise.

    `cooled` noise is added after the division by the temperature.
    """

    tau: float | Tensor = 1.0
    alpha: float | Tensor = 0.0
    mode: Mode = "sampled"
    noise: float = 1.0
    generator: torch.Generator | None = None
    cooled: bool = False


HARD = Sampling(mode="hard")


class _Sparsemax(torch.autograd.Function):
    """Euclidean projection onto the simplex (Martins and Astudillo, 2016).

    With the entries sorted downwards and S_k the sum of the first k, the threshold is the largest
    (S_k - 1) / k. It is at least the largest entry less 1, so whatever lies 2 below that entry may be
    raised to there. A sort of a few entries is cheaper than the repeated passes that avoid it. On a GPU,
    where comparing all pairs costs nothing, the support needs no sort: an entry is above the threshold if
    the others exceed it by less than 1 in all. Nothing here waits for the device, so that a step can be
    captured as a graph.
    """

    @staticmethod
    def forward(ctx, logits: Tensor) -> Tensor:  # type: ignore[override]
        z = (logits - logits.amax(-1, keepdim=True)).clamp_min_(-2.0)
        threshold = _threshold_of_pairs(z) if z.is_cuda else _threshold_of_sorted(z)
        projected = z.sub_(threshold).clamp_min_(0.0)
        ctx.save_for_backward(projected)
        return projected

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:  # type: ignore[override]
        (projected,) = ctx.saved_tensors
        support = (projected > 0).to(grad.dtype)
        mean = (grad * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return (grad - mean) * support


def _threshold_of_sorted(z: Tensor) -> Tensor:
    count = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    total = z.sort(-1, descending=True).values.cumsum(-1)
    return total.sub_(1.0).div_(count).amax(-1, keepdim=True)


def _threshold_of_pairs(z: Tensor) -> Tensor:
    exceeded = (z[..., None, :] - z[..., :, None]).clamp_min(0.0).sum(-1)
    support = (exceeded < 1.0).to(z.dtype)
    return ((z * support).sum(-1, keepdim=True) - 1.0) / support.sum(-1, keepdim=True)


def sparsemax(logits: Float[Tensor, "*row option"]) -> Float[Tensor, "*row option"]:
    """Sparsemax over the last axis; entries of minus infinity get exactly 0."""
    return _Sparsemax.apply(logits)  # type: ignore[return-value]


def gumbel(like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard Gumbel noise, -log(-log(u)); drawing uniforms is far cheaper than drawing exponentials."""
    uniform = torch.empty_like(like).uniform_(generator=generator).clamp_min_(1e-20)
    return uniform.log_().neg_().log_().neg_()


def one_hot_argmax(logits: Float[Tensor, "*row option"]) -> Float[Tensor, "*row option"]:
    """The hard choice: 1 at the (first) largest entry."""
    return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)


def sample(logits: Float[Tensor, "*row option"], sampling: Sampling) -> Float[Tensor, "*row option"]:
    """S(logits, tau): a point of the simplex in every row; one-hot in `hard` mode."""
    if sampling.mode == "hard":
        return one_hot_argmax(logits)
    noise = None
    if sampling.mode == "sampled" and sampling.noise:
        noise = gumbel(logits, sampling.generator)
    if noise is not None and not sampling.cooled:
        logits = torch.add(logits, noise, alpha=sampling.noise)
    scaled = logits / sampling.tau
    if noise is not None and sampling.cooled:
        scaled = torch.add(scaled, noise, alpha=sampling.noise)
    return torch.lerp(scaled.softmax(-1), sparsemax(scaled), sampling.alpha)
