"""Members of a wide model as models of the smaller architecture that their masks left them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weights2code.model.weights import Weights


def narrowed(wide: Weights, members: Sequence[int], heads: int, submlps: int) -> Weights:
    """Some members with the first `heads` pointer heads and `submlps` sub-MLPs of every layer alone.

    What is left out must be masked: then the outputs are the same.
    """
    sizes = wide.architecture
    if sizes.pointer != sizes.heads:
        raise ValueError("only models of pointer heads are narrowed")
    kept = list(range(sizes.channels))
    for layer in range(sizes.layers):
        first = sizes.stream_width(layer)
        kept += range(first, first + heads)
        kept += range(first + sizes.pointer, first + sizes.pointer + submlps)
    taken = wide.take(members)
    if np.delete(taken.masks["variable_mask"], kept, 1).any():
        raise ValueError("a module that is left out is read by some member")
    small = Weights.blank(
        replace(sizes, pointer=heads, submlps=submlps), len(members), wide.value_range, wide.sharpness
    )
    rows = [
        row
        for row, choice in enumerate(wide.wiring.choices)
        if choice.index < (submlps if choice.kind == "submlp" else heads)
    ]
    options = kept[: small.wiring.width]

    def part(name: str, values: np.ndarray) -> np.ndarray:
        if name in ("choices", "choice_mask"):
            return values[:, rows][..., options]
        if name == "head":
            return values[..., [*kept, values.shape[-1] - 1]]
        if name in ("query_table", "key_table", "relative_bias", "null_score"):
            return values[:, :, :heads]
        return values[:, :, :submlps] if values.ndim > 2 else values

    masks = {name: values for name, values in taken.masks.items() if name != "variable_mask"}
    return replace(
        small,
        parameters={name: part(name, values) for name, values in taken.parameters.items()},
        masks={name: part(name, values) for name, values in masks.items()}
        | {
            "variable_mask": taken.masks["variable_mask"][:, kept],
            "choice_mask": small.masks["choice_mask"] & part("choice_mask", masks["choice_mask"]),
        },
    )
