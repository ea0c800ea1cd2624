"""Products with many columns: the gradient in pieces is the plain gradient."""

import pytest
import torch

from weights2code.model.long_product import PIECE, _LongProduct, long_product, sum_over_columns


@pytest.mark.parametrize("columns", [1, PIECE - 1, PIECE, 3 * PIECE, 3 * PIECE + 5])
def test_pieces_sum_to_the_whole(columns):
    generator = torch.Generator().manual_seed(columns)
    left = torch.randn(2, 3, columns, generator=generator, dtype=torch.float64)
    right = torch.randn(2, 4, columns, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(sum_over_columns(left, right), left @ right.transpose(1, 2))


@pytest.mark.slow
def test_gradients_are_those_of_the_product():
    generator = torch.Generator().manual_seed(0)
    small = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    long = torch.randn(2, 4, PIECE + 3, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(_LongProduct.apply, (small, long))
    torch.testing.assert_close(long_product(small, long), small @ long)
