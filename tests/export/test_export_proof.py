"""What a run proved, checked without us: two solvers, `check.py` alone, and changes that must be noticed."""

from __future__ import annotations

import ast
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import z3

from weights2code import pipeline
from weights2code.export.proof import ClaimFiles, checker, write_proof
from weights2code.run_folder import begin
from weights2code.settings import Settings
from weights2code.views.hidden import problem_in

#: Tasks, and the claims of each that `check.py` closes again.
CLOSED = {
    "bit_addition": {"program", "network"},
    "parity_last2": {"program", "network"},
    "div_3": {"program", "network"},
    "add_mod_3": {"program", "network"},
    "tomita_3": {"program", "network"},
    "diff_last2": {"program"},
    "sum_last2": {"network", "program"},
    "sum": set(),
    "Sum_Last4": set(),
    "freebody": set(),
    "Prev2": set(),
    "tomita_1": {"program", "network"},
}
SETTINGS = Settings(samples=1024)


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """The proof of a task's run, which is made once."""
    made: dict[str, tuple[Path, list[ClaimFiles]]] = {}

    def of(name: str) -> tuple[Path, list[ClaimFiles]]:
        if name not in made:
            out = tmp_path_factory.mktemp(name)
            with begin(out / "run", name, SETTINGS) as folder:
                assert pipeline.run(name, SETTINGS, folder).exit_code == 0
                made[name] = out / "proof", write_proof(folder, problem_in(folder), out / "proof")
        return made[name]

    return of


@pytest.fixture
def copied(proof, tmp_path):
    """A copy of a task's proof, to be changed."""
    return lambda name: Path(shutil.copytree(proof(name)[0], tmp_path / name))


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "check.py"], cwd=folder, capture_output=True, text=True, check=False
    )


def by_z3(text: str) -> str:
    solver = z3.Solver()
    solver.from_string(text)
    return str(solver.check())


def by_cvc5(text: str) -> str:
    cvc5 = pytest.importorskip("cvc5")
    solver = cvc5.Solver()
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(command.invoke(solver, parser.getSymbolManager()).strip())
    return answers[-1]


SOLVERS = [by_z3, by_cvc5]


def test_check_py_is_short_and_stands_alone():
    text = checker()
    assert len(text.splitlines()) <= 400
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [
        n
        for i in imports
        for n in ([i.module] if isinstance(i, ast.ImportFrom) else [a.name for a in i.names])
    ]
    assert {str(name).partition(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
def test_others_find_it_proved(proof, name):
    folder, claims = proof(name)
    assert {claim.name for claim in claims if claim.closed} == CLOSED[name]
    files = sorted((folder / "obligations").glob("*.smt2"))
    assert len(files) == sum(claim.questions for claim in claims)
    for file in files:
        assert [solve(file.read_text()) for solve in SOLVERS] == ["unsat", "unsat"], file.name
    found = checked(folder)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("holds: ") == len(CLOSED[name])


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def change_weight(folder: Path) -> None:
    """The last weight of the network's claim, which is one of the output head, is another number."""
    claim = json.loads((folder / "claims.json").read_text())["claims"][1]["left"]
    name, place = claim["places"][-1]
    content = bytearray((folder / claim["weights"]).read_bytes())
    (size,) = struct.unpack("<Q", content[:8])
    entry = json.loads(content[8 : 8 + size])[name]
    kind = {"F64": "<d", "F32": "<f"}[entry["dtype"]]
    at = 8 + size + entry["data_offsets"][0] + struct.calcsize(kind) * place
    struct.pack_into(kind, content, at, struct.unpack_from(kind, content, at)[0] + 0.125)
    (folder / claim["weights"]).write_bytes(content)


CHANGES = {
    "program.py": lambda folder: replaced(folder / "program.py", ") % 2", ") % 3"),
    "model.safetensors": change_weight,
    "specification.py": lambda folder: replaced(folder / "specification.py", "return (0, )", "return (1, )"),
}


@pytest.mark.slow
@pytest.mark.parametrize("file", CHANGES)
def test_what_was_changed_does_not_hold(copied, file):
    folder = copied("bit_addition")
    CHANGES[file](folder)
    found = checked(folder)
    assert found.returncode == 1
    wrong = [line for line in found.stdout.splitlines() if line.startswith("DOES NOT HOLD: ")]
    assert len(wrong) == 1
    assert ("the network rounds" in wrong[0]) == (file == "model.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("solve", SOLVERS)
def test_a_changed_question_has_another_answer(proof, solve):
    text = (proof("bit_addition")[0] / "obligations" / "program_4.smt2").read_text()
    assert solve(text) == "unsat"
    changed = text.replace(" 2)", " 3)", 1)  # one of the two remainders
    assert changed != text
    assert solve(changed) == "sat"
