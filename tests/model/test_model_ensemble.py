"""Members are independent: batching, copying, masking and seeding never mix them."""

import pytest
import torch

from weights2code.errors import InputError
from weights2code.model import HARD, Architecture, DiscreteTransformer, Sampling

SIZES = {
    "location": Architecture(location=2, layers=2, window=4, submlps=3),
    "pointer": Architecture(pointer=2, window=5, outputs=2),
    "aggregates": Architecture(mean=1, sum=1, max=1, min=1, channels=2, layers=2),
    "every kind": Architecture(
        channels=3, outputs=2, layers=2, location=1, pointer=1, equality=1, mean=1, sum=1, arity=3, window=6
    ),
    "learned start": Architecture(channels=2, past=1, location=1, learned_start=True, window=3),
}
SOFT = Sampling(0.7, 0.5, "soft")
EVERY = pytest.mark.parametrize("architecture", SIZES.values(), ids=SIZES.keys())


def data(architecture, length=7, batch=4):
    generator = torch.Generator().manual_seed(5)
    return torch.randn(architecture.channels, length, batch, generator=generator, dtype=torch.float64)


def ensemble(architecture, members, **options):
    return DiscreteTransformer(architecture, members, dtype=torch.float64, **options)


@EVERY
@pytest.mark.parametrize("sampling", [SOFT, HARD], ids=["soft", "hard"])
def test_an_ensemble_equals_its_members_run_alone(architecture, sampling):
    model, channels = ensemble(architecture, 5), data(architecture)
    together = model(channels, sampling)
    assert together.shape == (5, architecture.outputs, 7, 4)
    for member in range(5):
        alone = model.take([member])(channels, sampling)
        torch.testing.assert_close(alone[0], together[member], rtol=1e-12, atol=1e-12)


@EVERY
def test_a_member_starts_the_same_in_any_ensemble(architecture):
    small, large = ensemble(architecture, 2, seed=3), ensemble(architecture, 6, seed=3)
    other = ensemble(architecture, 2, seed=4)
    for name, parameter in small.named_parameters():
        assert torch.equal(parameter, getattr(large, name)[:2])
    assert not torch.equal(small.choices, other.choices)
    assert not torch.equal(small.choices[0], small.choices[1])


def test_take_copies_weights_and_masks_and_repeats():
    model = ensemble(SIZES["location"], 3)
    model.forbid(1, [1])
    model.forbid_offsets(2, [1, 2])
    taken = model.take([2, 1, 1])
    assert taken.members == 3
    assert torch.equal(taken.choice_mask, model.choice_mask[[2, 1, 1]])
    assert torch.equal(taken.variable_mask, model.variable_mask[[2, 1, 1]])
    with torch.no_grad():
        taken.choices.add_(1.0)
    assert not torch.equal(taken.choices[1], model.choices[1])


# -- masks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", [SOFT, HARD, Sampling(5.0, 0.2, "sampled")], ids=lambda s: s.mode)
def test_forbidden_channels_are_never_used(sampling):
    """Whatever stands in a hidden channel, the outputs stay bit for bit the same, and no gradient flows."""
    architecture = SIZES["every kind"]
    model, channels = ensemble(architecture, 2), data(architecture)
    model.forbid(slice(None), [1])

    def run(x):
        generator = torch.Generator().manual_seed(0)
        return model(x, Sampling(sampling.tau, sampling.alpha, sampling.mode, 1.0, generator))

    changed = channels.clone()
    changed[1] = torch.linspace(-100, 100, changed[1].numel(), dtype=torch.float64).reshape(changed[1].shape)
    assert torch.equal(run(changed), run(channels))
    watched = channels.clone().requires_grad_()
    run(watched).sum().backward()
    assert watched.grad is not None
    assert (watched.grad[1] == 0).all()
    assert (watched.grad[0] != 0).any()


def test_a_mask_that_leaves_nothing_to_read_is_refused():
    with pytest.raises(InputError, match="nothing to choose from for the value of Attn_L0H0"):
        ensemble(Architecture(location=1, window=2), 2).forbid(0, [0])
    with pytest.raises(InputError, match="nothing to choose from for the offset of Attn_L0H0"):
        ensemble(Architecture(location=1, window=2), 2).forbid_offsets(1, [0, 1, 2])


def reach(model, channels, channel):
    """Offsets at which a channel has an influence on the outputs of a position, by its gradient."""
    watched = channels.clone().requires_grad_()
    last = channels.shape[1] - 1
    outputs = model(watched, Sampling(5.0, 0.0, "soft"))[:, :, last].sum()
    (gradient,) = torch.autograd.grad(outputs, watched)
    return {last - t for t in range(last + 1) if (gradient[channel, t] != 0).any()}


def test_a_channel_hidden_at_present_can_still_be_looked_up():
    architecture = Architecture(location=2, layers=2, window=4)
    model, channels = ensemble(architecture, 2), data(architecture)
    assert 0 in reach(model, channels, 0)
    model.forbid_present(slice(None), [0])
    model.forbid_offsets(slice(None), [0])
    assert reach(model, channels, 0) == {1, 2, 3, 4, 5, 6}


def test_the_papers_intervention_on_past_outputs():
    """spring with y[t-1] and y[t-2] masked: y is seen from t-3 back, x at every offset."""
    architecture = Architecture(channels=2, past=1, location=4, layers=2, window=4)
    model, channels = ensemble(architecture, 2), data(architecture)
    model.reserve_heads(slice(None), 1, [0, 1])
    assert reach(model, channels, 1) == {2, 3, 4, 5, 6}
    assert reach(model, channels, 0) == {0, 1, 2, 3, 4, 5, 6}


def test_an_empty_range_of_values_is_refused_for_pointer_heads():
    with pytest.raises(InputError, match="range"):
        ensemble(Architecture(pointer=1), 1, value_range=(0.5, 0.5))


def test_positions_that_nobody_asks_for_are_left_out():
    architecture = Architecture(
        channels=2, layers=2, location=1, pointer=1, equality=1, mean=1, sum=1, max=1, window=4
    )
    model = DiscreteTransformer(architecture, members=2, seed=3)
    channels = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(model(channels, first=3), model(channels)[:, :, 3:])
