"""The ledger: records that come back as they were, answers that are compared, parts that can be left out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import calls
import kinds
import numpy as np
import problems
import pytest
import replay
import runs
import store

from weights2code.language import Op, Recurrence, Retrieval, Step, Var, integers


def answer(solved: bool = True, size: int = 3, **more: Any) -> dict[str, Any]:
    return {"solved": solved, "size": size, "seconds": 1.0, "verdict": "proved", "network": "proved", **more}


def test_records_come_back_in_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "RECORDS", tmp_path)
    monkeypatch.setattr(store, "provenance", lambda command: {"command": command})
    records = [{"key": "b", "value": 0.1}, {"key": "a", "value": [1, 2]}]
    file = store.write("calls", records, "here")
    first = file.read_bytes()
    assert store.read("calls") == ({"version": 1, "kind": "calls", "command": "here"}, records[::-1])
    assert store.write("calls", records[::-1], "here").read_bytes() == first


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_stored_records_are_whole(kind: str) -> None:
    head, records = store.read(kind)
    assert head["kind"] == kind
    assert head["commit"]
    assert len({record["key"] for record in records}) == len(records)
    assert all(record["answer"]["seconds"] >= 0 for record in records)
    groups = {record["group"] for record in records}
    assert kind == "claims" or {"mips", "paper", "languages", "own data", "tables"} <= groups


def test_what_is_kept_says_nothing_but_counts() -> None:
    for kind in ("runs", "views"):
        for record in store.read(kind)[1]:
            if record["group"] in problems.KEPT:
                assert kind == "runs"
                assert not {"formula", "text", "view"} & record["answer"].keys()


def test_the_ledger_is_small() -> None:
    assert sum(file.stat().st_size for file in store.RECORDS.iterdir()) <= 15 * 2**20


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
    kind = kinds.KINDS["calls"]
    records = [
        {"key": str(i), "group": "mips", "from": "x", "caller": "c", "answer": answer(formula="x")}
        for i in range(100)
    ]
    good = {str(i): answer(formula="x") for i in range(100)}
    assert replay.shown(kind, records, good) == 0
    assert replay.shown(kind, records, good | {"7": answer(solved=False, formula="z")}) == 0
    assert "lost: 7 mips/x by c: x  ->  z" in capsys.readouterr().out
    lost = {str(i): answer(solved=False, formula="z") for i in range(2)}
    assert replay.shown(kind, records, good | lost) == 1


def test_kept_records_are_never_named(capsys: pytest.CaptureFixture[str]) -> None:
    record = {
        "key": "1",
        "group": "kept",
        "from": "secret",
        "caller": "c",
        "answer": answer(formula="secret"),
    }
    replay.shown(kinds.KINDS["calls"], [record], {"1": answer(solved=False, formula="secret")})
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
    rows = np.random.default_rng(0).integers(0, 50, (1500, 2)).astype(float)
    y = rows[:, 0] + 2 * rows[:, 1]
    said = {"variables": (Var("a", 0), Var("b", 0)), "domains": (integers(0, 49),) * 2, "effort": 1.0}
    record = calls.record_of("mips", "sum", "rules", rows, y, said)
    assert len(record["checks"][0]) > 0
    found = calls.replay(record)
    assert found["solved"]
    assert found["formula"] == "a[t] + 2*b[t]"
    record["checks"][2][0] += 1
    assert not calls.replay(record)["solved"]


def test_answers_are_what_was_said_or_the_error(tmp_path: Path) -> None:
    def work(record: dict[str, Any]) -> dict[str, Any]:
        if record["key"] == "2":
            os._exit(3)
        if record["key"] == "4":
            raise ValueError("four")
        return {"verdict": "bounded", "error": 0.5, "seconds": 1.0}

    kind = replace(kinds.KINDS["claims"], answer=work, prepare=lambda records: None)
    records = [{"key": str(number)} for number in (1, 2, 4)]
    found = kinds.answers(kind, records, str(tmp_path / "rows"), None, 2)
    assert found["1"] == {"verdict": "bounded", "error": 0.5, "seconds": 1.0}
    assert "exit code 3" in found["2"]["error"]
    assert found["4"] == {"error": "ValueError: four"}


def test_only_what_there_is_can_be_left_out() -> None:
    with pytest.raises(SystemExit, match="no stage or rung is called nonsense"):
        replay.leave_out(["nonsense"])
