"""Members of a wide model as models of the smaller architecture that their masks left them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from weights2code.model.transformer import DiscreteTransformer


def narrowed(
    model: DiscreteTransformer, members: Sequence[int], heads: int, submlps: int
) -> DiscreteTransformer:
    """Some members with the first `heads` pointer heads and `submlps` sub-MLPs of every layer alone.

    What is left out must be masked: then the outputs are the same.
    """
    wide = model.architecture
    if wide.pointer != wide.heads:
        raise ValueError("only models of pointer heads are narrowed")
    kept = list(range(wide.channels))
    for layer in range(wide.layers):
        first = wide.stream_width(layer)
        kept += range(first, first + heads)
        kept += range(first + wide.pointer, first + wide.pointer + submlps)
    hidden = [variable for variable in range(wide.stream_width(wide.layers)) if variable not in kept]
    taken = model.take(members)
    if bool(taken.variable_mask[:, hidden].any()):
        raise ValueError("a module that is left out is read by some member")
    rows = [
        row
        for row, choice in enumerate(model.wiring.choices)
        if choice.index < (submlps if choice.kind == "submlp" else heads)
    ]
    small = DiscreteTransformer(
        replace(wide, pointer=heads, submlps=submlps),
        len(members),
        model.value_range,
        dtype=model.choices.dtype,
        sharpness=model.sharpness,
    ).to(model.choices.device)
    options = torch.tensor(kept)[: small.wiring.width]

    def part(name: str, wide: Tensor) -> Tensor:
        if name == "choices":
            return wide[:, rows][..., options]
        if name == "head":
            return wide[..., [*kept, wide.shape[-1] - 1]]
        if name in ("query_table", "key_table", "relative_bias", "null_score"):
            return wide[:, :, :heads]
        return wide[:, :, :submlps] if wide.dim() > 2 else wide

    with torch.no_grad():
        for name, parameter in small.named_parameters():
            parameter.copy_(part(name, getattr(taken, name)))
        small.choice_mask.copy_(small.choice_mask & taken.choice_mask[:, rows][..., options])
        small.variable_mask.copy_(taken.variable_mask[:, kept])
        small.offset_mask.copy_(taken.offset_mask)
        small.start_mask.copy_(taken.start_mask)
    return small
