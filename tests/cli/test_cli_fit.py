"""`w2c fit`: files in, exit codes and sentences out, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main
from weights2code.roles import ROLES


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, columns: dict[str, np.ndarray]) -> None:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(repr(value) for value in row) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n")


@pytest.fixture
def tank() -> list[str]:
    """One long sequence: a tank that leaks."""
    rng = np.random.default_rng(0)
    inflow = rng.integers(0, 9, 300)
    level = np.zeros(300)
    for t in range(300):
        level[t] = 0.5 * (level[t - 1] if t else 0) + inflow[t]
    write("tank.csv", {"minute": np.arange(300), "inflow": inflow, "level": level})
    return ["tank.csv", "--inputs", "inflow", "--targets", "level", "--order", "minute"]


def test_a_file_becomes_a_program(tank: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["fit", *tank, "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["formula"] == ["level[t] = inflow[t] + 0.5*level[t-1]"]
    assert result["source"] == "tank"
    config = json.loads(Path("out/config.json").read_text())["source"]
    assert config["file"] == str(Path("tank.csv").absolute())
    assert len(config["sha256"]) == 64
    for command in ("extract", "verify"):
        assert main([command, "out", "--quiet"]) == 0
    assert "level[t] = inflow[t] + 0.5*level[t-1]" in capsys.readouterr().out
    assert "def tank(" in Path("out/program.py").read_text()


@pytest.mark.slow
def test_a_run_is_bound_to_content_and_columns(tank: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["fit", *tank, "--out", "out", "--quiet"]) == 0
    before = {path: path.read_bytes() for path in Path("out").iterdir()}
    assert main(["fit", *tank, "--out", "out", "--quiet"]) == 0
    assert main(["fit", *tank[:-2], "--out", "out"]) == 2
    assert "other columns: order" in capsys.readouterr().err
    with open("tank.csv", "a") as file:
        file.write("300,1,7\n")
    assert main(["fit", *tank, "--out", "out"]) == 2
    assert "other content" in capsys.readouterr().err
    assert main(["verify", "out"]) == 2
    assert "has changed since the run began" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in Path("out").iterdir()}


def test_training_alone_takes_files_too(tank: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["train", *tank, "--out", "out", "--quiet"]) == 0
    assert "rung linear fits" in capsys.readouterr().out
    assert main(["extract", "out", "--quiet"]) == 0


#: One rung of a few steps.
SMALL = ["--layers", "1", "--heads", "1", "--submlps", "0", "--members", "2", "--epochs", "1"]


@pytest.mark.slow
def test_what_has_no_rule_ends_with_one_and_says_so(capsys: pytest.CaptureFixture[str]):
    rng = np.random.default_rng(1)
    write("noise.csv", {"x": rng.normal(size=400), "y": rng.normal(size=400)})
    code = main(["fit", "noise.csv", "--inputs", "x", "--targets", "y", *SMALL, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (code, result["certificate"]["verdict"]) == (1, "failed")
    assert "nearly nothing of y is explained" in result["message"]
    assert result["certificate"]["rmse"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "--targets is missing"),
        (["--inputs", "inflow"], "--targets is missing"),
        (["--inputs", "inflo", "--targets", "level"], "did you mean 'inflow'"),
        (["--inputs", "inflow,inflow", "--targets", "level"], "twice"),
        (["--inputs", "inflow", "--targets", "level", "--samples", "5"], "there is no --samples"),
        (["--inputs", "inflow", "--targets", "level", "--layout", "concat"], "concat layout"),
    ],
)
def test_bad_options_leave_nothing(
    tank: list[str], arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["fit", "tank.csv", *arguments, "--out", "out"]) == 2
    captured = capsys.readouterr()
    assert part in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("x,y\n1,2\n1\n", "line 3"),
        ("x,y\n" + "1,2\n" * 30, "the target 'y' is 2 everywhere"),
        ("x,y\n" + "1,2\n" * 4 + "1,3\n", "5 rows"),
        ("x,y\n" + "1,nan\n" * 30, "missing value"),
    ],
)
def test_bad_files_leave_nothing(text: str, part: str, capsys: pytest.CaptureFixture[str]):
    Path("data.csv").write_text(text)
    assert main(["fit", "data.csv", "--inputs", "x", "--targets", "y", "--out", "out"]) == 2
    assert part in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_folder_in_place_of_a_file(capsys: pytest.CaptureFixture[str]):
    assert main(["fit", ".", "--inputs", "x", "--targets", "y"]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_codes_that_may_be_categories_are_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{rng.choice([7, 12, 300])},{rng.integers(0, 4)}" for _ in range(200)]
    (tmp_path / "codes.csv").write_text("\n".join(["zone,y", *rows]) + "\n")
    assert main(["fit", "codes.csv", "--inputs", "zone", "--targets", "y", *SMALL, "--out", "out"]) != 0
    assert "try --categories zone,y" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit rows.csv --tagets y", "there is no --tagets; did you mean --targets?"),
        ("predict out rows.csv --missing drop", "there is no --missing ("),
        ("fti rows.csv", "did you mean fit?"),
        ("fit rows.csv --targets y --dates day_first", "did you mean day-first?"),
        ("fit nowhere.csv --targets y", "there is no file"),
    ],
)
def test_errors_name_what_may_have_been_meant_and_are_json_too(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
):
    assert main([*command.split(), "--json"]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert words in json.loads(said.out)["error"]
    assert main(command.split()) == 2
    assert capsys.readouterr().out == ""


def test_what_linear_algebra_says_stays_inside(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail(options: object) -> int:
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")

    monkeypatch.setattr("weights2code.cli.commands.fit", fail)
    assert main(["fit", "rows.csv", "--targets", "y"]) == 2
    assert capsys.readouterr().err == (
        "w2c fit: the numbers are too large, too small or too far apart to compute with; give other units.\n"
    )


def test_the_help_of_fit_has_what_a_file_can_be_given_and_nothing_that_it_refuses(
    capsys: pytest.CaptureFixture[str],
):
    assert main(["fit", "--help"]) == 0
    said = capsys.readouterr().out
    for name in ROLES:
        assert f"--{name.replace('_', '-')} " in said
    assert "--samples" not in said
    assert "--length" not in said
