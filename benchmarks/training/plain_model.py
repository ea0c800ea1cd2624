"""The Discrete Transformer as one would write it first: one model, ordinary layers, no members axis.

The same mathematics as `weights2code.model` (paper, section 3), for pointer and location heads: the stream
is (batch, position, variable), each head and each sub-MLP is a module of its own, sparsemax sorts. This is
what the batched program is measured against; `copy_member` makes both compute the same numbers.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from weights2code.model import Architecture, DiscreteTransformer


def sparsemax(z: Tensor) -> Tensor:
    """Projection onto the simplex by sorting (Martins and Astudillo, 2016)."""
    ordered, _ = z.sort(-1, descending=True)
    k = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    total = ordered.cumsum(-1)
    inside = 1 + k * ordered > total
    size = inside.sum(-1, keepdim=True)
    threshold = (total.gather(-1, size - 1) - 1) / size
    return (z - threshold).clamp(min=0)


class Sampler(nn.Module):
    """S(logits, tau); the schedule sets its attributes before every step."""

    def __init__(self) -> None:
        super().__init__()
        self.tau, self.alpha, self.noise = 1.0, 0.0, 0.0

    def forward(self, logits: Tensor) -> Tensor:
        if self.noise:
            uniform = torch.rand_like(logits).clamp(min=1e-20)
            logits = logits - self.noise * torch.log(-torch.log(uniform))
        scaled = logits / self.tau
        return (1 - self.alpha) * torch.softmax(scaled, -1) + self.alpha * sparsemax(scaled)


class Read(nn.Module):
    """u = S(W_read, tau) h: `count` scalars chosen from the stream."""

    def __init__(self, sampler: Sampler, count: int, variables: int) -> None:
        super().__init__()
        self.sampler = sampler
        self.logits = nn.Parameter(0.1 * torch.randn(count, variables))

    def forward(self, stream: Tensor) -> Tensor:
        return stream @ self.sampler(self.logits).T


class Encoding(nn.Module):
    """Piecewise linear encoding: an embedding for each bin boundary, interpolated."""

    def __init__(self, bins: int, width: int, value_range: tuple[float, float]) -> None:
        super().__init__()
        self.bins, self.value_range = bins, value_range
        self.table = nn.Parameter(0.5 * torch.randn(bins + 1, width))

    def forward(self, x: Tensor) -> Tensor:
        low, high = self.value_range
        place = ((x - low) / (high - low)).clamp(0, 1) * self.bins
        left = place.floor().clamp(max=self.bins - 1).long()
        share = (place - left)[..., None]
        return (1 - share) * self.table[left] + share * self.table[left + 1]


class PointerHead(nn.Module):
    """The paper's numerical attention, with the null slot."""

    def __init__(
        self, architecture: Architecture, sampler: Sampler, variables: int, value_range: tuple[float, float]
    ) -> None:
        super().__init__()
        a = architecture
        self.sampler, self.window, self.width = sampler, a.window, a.width
        self.read = Read(sampler, 3, variables)
        self.query = Encoding(a.bins, a.width, value_range)
        self.key = Encoding(a.bins, a.width, value_range)
        self.relative_bias = nn.Parameter(0.1 * torch.randn(a.window))
        self.null_score = nn.Parameter(0.1 * torch.randn(()))

    def forward(self, stream: Tensor) -> Tensor:
        query, key, value = self.read(stream).unbind(-1)
        batch, length = value.shape
        position = torch.arange(length, device=stream.device)
        offset = position[:, None] - position[None, :]
        scores = self.query(query) @ self.key(key).transpose(1, 2) / math.sqrt(self.width)
        scores = scores + self.relative_bias[offset.clamp(0, self.window - 1)]
        scores = scores.masked_fill(offset < 0, -torch.inf)
        null = self.null_score.expand(batch, length, 1)
        weights = self.sampler(torch.cat([scores, null], -1))
        return (weights[..., :-1] @ value[..., None]).squeeze(-1)


class LocationHead(nn.Module):
    """A choice among fixed offsets, and null."""

    def __init__(self, architecture: Architecture, sampler: Sampler, variables: int) -> None:
        super().__init__()
        self.sampler, self.window = sampler, architecture.window
        self.read = Read(sampler, 1, variables)
        self.offset = nn.Parameter(0.1 * torch.randn(architecture.window + 1))

    def forward(self, stream: Tensor) -> Tensor:
        value = self.read(stream).squeeze(-1)
        weights = self.sampler(self.offset)
        length = value.shape[1]
        shifted = [nn.functional.pad(value, (lag, 0))[:, :length] for lag in range(self.window)]
        return (torch.stack(shifted, -1) * weights[:-1]).sum(-1)


class SubMLP(nn.Module):
    """o = W2 relu(W1 u + b1) + b2 on `arity` operands."""

    def __init__(self, architecture: Architecture, sampler: Sampler, variables: int) -> None:
        super().__init__()
        self.read = Read(sampler, architecture.arity, variables)
        self.hidden = nn.Linear(architecture.arity, architecture.hidden)
        self.output = nn.Linear(architecture.hidden, 1)

    def forward(self, stream: Tensor) -> Tensor:
        return self.output(torch.relu(self.hidden(self.read(stream)))).squeeze(-1)


class PlainTransformer(nn.Module):
    """Input (batch, position, channel), output (batch, position, output)."""

    def __init__(self, architecture: Architecture, value_range: tuple[float, float] = (-1.0, 1.0)) -> None:
        super().__init__()
        a = architecture
        if a.heads != a.location + a.pointer or a.learned_start:
            raise ValueError("the plain model has pointer and location heads, and nothing else")
        self.sampler = Sampler()
        self.heads, self.submlps = nn.ModuleList(), nn.ModuleList()
        for layer in range(a.layers):
            width = a.stream_width(layer)
            heads: list[nn.Module] = [LocationHead(a, self.sampler, width) for _ in range(a.location)]
            heads += [PointerHead(a, self.sampler, width, value_range) for _ in range(a.pointer)]
            self.heads.append(nn.ModuleList(heads))
            width += a.heads
            self.submlps.append(nn.ModuleList(SubMLP(a, self.sampler, width) for _ in range(a.submlps)))
        self.head = nn.Linear(a.stream_width(a.layers), a.outputs)

    def forward(self, stream: Tensor) -> Tensor:
        for heads, submlps in zip(self.heads, self.submlps, strict=True):
            for modules in (heads, submlps):  # sub-MLPs read the heads of their own layer
                new = [module(stream) for module in modules]  # type: ignore[attr-defined]
                if new:
                    stream = torch.cat([stream, torch.stack(new, -1)], -1)
        return self.head(stream)


def copy_member(source: DiscreteTransformer, member: int, target: PlainTransformer) -> None:
    """Give the plain model the weights of one member."""
    a, wiring = source.architecture, source.wiring

    def row(layer: int, module: str, role: str) -> Tensor:
        for i, choice in enumerate(wiring.choices):
            if (choice.layer, choice.module, choice.role) == (layer, module, role):
                return source.choices[member, i, : choice.options]
        raise KeyError((layer, module, role))

    with torch.no_grad():
        for layer, (heads, submlps) in enumerate(zip(target.heads, target.submlps, strict=True)):
            for index, head in enumerate(heads):  # type: ignore[arg-type]
                name = f"Attn_L{layer}H{index}"
                if isinstance(head, LocationHead):
                    head.read.logits.copy_(row(layer, name, "value")[None])
                    head.offset.copy_(row(layer, name, "offset"))
                    continue
                seeker = index - a.location
                reads = [row(layer, name, role) for role in ("query", "key", "value")]
                head.read.logits.copy_(torch.stack(reads))
                head.query.table.copy_(source.query_table[member, layer, seeker])
                head.key.table.copy_(source.key_table[member, layer, seeker])
                head.relative_bias.copy_(source.relative_bias[member, layer, seeker])
                head.null_score.copy_(source.null_score[member, layer, seeker])
            for index, sub in enumerate(submlps):  # type: ignore[arg-type]
                name = f"MLP_L{layer}M{index}"
                reads = [row(layer, name, f"operand{i}") for i in range(a.arity)]
                sub.read.logits.copy_(torch.stack(reads))
                sub.hidden.weight.copy_(source.hidden_weight[member, layer, index])
                sub.hidden.bias.copy_(source.hidden_bias[member, layer, index, :, 0])
                sub.output.weight.copy_(source.output_weight[member, layer, index])
                sub.output.bias.copy_(source.output_bias[member, layer, index, 0])
        target.head.weight.copy_(source.head[member, :, :-1])
        target.head.bias.copy_(source.head[member, :, -1])
