"""Products of a small matrix with a very long one.

Reads, sub-MLPs and the head multiply a few weights with tens of thousands of columns (positions times
batch). The gradient of the weights then sums over all columns into a handful of numbers, which a GPU's
matrix product does in a single block, one column after the other; it took four tenths of a training step.
Cut into pieces, the sum runs in parallel. Where there is no GPU the plain product is the fastest.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

#: Columns a piece; what is left over makes one piece more.
PIECE = 128


class _LongProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, small: Tensor, long: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(small, long)
        return small @ long

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:  # type: ignore[override]
        small, long = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        return (
            sum_over_columns(grad, long) if wanted[0] else None,
            small.transpose(-1, -2) @ grad if wanted[1] else None,
        )


def long_product(
    small: Float[Tensor, "*lead row inner"], long: Float[Tensor, "*lead inner column"]
) -> Float[Tensor, "*lead row column"]:
    """`small @ long`, with a gradient that is fast on a GPU however many columns there are."""
    return _LongProduct.apply(small, long) if long.is_cuda else small @ long  # type: ignore[return-value]


def sum_over_columns(
    left: Float[Tensor, "*lead row column"], right: Float[Tensor, "*lead inner column"]
) -> Float[Tensor, "*lead row inner"]:
    """`left @ right.T` in pieces of columns that are summed at the end."""
    columns = left.shape[-1]
    whole = columns - columns % PIECE
    pieces = [tensor[..., :whole].unflatten(-1, (-1, PIECE)).transpose(-2, -3) for tensor in (left, right)]
    total = (pieces[0] @ pieces[1].transpose(-1, -2)).sum(-3)
    if whole < columns:
        total = total + left[..., whole:] @ right[..., whole:].transpose(-1, -2)
    return total
