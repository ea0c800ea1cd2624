"""The sampler S: sparsemax is the projection onto the simplex, and the blend has the right two ends."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from weights2code.errors import InputError
from weights2code.model.sampler import (
    HARD,
    Annealing,
    Sampling,
    _threshold_of_pairs,
    _threshold_of_sorted,
    sample,
    sparsemax,
)

ELEMENTS = st.floats(-20, 20, allow_subnormal=False) | st.integers(-2, 2).map(float)
LOGITS = arrays(np.float64, array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=7), elements=ELEMENTS)
ROW = arrays(np.float64, st.integers(1, 5), elements=ELEMENTS)
FEWER = settings(max_examples=25)
SOME = settings(max_examples=50)


@st.composite
def masked_logits(draw):
    """Logits of which some are minus infinity, at least one in each row finite."""
    z = draw(LOGITS)
    hidden = draw(arrays(bool, z.shape))
    keep = draw(st.integers(0, z.shape[-1] - 1))
    hidden[..., keep] = False
    return np.where(hidden, -np.inf, z)


def projection_by_sorting(z):
    """The textbook algorithm: the support is the longest prefix of the sorted entries that carries it."""
    result = np.zeros_like(z)
    for index in np.ndindex(z.shape[:-1]):
        finite = z[index][np.isfinite(z[index])]
        order = np.sort(finite)[::-1]
        total = np.cumsum(order)
        k = np.arange(1, len(order) + 1)
        size = k[1 + k * order > total][-1]
        result[index] = np.maximum(z[index] - (total[size - 1] - 1) / size, 0)
    return result


@SOME
@given(z=masked_logits())
def test_sparsemax_is_the_projection_onto_the_simplex(z):
    p = sparsemax(torch.from_numpy(z)).numpy()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(-1), 1, atol=1e-9)
    assert (p[np.isneginf(z)] == 0).all()
    np.testing.assert_allclose(p, projection_by_sorting(z), atol=1e-9)


def test_forbidden_entries_get_no_gradient():
    z = torch.tensor([[0.3, -torch.inf, 0.1, -torch.inf]], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, 2.0, -3.0, 5.0], dtype=torch.float64)
    (sample(z, Sampling(0.7, 0.5, "soft")) * weights).sum().backward()
    assert z.grad is not None
    assert torch.isfinite(z.grad).all()
    assert z.grad[0, [1, 3]].tolist() == [0.0, 0.0]
    assert z.grad[0, 0] != 0


# -- the blend ----------------------------------------------------------------------------------------------


@SOME
@given(first=st.floats(0.5, 50), share=st.floats(0.001, 0.9), points=st.lists(st.floats(0, 1), max_size=9))
def test_annealing_runs_from_softmax_to_sparsemax(first, share, points):
    annealing = Annealing(first, first * share)
    assert annealing.tau(0.0) == first
    assert annealing.tau(1.0) == pytest.approx(first * share)
    assert annealing.alpha(annealing.first) == 0
    assert annealing.alpha(annealing.last) == 1
    taus = [annealing.tau(point) for point in sorted(points)]
    assert taus == sorted(taus, reverse=True)
    alphas = [annealing.alpha(tau) for tau in taus]
    assert alphas == sorted(alphas)
    assert all(-1e-9 <= alpha <= 1 + 1e-9 for alpha in alphas)


@pytest.mark.parametrize(("first", "last"), [(1.0, 1.0), (0.1, 10.0), (1.0, 0.0), (1.0, -1.0)])
def test_annealing_must_fall_and_stay_positive(first, last):
    with pytest.raises(InputError, match="temperature"):
        Annealing(first, last)


@SOME
@given(z=LOGITS, tau=st.floats(0.1, 10))
def test_the_ends_of_the_blend_are_softmax_and_sparsemax(z, tau):
    logits = torch.from_numpy(z)
    assert torch.equal(sample(logits, Sampling(tau, 0.0, "soft")), (logits / tau).softmax(-1))
    assert torch.equal(sample(logits, Sampling(tau, 1.0, "soft")), sparsemax(logits / tau))


@SOME
@given(z=masked_logits(), tau=st.floats(0.05, 10), alpha=st.floats(0, 1), noise=st.floats(0, 2))
def test_samples_lie_on_the_simplex_and_never_on_forbidden_entries(z, tau, alpha, noise):
    generator = torch.Generator().manual_seed(0)
    p = sample(torch.from_numpy(z), Sampling(tau, alpha, "sampled", noise, generator)).numpy()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(-1), 1, atol=1e-6)
    assert (p[np.isneginf(z)] == 0).all()


@SOME
@given(z=masked_logits())
def test_hard_samples_are_one_hot_at_the_first_largest_entry(z):
    p = sample(torch.from_numpy(z), HARD).numpy()
    assert np.array_equal(p, np.arange(z.shape[-1]) == z.argmax(-1)[..., None])


@FEWER
@given(z=ROW, tau=st.floats(0.3, 5), alpha=st.floats(0, 1))
def test_blend_gradients_equal_finite_differences(z, tau, alpha):
    p = projection_by_sorting(z / tau)
    threshold = np.where(p > 0, z / tau - p, np.inf).min(-1, keepdims=True)
    assume((abs(z / tau - threshold) > 1e-3).all())
    logits = torch.from_numpy(z).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: sample(x, Sampling(tau, alpha, "soft")), logits, atol=1e-4)


# -- noise --------------------------------------------------------------------------------------------------


def test_sampling_with_noise_draws_from_the_softmax():
    """The Gumbel-max property: at low temperature, options are drawn with the softmax's frequencies."""
    logits = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    draws = sample(logits.repeat(50_000, 1), Sampling(1e-4, 1.0, generator=torch.Generator().manual_seed(2)))
    torch.testing.assert_close(draws.mean(0), logits.softmax(-1), atol=0.01, rtol=0)
    assert (draws.amax(-1) > 0.99).double().mean() > 0.99


@SOME
@given(z=LOGITS)
def test_both_ways_to_the_threshold_agree(z):
    tensor = torch.from_numpy(z)
    torch.testing.assert_close(_threshold_of_pairs(tensor), _threshold_of_sorted(tensor))


def flips(tau, *, cooled):
    """How often sampling takes the second best of two options that are a gap of 3 apart."""
    logits = torch.tensor([[3.0, 0.0]]).expand(4000, 2)
    generator = torch.Generator().manual_seed(0)
    p = sample(logits, Sampling(tau, 1.0, generator=generator, cooled=cooled))
    return (p.argmax(-1) == 1).double().mean().item()


def test_cooled_noise_fades_with_the_temperature():
    assert flips(10.0, cooled=True) > 0.3
    assert flips(0.1, cooled=True) == 0
    warm = [flips(tau, cooled=False) for tau in (10.0, 0.1)]
    assert warm[0] == warm[1] == pytest.approx(1 / (1 + math.exp(3)), abs=0.02)
