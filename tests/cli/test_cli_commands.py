"""The command line: exit codes, sentences, outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from weights2code.cli import commands, main
from weights2code.cli.progress import _bar, reporter
from weights2code.extraction.attempt import Attempt
from weights2code.language import Recurrence, Step, Var, integers
from weights2code.program import Program
from weights2code.progress import PLAIN_INTERVAL, PlainLines
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


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "weights2code", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("weights2code ")


@pytest.mark.parametrize("command", [[], ["run"], ["train"], ["tasks"], ["extract"], ["verify"]])
def test_help_has_everything_in_plain_words(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: w2c")
    assert all(len(line) <= 120 for line in out.splitlines())
    if command in ([], ["run"], ["train"]):
        assert "examples:" in out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("", "COMMAND"),
        ("fly", "invalid choice: 'fly'"),
        ("train sum", "--out"),
        ("train --out x", "TASK"),
        ("train sum --out x --wings 2", "--wings"),
        ("train sum --out x --see 2", "--see"),
        ("train sum --out x --seed abc", "--seed must be a whole number, got 'abc'"),
        ("train sum --out x --seed 1.5", "--seed must be a whole number"),
        ("train sum --out x --seed -1", "--seed must lie between"),
        ("train sum --out x --seed", "--seed: expected one argument"),
        ("train sum --out x --layers -1", "--layers must be at least 0, got -1"),
        ("train sum --out x --submlps -3", "--submlps must be at least 0"),
        ("train sum --out x --arity 0", "--arity must be at least 1"),
        ("train sum --out x --length 0", "--length must be at least 1"),
        ("train sum --out x --samples 0", "--samples must be at least 1"),
        ("train sum --out x --l1 lots", "--l1 must be a number"),
        ("train sum --out x --time-limit 0", "--time-limit must be a positive"),
        ("train sum --out x --recipe slow", "invalid choice: 'slow'"),
        ("train sum --out x --layout sideways", "invalid choice: 'sideways'"),
        ("train sum --out x --device abacus", "invalid choice: 'abacus'"),
        ("train sum --out x --hide q[t-1]", "cannot read the mask 'q[t-1]'"),
        ("train parity_lst2 --out x", "did you mean parity_last2"),
        ("run nonsense_task_name", "there is no task called"),
        ("run sum --length 0", "--length must be at least 1"),
        ("tasks --suite best", "invalid choice: 'best'"),
        ("extract nowhere", "there is no run folder nowhere"),
        ("verify nowhere", "there is no run folder nowhere"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(
    arguments: str, part: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err
    assert err.startswith("w2c")
    assert err.count("\n") == 1
    assert err.endswith((".\n", "?\n"))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("raised", "code", "part"),
    [
        (KeyboardInterrupt(), 130, "stopped; the same command"),
        (
            PermissionError(13, "Permission denied", "place"),
            2,
            "place: permission denied; check its permissions.",
        ),
        (IsADirectoryError(21, "Is a directory", "c/.a.12.part", None, "c/a"), 2, " c/a: is a directory."),
        (PermissionError(13, "Permission denied", "c/.a.b.12.part"), 2, " c/a.b: permission denied"),
        (OSError(28, "No space left on device"), 2, "no space left on device."),
        (MemoryError(), 2, "not enough memory"),
        (RuntimeError("can't allocate memory: you tried to allocate 10 bytes"), 2, "not enough memory"),
    ],
)
def test_failures_on_the_way(
    raised: BaseException,
    code: int,
    part: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    def fail(_: Any) -> int:
        raise raised

    monkeypatch.setattr(commands, "train", fail)
    assert main(["train", "sum", "--out", "x"]) == code
    err = capsys.readouterr().err
    assert part in err
    assert err.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error():
    code = "from weights2code.cli import main; import sys; sys.exit(main(['tasks', '--json']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


# -- tasks and train -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suite", "count"), [("paper", 29), ("mips", 62), ("languages", 20)])
def test_tasks_of_a_suite(suite: str, count: int, capsys: pytest.CaptureFixture[str]):
    assert main(["tasks", "--suite", suite]) == 0
    assert len(capsys.readouterr().out.splitlines()) == count + 1
    assert main(["tasks", "--suite", suite, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == count


SMALL = ["--samples", "256"]


def test_train_leaves_its_files_and_can_be_repeated(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert main(["train", "Sum", "--out", "run", *SMALL]) == 0
    out = capsys.readouterr().out
    assert out.startswith("sum trained: rung linear fits")
    assert out.count("\n") == 1
    assert sorted(os.listdir("run")) == ["config.json", "metrics.jsonl", "model.safetensors"]
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    assert main(["train", "sum", "--out", "run", *SMALL]) == 0
    assert "was complete already" in capsys.readouterr().out
    assert main(["train", "sum", "--out", "run", *SMALL, "--seed", "1"]) == 2
    assert "seed (0 there, 1 asked)" in capsys.readouterr().err
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_training_that_is_cut_short_says_so(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "abs", "--out", "run", "--json", *SMALL, "--time-limit", "1e-9"]) == 0
    assert json.loads(capsys.readouterr().out)["cut_short"] is True
    assert main(["train", "abs", "--out", "run", *SMALL, "--time-limit", "1e-9"]) == 0
    assert "1e-09 s were not enough" in capsys.readouterr().out


def test_train_as_json(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "sum", "--out", "run", "--json", *SMALL]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["fitted"] is True
    assert result["hard_loss"] < 1e-6
    assert result["files"] == ["config.json", "metrics.jsonl", "model.safetensors"]
    assert err == ""


def test_a_damaged_model_is_refused_and_left(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert main(["train", "sum", "--out", "run", "--quiet", *SMALL]) == 0
    model = tmp_path / "run" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-7])
    damaged = model.read_bytes()
    assert main(["train", "sum", "--out", "run", *SMALL]) == 2
    assert main(["extract", "run"]) == 2
    err = capsys.readouterr().err
    assert err.count("is corrupt or not a weights2code file") == 2
    assert model.read_bytes() == damaged


def test_default_folders():
    assert commands.default_folder("sum", Settings(seed=3)) == Path("w2c-runs/sum-seed3")
    assert commands.default_folder("sum", Settings(time_limit=5.0, device="auto")).name == "sum-seed0"
    one, other = (commands.default_folder("sum", Settings(layers=n)).name for n in (1, 2))
    assert len({one, other, "sum-seed0"}) == 3


# -- progress ------------------------------------------------------------------------------------------------


def test_plain_lines_are_few(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    clock = iter([i * PLAIN_INTERVAL / 50 for i in range(1000)])
    monkeypatch.setattr("weights2code.cli.progress.time.monotonic", lambda: next(clock))
    lines = PlainLines()
    for stage in ("pairs", "triples"):
        for epoch in range(1, 101):
            lines(stage, epoch, 100, 0.5, 1.0)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "pairs: 1/100, loss 5.00e-01, temperature 1"
    assert said[-1].startswith("triples: 100/100")
    assert len(said) == 6


def test_silence_and_the_bar(capsys: pytest.CaptureFixture[str]):
    with reporter(silent=True) as progress:
        assert progress is None
    with reporter(silent=False) as progress:
        assert isinstance(progress, PlainLines)
    with _bar() as progress:
        progress("pairs", 1, 12, 0.25, 3.0)
        progress("triples", 2, 18, 0.125, 1.0)
    assert capsys.readouterr().out == ""


# -- results -------------------------------------------------------------------------------------------------

RULE = Recurrence(("x",), (Step("y", Var("x") + Var("y", 1)),), ("y",))
PROGRAM = Program("running_sum", RULE, (integers(0, 99),), True)


def certificate(verdict: str) -> Certificate:
    return Certificate(
        verdict,  # type: ignore[arg-type]
        "a method",
        ("integers 0..99",),
        "every length",
        (10, 40),
        Agreement(100, 0.0, 0.0, 1.0),
        proof=Offered(kind="closure", transitions=6),
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


OUTCOMES = {
    0: FakeOutcome(),
    1: FakeOutcome(certificate=certificate("failed"), exit_code=1),
    3: FakeOutcome(
        None, None, (Attempt("pairs", 0, 0.9, detail="Attn_L0H0 matches nothing"),), 9.0, 3, "not extracted"
    ),
}


@pytest.mark.parametrize("code", OUTCOMES)
@pytest.mark.parametrize("mode", [[], ["--quiet"], ["--json"]])
def test_run_answers_with_the_outcome(
    code: int, mode: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    from weights2code import pipeline

    monkeypatch.setattr(pipeline, "run", lambda *_: OUTCOMES[code])
    assert main(["run", "sum", *mode]) == code
    out = capsys.readouterr().out
    if mode == ["--json"]:
        data = json.loads(out)
        assert data["exit_code"] == code
        assert data["attempts"] == [attempt.to_dict() for attempt in OUTCOMES[code].attempts]
        assert data["formula"] == (["y[t] = x[t] + y[t-1]"] if code != 3 else None)
    elif code == 3:
        assert "not extracted" in out
        assert mode or "Attn_L0H0" in out
    else:
        assert out.startswith("y[t] = x[t] + y[t-1]\n")
        assert ("proved" if code == 0 else "failed") in out
    assert os.path.exists("w2c-runs/sum-seed0/config.json")


def test_a_long_invariant_is_left_to_the_certificate():
    from weights2code.cli.result import plain_lines
    from weights2code.run_folder import begin

    for claims, shown in ((2, "note: invariant: [0]; [1]"), (99, "note: invariant: 99 claims, listed in")):
        invariant = tuple(f"[{i}]" for i in range(claims))
        outcome = FakeOutcome(certificate=replace(certificate("proved"), invariant=invariant))
        with begin("run", "sum", Settings()) as folder:
            assert shown in "\n".join(plain_lines(outcome, folder))  # type: ignore[arg-type]


def test_the_network_has_a_line_of_its_own():
    from weights2code.cli.result import plain_lines
    from weights2code.run_folder import begin

    taught = NetworkCertificate(
        "proved", "all", "at every length for inputs in bits", 0.499, made="wired", proof=Offered()
    )
    network = NetworkCertificate(
        "differs", "it rounds to another number", "it", counterexample=((1.0,),), made="trained"
    )
    outcome = FakeOutcome(certificate=replace(certificate("proved"), network=network, taught=taught))
    with begin("run", "sum", Settings()) as folder:
        lines = plain_lines(outcome, folder)  # type: ignore[arg-type]
    told = [line for line in lines if line.startswith(("network", "taught"))]
    assert told == [
        "network: differs; not the program's output after the inputs 1; it is as it was trained",
        "taught: proved; equal to the program at every length for inputs in bits; it was wired for the rule "
        "and trained after the program was found",
    ]
    assert not any(line.startswith("broken link") for line in lines)


def test_a_broken_link_is_named():
    from weights2code.cli.result import plain_lines
    from weights2code.run_folder import begin

    outcome = FakeOutcome(message="the head is another", broken="the head is another", exit_code=1)
    with begin("run", "sum", Settings()) as folder:
        assert "broken link: the head is another" in plain_lines(outcome, folder)  # type: ignore[arg-type]
        brief = plain_lines(outcome, folder, brief=True)  # type: ignore[arg-type]
    assert brief == ["y[t] = x[t] + y[t-1]", "the head is another"]


@pytest.mark.parametrize("code", OUTCOMES)
def test_the_panel(code: int, capsys: pytest.CaptureFixture[str]):
    from weights2code.cli.result import show_panel
    from weights2code.run_folder import begin

    with begin("run", "sum", Settings()) as folder:
        show_panel(OUTCOMES[code], folder)  # type: ignore[arg-type]
    out = capsys.readouterr().out
    assert ("y[t] = x[t] + y[t-1]" in out) == (code != 3)
    assert "config.json" in out


def test_stages_on_a_folder_without_their_input(capsys: pytest.CaptureFixture[str]):
    from weights2code.run_folder import begin

    begin("run", "sum", Settings()).close()
    assert main(["extract", "run"]) == 2
    assert main(["verify", "run"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 2
    assert "Traceback" not in err


@pytest.mark.slow
def test_all_stages_by_name_and_at_once(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "sum_last2", "--out", "steps", "--quiet"]) == 0
    assert main(["extract", "steps", "--json"]) == 0
    assert main(["verify", "steps", "--quiet"]) == 0
    assert main(["extract", "steps", "--quiet"]) == 0  # says again how it came about
    assert main(["run", "sum_last2", "--quiet"]) == 0
    assert main(["run", "sum_last2", "--quiet"]) == 0  # complete: answers from the folder
    capsys.readouterr()
    texts = [Path(place, "program.py").read_text() for place in ("steps", "w2c-runs/sum_last2-seed0")]
    assert texts[0].split('"""')[2] == texts[1].split('"""')[2]  # where the rule came from is another thing
    later = {"graph.json", "program_raw.py", "program.py", "program.tex", "certificate.json"}
    assert {"config.json", "metrics.jsonl", "model.safetensors"} | later <= set(os.listdir("steps"))


def test_whatever_a_name_holds_the_error_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["run", "no\nsuch" + "x" * 5000]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert len(error) < 1100
