"""Under the tests a call with arrays of another shape than annotated is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

from weights2code.data import Sequences
from weights2code.graph import OperatorNode
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.model.attention import equality_scores
from weights2code.training.step import member_losses


def test_a_missing_axis_is_refused():
    with pytest.raises(TypeCheckError, match="channels"):
        DiscreteTransformer(Architecture())(torch.zeros(1, 10))


def test_axes_of_one_name_are_of_one_size():
    ones = torch.ones(1, 2, 4, 5)
    assert equality_scores(ones[:, :, :3], ones, 1.0).shape == (1, 2, 5, 3, 4)
    with pytest.raises(TypeCheckError, match="batch"):
        equality_scores(ones[..., :3], ones, 1.0)
    with pytest.raises(TypeCheckError, match="scored"):
        member_losses(ones, ones[0], ones[0, 0], torch.ones(2))  # scored where it is true, not where it is 1


def test_values_between_stages_are_checked_when_they_are_made():
    x = np.zeros((3, 4, 1))
    with pytest.raises(TypeCheckError, match="lengths"):
        Sequences(x, x, np.full(2, 4))
    with pytest.raises(TypeCheckError, match="output_weight"):
        OperatorNode("V1", (0,), np.ones((2, 1)), np.zeros(2), np.ones(3), 0.0)
