"""Completion, asked for in the real shells: what they offer after a half-typed line."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from weights2code.cli import main
from weights2code.cli.completion import commands_of, completion_script
from weights2code.cli.parser import build_parser


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two run folders, a folder that is none, and a file with a space in its name."""
    place = tmp_path_factory.mktemp("place")
    for name in ("w2c-runs/sum-seed0", "w2c-runs/my run"):
        (place / name).mkdir(parents=True)
        (place / name / "config.json").write_text("{}")
    (place / "other").mkdir()
    (place / "my log.csv").write_text("a,b\n")
    for shell in ("bash", "zsh", "fish"):
        (place / f".script.{shell}").write_text(completion_script(build_parser(), shell))
    return place


def run(shell: list[str], code: str, place: Path) -> list[str]:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "TERM": "dumb"}
    done = subprocess.run(
        [*shell, "-c", code], cwd=place, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def bash(line: list[str], place: Path) -> list[str]:
    words = " ".join(shlex.quote(word) for word in line)
    code = (
        f"source .script.bash; COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _w2c\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return [found for found in run(["bash", "--norc"], code, place) if found]


def fish(line: list[str], place: Path) -> list[str]:
    typed = " ".join(line)
    code = f"source .script.fish; complete -C {shlex.quote(typed)}"
    return [found.split("\t")[0] for found in run(["fish", "--no-config"], code, place)]


RUNS = ["w2c-runs/my run", "w2c-runs/sum-seed0"]
CASES = [
    (["run", "parity_last"], {"parity_last2", "parity_last3"}),
    (["run", "--seed", "1", "magn"], {"magnetic"}),
    (["fi"], {"fit"}),
    (["run", "sum", "--recipe", ""], {"fast", "paper"}),
    (["report", "--plots", "s"], {"svg"}),
    (["run", "sum", "--time"], {"--time-limit"}),
    (["fit", "my"], {"my log.csv"}),
    (["verify", ""], set(RUNS)),
    (["verify", "w2c-runs/s"], {"w2c-runs/sum-seed0"}),
    (["verify", "oth"], {"other"}),
    (["run", "sum", "--out", "o"], {"other"}),
    (["run", "--seed", ""], set()),
    (["completion", ""], {"bash", "zsh", "fish"}),
    (["experiment", "inter"], {"interventions"}),
]


@pytest.mark.parametrize("shell", [bash, fish], ids=["bash", "fish"])
@pytest.mark.parametrize(("line", "offered"), CASES, ids=[" ".join(line) for line, _ in CASES])
def test_what_is_offered(shell, line: list[str], offered: set[str], place: Path):
    found = {item.replace("\\ ", " ").rstrip("/") for item in shell(["w2c", *line], place)}
    if shell is fish:  # it looks at letters without their case
        found = {item for item in found if item.startswith(line[-1])}
    assert found == offered


def test_bash_takes_values_behind_an_equals_sign(place: Path):
    assert bash(["w2c", "run", "--recipe", "="], place) == ["fast", "paper"]
    assert bash(["w2c", "run", "--recipe", "=", "p"], place) == ["paper"]
    assert bash(["w2c", "run", "--recipe", "=", "paper", "magn"], place) == ["magnetic"]
    assert "--recipe" in bash(["w2c", "run", "magnetic", ""], place)
    assert run(["bash", "--norc"], "source .script.bash; complete -p w2c", place)[0].endswith("-F _w2c w2c")


def test_zsh_reads_the_script(place: Path):
    code = 'autoload -Uz compinit && compinit -u -D; eval "$(<.script.zsh)"; print $_comps[w2c]'
    assert run(["zsh", "-f"], code, place) == ["_shtab_w2c"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_there(shell: str, capsys: pytest.CaptureFixture[str]):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    commands = commands_of(build_parser())
    assert {"tasks", "run", "fit", "train", "extract", "verify", "report"} <= set(commands)
    for name, command in commands.items():
        assert name in script
        for flag, action in command._option_string_actions.items():
            if action.help == argparse.SUPPRESS:  # which are known and no longer shown
                continue
            assert (f" {flag[2:]} " if shell == "fish" and flag[:2] == "--" else flag[1:]) in f"{script} "
    assert "balanced_parenthesis" in script


def test_texts_with_odd_characters_do_not_break_a_script(place: Path):
    parser = argparse.ArgumentParser("w2c")
    commands = parser.add_subparsers()
    odd = commands.add_parser("odd", help="it's [odd]: $HOME `x` \\ 100%%")
    odd.add_argument("--flag", metavar="X", help="it's [odd]: $HOME `x` \\ 100%%")
    for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
        if shutil.which(shell) is None:
            continue
        file = place / f".odd.{shell}"
        file.write_text(completion_script(parser, shell))
        assert subprocess.run([*check, str(file)], capture_output=True, text=True).stderr == ""
