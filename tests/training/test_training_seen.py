"""What the rungs so far say about those to come."""

from __future__ import annotations

import pytest

from weights2code.training.ladder import FAST_LADDER
from weights2code.training.seen import Seen

RUNGS = {rung.name: rung for rung in FAST_LADDER}


def after_window(
    *, whole: bool, loss: float, accuracy: float, fitted: bool = False, linear: float = 1.0
) -> Seen:
    seen = Seen(whole)
    seen.learn(RUNGS["linear"], linear, 0.0, fitted=False)
    seen.learn(RUNGS["window"], loss, accuracy, fitted=fitted)
    return seen


def test_a_window_that_fits_leaves_nothing_to_wider_ones_and_to_aggregates():
    seen = after_window(whole=True, loss=1e-6, accuracy=1.0, fitted=True)
    assert {name for name, rung in RUNGS.items() if seen.in_vain(rung)} >= {"wide window", "aggregates"}
    assert not seen.in_vain(RUNGS["deep"])


@pytest.mark.parametrize(
    ("whole", "loss", "accuracy", "waits"),
    [(True, 0.6, 0.99, True), (True, 0.6, 0.9, False), (False, 0.04, 0.0, True), (False, 0.6, 1.0, False),
     (False, 0.3, 0.0, True)],
)  # fmt: skip
def test_aggregates_wait_where_a_window_nearly_does(whole, loss, accuracy, waits):
    seen = after_window(whole=whole, loss=loss, accuracy=accuracy)
    assert seen.can_wait(RUNGS["aggregates"]) == waits
    assert not seen.can_wait(RUNGS["deep"])
    assert not seen.in_vain(RUNGS["aggregates"])
