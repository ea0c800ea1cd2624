"""What rows say of a search: where the rule comes from, and whether a network was right."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from weights2code.extraction.attempt import Attempt

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))
try:
    import records
finally:
    sys.path.remove(str(FOLDER))


def outcome(losses: tuple[float, ...] = (), fitted: bool | None = None) -> Any:
    trained = None if fitted is None else SimpleNamespace(fitted=fitted)
    attempts = tuple(Attempt("deep", 0, loss) for loss in losses)
    return cast(Any, SimpleNamespace(attempts=attempts, trained=trained, extraction=None))


@pytest.mark.parametrize(
    ("losses", "fitted", "whole", "right"),
    [
        ((0.5, 1e-4), False, True, True),
        ((0.5, 1e-4), False, False, False),
        ((1e-7,), False, False, True),
        ((0.5,), True, True, True),
        ((0.5,), None, True, False),
        ((), None, True, False),
    ],
)
def test_a_network_is_right_by_its_loss_or_by_its_rung(losses, fitted, whole, right) -> None:
    assert records.right_network(outcome(losses, fitted), whole) is right


def test_the_cut_is_read_off_the_certificate_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert records.of_rule(outcome()) == {"origin": None, "cut": None, "nodes": None}
    found = SimpleNamespace(extraction=object())
    for written, cut, nodes in (
        ({}, None, None),
        ({"rule": {"cut": 2, "nodes": ["a", "b"]}}, 2, ["a", "b"]),
        ({"rule": {"cut": 0, "nodes": []}}, 0, []),
    ):
        monkeypatch.setattr(records, "certificate_dict", lambda _, more=written: {"origin": "o", **more})
        assert records.of_rule(cast(Any, found)) == {"origin": "o", "cut": cut, "nodes": nodes}
