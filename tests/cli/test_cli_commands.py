"""The command line: exit codes, sentences, outputs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from case_table import rule
from weights2code import pipeline
from weights2code.cli import commands, main
from weights2code.cli.progress import _bar, reporter
from weights2code.cli.result import plain_lines, show_panel
from weights2code.extraction.attempt import Attempt
from weights2code.language import Var, integers
from weights2code.program import Program
from weights2code.progress import PLAIN_INTERVAL, PlainLines
from weights2code.roles import ROLES
from weights2code.run_folder import begin
from weights2code.settings import Settings
from weights2code.verify import Agreement, Certificate
from weights2code.verify.links import NetworkCertificate, Offered

HEAVY = ("torch", "sympy", "z3", "rich", "scipy", "pandas")


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# -- light and friendly --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["import weights2code", "from weights2code.cli import main; main(['--help'])"]
)
def test_nothing_heavy_is_imported(what: str):
    code = f"{what}\nimport sys\nprint('heavy:', sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy: []\n")


def test_the_module_is_the_command_and_a_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "weights2code", "--version"]
    assert subprocess.run(command, capture_output=True, text=True).stdout.startswith("weights2code ")
    command[-1:] = ["tasks", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("command", ["", "run", "train", "tasks", "extract", "verify", "fit"])
def test_help_has_everything_in_plain_words(command: str, capsys: pytest.CaptureFixture[str]):
    assert main([*command.split(), "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: w2c")
    assert all(len(line) <= 120 for line in out.splitlines())
    assert "examples:" in out or command in ("tasks", "extract", "verify", "fit")
    if command == "fit":  # what a file can be given, and nothing that it refuses
        assert all(f"--{name.replace('_', '-')} " in out for name in ROLES)
        assert "--samples" not in out
        assert "--length" not in out


TRAIN = "train sum --out x"
FIT = "fit rows.csv --out x"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("", "COMMAND"), ("fly", "invalid choice: 'fly'"), ("train sum", "--out"), ("train --out x", "TASK"),
        (f"{TRAIN} --wings 2", "--wings"), (f"{TRAIN} --see 2", "--see"),
        (f"{TRAIN} --seed abc", "--seed must be a whole number, got 'abc'"),
        (f"{TRAIN} --seed 1.5", "--seed must be a whole number"),
        (f"{TRAIN} --seed -1", "--seed must lie between"),
        (f"{TRAIN} --seed", "--seed: expected one argument"),
        (f"{TRAIN} --layers -1", "--layers must be at least 0, got -1"),
        (f"{TRAIN} --submlps -3", "--submlps must be at least 0"),
        (f"{TRAIN} --arity 0", "--arity must be at least 1"),
        (f"{TRAIN} --length 0", "--length must be at least 1"),
        (f"{TRAIN} --samples 0", "--samples must be at least 1"),
        (f"{TRAIN} --l1 lots", "--l1 must be a number"),
        (f"{TRAIN} --time-limit 0", "--time-limit must be a positive"),
        (f"{TRAIN} --recipe slow", "invalid choice: 'slow'"),
        (f"{TRAIN} --layout sideways", "invalid choice: 'sideways'"),
        (f"{TRAIN} --device abacus", "invalid choice: 'abacus'"),
        (f"{TRAIN} --hide q[t-1]", "cannot read the mask 'q[t-1]'"),
        ("train parity_lst2 --out x", "did you mean parity_last2"),
        ("run nonsense_task_name", "there is no task called"),
        ("run sum --length 0", "--length must be at least 1"),
        (f"run no-such{'x' * 5000}", "there is no task called"),
        ("tasks --suite best", "invalid choice: 'best'"),
        ("extract nowhere", "there is no run folder nowhere"),
        ("verify nowhere", "there is no run folder nowhere"), ("fti rows.csv", "did you mean fit?"),
        (f"{FIT}", "--targets is missing"), (f"{FIT} --inputs x", "--targets is missing"),
        (f"{FIT} --inputs xs --targets y", "did you mean 'x'"), (f"{FIT} --inputs x,x --targets y", "twice"),
        (f"{FIT} --tagets y", "there is no --tagets; did you mean --targets?"),
        (f"{FIT} --targets y --dates day_first", "did you mean day-first?"),
        (f"{FIT} --inputs x --targets y --samples 5", "there is no --samples"),
        (f"{FIT} --inputs x --targets y --layout concat", "concat layout"),
        ("fit nowhere.csv --targets y", "there is no file"), ("fit . --inputs x --targets y", "is a folder"),
        ("predict out rows.csv --missing drop", "there is no --missing ("),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_2(arguments: str, part: str, capsys: pytest.CaptureFixture[str]):
    Path("rows.csv").write_text("x,y\n" + "".join(f"{i % 5},{i}\n" for i in range(300)))
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err
    assert err.startswith("w2c")
    assert err.count("\n") == 1
    assert len(err) < 1100
    assert err.endswith((".\n", "?\n", ").\n"))
    assert os.listdir() == ["rows.csv"]
    if arguments:
        assert main([*arguments.split(), "--json"]) == 2
        assert part in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"), ("x,y\n1,2\n1\n", "line 3"), ("x,y\n" + "1,2\n" * 4 + "1,3\n", "5 rows"),
        ("x,y\n" + "1,2\n" * 30, "the target 'y' is 2 everywhere"),
        ("x,y\n" + "1,nan\n" * 30, "missing value"),
    ],
)  # fmt: skip
def test_bad_files_leave_nothing(text: str, part: str, capsys: pytest.CaptureFixture[str]):
    Path("data.csv").write_text(text)
    assert main(["fit", "data.csv", "--inputs", "x", "--targets", "y", "--out", "out"]) == 2
    assert part in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("raised", "code", "part"),
    [
        (KeyboardInterrupt(), 130, "stopped; the same command"),
        (PermissionError(13, "Permission denied", "place"), 2, "place: permission denied; check its"),
        (IsADirectoryError(21, "Is a directory", "c/.a.12.part", None, "c/a"), 2, " c/a: is a directory."),
        (PermissionError(13, "Permission denied", "c/.a.b.12.part"), 2, " c/a.b: permission denied"),
        (OSError(28, "No space left on device"), 2, "no space left on device."),
        (MemoryError(), 2, "not enough memory"),
        (RuntimeError("can't allocate memory: you tried to allocate 10 bytes"), 2, "not enough memory"),
        (np.linalg.LinAlgError("SVD did not converge"), 2, "the numbers are too large, too small or"),
    ],
)  # fmt: skip
def test_failures_on_the_way(
    raised: BaseException, code: int, part: str, capsys: pytest.CaptureFixture[str], monkeypatch
):
    def fail(_: Any) -> int:
        raise raised

    monkeypatch.setattr(commands, "train", fail)
    assert main(["train", "sum", "--out", "x"]) == code
    err = capsys.readouterr().err
    assert part in err
    assert err.count("\n") == 1


# -- tasks, folders, progress --------------------------------------------------------------------------------


@pytest.mark.parametrize(("suite", "count"), [("paper", 29), ("mips", 62), ("languages", 20)])
def test_tasks_of_a_suite(suite: str, count: int, capsys: pytest.CaptureFixture[str]):
    assert main(["tasks", "--suite", suite]) == 0
    assert len(capsys.readouterr().out.splitlines()) == count + 1
    assert main(["tasks", "--suite", suite, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == count


def test_default_folders():
    assert commands.default_folder("sum", Settings(seed=3)) == Path("w2c-runs/sum-seed3")
    assert commands.default_folder("sum", Settings(time_limit=5.0, device="auto")).name == "sum-seed0"
    one, other = (commands.default_folder("sum", Settings(layers=n)).name for n in (1, 2))
    assert len({one, other, "sum-seed0"}) == 3


def test_progress_in_few_lines_or_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    clock = iter([i * PLAIN_INTERVAL / 25 for i in range(1000)])
    monkeypatch.setattr("weights2code.cli.progress.time.monotonic", lambda: next(clock))
    lines = PlainLines()
    for stage in ("pairs", "triples"):
        for epoch in range(1, 51):
            lines(stage, epoch, 50, "loss 0.5")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "pairs: 1/50, loss 0.5"
    assert said[-1].startswith("triples: 50/50")
    assert len(said) == 6
    for _ in range(45):
        lines.beat()
    assert re.fullmatch(r"triples: 50/50, loss 0.5 \(still at it, \d+ s\)\n", capsys.readouterr().err)
    monkeypatch.undo()
    with reporter(silent=True) as progress:
        assert progress is None
    with reporter(silent=False) as progress:
        assert isinstance(progress, PlainLines)
    with _bar() as progress:
        progress("pairs", 1, 12, "loss 0.25")
        progress("triples", 2, 18, "")
    assert capsys.readouterr().out == ""


# -- results -------------------------------------------------------------------------------------------------

PROGRAM = Program("running_sum", rule(y=Var("x") + Var("y", 1)), (integers(0, 99),), True)


def certificate(verdict: Any) -> Certificate:
    agreement = Agreement(100, 0.0, 0.0, 1.0)
    proof = Offered(kind="closure", transitions=6)
    return Certificate(
        verdict, "a method", ("integers 0..99",), "every length", (10, 40), agreement, proof=proof
    )


@dataclass
class FakeOutcome:
    program: Program | None = PROGRAM
    certificate: Certificate | None = field(default_factory=lambda: certificate("proved"))
    attempts: tuple[Attempt, ...] = (Attempt("linear", 0, 0.0, verdict="proved"),)
    seconds: float = 1.5
    exit_code: int = 0
    message: str = "all is well"
    broken: str = ""
    hints: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()


FAILED = (Attempt("pairs", 0, 0.9, detail="Attn_L0H0 matches nothing"),)
OUTCOMES = {
    0: FakeOutcome(),
    1: FakeOutcome(certificate=certificate("failed"), exit_code=1),
    3: FakeOutcome(None, None, FAILED, 9.0, 3, "not extracted"),
}


@pytest.mark.parametrize("code", OUTCOMES)
def test_run_answers_with_the_outcome(
    code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pipeline, "run", lambda *_: OUTCOMES[code])
    for mode in ([], ["--quiet"]):
        assert main(["run", "sum", *mode]) == code
        out = capsys.readouterr().out
        if code == 3:
            assert "not extracted" in out
            assert mode or "Attn_L0H0" in out
        else:
            assert out.startswith("y[t] = x[t] + y[t-1]\n")
            assert ("proved" if code == 0 else "failed") in out
    assert main(["run", "sum", "--json"]) == code
    data = json.loads(capsys.readouterr().out)
    assert data["exit_code"] == code
    assert data["attempts"] == [attempt.to_dict() for attempt in OUTCOMES[code].attempts]
    assert data["formula"] == (["y[t] = x[t] + y[t-1]"] if code != 3 else None)
    assert os.path.exists("w2c-runs/sum-seed0/config.json")
    with begin("panel", "sum", Settings()) as folder:
        show_panel(OUTCOMES[code], folder)  # type: ignore[arg-type]
    out = capsys.readouterr().out
    assert ("y[t] = x[t] + y[t-1]" in out) == (code != 3)
    assert "config.json" in out


def told(brief: bool = False, outcome: Any = None, **changes: Any) -> list[str]:
    made: Any = outcome or FakeOutcome(certificate=replace(certificate("proved"), **changes))
    with begin("run", "sum", Settings()) as folder:
        return plain_lines(made, folder, brief=brief)


def test_what_has_a_line_of_its_own():
    assert "why: equal to its specification at every length" in "\n".join(told())
    taught = NetworkCertificate(
        "proved", "all", "at every length for inputs in bits", 0.499, made="wired", proof=Offered()
    )
    network = NetworkCertificate(
        "differs", "it rounds to another number", "it", counterexample=((1.0,),), made="trained"
    )
    lines = told(network=network, taught=taught)
    assert [line for line in lines if line.startswith(("network", "another", "broken"))] == [
        "network: differs; not the program's output after the inputs 1; it is as it was trained",
        "another network: proved; equal to the program at every length for inputs in bits; it was wired for "
        "the rule and trained after the program was found",
    ]
    broken = FakeOutcome(message="the head is another", broken="the head is another", exit_code=1)
    assert "broken link: the head is another" in told(outcome=broken)
    assert told(brief=True, outcome=broken) == ["y[t] = x[t] + y[t-1]", "the head is another"]
