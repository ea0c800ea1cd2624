"""Sweeps: what is done is skipped, what is lost is tried again, nothing is counted twice."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from in_process import InProcess

from weights2code.errors import InputError
from weights2code.experiments.engines import Finished
from weights2code.experiments.jobs import Job, plain
from weights2code.experiments.stores import Folders, Lines
from weights2code.experiments.sweep import MOST_TRIES, run_sweep

CALLS: list[int] = []


def double(arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The work of these tests."""
    CALLS.append(arguments["number"])
    (folder / "left.txt").write_text("here")
    if arguments.get("fail"):
        raise ValueError("as asked")
    return {"twice": 2 * arguments["number"], "pair": (1, float("inf"))}


@pytest.fixture(autouse=True)
def work_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("work_of_sweep_tests")
    module.double = double  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    CALLS.clear()


def jobs(count: int, **arguments: Any) -> list[Job]:
    return [
        Job(f"job{number}", "work_of_sweep_tests:double", {"number": number, **arguments})
        for number in range(count)
    ]


class Scripted:
    """An engine that loses jobs as told: for each key, how often."""

    def __init__(self, losses: dict[str, int], last_first: bool = False) -> None:
        self.losses = dict(losses)
        self.queue: deque[tuple[Job, Path]] = deque()
        self.submitted: list[str] = []
        self.last_first = last_first

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, job: Job, folder: Path) -> None:
        self.submitted.append(job.key)
        self.queue.append((job, folder))

    def wait(self) -> Finished:
        job, _ = self.queue.pop() if self.last_first else self.queue.popleft()
        if self.losses.get(job.key):
            self.losses[job.key] -= 1
            return Finished(job.key, error="gone", lost=True)
        files = {"run/note.txt": b"from afar"}
        return Finished(job.key, {"number": job.arguments["number"]}, seconds=1.5, files=files)


def test_rows_come_in_the_order_of_the_jobs_and_as_json(tmp_path: Path) -> None:
    told: list[str] = []
    rows = run_sweep(jobs(3), tmp_path, Scripted({}, last_first=True), lambda row: told.append(row["key"]))
    assert [row["number"] for row in rows] == [0, 1, 2]
    assert told == ["job2", "job1", "job0"]
    (row,) = run_sweep(jobs(1), tmp_path / "other", InProcess())
    assert row == {
        "key": "job0",
        "status": "done",
        "error": None,
        "seconds": row["seconds"],
        "tries": 1,
        "twice": 0,
        "pair": [1, None],
    }
    assert json.loads((tmp_path / "other/runs/job0/result.json").read_text()) == row
    assert (tmp_path / "other/runs/job0/left.txt").exists()


def test_what_is_done_is_skipped_and_the_rest_goes_on(tmp_path: Path) -> None:
    def stop(row: dict[str, Any]) -> None:
        if row["key"] == "job1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(jobs(4), tmp_path, InProcess(), stop)
    assert CALLS == [0, 1]
    assert set(Folders(tmp_path).rows(jobs(4))) == {"job0", "job1"}
    before = Folders(tmp_path).spent()
    told: list[str] = []
    rows = run_sweep(jobs(4), tmp_path, InProcess(), lambda row: told.append(row["key"]))
    assert CALLS == [0, 1, 2, 3]
    assert told == ["job2", "job3"]
    assert [row["twice"] for row in rows] == [0, 2, 4, 6]
    assert Folders(tmp_path).spent() >= before
    assert run_sweep(jobs(4), tmp_path, InProcess()) == rows
    assert len(CALLS) == 4


def test_a_half_written_result_is_not_a_result(tmp_path: Path) -> None:
    run_sweep(jobs(1), tmp_path, InProcess())
    result = tmp_path / "runs/job0/result.json"
    result.rename(result.with_name(".result.json.1.part"))
    assert Folders(tmp_path).rows(jobs(1)) == {}
    assert run_sweep(jobs(1), tmp_path, InProcess())[0]["status"] == "done"


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: [],
        lambda row: row | {"status": 3},
        lambda row: row | {"key": "job1"},
        lambda row: row | {"seconds": "long"},
        lambda row: row | {"tries": None},
        lambda row: {name: value for name, value in row.items() if name != "status"},
    ],
)
def test_a_damaged_result_is_refused(damage: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    run_sweep(jobs(1), tmp_path, InProcess())
    result = tmp_path / "runs/job0/result.json"
    result.write_text(json.dumps(damage(json.loads(result.read_text()))))
    with pytest.raises(InputError, match="is damaged"):
        run_sweep(jobs(1), tmp_path, InProcess())


def test_a_damaged_count_of_seconds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("[]")
    with pytest.raises(InputError, match="is damaged"):
        Folders(tmp_path).spent()


def test_a_failed_run_is_shown_does_not_end_the_sweep_and_is_tried_by_the_next(tmp_path: Path) -> None:
    bad, good = jobs(1, fail=True)[0], jobs(2)[1]
    rows = run_sweep([bad, good], tmp_path, InProcess())
    assert [row["status"] for row in rows] == ["failed", "done"]
    assert rows[0]["error"] == "ValueError: as asked"
    assert rows[0]["tries"] == 1
    assert "as asked" in (tmp_path / "runs/job0/traceback.txt").read_text()
    run_sweep([bad, good], tmp_path, InProcess())
    assert CALLS == [0, 1, 0]


def test_lost_runs_are_tried_again_three_times_in_all(tmp_path: Path) -> None:
    engine = Scripted({"job1": MOST_TRIES - 1, "job2": MOST_TRIES})
    told: list[str] = []
    rows = run_sweep(jobs(4), tmp_path, engine, lambda row: told.append(row["key"]))
    assert [(row["status"], row["tries"]) for row in rows] == [
        ("done", 1),
        ("done", MOST_TRIES),
        ("failed", MOST_TRIES),
        ("done", 1),
    ]
    assert rows[2]["error"] == "gone"
    assert [engine.submitted.count(f"job{number}") for number in range(4)] == [1, 3, 3, 1]
    assert sorted(told) == ["job0", "job1", "job2", "job3"]
    assert (tmp_path / "runs/job1/run/note.txt").read_text() == "from afar"


def test_a_folder_of_other_arguments_is_refused_and_left_alone(tmp_path: Path) -> None:
    run_sweep(jobs(1), tmp_path, InProcess())
    before = (tmp_path / "runs/job0/job.json").read_bytes()
    with pytest.raises(InputError, match=r"other arguments \(extra: null there, 5 asked\)"):
        run_sweep(jobs(1, extra=5), tmp_path, InProcess())
    assert (tmp_path / "runs/job0/job.json").read_bytes() == before
    assert CALLS == [0]


def test_folders_that_are_no_sweeps_or_in_use_are_refused(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    with pytest.raises(InputError, match="not the folder of a sweep"):
        run_sweep(jobs(1), tmp_path, InProcess())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        run_sweep(jobs(1), tmp_path / "file", InProcess())
    with Folders(tmp_path / "new").locked(), pytest.raises(InputError, match="in use"):
        run_sweep(jobs(1), tmp_path / "new", InProcess())
    assert CALLS == []


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", ".hidden", "a b", "x" * 300])
def test_keys_name_folders(key: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot name a folder"):
        run_sweep([Job(key, "m:f", {})], tmp_path, InProcess())


def test_keys_are_unique_whatever_their_case(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="have the name Job0"):
        run_sweep([*jobs(1), Job("Job0", "m:f", {})], tmp_path, InProcess())


@pytest.mark.parametrize(
    "work", ["no_such_module:function", "work_of_sweep_tests:nothing", "work_of_sweep_tests"]
)
def test_work_that_does_not_exist_fails_like_any_other(work: str, tmp_path: Path) -> None:
    (row,) = run_sweep([Job("a", work, {})], tmp_path, InProcess())
    assert row["status"] == "failed"


def test_rows_that_are_not_json_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd: Callable[..., Any] = lambda arguments, folder: {"value": object()}  # noqa: E731
    monkeypatch.setattr(sys.modules["work_of_sweep_tests"], "double", odd)
    (row,) = run_sweep(jobs(1), tmp_path, InProcess())
    assert row["status"] == "failed"
    assert "JSON" in row["error"]


def test_plain_values() -> None:
    import numpy as np

    value = {"a": np.float64(1.5), 2: (np.int64(3), float("nan")), "b": np.arange(2)}
    assert plain(value) == {"a": 1.5, "2": [3, None], "b": [0, 1]}


# -- one file, a line a row ----------------------------------------------------------------------------------


def test_lines_keep_rows_of_one_source_asked_for_in_one_way(tmp_path: Path) -> None:
    file, some = tmp_path / "runs/some.jsonl", [Job("a/b c", double, {"number": 4})]
    first = run_sweep(some, Lines(file, [1]), InProcess())
    with file.open("a") as lines:
        lines.write('{"key": "cut sho')
    assert run_sweep([*some, *jobs(1)], Lines(file, [1]), InProcess())[0] == first[0]
    again = Lines(file, [1])
    assert set(again.rows([*some, *jobs(1)])) == {"a/b c", "job0"}, "a line that was cut short ends no other"
    assert CALLS == [4, 0]
    assert Lines(file, [2]).rows(some) == {}, "what was asked for otherwise begins anew"
    again.remove()
    assert list(file.parent.iterdir()) == []


def test_an_error_is_a_row_of_lines_too(tmp_path: Path) -> None:
    for _ in range(2):
        (row,) = run_sweep(jobs(1, fail=True), Lines(tmp_path / "some.jsonl", []), InProcess())
        assert (row["status"], row["error"]) == ("failed", "ValueError: as asked")
    assert CALLS == [0]
