"""Thin heads: what the output does not need loses its weight, and what it needs keeps it."""

from __future__ import annotations

import torch

from weights2code.model import HARD, Architecture, DiscreteTransformer
from weights2code.training.loop import evaluate_hard
from weights2code.training.search import live_variables
from weights2code.training.step import Batch, target_variance
from weights2code.training.thin import thin_heads

ARCHITECTURE = Architecture(channels=3, layers=2, location=1, submlps=2, window=3)


def data(noise: float = 0.0) -> Batch:
    generator = torch.Generator().manual_seed(1)
    channels = torch.randn(3, 6, 200, generator=generator)
    targets = 2.0 * channels[:1] - channels[2:] + noise * torch.randn(1, 6, 200, generator=generator)
    return channels, targets, torch.ones(6, 200, dtype=torch.bool)


def test_the_head_keeps_only_what_the_output_needs():
    model = DiscreteTransformer(ARCHITECTURE, members=4, seed=3)
    thin_heads(model, data())
    assert {tuple(row.nonzero().flatten().tolist()) for row in model.variable_mask} == {(0, 2)}
    variance = target_variance(data()[1], data()[2])
    assert float(evaluate_hard(model, data(), variance, "closed").max()) < 1e-8
    assert [live_variables(model, member) for member in range(4)] == [2] * 4


def test_a_loss_that_is_there_stays_about_what_it_was():
    model = DiscreteTransformer(ARCHITECTURE, members=3, seed=3)
    noisy = data(noise=1.0)
    variance = target_variance(noisy[1], noisy[2])
    before = evaluate_hard(model, noisy, variance, "closed")
    thin_heads(model, noisy)
    after = evaluate_hard(model, noisy, variance, "closed")
    assert (after <= 1.25 * before).all()
    assert model.variable_mask[:, 0].all()


def test_live_variables_are_those_that_the_output_depends_on():
    model = DiscreteTransformer(ARCHITECTURE, members=1, seed=5)
    last = model.architecture.stream_width(2) - 1
    model.variable_mask[:] = False
    model.variable_mask[:, last] = True
    with torch.no_grad():
        model.head[:] = 0.0
        model.head[:, :, last] = 1.0
    live = live_variables(model, 0)
    assert 2 <= live <= last + 1
    channels, _, _ = data()
    stream = model.stream(channels, HARD)
    assert stream.shape[1] == last + 1


def test_a_member_that_is_not_finite_is_left_alone():
    model = DiscreteTransformer(ARCHITECTURE, members=2, seed=3)
    with torch.no_grad():
        model.output_bias[0] = torch.inf
    thin_heads(model, data())
    assert model.variable_mask[0].all()
    assert not model.variable_mask[1].all()
