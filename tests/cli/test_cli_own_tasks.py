"""`w2c run file.py:name`: a task of one's own is trained, extracted and proved like a built-in one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weights2code.cli import main

MINE = '''
import weights2code


def turn(state, row):
    """A coin (1) opens, a push (2) goes through and closes."""
    if row["event"] == 1:
        return "open", 0
    if row["event"] == 2 and state == "open":
        return "closed", 1
    return state, 0


turnstile = weights2code.Task(inputs={"event": (0, 2)}, start="closed", step=turn, length=10)
leak = weights2code.Task(inputs={"load": (0.0, 1.0)}, reference="y[t] = 0.5*y[t-1] + load[t]")


def fails_late(state, row):
    return state + 1, 1 if state < 150 else 1 / 0


late = weights2code.Task(inputs={"x": (0, 4)}, start=0, step=fails_late)
'''


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)


@pytest.mark.slow
def test_a_plain_function_is_proved(capsys: pytest.CaptureFixture[str]):
    assert main(["run", "mine.py:turnstile", "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["source"] == "turnstile"
    assert result["certificate"]["verdict"] == "proved"
    assert "states that the step function and the program reach together" in result["certificate"]["method"]
    assert "def turnstile(" in Path("out/program.py").read_text()
    assert (
        main(["run", "mine.py:turnstile", "--out", "out", "--quiet"]) == 0
    )  # a finished run is checked again
    for command in ("extract", "verify", "report"):
        assert main([command, "out", "--task", "mine.py:turnstile", "--quiet"]) == 0
    Path("new.csv").write_text("event\n1\n2\n2\n")
    capsys.readouterr()
    assert main(["predict", "out", "new.csv", "--quiet"]) == 0  # which needs no specification
    assert capsys.readouterr().out == "event,y\n1,0\n2,1\n2,0\n"

    marker = Path("ran")
    Path("mine.py").write_text(MINE + f"\nopen({str(marker)!r}, 'w')\n")
    for arguments, words in (
        (["verify", "out"], "name it with --task mine.py:turnstile"),
        (["verify", "out", "--task", "mine.py:turnstile"], "the content of its file differs"),
        (["run", "mine.py:turnstile", "--out", "out"], "before it was changed"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
    assert not marker.exists()


@pytest.mark.slow
def test_formulas_are_proved(capsys: pytest.CaptureFixture[str]):
    assert main(["run", "mine.py:leak", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == ["y[t] = load[t] + 0.5*y[t-1]", "proved"]
    (folder,) = Path("w2c-runs").iterdir()
    assert folder.name.startswith("leak-seed0-")


@pytest.mark.parametrize(
    ("named", "text", "words"),
    [
        ("mine.py:none", "", "mine.py has no task called 'none': its tasks are turnstile, leak, late."),
        ("mine.py:turnstyle", "", "did you mean turnstile?"),
        ("mine.py", "", "name the task in mine.py too"),
        ("other.py:x", "", "there is no file other.py"),
        ("mine.py:turn", "", "turn in mine.py is of type function; make it a weights2code.Task"),
        (
            "own.py:x",
            "import weights2code\nx = weights2code.Task({'x': (0, 1)}, step=lambda s, r: 1 / 0)",
            "line 2:",
        ),
        ("own.py:x", "x = undefined", "line 1, raises NameError"),
        ("own.py:x", "import sys\nsys.exit('no')", "line 2, raises SystemExit: no"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    named: str, text: str, words: str, capsys: pytest.CaptureFixture[str]
):
    Path("own.py").write_text(text)
    assert main(["run", named, "--out", "out"]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert not Path("out").exists()


def test_a_function_that_raises_far_out_is_one_sentence(capsys: pytest.CaptureFixture[str]):
    assert main(["run", "mine.py:late", "--length", "200", "--samples", "10", "--out", "out"]) == 2
    said = capsys.readouterr().err
    assert "the step function raises ZeroDivisionError" in said
    assert said.count("\n") == 1
