"""What is said of a network and its program: never more than was found."""

import json
import math

import pytest

from weights2code.verify.links import (
    Listing,
    NetworkCertificate,
    NetworkVerdict,
    Rule,
    at_least,
    at_most,
    inputs_in_words,
)


def certificate(verdict: NetworkVerdict = "proved", **changes) -> NetworkCertificate:
    fields = {
        "method": "on all 6 contexts that the program can reach",
        "covers": "at every length for inputs in bits",
        "margin": 0.4999,
        "error": 1.24e-7,
        "sequences": 390,
    }
    return NetworkCertificate(verdict, **(fields | changes))


@pytest.mark.parametrize("value", [0.1, 0.25, 1 / 3, 0.4999, 1.24e-7, 9.96, 123456.0])
def test_two_digits_are_on_the_safe_side(value: float):
    assert float(at_least(value)) <= value <= float(at_most(value))
    assert math.isclose(float(at_least(value)), float(at_most(value)), rel_tol=0.12)


def test_what_is_exact_stays_so():
    assert (at_most(0.0), at_least(0.5), at_most(2.0)) == ("0", "0.5", "2")


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
        (
            "proved",
            "Proved equal to the program at every length for inputs in bits: on all 6",
            "0.49 from the",
        ),
        ("exhaustive", "Equal to the program on every sequence at every length", "on every sequence"),
        (
            "bounded",
            "Within 1.3e-07 of the program one step ahead, at every",
            "within 1.3e-07 of the program",
        ),
        (
            "tested",
            "Tested beside the program, not proved equal to it: on",
            "at most 1.3e-07 from the program",
        ),
        ("differs", "Differs from the program after the inputs 0, 1: on", "after the inputs 0, 1"),
    ],
)
def test_every_verdict_in_words(verdict: NetworkVerdict, long: str, short: str):
    found = certificate(verdict, counterexample=((0.0,), (1.0,)) if verdict == "differs" else None)
    assert found.explain().startswith(long)
    assert short in found.brief()
    assert "trained" not in found.explain() + found.brief()


def test_what_was_done_to_a_network_is_said():
    assert "It was trained on with the program's outputs after" in certificate(trained_on=2).explain()
    assert "wired" not in certificate(trained_on=2).explain()
    assert "It was wired for the rule and trained" in certificate(trained_on=2, wired=True).explain()
    assert "trained on since" in certificate("differs", trained_on=1).brief()


@pytest.mark.parametrize("wired", [False, True])
def test_json_round_trip(wired: bool):
    before = certificate("differs", margin=None, counterexample=((0.0, 1.5),), trained_on=3, wired=wired)
    data = json.loads(json.dumps(before.to_dict(), allow_nan=False))
    assert NetworkCertificate.from_dict(data) == before
    del data["wired"]  # files that were written before it came in
    assert not NetworkCertificate.from_dict(data).wired


def test_other_verdicts_are_refused():
    with pytest.raises(ValueError, match="verdict"):
        certificate("failed")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_can_be_written_down(value: float) -> None:
    found = NetworkCertificate("differs", "it rounds to another number", "the counterexample", error=value)
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert NetworkCertificate.from_dict(written).error == 1e300
    listing = Listing(value, 1.0, (1,), 1)
    assert (
        Listing.from_dict(json.loads(json.dumps(listing.to_dict(), allow_nan=False))).max_abs_error == 1e300
    )


@pytest.mark.parametrize("rule", [Rule(), Rule(1, ("V8_MLP_L0M1",)), Rule(2, ("V6", "V9"), replaced=True)])
def test_a_rule_survives_json_and_names_its_nodes(rule: Rule):
    assert Rule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule
    assert all(node in rule.explain() for node in rule.nodes)
    assert ("another network" in rule.explain()) == rule.replaced
    assert ("leaves" in rule.explain()) == (rule.cut == 0)
