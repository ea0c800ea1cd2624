"""The optimizer is PyTorch's, to the last bit, and goes on from what it remembers."""

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


def test_what_is_remembered_is_gone_on_from():
    whole, halved = parameters(), parameters()
    descend(AdamW(whole, 0.05), whole, range(20))
    first = AdamW(halved, 0.05)
    descend(first, halved, range(10))
    second = AdamW(halved, 0.05)
    second.remember(first.moments())
    descend(second, halved, range(10, 20))
    assert all(torch.equal(one, other) for one, other in zip(whole, halved, strict=True))
