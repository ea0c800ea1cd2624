"""A benchmark is its cases and what is measured of each; its command leaves a record, whatever happens."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from weights2code.data import Problem
from weights2code.experiments import benchmark
from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.cases import ANNEALED, Case, solve, way_of
from weights2code.experiments.records import Record
from weights2code.experiments.tables import among, listed, middle
from weights2code.program.program import Origin
from weights2code.settings import Settings

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="benchmarks fork")


@pytest.fixture(autouse=True)
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "prepare", lambda: None)


def cases(options: Options) -> dict[str, Any]:
    return {
        f"{word}/{number}": (word, number) for number in options.numbers for word in ("good", options.part)
    }


def measure(case: tuple[str, int]) -> dict[str, Any]:
    """What its word says."""
    word, number = case
    if word == "bad":
        raise ValueError("as asked")
    if word == "dies":
        os.kill(os.getpid(), 9)
    if word == "hangs":
        time.sleep(600)
    return {
        "name": word,
        "solved": True,
        "verdict": "proved",
        "formula": f"y[t] = {number}",
        "pid": os.getpid(),
    }


def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[dict[str, Any]]:
    monkeypatch.setattr("sys.argv", ["some.py", "--processes", "2", *words])
    choices, script = ["bad", "dies", "hangs"], str(tmp_path / "some.py")
    return run(script, "Words.", cases, measure, limit=lambda options: 2.0, numbers=(1, 2), part=choices)


def test_a_record_has_a_row_a_case_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = command(tmp_path, monkeypatch)
    assert [(row["key"], row["solved"], row["error"]) for row in rows] == [
        ("good/1", True, None),
        ("bad/1", False, "ValueError: as asked"),
        ("good/2", True, None),
        ("bad/2", False, "ValueError: as asked"),
    ]
    assert len({row["pid"] for row in rows if row["solved"]}) == 2, "a process a case"
    record = Record.read(tmp_path / "results/some.json")
    assert record is not None
    assert (record.rows, record.asked) == (rows, {"numbers": [1, 2], "part": "bad"})
    assert record.head["command"].endswith("some.py --processes 2")
    assert {"commit", "src", "machine", "run_seconds"} <= set(record.head)
    assert not any((tmp_path / "runs").iterdir()), "what was kept until then is gone"
    said = capsys.readouterr().out
    assert "ok   good/1 proved" in said
    assert "MISS bad/2 error" in said


def test_what_hangs_or_dies_costs_its_own_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = command(
        tmp_path, monkeypatch, "--numbers", "7", "--part", "hangs", "--out", str(tmp_path / "a.json")
    )
    assert [row["error"] for row in rows] == [None, "ended by force after 2 s"]
    rows = command(
        tmp_path, monkeypatch, "--numbers", "7", "--part", "dies", "--out", str(tmp_path / "b.json")
    )
    assert [row["tries"] for row in rows] == [1, 3]
    assert "SIGKILL" in rows[1]["error"]


def test_single_cases_are_shown_and_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [row["key"] for row in command(tmp_path, monkeypatch, "--only", "good/2")] == ["good/2"]
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_case_is_searched_and_judged_once_for_all() -> None:
    row = solve(Case.of_task("abs", Settings(seed=3), finite=True))
    assert (row["task"], row["seed"], row["finite"]) == ("abs", 3, True)
    assert (row["solved"], row["verdict"], row["network"], row["exit"]) == (True, "proved", "proved", 0)
    assert row["formula"] == "y[t] = abs(x[t])"
    missed = solve(Case("one", problem_of_abs, lambda run: judged_wrong(run), Settings()))
    assert (missed["solved"], missed["exit"]) == (False, 0)


def problem_of_abs(settings: Settings) -> Problem:
    from weights2code.source import problem_of

    return problem_of("abs", settings)


def judged_wrong(run: Any) -> Any:
    from weights2code.experiments.judging import Judgement

    return Judgement(False, 1.0)


@pytest.mark.parametrize(
    ("rung", "regime", "way"),
    [
        ("linear: x[t]", "exact", "visible values"),
        ("running together: total'[t]", "exact", "running quantities"),
        ("window: most'[t]", "exact", "running quantities"),
        ("window: x[t], x[t-1]", "noisy", "visible values"),
        ("register near: state'[t]", "exact", "registers"),
        ("long register: state'[t]", "exact", "registers"),
        ("few contradictions: x[t]", "with mistakes", "visible values"),
        ("machine: state'[t]", "exact", "merged states"),
    ],
)
def test_what_showed_the_rule_is_read_off_the_last_attempt(rung: str, regime: str, way: str) -> None:
    early = {"rung": "mean: x[t]", "regime": "exact", "verdict": "failed", "origin": str(Origin.ROWS)}
    last = {"rung": rung, "regime": regime, "verdict": "proved", "origin": str(Origin.ROWS)}
    assert way_of(Origin.ROWS, [early, last, {**last, "rung": "deep", "verdict": ""}]) == way
    assert way_of(Origin.LEAVES, []) == ANNEALED


def test_a_table_has_a_line_a_group_and_one_for_all() -> None:
    rows = [{"task": "a", "solved": True, "seconds": 1.0}, {"task": "a", "solved": False, "seconds": 3.0}]
    rows.append({"task": "b", "solved": True, "seconds": None})
    columns = {"task": "task", "right": among("solved", len), "median": middle("seconds")}
    assert listed(rows, columns, by=("task",), total="all").splitlines()[2:] == [
        "| a | 1 | 2 |",
        "| b | 1 | - |",
        "| all | 2 | 2 |",
    ]
    assert listed(rows[:1], {"task": "task", "solved": "solved"}).splitlines()[2:] == ["| a | yes |"]
