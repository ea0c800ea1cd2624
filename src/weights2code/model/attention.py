"""Numerical attention: routing across positions, never arithmetic (paper, section 3.2).

All functions work on the stream's layout (member, variable, position, batch). Every head has one more
slot than the sequence, the null slot: value 0, a score of its own. Values are raw scalars (identity
projection), so a hard head copies one earlier value, or 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache, partial

import torch
from jaxtyping import Float
from torch import Tensor

from weights2code.heads import HEADS, RECENCY, HeadKind, Relation
from weights2code.model.long_product import long_product


@lru_cache(maxsize=64)
def offset_basis(
    length: int, window: int, *, clip: bool, device: torch.device, dtype: torch.dtype
) -> Float[Tensor, "window pair"]:
    """0/1 tensor (window, length * length): which (query, key) pairs each offset stands for.

    With `clip`, offsets beyond the window share the last one (T5-style); without, they belong to none.
    """
    position = torch.arange(length, device=device)
    offset = position[:, None] - position[None, :]
    clipped = offset.clamp_max(window - 1) if clip else offset
    basis = clipped[None] == torch.arange(window, device=device)[:, None, None]
    return (basis & (offset >= 0)[None]).to(dtype).reshape(window, length * length)


def location_attention(
    weights: Float[Tensor, "member head slot"],
    values: Float[Tensor, "member head pos batch"],
    basis: Float[Tensor, "window pair"],
    start: Float[Tensor, "member head"] | None = None,
) -> Float[Tensor, "member head pos batch"]:
    """One selection over offsets (and null, the last slot) serves every position: a shifted copy.

    Before the start, and in the null slot, lies 0, or the learned value `start`.
    """
    members, heads, length, _ = values.shape
    window = basis.shape[0]
    shift = (weights[..., :window] @ basis).view(members, heads, length, length)
    if start is None:
        return shift @ values
    before = 1.0 - shift.sum(-1, keepdim=True)
    return shift @ values + start[:, :, None, None] * before


def piecewise_linear_encoding(
    x: Float[Tensor, "*shape"], low: float, high: float, bins: int
) -> Float[Tensor, "*shape boundary"]:
    """Weights of the two neighbouring bin boundaries of each scalar; outside the range the nearest one."""
    place = ((x - low) / (high - low)).clamp(0.0, 1.0) * bins
    boundary = torch.arange(bins + 1, device=x.device, dtype=x.dtype)
    return (1.0 - (place[..., None] - boundary).abs()).clamp_min(0.0)


def pointer_scores(
    query: Float[Tensor, "member head asked batch"],
    key: Float[Tensor, "member head pos batch"],
    query_table: Float[Tensor, "member head boundary width"],
    key_table: Float[Tensor, "member head boundary width"],
    value_range: tuple[float, float],
) -> Float[Tensor, "member head batch asked pos"]:
    """Scaled dot products of the encoded queries and keys.

    The embeddings of boundaries meet each other first: one small table of similarities for each head.
    """
    bins, width = query_table.shape[-2] - 1, query_table.shape[-1]
    similarity = query_table @ key_table.transpose(-1, -2) / math.sqrt(width)
    encoded = piecewise_linear_encoding(query.transpose(-1, -2), *value_range, bins)
    keys = piecewise_linear_encoding(key.transpose(-1, -2), *value_range, bins)
    queries = long_product(similarity.mT, encoded.flatten(2, 3).mT).mT.unflatten(2, encoded.shape[2:4])
    return queries @ keys.mT


def equality_scores(
    query: Float[Tensor, "member head asked batch"],
    key: Float[Tensor, "member head pos batch"],
    sharpness: float,
) -> Float[Tensor, "member head batch asked pos"]:
    """Zero where key equals query, very negative elsewhere; among equals the newest is ahead by a hair."""
    distance = query.permute(0, 1, 3, 2)[..., :, None] - key.permute(0, 1, 3, 2)[..., None, :]
    position = torch.arange(key.shape[2], device=key.device, dtype=key.dtype)
    asked = position[key.shape[2] - query.shape[2] :]
    return -sharpness * distance.square() - RECENCY * (asked[:, None] - position[None, :])


def with_bias_and_null(
    scores: Float[Tensor, "member head batch asked pos"],
    bias: Float[Tensor, "member head window"],
    null: Float[Tensor, "member head"],
    basis: Float[Tensor, "window pair"],
) -> Float[Tensor, "member head batch asked slot"]:
    """Add the clipped relative bias, forbid the future, append the null slot.

    Queries come from the last positions; keys from all.
    """
    members, heads, batch, asked, length = scores.shape
    future = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
    relative = (bias @ basis).view(members, heads, 1, length, length).masked_fill(future, -torch.inf)
    null_slot = null[:, :, None, None, None].expand(members, heads, batch, asked, 1)
    return torch.cat([scores + relative[..., length - asked :, :], null_slot], -1)


def select_values(
    weights: Float[Tensor, "member head batch asked slot"], values: Float[Tensor, "member head pos batch"]
) -> Float[Tensor, "member head asked batch"]:
    """Weighted sum of the raw values; the null slot's value is 0."""
    with_null = torch.nn.functional.pad(values.transpose(-1, -2), (0, 1))
    return (weights * with_null[..., None, :]).sum(-1).transpose(-1, -2)


def prefix_mean(values: Float[Tensor, "member head pos batch"]) -> Float[Tensor, "member head pos batch"]:
    """Soft attention with equal scores: the mean of everything so far."""
    count = torch.arange(1, values.shape[2] + 1, device=values.device, dtype=values.dtype)
    return values.cumsum(2) / count[:, None]


def prefix_count(
    keys: Float[Tensor, "member head pos batch"],
    values: Float[Tensor, "member head pos batch"],
    relation: Relation,
) -> Float[Tensor, "member head pos batch"]:
    """How many keys so far compare so with the value at each position."""
    compare = getattr(operator, relation)
    found = [compare(keys[:, :, : t + 1], values[:, :, t, None]).sum(2) for t in range(keys.shape[2])]
    return torch.stack(found, 2).to(values.dtype)


#: What each kind of aggregate makes of values (member, head, pos, batch): a sum is a mean times the length,
#: an extremum one whose window is the whole prefix.
PREFIX: dict[HeadKind, Callable[[Tensor], Tensor]] = {
    "mean": prefix_mean,
    "sum": lambda values: values.cumsum(2),
    "max": lambda values: values.cummax(2).values,
    "min": lambda values: values.cummin(2).values,
}


def computed(kind: HeadKind) -> Callable[..., Tensor]:
    """What a head that selects nothing makes of what it reads, (member, head, pos, batch) each."""
    facts = HEADS[kind]
    if facts.relation is not None:
        return partial(prefix_count, relation=facts.relation)
    return facts.tensors or PREFIX[kind]
