"""`w2c bench`: options, table, files, exit codes; and a real one, stopped in the middle."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from in_process import InProcess

from weights2code.cli import bench as command
from weights2code.cli import main, progress
from weights2code.cli.progress import Clock, sweep_reporter
from weights2code.errors import Reason
from weights2code.experiments import bench
from weights2code.extraction.attempt import Attempt

MISSED = [Attempt("pairs", 0, 0.4, reason=Reason.UNFIT, detail="does not fit").to_dict()]


def result(arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A run that ends as its seed says: solved and proved, solved, missed, stopped, or an error."""
    seed = arguments["settings"]["seed"]
    row = {"task": arguments["task"], "seed": seed, "seconds": 1.0 + seed, "attempts": MISSED, "exit": 0}
    row |= {"verdict": "proved", "method": "how", "formula": "y[t] = x[t]", "origin": "o", "solved": True}
    if seed == 1:
        return row | {"verdict": "tested"}
    if seed == 2:
        return row | {"verdict": "-", "exit": 3, "solved": False, "formula": None}
    if seed == 3:
        raise ValueError("a | b")
    if seed == 4:
        raise KeyboardInterrupt
    return row


@pytest.fixture
def no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = ModuleType("work_of_bench_tests")
    module.result = result  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(bench, "WORK", "work_of_bench_tests:result")
    monkeypatch.setattr(command, "engine_from", lambda options: InProcess())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_the_files_and_the_exit_code(no_training: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "abs", "div_3", "--seeds", "0-3", "--out", "out"]) == 1
    said = capsys.readouterr()
    assert "4 of 8 runs solved, 2 proved" in said.out
    assert "training: abs, seed 2: pairs, member 0 (hard loss 0.4): does not fit" in said.out
    assert "defect: abs, seed 3: ValueError: a | b" in said.out
    assert "proof: div_3, seed 1: how" in said.out
    assert "[8/8, 0 s left] MISS div_3-seed3: ValueError: a | b" in said.err
    data = json.loads((no_training / "out/bench.json").read_text())
    assert data["head"]["limits"] == {"training": 2, "proof": 2, "defect": 2}
    assert data["head"]["command"] == "w2c bench abs div_3 --seeds 0-3 --out out"
    assert {"commit", "machine", "date", "versions", "seconds"} <= set(data["head"])
    assert [(row["task"], row["seed"]) for row in data["rows"]] == [
        (task, seed) for task in ("abs", "div_3") for seed in range(4)
    ]
    with open(no_training / "out/bench.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["solved"] for line in lines] == 2 * ["True", "True", "False", "False"]
    page = (no_training / "out/bench.md").read_text()
    assert "| abs | 3 | defect | ValueError: a \\| b |" in page


def test_all_solved_is_0_and_quiet_is_one_line(no_training: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "abs", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("1 of 1 runs solved, 1 proved, in ")
    assert said.out.count("\n") == 1
    assert said.err == ""
    assert (no_training / "w2c-runs/bench-tasks/bench.json").exists()
    assert main(["bench", "abs", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["summary"]["solved"] == 1
    assert said.err == ""


def test_a_second_command_adds_to_the_first(no_training: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "abs", "--out", "out"]) == 0
    assert main(["bench", "abs", "--seeds", "0,1", "--out", "out"]) == 0
    said = capsys.readouterr()
    assert "1 of 2 runs are done already" in said.err
    assert "2 of 2 runs solved" in said.out
    assert main(["bench", "abs", "--time-limit", "7", "--out", "out"]) == 2
    assert "other arguments (time_limit: null there, 7.0 asked)" in capsys.readouterr().err


def test_ctrl_c_says_the_command_to_go_on(no_training: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "abs", "--seeds", "0,4"]) == 130
    assert (
        "stopped; 1 of 2 runs are done. Go on with `w2c bench abs --seeds 0,4 --out w2c-runs/bench-tasks`."
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--seeds", "a"], "--seeds must be whole numbers"),
        (["--seeds", "3-1"], "--seeds names no seed"),
        (["no_such_task"], "there is no task called"),
        (["Dithering", "--suite", "paper"], "the suite paper has no task Dithering"),
        (["abs", "--jobs", "0"], "--jobs must be at least 1"),
        (["abs", "--address", "auto"], "--address is the address of a Ray cluster"),
        (["abs", "--layers", "-1"], "--layers must be at least 0"),
        (["abs", "--engine", "cloud"], "--engine"),
    ],
)
def test_bad_usage_is_2_and_writes_nothing(
    given: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *given]) == 2
    assert sentence in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


# -- progress ------------------------------------------------------------------------------------------------


def test_the_time_left_comes_from_what_this_sweep_did(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    clock = Clock(10, 4)
    assert clock.left() == "time left unknown"
    now = 120.0
    clock.count(True)
    clock.count(False)
    assert (clock.done, clock.badly) == (6, 1)
    assert clock.left() == "40 s left"


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    with sweep_reporter(3, 1, silent=False) as on_row:
        assert on_row is not None
        on_row({"key": "good", "status": "done", "error": None, "seconds": 1.0})
        on_row({"key": "bad", "status": "failed", "error": "[why]", "seconds": 1.0})
    said = capsys.readouterr().err
    assert "MISS bad: [why]" in said
    assert "good" not in said
    with sweep_reporter(3, 1, silent=True) as nothing:
        assert nothing is None


# -- for real ------------------------------------------------------------------------------------------------


#: The work of the benchmark; only that `sum_last2`, at first, says that its run has begun and stays there.
HELD = """
import threading
from weights2code.experiments import work
from weights2code.experiments.heavy import pipeline

def run_task(arguments, folder):
    begun = folder / "begun"

    def stay(*problem):
        begun.touch()
        threading.Event().wait()

    if arguments["task"] == "sum_last2" and not begun.exists():
        pipeline.search = stay
    return work.run_task(arguments, folder)
"""

#: Ctrl-C is heard even where the tests run in the background, for whose children it is ignored.
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from weights2code.cli import main
from weights2code.experiments import bench
bench.WORK = "held_work:run_task"
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_a_real_sweep_that_is_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_for: Callable[[Callable[[], object]], None]
) -> None:
    (tmp_path / "held_work.py").write_text(HELD)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    out = tmp_path / "out"
    arguments = [sys.executable, "-c", COMMAND, "bench", "abs", "sum_last2", "diff_last2"]
    arguments += ["--jobs", "1", "--out", str(out)]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sweep:
        assert sweep.stderr is not None
        assert "abs-seed0: proved" in sweep.stderr.readline()
        wait_for((out / "runs/sum_last2-seed0/begun").exists)
        sweep.send_signal(signal.SIGINT)
        assert f"Go on with `w2c bench abs sum_last2 diff_last2 --jobs 1 --out {out}`" in sweep.stderr.read()
    assert sweep.returncode == 130
    first = (out / "runs/abs-seed0/result.json").read_bytes()
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 runs solved" in done.stdout
    assert (out / "runs/abs-seed0/result.json").read_bytes() == first
    rows = json.loads((out / "bench.json").read_text())["rows"]
    assert [row["resumed"] for row in rows] == [False, True, False]
    for row in rows:
        assert row["solved"]
        if not row["resumed"]:
            parts = row["training_seconds"] + row["extraction_seconds"]
            assert row["seconds"] == pytest.approx(parts, abs=0.01)
        assert row["rung"]
        assert row["raw_lines"] > 0
        assert (out / f"runs/{row['task']}-seed0/run/report.html").exists()
