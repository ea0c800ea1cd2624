"""What certificates say of programs and of networks, in JSON and in English: never more than was found."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import pytest

from weights2code.verify import Agreement, Certificate
from weights2code.verify.links import (
    MADE,
    Listing,
    Made,
    NetworkCertificate,
    NetworkVerdict,
    Offered,
    Rule,
    at_least,
    at_most,
    inputs_in_words,
)


def written(value: Any) -> Any:
    """To JSON and back."""
    return type(value).from_dict(json.loads(json.dumps(value.to_dict(), allow_nan=False)))


# -- of a program --------------------------------------------------------------------------------------------


def certificate(**changes: Any) -> Certificate:
    fields: dict[str, Any] = {
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


def test_json_round_trip():
    for verdict in ("proved", "exhaustive", "tested", "failed"):
        assert written(certificate(verdict=verdict)) == certificate(verdict=verdict)
    infinite = certificate(target=Agreement(1, float("inf"), float("inf"), None), model=None)
    assert written(infinite) == infinite
    data = certificate().to_dict()
    contract = "verdict method domain lengths sequences max_abs_error accuracy rmse versions seed"
    assert set(contract.split()) <= set(data)
    assert (data["rmse"], data["model"]["rmse"]) == (data["target"]["rmse"], 0.1) == (0.0, 0.1)
    for name in ("one_step", "invariant", "model_fits", "by_length"):
        del data[name]  # older files lack what came later
    assert Certificate.from_dict(data) == certificate(
        one_step=False, invariant=(), model_fits=True, by_length={}
    )


@pytest.mark.parametrize("verdict", ["proved", "bounded", "exhaustive", "probably"])
def test_only_the_kernel_says_that_something_is_proved(verdict: str):
    with pytest.raises(ValueError, match="verdict" if verdict == "probably" else "only the kernel"):
        certificate(verdict=verdict, error=1e-9, proof=None)


# -- of a network --------------------------------------------------------------------------------------------


def network(verdict: NetworkVerdict = "proved", **changes: Any) -> NetworkCertificate:
    fields: dict[str, Any] = {
        "method": "on all 6 contexts that the program can reach",
        "covers": "at every length for inputs in bits",
        "margin": 0.4999,
        "error": 1.24e-7,
        "sequences": 390,
        "proof": None if verdict in ("tested", "differs") else Offered(kind="closure", transitions=6),
    }
    return NetworkCertificate(verdict, **(fields | changes))


@pytest.mark.parametrize("value", [0.1, 0.25, 1 / 3, 0.4999, 1.24e-7, 9.96, 123456.0])
def test_two_digits_are_on_the_safe_side(value: float):
    assert float(at_least(value)) <= value <= float(at_most(value))
    assert math.isclose(float(at_least(value)), float(at_most(value)), rel_tol=0.12)
    assert (at_most(0.0), at_least(0.5), at_most(2.0)) == ("0", "0.5", "2")  # what is exact stays so


@pytest.mark.parametrize(
    ("sequence", "words"),
    [
        (((0.0,), (1.0,)), "0, 1"),
        (((26.0, 1.0), (18.5, 0.0)), "(26, 1), (18.5, 0)"),
        (tuple((float(i),) for i in range(11)), "0, 1, 2, 3, 4, 5, 6, 7, ... (11 positions)"),
        (None, "of a sequence that is not given"),
    ],
)
def test_inputs_of_a_counterexample(sequence, words: str):
    assert inputs_in_words(sequence) == words


@pytest.mark.parametrize(
    ("verdict", "long", "short"),
    [
        ("proved", "Proved equal to the program at every length for inputs in bits: on", "at every length"),
        ("exhaustive", "Equal to the program on every sequence at every length", "on every sequence"),
        ("bounded", "Within 1.3e-07 of the program one step ahead, at", "within 1.3e-07 of the program"),
        ("tested", "Tested beside the program, not proved equal to it", "at most 1.3e-07 from the program"),
        ("differs", "Differs from the program after the inputs 0, 1: on", "after the inputs 0, 1"),
    ],
)
def test_every_verdict_in_words(verdict: NetworkVerdict, long: str, short: str):
    example = ((0.0,), (1.0,)) if verdict == "differs" else None
    found = network(verdict, counterexample=example, made="trained")
    assert found.explain().startswith(long)
    assert short in found.brief()
    assert found.brief().endswith("it is as it was trained")
    assert "trained" not in found.checkable().explain() + found.checkable().brief()


@pytest.mark.parametrize("made", get_args(Made))
def test_how_a_network_was_made_is_said_and_survives_json(made: Made):
    before = network("differs", margin=None, counterexample=((0.0, 1.5),), trained_on=3, made=made)
    assert f"It {MADE[made]}." in before.explain()
    assert before.brief().endswith(f"it {MADE[made]}")
    assert written(before) == before


def test_what_only_a_run_knows_can_be_left_out():
    before = network(trained_on=2, made="wired", member=1, read=0)
    after = before.checkable()
    assert (after.made, after.trained_on, after.read, after.member) == (None, None, None, 1)
    assert (after.explain(), after.brief()) == (network().explain(), network().brief())
    assert written(after) == after
    own, other = (network(made="trained", member=1, read=read) for read in (1, 0))
    assert "another member" not in own.explain() + own.brief()
    assert "another member than the one that the program was read from" in other.explain()
    assert written(other) == other


@pytest.mark.parametrize("field", ["verdict", "made"])
def test_other_words_are_refused(field: str):
    with pytest.raises(ValueError, match="'failed' is no"):
        NetworkCertificate.from_dict(network().to_dict() | {field: "failed"})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_can_be_written_down(value: float) -> None:
    assert written(network("differs", error=value)).error == 1e300
    assert written(Listing(value, 1.0, (1,), 1)).max_abs_error == 1e300


@pytest.mark.parametrize("rule", [Rule(), Rule(1, ("V8_MLP_L0M1",)), Rule(2, ("V6", "V9"))])
def test_a_rule_survives_json_and_names_its_nodes(rule: Rule):
    assert written(rule) == rule
    assert all(node in rule.explain() for node in rule.nodes)
    assert ("not from its parts" in rule.explain()) == (rule.cut == 0)
