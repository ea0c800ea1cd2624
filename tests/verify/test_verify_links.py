"""What is said of a network and its program: never more than was found."""

import json
import math
from typing import get_args

import pytest

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


def certificate(verdict: NetworkVerdict = "proved", **changes) -> NetworkCertificate:
    fields = {
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
            "at every length",
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
    example = ((0.0,), (1.0,)) if verdict == "differs" else None
    found = certificate(verdict, counterexample=example, made="trained")
    assert found.explain().startswith(long)
    assert short in found.brief()
    assert found.brief().endswith("it is as it was trained")
    assert "trained" not in found.checkable().explain() + found.checkable().brief()


@pytest.mark.parametrize("made", get_args(Made))
def test_how_a_network_was_made_is_said_and_survives_json(made: Made):
    before = certificate("differs", margin=None, counterexample=((0.0, 1.5),), trained_on=3, made=made)
    assert f"It {MADE[made]}." in before.explain()
    assert before.brief().endswith(f"it {MADE[made]}")
    assert NetworkCertificate.from_dict(json.loads(json.dumps(before.to_dict(), allow_nan=False))) == before


def test_a_member_that_the_program_was_not_read_from_says_so():
    own, other = (certificate(made="trained", member=1, read=read) for read in (1, 0))
    assert "another member" not in own.explain() + own.brief()
    assert "another member than the one that the program was read from" in other.explain()
    assert NetworkCertificate.from_dict(other.to_dict()) == other


def test_what_only_a_run_knows_can_be_left_out():
    before = certificate(trained_on=2, made="wired", member=1, read=0)
    after = before.checkable()
    assert (after.made, after.trained_on, after.read, after.member) == (None, None, None, 1)
    assert after.explain() == certificate().explain()
    assert after.brief() == certificate().brief()
    assert NetworkCertificate.from_dict(after.to_dict()) == after


@pytest.mark.parametrize("field", ["verdict", "made"])
def test_other_words_are_refused(field: str):
    with pytest.raises(ValueError, match="'failed' is no"):
        NetworkCertificate.from_dict(certificate().to_dict() | {field: "failed"})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_can_be_written_down(value: float) -> None:
    found = NetworkCertificate("differs", "it rounds to another number", "the counterexample", error=value)
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert NetworkCertificate.from_dict(written).error == 1e300
    listing = Listing(value, 1.0, (1,), 1)
    assert (
        Listing.from_dict(json.loads(json.dumps(listing.to_dict(), allow_nan=False))).max_abs_error == 1e300
    )


@pytest.mark.parametrize("rule", [Rule(), Rule(1, ("V8_MLP_L0M1",)), Rule(2, ("V6", "V9"))])
def test_a_rule_survives_json_and_names_its_nodes(rule: Rule):
    assert Rule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule
    assert all(node in rule.explain() for node in rule.nodes)
    assert ("not from its parts" in rule.explain()) == (rule.cut == 0)
