"""Fused kernels against PyTorch's own gradients: on a GPU, or interpreted (TRITON_INTERPRET=1)."""

import os
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch

from weights2code.model import Architecture, DiscreteTransformer, Sampling
from weights2code.training.fused.program import FusedTraining, can_fuse
from weights2code.training.loop import start
from weights2code.training.recipes import Recipe, paper_recipe
from weights2code.training.step import Batch, batch_losses, target_variance

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
kernels = pytest.mark.skipif(
    find_spec("triton") is None or not (torch.cuda.is_available() or INTERPRETED),
    reason="needs Triton with a GPU, or its interpreter",
)
pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")  # interpreted
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"


def recipe_of(noise: float = 0.0, **given: object) -> Recipe:
    return replace(paper_recipe(2), noise=noise, batch=64, steps_per_epoch=1, **given)  # type: ignore[arg-type]


def batch_of(channels: int, outputs: int, length: int, first: int) -> Batch:
    generator = torch.Generator().manual_seed(5)
    data = torch.rand(channels, length, 64, generator=generator) * 2.4 - 1.2
    targets = torch.randn(outputs, length, 64, generator=generator)
    scored = torch.zeros(length, 64, dtype=torch.bool)
    scored[first:] = True
    return data.to(DEVICE), targets.to(DEVICE), scored.to(DEVICE)


@kernels
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "length", "first", "cooled"),
    [
        ({"layers": 1, "pointer": 2, "submlps": 1, "window": 3}, 5, 1, True),
        ({"layers": 2, "pointer": 1, "submlps": 1, "window": 24, "arity": 3, "outputs": 2}, 17, 12, False),
    ],
)
def test_gradients_are_those_of_pytorch(sizes: dict[str, int], length: int, first: int, cooled: bool) -> None:
    architecture = Architecture(channels=3, **sizes)  # type: ignore[arg-type]
    one, other = (DiscreteTransformer(architecture, 2, seed=1).to(DEVICE) for _ in range(2))
    for model in (one, other):
        model.forbid(1, [0, 4])  # a channel; a head of the first, a sub-MLP of the second
        model.forbid_offsets(0, [1])
    batch, recipe = batch_of(3, architecture.outputs, length, first), recipe_of(cooled=cooled, leak=0.1)
    recipe = replace(recipe, leak_fades=False)
    variance = target_variance(batch[1], batch[2])
    assert can_fuse(one, batch, recipe)
    fused = FusedTraining(one, start(one, recipe).optimizer, batch, recipe, variance, 3)
    fused.order.copy_(torch.arange(64))
    fused.step.fill_(1)  # half way, where sparsemax counts
    fused.forward()
    fused.backward()
    other.leak = 0.1
    tau = recipe.annealing.tau(0.5)
    sampling = Sampling(tau, recipe.annealing.alpha(tau), noise=0.0, cooled=cooled)
    losses = batch_losses(other, batch, recipe, variance, sampling, first)
    losses.sum().backward()
    torch.testing.assert_close(fused.losses.sum(0), losses.detach(), rtol=1e-5, atol=1e-6)
    for name, parameter in other.named_parameters():
        if parameter.grad is not None:
            found = fused.parts[:, fused.segment[name]].sum(0).view(parameter.shape)
            error = (found - parameter.grad).norm() / parameter.grad.norm().clamp(min=1e-12)
            assert error < 1e-2, f"{name}: {error:.1e}"  # a sum at a kink may fall on either side


@kernels
def test_steps_are_those_of_adamw() -> None:
    architecture = Architecture(channels=1, layers=1, pointer=1, submlps=1, window=3)
    model = DiscreteTransformer(architecture, 1, seed=1).to(DEVICE)
    batch, recipe = batch_of(1, 1, 3, 0), recipe_of(l1=0.01)
    fused = FusedTraining(model, start(model, recipe).optimizer, batch, recipe, torch.ones(1), 0)
    before = fused.weights.clone().requires_grad_()
    fused.forward()
    fused.backward()
    before.grad = fused.parts.sum(0) + fused.penalty * before.detach().sign()
    torch.optim.AdamW([before], lr=recipe.learning_rate, weight_decay=recipe.weight_decay).step()
    fused.parts.zero_()
    fused.once()
    torch.testing.assert_close(fused.weights, before.detach(), rtol=1e-4, atol=1e-6)


def test_what_kernels_do_not_do_is_left_to_pytorch() -> None:
    batch = batch_of(1, 1, 4, 0)
    heads = DiscreteTransformer(Architecture(location=1, pointer=1))
    solved = DiscreteTransformer(Architecture(pointer=1))
    assert not can_fuse(heads, batch, recipe_of())
    assert not can_fuse(solved, batch, replace(recipe_of(), head="closed"))


def test_leaking_units_pass_some_of_what_is_below_zero() -> None:
    model = DiscreteTransformer(Architecture(layers=1, pointer=1, submlps=1), 1, seed=3)
    for model.leak, expected in ((0.1, -0.2), (torch.tensor(0.1), -0.2), (0.0, 0.0)):
        assert torch.allclose(model._activated(torch.tensor([-2.0, 3.0])), torch.tensor([expected, 3.0]))
