"""`w2c train`, `run` and `fit`: folders that are whole, bound to what they are of, and continued."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.run_folder import begin
from weights2code.settings import Settings


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def contents(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


# -- built-in tasks ------------------------------------------------------------------------------------------

SMALL = ["--samples", "256"]


def test_train_leaves_its_files_and_can_be_repeated(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "Sum", "--out", "run", "--json", *SMALL]) == 0
    out, err = capsys.readouterr()
    result, before = json.loads(out), contents("run")
    assert (result["fitted"], err) == (True, "")
    assert result["hard_loss"] < 1e-6
    assert result["files"] == sorted(before) == ["config.json", "metrics.jsonl", "model.safetensors"]
    assert main(["train", "sum", "--out", "run", *SMALL]) == 0
    assert "was complete already" in capsys.readouterr().out
    assert main(["train", "sum", "--out", "run", *SMALL, "--seed", "1"]) == 2
    assert "seed (0 there, 1 asked)" in capsys.readouterr().err
    assert contents("run") == before
    model = Path("run/model.safetensors")
    model.write_bytes(damaged := model.read_bytes()[:-7])
    assert main(["train", "sum", "--out", "run", *SMALL]) == 2
    assert main(["extract", "run"]) == 2
    assert capsys.readouterr().err.count("is corrupt or not a weights2code file") == 2
    assert model.read_bytes() == damaged


def test_training_that_is_cut_short_says_so(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "abs", "--out", "run", "--json", *SMALL, "--time-limit", "1e-9"]) == 0
    assert json.loads(capsys.readouterr().out)["cut_short"] is True
    assert main(["train", "abs", "--out", "run", *SMALL, "--time-limit", "1e-9"]) == 0
    assert "1e-09 s were not enough" in capsys.readouterr().out


def test_stages_on_a_folder_without_their_input(capsys: pytest.CaptureFixture[str]):
    begin("run", "sum", Settings()).close()
    assert main(["extract", "run"]) == 2
    assert main(["verify", "run"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 2
    assert "Traceback" not in err


@pytest.mark.slow
def test_all_stages_by_name_and_at_once(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "sum_last2", "--out", "steps", "--quiet"]) == 0
    Path("new.csv").write_text("x\n1\n")
    assert main(["predict", "steps", "new.csv"]) == 3
    assert "holds a model and no program" in capsys.readouterr().err
    assert main(["extract", "steps", "--json"]) == 0
    assert main(["verify", "steps", "--quiet"]) == 0
    assert main(["extract", "steps", "--quiet"]) == 0  # says again how it came about
    assert main(["run", "sum_last2", "--quiet"]) == 0
    assert main(["run", "sum_last2", "--quiet"]) == 0  # complete: answers from the folder
    texts = [Path(place, "program.py").read_text() for place in ("steps", "w2c-runs/sum_last2-seed0")]
    assert texts[0].split('"""')[2] == texts[1].split('"""')[2]  # where the rule came from is another thing
    later = {"graph.json", "program_raw.py", "program.py", "program.tex", "certificate.json"}
    assert {"config.json", "metrics.jsonl", "model.safetensors"} | later <= set(os.listdir("steps"))


# -- files ---------------------------------------------------------------------------------------------------


def write(name: str, columns: dict[str, np.ndarray]) -> None:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(repr(value) for value in row) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n")


def test_a_file_becomes_a_program_that_is_bound_to_it(capsys: pytest.CaptureFixture[str]):
    """One long sequence: a tank that leaks."""
    inflow = np.random.default_rng(0).integers(0, 9, 300)
    level = np.zeros(300)
    for t in range(300):
        level[t] = 0.5 * (level[t - 1] if t else 0) + inflow[t]
    write("tank.csv", {"minute": np.arange(300), "inflow": inflow, "level": level})
    tank = ["tank.csv", "--inputs", "inflow", "--targets", "level", "--order", "minute"]
    formula = "level[t] = inflow[t] + 0.5*level[t-1]"
    assert main(["train", *tank, "--out", "trained", "--quiet"]) == 0
    assert "rung linear fits" in capsys.readouterr().out
    assert main(["extract", "trained", "--quiet"]) == 0
    assert formula in capsys.readouterr().out

    assert main(["fit", *tank, "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["formula"], result["source"]) == ([formula], "tank")
    config = json.loads(Path("out/config.json").read_text())["source"]
    assert config["file"] == str(Path("tank.csv").absolute())
    assert len(config["sha256"]) == 64
    assert "def tank(" in Path("out/program.py").read_text()
    for command in (["extract", "out"], ["verify", "out"], ["fit", *tank, "--out", "out"]):
        assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().out.count(formula) >= 2

    before = contents("out")
    assert main(["fit", *tank[:-2], "--out", "out"]) == 2
    assert "other columns: order" in capsys.readouterr().err
    with open("tank.csv", "a") as file:
        file.write("300,1,7\n")
    assert main(["fit", *tank, "--out", "out"]) == 2
    assert "other content" in capsys.readouterr().err
    assert main(["verify", "out"]) == 2
    assert "has changed since the run began" in capsys.readouterr().err
    assert before == contents("out")


#: One rung of a few steps.
RUNG = ["--layers", "1", "--heads", "1", "--submlps", "0", "--members", "2", "--epochs", "1"]


@pytest.mark.slow
def test_what_has_no_rule_ends_with_one_and_says_so(capsys: pytest.CaptureFixture[str]):
    rng = np.random.default_rng(1)
    write("noise.csv", {"x": rng.normal(size=400), "y": rng.normal(size=400)})
    code = main(["fit", "noise.csv", "--inputs", "x", "--targets", "y", *RUNG, "--out", "out", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (code, result["certificate"]["verdict"]) == (1, "failed")
    assert "nearly nothing of y is explained" in result["message"]
    assert result["certificate"]["rmse"] > 0.5
    assert main(["predict", "out", "noise.csv", "--out", "made.csv"]) == 1
    assert "do not rely on these numbers" in capsys.readouterr().err


# -- a task of one's own -------------------------------------------------------------------------------------

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


@pytest.mark.slow
def test_a_plain_function_is_proved(capsys: pytest.CaptureFixture[str]):
    Path("mine.py").write_text(MINE)
    assert main(["run", "mine.py:turnstile", "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["source"] == "turnstile"
    assert result["certificate"]["verdict"] == "proved"
    assert "states that the step function and the program reach together" in result["certificate"]["method"]
    assert "def turnstile(" in Path("out/program.py").read_text()
    again = ["run", "mine.py:turnstile", "--out", "out"]
    assert main([*again, "--quiet"]) == 0  # a finished run is checked again
    for command in ("extract", "verify", "report"):
        assert main([command, "out", "--task", "mine.py:turnstile", "--quiet"]) == 0
    Path("new.csv").write_text("event\n1\n2\n2\n")
    capsys.readouterr()
    assert main(["predict", "out", "new.csv", "--quiet"]) == 0  # which needs no specification
    assert capsys.readouterr().out == "event,y\n1,0\n2,1\n2,0\n"
    Path("mine.py").write_text(f"{MINE}\nopen('ran', 'w')\n")
    for arguments, words in (
        (["verify", "out"], "name it with --task mine.py:turnstile"),
        (["verify", "out", "--task", "mine.py:turnstile"], "the content of its file differs"),
        (again, "before it was changed"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
    assert not Path("ran").exists()


@pytest.mark.slow
def test_formulas_are_proved(capsys: pytest.CaptureFixture[str]):
    Path("mine.py").write_text(MINE)
    assert main(["run", "mine.py:leak", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == ["y[t] = load[t] + 0.5*y[t-1]", "proved"]
    (folder,) = Path("w2c-runs").iterdir()
    assert folder.name.startswith("leak-seed0-")


DIVIDES = "import weights2code\nx = weights2code.Task({'x': (0, 1)}, step=lambda s, r: 1 / 0)"


@pytest.mark.parametrize(
    ("named", "text", "words"),
    [
        ("mine.py:none", "", "mine.py has no task called 'none': its tasks are turnstile, leak, late."),
        ("mine.py:turnstyle", "", "did you mean turnstile?"), ("mine.py", "", "name the task in mine.py too"),
        ("other.py:x", "", "there is no file other.py"),
        ("mine.py:turn", "", "turn in mine.py is of type function; make it a weights2code.Task"),
        ("mine.py:late --length 200", "", "the step function raises ZeroDivisionError"),
        ("own.py:x", DIVIDES, "line 2:"), ("own.py:x", "x = undefined", "line 1, raises NameError"),
        ("own.py:x", "import sys\nsys.exit('no')", "line 2, raises SystemExit: no"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_one_sentence(
    named: str, text: str, words: str, capsys: pytest.CaptureFixture[str]
):
    Path("mine.py").write_text(MINE)
    Path("own.py").write_text(text)
    assert main(["run", *named.split(), "--samples", "10", "--out", "out"]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
