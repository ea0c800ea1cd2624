"""Claims of the ledger: pairs that can be asked again, and a judge that knows what is not so."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import claim_cases
import claims
import closure
import machines
import numpy as np
import pytest
import soundness
import store
import truth

from weights2code.errors import InputError
from weights2code.language import BITS, integers
from weights2code.tasks import all_tasks
from weights2code.verify.links import Offered

x, x1, y1 = machines.x, machines.x1, machines.y1
GROUPS = ("soundness", "built-in", "mutants", "machines", "networks")


def case(program, reference, domain=BITS, **more):
    return truth.Case(
        "made", machines.machine(program), machines.machine(reference), (domain,), True, 6, **more
    )


def record(made):
    found = claim_cases.of_program("made", made, 0, effort=1.0, drawn=16)
    return {"key": "made", "group": "made", **json.loads(json.dumps(found))}


@pytest.fixture(scope="module")
def recorded():
    return store.read("claims")[1]


def test_records_come_back_from_disk_as_they_went(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "RECORDS", tmp_path)
    monkeypatch.setattr(store, "provenance", lambda command: {"command": command})
    made = [record(case(machines.maximum(x, x1), machines.maximum(x1, x)))]
    first = store.write("claims", made, "a test").read_bytes()
    assert store.read("claims")[1] == made
    assert store.write("claims", made, "a test").read_bytes() == first
    assert claims.case_of(made[0]).program == machines.machine(machines.maximum(x, x1))


def test_a_plain_function_is_kept_as_its_text():
    text = "start = 0\n\ndef step(last, row):\n    return row['x'], last\n"
    made = claims.Written(text, ("x",), (integers(0, 3),))
    one = truth.Case("made", machines.machine(x1), made, (integers(0, 3),), True, 6)
    again = claims.case_of(record(one)).reference
    sequence = np.array([[[0], [2], [1], [3]]], float)
    assert again.called(sequence).ravel().tolist() == [0, 0, 2, 1]
    assert again.to_dict() == made.to_dict()


@pytest.mark.parametrize("name", soundness.REFUSED)
def test_states_that_look_the_same_are_refused(name):
    with pytest.raises(InputError, match="cannot be told apart safely"):
        claims.Written(soundness.REFUSED[name], ("x",), (integers(0, 1),)).called(np.ones((1, 3, 1)))


def test_sequences_are_kept_as_runs_of_rows():
    rows = [[0.0, 2.0]] * 3 + [[0.5, 2.0]]
    assert claims.packed([rows]) == [[[3, [0, 2]], [1, [0.5, 2]]]]
    assert list(claims.unpacked({"telling": claims.packed([rows])})) == [rows]


@pytest.mark.parametrize(
    ("then", "now", "word"),
    [
        ({"verdict": "proved"}, {"verdict": "proved"}, "same"),
        ({"verdict": "proved"}, {"verdict": "tested"}, "lost"),
        ({"verdict": "proved"}, {"verdict": "exhaustive", "length": 9}, "lost"),
        ({"verdict": "proved"}, {"verdict": "error: ValueError: no"}, "lost"),
        ({"verdict": "proved"}, {"error": "the process ended"}, "lost"),
        ({"verdict": "failed"}, {"verdict": "tested"}, "lost"),
        ({"verdict": "differs"}, {"verdict": "proved"}, "lost"),
        ({"verdict": "proved"}, {"verdict": "failed"}, "won"),
        ({"verdict": "tested"}, {"verdict": "failed"}, "won"),
        ({"verdict": "tested"}, {"verdict": "bounded", "error": 1e-9}, "won"),
        ({"verdict": "bounded", "error": 1e-9}, {"verdict": "bounded", "error": 1.5e-9}, "same"),
        ({"verdict": "bounded", "error": 1e-9}, {"verdict": "bounded", "error": 1.0}, "lost"),
        ({"verdict": "bounded", "error": 1e-3}, {"verdict": "bounded", "error": 1e-9}, "won"),
        ({"verdict": "exhaustive", "length": 18}, {"verdict": "exhaustive", "length": 4}, "lost"),
        ({"verdict": "tested"}, {"verdict": "proved", "wrong": "proved, but"}, "false"),
        ({"verdict": "proved", "wrong": "it is"}, {"verdict": "proved", "wrong": "it is"}, "known false"),
        ({"verdict": "proved", "wrong": "it is"}, {"verdict": "tested"}, "won"),
        ({"verdict": "proved", "wrong": "it is"}, {"verdict": "error: ValueError: no"}, "lost"),
    ],
)
def test_what_became_of_a_claim(then, now, word):
    assert claims.compare({"answer": then}, now) == word


def test_what_is_false_is_not_settled():
    assert claims.settled({"answer": {"verdict": "proved"}})
    assert not claims.settled({"answer": {"verdict": "proved", "wrong": "it is"}})
    assert not claims.settled({"answer": {"verdict": "tested"}})


def test_a_false_claim_of_a_program_is_seen(monkeypatch):
    made = record(case(x, machines.maximum(x, x1)))
    made["answer"] = claims.replay(made)
    assert (made["truth"], made["answer"]["verdict"]) == ("different", "failed")
    certify = claims.certify
    for changes in ({"verdict": "proved"}, {"verdict": "exhaustive", "covers": "lengths 1 to 5"}):
        monkeypatch.setattr(
            claims,
            "certify",
            lambda *a, said=changes, **k: replace(certify(*a, **k), proof=Offered(), **said),
        )
        assert claims.compare(made, claims.replay(made)) == "false"


def test_a_false_refusal_of_a_program_is_seen(monkeypatch):
    made = record(case(machines.maximum(x, x1), machines.maximum(x1, x)))
    made["answer"] = claims.replay(made)
    assert (made["truth"], made["answer"]["verdict"]) == ("equal", "proved")
    certify = claims.certify
    said = {"verdict": "failed", "counterexample": ((1.0,), (0.0,))}
    monkeypatch.setattr(claims, "certify", lambda *a, **k: replace(certify(*a, **k), **said))
    assert claims.compare(made, claims.replay(made)) == "false"


def test_a_false_claim_of_a_network_is_seen(recorded, monkeypatch):
    some = next(
        r for r in recorded if r["key"].startswith("networks/made") and r["answer"]["verdict"] == "differs"
    )
    assert claims.compare(some, claims.replay(some)) == "same"
    ask = claims.ask_network
    monkeypatch.setattr(
        claims, "ask_network", lambda asked: replace(ask(asked), verdict="proved", proof=Offered())
    )
    assert claims.compare(some, claims.replay(some)) == "false"


def test_what_raises_is_an_answer():
    answer = claims.replay({"what": "program", "domains": [], "left": {}, "right": {}})
    assert answer["verdict"].startswith("error: ")


def test_states_that_close_show_what_is_equal():
    assert closure.closed(case(x + y1 - 2 * x * y1, (x + y1) % 2)) == 2
    assert closure.closed(case(machines.maximum(x, x1), machines.where(x1 > x, x1, x), integers(0, 3))) == 4
    assert closure.closed(case(machines.minimum(y1 + x, 3), y1 + x)) == [[1.0]] * 4
    assert closure.closed(case(y1 + x, y1 + x)) is None  # states without end
    assert closure.closed(case((0.1 * x).equals(0.3), x.equals(3), integers(0, 9))) == [[3.0]]


def test_the_ledger_has_all_that_it_should(recorded):
    counts = Counter(one["group"] for one in recorded)
    assert counts["mutants"] >= 1000
    assert counts["machines"] >= 300
    assert counts["networks"] >= 400
    assert counts["soundness"] == len(soundness.PROGRAMS) + len(soundness.NETWORKS) + len(soundness.REFUSED)
    named = {one["kind"] for one in recorded if one["group"] == "built-in"}
    assert named == {task.name for task in all_tasks("all")}
    assert len({one["key"] for one in recorded}) == len(recorded)
    assert not [one["key"] for one in recorded if one["answer"]["verdict"].startswith("error")]


@pytest.mark.parametrize("group", GROUPS)
def test_some_records_replay_the_same(recorded, group):
    quick = [one for one in recorded if one["group"] == group and one["answer"]["seconds"] < 0.05]
    for one in quick[:: max(1, len(quick) // 2)][:2]:
        now = claims.replay(one)
        assert not now.get("wrong") or now["verdict"] in ("tested", "failed")  # the tests are NumPy's numbers
        assert one["answer"].get("wrong") or claims.compare(one, now) == "same"
