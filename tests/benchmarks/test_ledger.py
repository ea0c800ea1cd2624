"""The ledger: records that come back as they were, answers and claims that are compared."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import calls
import claims
import problems
import pytest
import replay
import runs
import store

from weights2code.language import Op, Recurrence, Retrieval, Step, Var
from weights2code.tasks import all_tasks
from weights2code.verify.links import Offered

Record = dict[str, Any]


def answer(solved: bool = True, size: int = 3, **more: Any) -> Record:
    return {"solved": solved, "size": size, "seconds": 1.0, "verdict": "proved", "network": "proved", **more}


def test_records_come_back_in_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "RECORDS", tmp_path)
    monkeypatch.setattr(store, "provenance", lambda command: {"command": command})
    records = [{"key": "b", "value": 0.1}, {"key": "a", "value": [1, 2]}]
    file = store.write("calls", records, "here")
    first = file.read_bytes()
    assert store.read("calls") == ({"version": 1, "kind": "calls", "command": "here"}, records[::-1])
    assert store.write("calls", records[::-1], "here").read_bytes() == first


@pytest.mark.parametrize("kind", replay.KINDS)
def test_the_stored_records_are_whole(kind: str) -> None:
    records = replay.recorded(kind)
    assert len({record["key"] for record in records}) == len(records)
    assert all(record["answer"]["seconds"] >= 0 for record in records)
    groups = Counter(record["group"] for record in records)
    if kind != "claims":
        assert {"mips", "paper", "languages", "own data", "tables"} <= groups.keys()
        return
    assert [groups[name] for name in ("mutants", "machines", "networks")] == [1000, 300, 400]
    named = {one["kind"] for one in records if one["group"] == "built-in"}
    assert named == {task.name for task in all_tasks("all")}
    assert not [one["key"] for one in records if one["answer"]["verdict"].startswith("error")]


def test_every_problem_with_a_name_is_recorded() -> None:
    keys = {record["key"] for record in replay.recorded("runs")}
    assert {record["key"] for record in problems.named()} <= keys


def test_what_is_kept_says_nothing_but_counts() -> None:
    kept = [record for record in replay.recorded("runs") if record["group"] in problems.KEPT]
    assert kept
    for record in kept:
        assert not {"formula", "text", "view"} & record["answer"].keys()
    assert not problems.KEPT & {record["group"] for record in replay.recorded("views")}


@pytest.mark.parametrize("group", ["trees 11", "steps 21", "own data", "mips"])
def test_a_problem_is_made_from_its_record(group: str) -> None:
    case = problems.case_of(next(r for r in replay.recorded("runs") if r["group"] == group))
    problem = case.problem(replace(case.settings, samples=64) if group == "mips" else case.settings)
    assert case.judge(problem.reference.run if problem.reference else None).solved == bool(problem.reference)
    assert case.settings.time_limit == (25.0 if group[-1].isdigit() else 120.0)


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        (answer(), answer(), ("same",)),
        (answer(), answer(solved=False), ("lost",)),
        (answer(), {"error": "killed"}, ("lost",)),
        (answer(solved=False), answer(), ("won",)),
        (answer(solved=False, size=3), answer(solved=False, size=9), ("same",)),
        (answer(), answer(size=4), ("longer",)),
        (answer(), answer(size=2), ("shorter",)),
    ],
)
def test_answers_are_compared(then: dict[str, Any], now: dict[str, Any], words: tuple[str, ...]) -> None:
    assert runs.by_size({"answer": then}, now) == words
    assert runs.compare({"answer": then}, now) == words


def test_a_verdict_that_has_fallen_is_weaker() -> None:
    then = {"answer": answer(network="differs", taught="proved")}
    assert runs.compare(then, answer(verdict="tested")) == ("same", "weaker")
    assert runs.compare(then, answer(network="tested", taught="none")) == ("same", "weaker")
    assert runs.compare(then, answer(network="proved")) == ("same",)


def test_a_share_takes_some_of_every_group() -> None:
    records = [{"key": str(i), "group": "ab"[i % 2]} for i in range(40)]
    chosen = replay.shared(records, 0.1)
    assert [record["group"] for record in chosen].count("a") == 2
    assert len(chosen) == 4
    assert replay.shared(records, 1.0) == records


def test_too_much_lost_and_false_claims_fail(capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        {"key": str(i), "group": "mips", "from": "x", "caller": "c", "answer": answer(formula="x")}
        for i in range(100)
    ]
    good = {str(i): answer(formula="x") for i in range(100)}
    assert replay.shown(calls, records, good) == 0
    assert replay.shown(calls, records, good | {"7": answer(solved=False, formula="z")}) == 0
    assert "lost: 7 mips/x by c: x  ->  z" in capsys.readouterr().out
    lost = {str(i): answer(solved=False, formula="z") for i in range(2)}
    assert replay.shown(calls, records, good | lost) == 1


def test_kept_records_are_never_named(capsys: pytest.CaptureFixture[str]) -> None:
    record = {
        "key": "1",
        "group": "kept",
        "from": "secret",
        "caller": "c",
        "answer": answer(formula="secret"),
    }
    replay.shown(calls, [record], {"1": answer(solved=False, formula="secret")})
    said = capsys.readouterr().out
    assert "secret" not in said
    assert "| kept | 1 | 1 |" in said


def test_views_name_what_is_read() -> None:
    x = [Var("x", lag) for lag in range(3)]
    total = Op("add", (Var("total", 1), x[0]))
    window = Op("max", (x[0], Op("max", (x[1], x[2]))))
    found = runs.view(
        Recurrence(
            ("x", "k"),
            (
                Step("total", total),
                Step("state", Op("mod", (Op("add", (Var("state", 1), x[0])), Var("y", 1)))),
                Step("last", Retrieval("k", "x", Var("k", 0))),
                Step(
                    "y",
                    Op(
                        "add",
                        (Op("add", (window, Var("last", 0))), Op("add", (Var("total", 0), Var("state", 0)))),
                    ),
                ),
            ),
            ("y",),
        )
    )
    assert found["columns"] == ["k[t-1]", "k[t]", "x[t-1]", "x[t-2]", "x[t]"]
    assert found["outputs"] == ["y[t-1]"]
    assert found["windows"] == ["x[t-2..t-0]"]
    assert found["lookups"] == ["x by k"]
    assert [text.split("[")[0] for text in found["running"]] == ["total"]
    assert [text.split("[")[0] for text in found["states"]] == ["state"]


def test_a_call_is_solved_by_what_is_right_on_other_rows_too() -> None:
    record = next(r for r in replay.recorded("calls") if r["answer"]["size"] == 3 and r["checks"][0])
    assert calls.replay(record)["solved"]
    record["checks"][-1][0] += 1
    assert not calls.replay(record)["solved"]


def test_answers_are_what_was_said_or_the_error(tmp_path: Path) -> None:
    def work(record: Record) -> Record:
        if record["key"] == "2":
            os._exit(3)
        if record["key"] == "4":
            raise ValueError("four")
        return {"verdict": "bounded", "error": 0.5, "seconds": 1.0}

    kind: Any = SimpleNamespace(replay=work, prepare=lambda records: None, LIMIT=60.0)
    records = [{"key": str(number)} for number in (1, 2, 4)]
    found = replay.answers(kind, records, tmp_path / "rows.jsonl", None, 2)
    assert found["1"] == {"verdict": "bounded", "error": 0.5, "seconds": 1.0}
    assert "exit code 3" in found["2"]["error"]
    assert found["4"] == {"error": "ValueError: four"}


def test_only_what_there_is_can_be_left_out() -> None:
    with pytest.raises(SystemExit, match="no stage or rung is called nonsense"):
        replay.leave_out(["nonsense"])


# -- claims --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def claimed() -> list[Record]:
    return replay.recorded("claims")


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
def test_what_became_of_a_claim(then: Record, now: Record, word: str) -> None:
    assert claims.compare({"answer": then}, now) == (word,)


def test_what_is_false_is_not_settled() -> None:
    assert claims.solved({"answer": {"verdict": "proved"}})
    assert not claims.solved({"answer": {"verdict": "proved", "wrong": "it is"}})
    assert not claims.solved({"answer": {"verdict": "tested"}})


@pytest.mark.parametrize(
    ("truth", "then", "asker", "said"),
    [
        ("different", "failed", "certify", {"verdict": "proved"}),
        ("different", "failed", "certify", {"verdict": "exhaustive", "covers": "lengths 1 to 99"}),
        ("equal", "proved", "certify", {"verdict": "failed", "counterexample": ((1.0,), (0.0,))}),
        ("different", "differs", "ask_network", {"verdict": "proved"}),
    ],
)
def test_a_false_claim_is_seen(
    claimed: list[Record], monkeypatch: pytest.MonkeyPatch, truth: str, then: str, asker: str, said: Record
) -> None:
    some = next(
        one
        for one in claimed
        if (one["truth"], one["answer"]["verdict"]) == (truth, then)
        and one["answer"]["seconds"] < 0.05
        and (one["telling"] or truth == "equal")
        and len(one["domains"]) == 1
    )
    assert claims.compare(some, claims.replay(some)) == ("same",)
    ask = getattr(claims, asker)
    changed = lambda *a, **k: replace(ask(*a, **k), proof=Offered(), **said)  # noqa: E731
    monkeypatch.setattr(claims, asker, changed)
    assert claims.compare(some, claims.replay(some)) == ("false",)


def test_what_raises_is_an_answer() -> None:
    answer = claims.replay({"what": "program", "domains": [], "left": {}, "right": {}})
    assert answer["verdict"].startswith("error: ")


@pytest.mark.parametrize("group", ["soundness", "built-in", "mutants", "machines", "networks"])
def test_some_records_replay_the_same(claimed: list[Record], group: str) -> None:
    quick = [one for one in claimed if one["group"] == group and one["answer"]["seconds"] < 0.05]
    for one in quick[:: max(1, len(quick) // 2)][:2]:
        now = claims.replay(one)
        assert not now.get("wrong") or now["verdict"] in ("tested", "failed")  # the tests are NumPy's numbers
        assert one["answer"].get("wrong") or claims.compare(one, now) == ("same",)
