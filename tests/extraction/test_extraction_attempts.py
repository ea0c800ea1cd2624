"""What was tried is a value: it goes to JSON and back, and says the same in words."""

from __future__ import annotations

import json
import math

import pytest

from weights2code.data import Regime
from weights2code.errors import Reason
from weights2code.extraction.attempt import Attempt

ATTEMPTS = [
    Attempt("linear", 0, 0.5, reason=Reason.UNFIT, detail="does not fit"),
    Attempt("pairs", 2, 1e-9, verdict="proved", origin="regressed from the live leaves"),
    Attempt("wide window", 0, math.inf, Regime.MISTAKES, reason=Reason.TOO_RARE, detail="too rarely"),
    Attempt("prefix", 1, 0.25, Regime.ROUNDED, "failed", "regressed", Reason.WRONG),
]


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_json_and_back(attempt: Attempt):
    assert Attempt.from_dict(json.loads(json.dumps(attempt.to_dict(), allow_nan=False))) == attempt


def test_in_words():
    assert [str(attempt) for attempt in ATTEMPTS] == [
        "linear, member 0 (hard loss 0.5): does not fit",
        "pairs, member 2 (hard loss 1e-09): regressed from the live leaves, proved",
        "wide window, member 0 (hard loss inf), with mistakes: too rarely",
        "prefix, member 1 (hard loss 0.25), as rounded readings: regressed, failed",
    ]
