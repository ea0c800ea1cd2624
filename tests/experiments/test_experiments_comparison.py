"""Better, equal or worse: one rule for all tables."""

from __future__ import annotations

import pytest

from weights2code.experiments.comparison import (
    average,
    combined,
    higher_is_better,
    lower_is_better,
    reason,
    share,
    shown,
)


@pytest.mark.parametrize(
    ("ours", "theirs", "standing"),
    [
        (0.0, 1e-3, "better"),
        (1e-2, 1e-3, "worse"),
        (1e-7, 1e-12, "equal"),  # both are rounding
        (1e-12, 1e-7, "equal"),
        (2e-6, 1e-7, "worse"),
        (None, 1e-3, "worse"),
        (0.0, None, None),
    ],
)
def test_errors(ours: float | None, theirs: float | None, standing: str | None) -> None:
    assert lower_is_better(ours, theirs) == standing


def test_accuracies_are_equal_within_their_print() -> None:
    assert higher_is_better(0.996, 1.0) == "equal"
    assert higher_is_better(0.98, 1.0) == "worse"
    assert higher_is_better(1.0, 0.67) == "better"
    assert higher_is_better(None, 0.67) == "worse"
    assert higher_is_better(1.0, None) is None


def test_several_measures_at_once() -> None:
    assert combined("equal", "better", None) == "better"
    assert combined("equal", "worse") == "worse"
    assert combined("better", "worse") == "mixed"
    assert combined("equal", None) == "equal"
    assert combined(None, None) is None


def test_what_is_not_known_is_left_out_of_means() -> None:
    assert average([1.0, None, 3.0]) == 2.0
    assert average([None]) is None
    assert share([{"solved": True}, {"solved": False}, {}], "solved") == "1/3"


def test_the_reason_is_the_last_attempt_and_said_once() -> None:
    missed = {
        "status": "done",
        "solved": False,
        "attempts": [{"text": "small: no"}, {"text": "large: does not fit"}],
    }
    broken = {"status": "failed", "error": "MemoryError: x"}
    assert reason([missed, missed]) == "large: does not fit"
    assert "MemoryError" in reason([broken])
    assert reason([{"status": "done", "solved": True}]) == ""


def test_cells() -> None:
    assert [shown(value) for value in (None, True, 0.0, 1.23456e-5, 7, "x")] == [
        "-",
        "yes",
        "0",
        "1.23e-05",
        "7",
        "x",
    ]
