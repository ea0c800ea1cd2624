"""Products with many columns: the gradient in pieces is the plain gradient."""

import torch

from weights2code.model.long_product import PIECE, _LongProduct


def test_gradients_are_those_of_the_product():
    generator = torch.Generator().manual_seed(0)
    small = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    long = torch.randn(2, 4, PIECE + 3, generator=generator, dtype=torch.float64, requires_grad=True)
    ours, plain = (
        torch.autograd.grad(of(small, long).cos().sum(), (small, long))
        for of in (_LongProduct.apply, torch.matmul)
    )
    torch.testing.assert_close(ours, plain)
