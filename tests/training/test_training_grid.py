"""The paper's grid as masks of one wide model."""

import pytest
import torch

from weights2code.model import HARD, Architecture, DiscreteTransformer
from weights2code.model.narrow import narrowed
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.grid import GRID, Sizes, programs_of, train_together


def test_a_masked_member_is_the_smaller_model() -> None:
    wide = DiscreteTransformer(Architecture(channels=2, layers=2, pointer=3, submlps=3), 2, seed=4)
    wide.forbid(1, [4, 7, 10, 11, 12, 13])
    data = torch.rand(2, 6, 5)
    with pytest.raises(ValueError, match="read by some member"):
        narrowed(wide.weights(), [0], 2, 1)
    wide.variable_mask[1] = True
    wide.choice_mask[1] = DiscreteTransformer(wide.architecture).choice_mask[0]
    first, second = wide.architecture.stream_width(0), wide.architecture.stream_width(1)
    hidden = [first + 2, first + 4, first + 5, second + 2, second + 4, second + 5]
    wide.forbid(1, hidden)
    small = narrowed(wide.weights(), [1], 2, 1).module()
    assert small.architecture == Architecture(channels=2, layers=2, pointer=2, submlps=1)
    assert torch.allclose(small(data, HARD)[0], wide(data, HARD)[1], atol=1e-6)


def test_sizes_of_one_depth_train_together() -> None:
    programs = programs_of((*GRID, Sizes(2, 4, 4), Sizes(1, 1, 1)))
    assert [len(sizes) for sizes in programs] == [5, 4, 1]
    assert all(len({one.layers for one in sizes}) == 1 for sizes in programs)


@pytest.mark.slow
def test_each_architecture_has_its_own_models() -> None:
    settings = Settings(recipe="paper", epochs=1, samples=1024)
    problem = problem_of("sum_last2", settings)
    sizes = (Sizes(1, 1, 1), Sizes(1, 2, 2))
    found = train_together(sizes, problem, settings, 2, torch.device("cpu"))
    assert list(found) == list(sizes)
    for one, trained in found.items():
        assert (trained.weights.architecture.heads, trained.weights.architecture.submlps) == (
            one.heads,
            one.submlps,
        )
        assert list(trained.losses) == sorted(trained.losses)
        assert len(trained.history[-1].hard_loss) == trained.weights.members == 2
