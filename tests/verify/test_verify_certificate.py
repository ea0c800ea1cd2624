"""The certificate's JSON form and its plain English."""

import json

import pytest

from weights2code.verify import Agreement, Certificate
from weights2code.verify.links import Offered


def certificate(**changes):
    fields = {
        "verdict": "proved",
        "method": "complete exploration of 4 states",
        "domain": ("bits",),
        "covers": "every length",
        "lengths": (10, 40, 100),
        "target": Agreement(300, 0.0, 0.0, 1.0),
        "model": Agreement(100, 0.25, 0.1, 0.5),
        "by_length": {10: Agreement(100, 0.0, 0.0, 1.0), 40: Agreement(200, 0.0, 0.0, 1.0)},
        "versions": {"python": "3.11"},
        "seed": 7,
        "counterexample": ((0.0, 1.0), (1.0, 1.0)),
        "one_step": True,
        "invariant": ("[p.y[t-1] == r.y[t-1]]", "[p.y[t-1] >= 0]"),
        "model_fits": False,
        "notes": ("a note",),
        "proof": Offered(kind="closure", transitions=8),
    }
    return Certificate(**(fields | changes))


@pytest.mark.parametrize("verdict", ["proved", "exhaustive", "tested", "failed"])
def test_json_round_trip(verdict):
    before = certificate(verdict=verdict)
    text = json.dumps(before.to_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == before


def test_older_files_lack_what_came_later():
    data = certificate().to_dict()
    for name in ("one_step", "invariant", "model_fits", "by_length"):
        del data[name]
    after = Certificate.from_dict(data)
    assert after == certificate(one_step=False, invariant=(), model_fits=True, by_length={})


def test_infinite_errors_survive_json():
    before = certificate(target=Agreement(1, float("inf"), float("inf"), None), model=None)
    after = Certificate.from_dict(json.loads(json.dumps(before.to_dict(), allow_nan=False)))
    assert after == before


def test_the_contract_keys_are_there():
    data = certificate().to_dict()
    assert {
        "verdict",
        "method",
        "domain",
        "lengths",
        "sequences",
        "max_abs_error",
        "accuracy",
        "rmse",
    } <= set(data)
    assert data["rmse"] == data["target"]["rmse"] == 0.0
    assert data["model"]["rmse"] == 0.1
    assert {"versions", "seed"} <= set(data)


def test_explanations_say_what_the_verdict_rests_on():
    assert "every length" in certificate().explain()
    assert "300 sequences of length 10, 40, 100" in certificate().explain()
    assert certificate(verdict="tested").explain().startswith("Tested, not proved")
    assert "wrong" in certificate(verdict="failed").explain()
    assert not certificate(verdict="failed").verified


@pytest.mark.parametrize("verdict", ["proved", "bounded", "exhaustive"])
def test_only_the_kernel_says_that_something_is_proved(verdict):
    with pytest.raises(ValueError, match="only the kernel"):
        certificate(verdict=verdict, error=1e-9, proof=None)


def test_other_verdicts_are_refused():
    with pytest.raises(ValueError, match="verdict"):
        certificate(verdict="probably")
