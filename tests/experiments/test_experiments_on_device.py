"""Trainings in threads of the sweep's process, the rest of each job in a process of its own."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from concurrent.futures import wait
from importlib import import_module
from pathlib import Path
from threading import Barrier, get_ident
from types import ModuleType
from typing import Any

import pytest

from weights2code.cli.engine_options import engine_from
from weights2code.errors import InputError
from weights2code.experiments import learned, members, protocol
from weights2code.experiments.engines import Local, OnDevice
from weights2code.experiments.jobs import Job, training_of
from weights2code.experiments.sweep import run_sweep

Waiting = Callable[[Callable[[], object]], None]

WORK = """
import os, threading, time
from weights2code.experiments.jobs import trains

meeting = None

def train(arguments, folder):
    if (folder / "model").exists():
        return
    if meeting is not None:
        meeting.wait(60)
    with open(folder / "trainings.txt", "a") as file:
        file.write(f"{os.getpid()} {threading.get_ident()}\\n")
    while arguments.get("endless"):
        time.sleep(0.001)
    if arguments.get("leaves"):
        raise SystemExit(7)
    if arguments.get("fails"):
        raise ValueError("as asked")
    (folder / "model").write_text("trained")

@trains(train)
def work(arguments, folder):
    train(arguments, folder)
    first = not (folder / "begun").exists()
    (folder / "begun").touch()
    if arguments.get("stays") and first:
        threading.Event().wait()
    return {"pid": os.getpid(), "number": arguments["number"]}

def plain(arguments, folder):
    return {"pid": os.getpid(), "number": arguments["number"]}

"""


@pytest.fixture(autouse=True)
def work_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    place = tmp_path / "modules"
    place.mkdir()
    (place / "training_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, "training_work", raising=False)
    return import_module("training_work")


def job(number: int, work: str = "work", **arguments: Any) -> Job:
    return Job(f"job{number}", f"training_work:{work}", {"number": number, **arguments})


def engine(together: int = 2) -> OnDevice:
    return OnDevice(Local(2, preload="json"), "cpu", together)


def trainings_of(out: Path, number: int) -> list[tuple[int, int]]:
    """Process and thread of each training of a job."""
    lines = (out / f"runs/job{number}/trainings.txt").read_text().splitlines()
    return [(int(line.split()[0]), int(line.split()[1])) for line in lines]


@pytest.mark.slow
def test_trainings_meet_in_threads_of_this_process_and_works_run_in_others(
    tmp_path: Path, work_module: ModuleType
) -> None:
    work_module.meeting = Barrier(2)  # type: ignore[attr-defined]  # each waits for another one
    rows = run_sweep([job(number) for number in range(4)], tmp_path / "out", engine())
    assert [row["number"] for row in rows] == [0, 1, 2, 3]
    found = [trainings_of(tmp_path / "out", number) for number in range(4)]
    assert all(len(one) == 1 for one in found)
    assert {pid for ((pid, _),) in found} == {os.getpid()}
    threads = {thread for ((_, thread),) in found}
    assert len(threads) == 2
    assert get_ident() not in threads
    assert os.getpid() not in {row["pid"] for row in rows}


@pytest.mark.slow
def test_a_training_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = run_sweep(
        [job(0, fails=True), job(1), job(2, leaves=True), job(3), job(4, "nowhere")], out, engine(1)
    )
    assert [row["status"] for row in rows] == ["failed", "done", "failed", "done", "failed"]
    assert rows[0]["error"] == "ValueError: as asked"
    assert "SystemExit: 7" in rows[2]["error"]
    assert rows[4]["error"].startswith("AttributeError")
    assert "in train\n" in (out / "runs/job0/traceback.txt").read_text()
    assert not (out / "runs/job0/begun").exists()
    assert not (out / "runs/job1/traceback.txt").exists()


@pytest.mark.slow
def test_a_job_without_training_does_not_wait_for_those_with(tmp_path: Path, work_module: ModuleType) -> None:
    meeting = work_module.meeting = Barrier(2)  # type: ignore[attr-defined]
    told: list[str] = []

    def on_row(row: dict[str, Any]) -> None:
        told.append(row["key"])
        if row["key"] == "job1":
            meeting.wait(60)  # the training of the other one ends only now

    run_sweep([job(0), job(1, "plain")], tmp_path / "out", engine(), on_row)
    assert told == ["job1", "job0"]


@pytest.mark.slow
def test_a_stopped_sweep_goes_on_and_trains_nothing_again(tmp_path: Path, wait_for: Waiting) -> None:
    out, jobs = tmp_path / "out", [job(0), job(1, stays=True)]

    def stop(row: dict[str, Any]) -> None:
        wait_for((out / "runs/job1/model").exists)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(jobs, out, engine(), stop)
    (out / "runs/job1/begun").touch()  # the work may not have begun
    rows = run_sweep(jobs, out, engine())
    assert [row["status"] for row in rows] == ["done", "done"]
    assert [len(trainings_of(out, number)) for number in (0, 1)] == [1, 1]


def test_who_leaves_breaks_off_trainings_and_starts_no_further_one(tmp_path: Path, wait_for: Waiting) -> None:
    with engine(1) as one:
        one.submit(job(0, endless=True), tmp_path / "runs/job0")
        one.submit(job(1), tmp_path / "runs/job1")
        wait_for((tmp_path / "runs/job0/trainings.txt").exists)
    assert not wait(one._futures, 60).not_done
    assert not (tmp_path / "runs/job1").exists()


def test_only_a_gpu_changes_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def asked(device: str | None) -> object:
        return engine_from(Namespace(engine="local", jobs=3, address=None, device=device))

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert all(isinstance(asked(device), Local) for device in (None, "cpu", "auto"))
    with pytest.raises(InputError, match="finds no CUDA device"):
        asked("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert isinstance(asked("cpu"), Local)
    for device in ("cuda", "auto"):
        found = asked(device)
        assert isinstance(found, OnDevice)
        assert (found.device, found.rest.jobs) == ("cuda", 3)


SMALL = {"recipe": "paper", "epochs": 1, "samples": 256}
WORKS = {
    "protocol": (
        protocol.train_task,
        {"task": "abs", "settings": {"seed": 0, **SMALL}, "grid": 1, "label": {"task": "abs"}},
    ),
    "members": (members.train_and_extract, {"task": "abs", "settings": {"seed": 0, "members": 1, **SMALL}}),
    "learned": (
        learned.anneal,
        {
            "task": "abs", "label": {}, "listings": False,
            "settings": {
                "layers": 1, "heads": 1, "submlps": 1, "layout": "autoregressive", "seed": 0, "members": 1,
                **SMALL,
            },
        },
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_a_work_goes_on_where_its_training_ended(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weights2code.training import grid, search, train

    work, arguments = WORKS[name]
    training = training_of(Job("one", f"{work.__module__}:{work.__name__}", arguments))
    assert training is not None
    training(arguments, tmp_path)
    left = {file: file.read_bytes() for file in tmp_path.rglob("model.safetensors")}
    assert len(left) == (8 if name == "protocol" else 1)
    assert not list(tmp_path.rglob("current*"))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("trained again")

    for module in (grid, search, train):
        monkeypatch.setattr(module, "train_rung", never)
    training(arguments, tmp_path)
    row = work(arguments, tmp_path)
    assert row["training_seconds"] > 0
    assert len(row["members"]) == len(left)
    assert all(file.read_bytes() == content for file, content in left.items())
