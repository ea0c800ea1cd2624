"""What is advised can be done: every option that a sentence names is there, or it is said where."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weights2code
from weights2code.cli import main
from weights2code.cli.parser import flags_of
from weights2code.language import Recurrence, Step, Var, integers
from weights2code.program import Program

COMMANDS = ("tasks", "run", "fit", "train", "extract", "verify", "report", "predict", "export", "decompile")
COMMANDS += ("bench", "experiment", "completion")
#: Options that the texts of other programs have.
FOREIGN = {"--help"}


def sentences() -> list[str]:
    """All texts of the package but those that say what code does."""
    found = []
    for file in Path(weights2code.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Constant) and isinstance(child.value, str):
                    if not isinstance(node, ast.Expr):
                        found.append(child.value)
                elif isinstance(child, ast.JoinedStr):
                    found.append("".join(str(getattr(part, "value", "X")) for part in child.values))
    return found


def test_options_that_are_advised_are_there() -> None:
    every = frozenset().union(*map(flags_of, COMMANDS))
    for sentence in sentences():
        for command, rest in re.findall(r"`w2c (\w+)([^`]*)`", sentence):
            assert command in COMMANDS, sentence
            assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest)) <= flags_of(command), sentence
        plain = re.sub(r"`[^`]*`", "", sentence)
        if " " in plain.strip():
            assert set(re.findall(r"(?<![\w=-])--[a-z][a-z-]+(?=[ .,;:)])", plain)) <= every | FOREIGN, (
                sentence
            )


def test_an_option_of_another_command_is_said_to_be_its(
    tmp_path: Path, made_folder, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = Recurrence(("x",), (Step("y", Var("x") + Var("y", 1)),), ("y",))
    folder = made_folder(tmp_path / "run", "sum", Program("p", rule, (integers(0, 9),), True))
    (tmp_path / "new.csv").write_text("x\n12.03.2024\n13.03.2024\n")
    assert main(["predict", str(folder), str(tmp_path / "new.csv")]) == 2
    assert capsys.readouterr().err.endswith(" (--inputs and --time: options of `w2c fit`)\n")


def test_what_libraries_print_does_not_mix_with_results() -> None:
    code = (
        "import os; from weights2code.cli import own_output; own_output(); "
        "os.write(1, b' ** On entry to DLASCL'); print('result')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "result\n"
