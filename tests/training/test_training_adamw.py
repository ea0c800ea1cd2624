"""The optimizer is PyTorch's, to the last bit."""

import torch

from weights2code.training.adamw import AdamW


def parameters() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=draw).requires_grad_() for shape in ((3, 4), (5,), (2, 2))]


def descend(optimizer, own: list[torch.Tensor], steps: range) -> None:
    for step in steps:
        optimizer.zero_grad()
        first, second, _ = (part * (1 + step % 3) for part in own)  # the last has no gradient
        (first.cos().sum() + second.cos().sum()).backward()
        optimizer.step()


def test_the_same_as_pytorch():
    ours, theirs = parameters(), parameters()
    descend(AdamW(ours, 0.05, 0.1), ours, range(20))
    descend(torch.optim.AdamW(theirs, lr=0.05, weight_decay=0.1, fused=True), theirs, range(20))
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
