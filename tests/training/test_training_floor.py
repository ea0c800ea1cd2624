"""Measured targets: the ladder is not climbed for noise."""

from __future__ import annotations

import pytest

from weights2code.data import Layout
from weights2code.model import Architecture, Weights
from weights2code.training.storage import Trained
from weights2code.training.train import LOWER, at_the_floor, best


def rungs(*losses: float) -> list[Trained]:
    model = Weights.blank(Architecture(1, 1))
    layout = Layout("tagging", (1.0,), (1.0,))
    return [Trained("rung", "annealed", layout, model, (loss,), (1.0,), False, (), 0.0) for loss in losses]


@pytest.mark.parametrize(
    ("losses", "stop", "chosen"),
    [
        ((0.3,), False, 0),
        ((0.3, 0.29), False, 0),
        ((0.3, 0.29, 0.31), True, 0),
        ((0.3, 0.1, 0.099), False, 1),
        ((0.3, 0.1, 0.099, 0.098), True, 1),
        ((0.3, 0.1, 0.099, 0.02), False, 3),
        ((0.99, 0.98, 0.97), False, 0),
    ],
)
def test_the_floor_of_noise(losses: tuple[float, ...], stop: bool, chosen: int):
    found = rungs(*losses)
    assert at_the_floor(found) == stop
    assert best(found, 1 / LOWER) is found[chosen]
