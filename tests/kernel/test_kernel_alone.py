"""Only the kernel says `Proved`; it is small, and rests on the language alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import weights2code
from weights2code.export.proof import checker
from weights2code.kernel.claims import Claim, Closure, ProgramText, Proved, Specification
from weights2code.language import BITS, Recurrence, Step, Var

SOURCE = Path(weights2code.__file__).parent
KERNEL = sorted((SOURCE / "kernel").glob("*.py"))
LINES = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in KERNEL}
#: What the kernel may import of the package.
MAY = ("weights2code.kernel", "weights2code.language", "weights2code.heads")
MACHINE = Recurrence(("x",), (Step("y", Var("x")),), ("y",))


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("key", [(), (None,), (object(),), ("key",)])
def test_nobody_else_can_make_a_proof(key: tuple[object, ...]) -> None:
    claim = Claim(ProgramText("", ("x",)), Specification(MACHINE), (BITS,))
    with pytest.raises(TypeError, match="only the kernel"):
        Proved(claim, Closure(1), Fraction(0), None, "it is so", *key)


def test_proofs_are_made_in_one_file() -> None:
    calls = [
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Proved"
    ]
    assert set(calls) == {"kernel/claims.py"}
    keys = [file for file in SOURCE.rglob("*.py") if "_KEY" in file.read_text(encoding="utf-8")]
    assert [file.name for file in keys if "kernel" in file.parts] == ["claims.py"]
    assert not [
        file
        for file in keys
        if "claims import" in file.read_text("utf-8") and "_KEY," in file.read_text("utf-8")
    ]


@pytest.mark.parametrize("file", KERNEL, ids=lambda file: file.name)
def test_the_kernel_imports_the_language_alone(file: Path) -> None:
    own = {name for name in imported(file) if name.startswith("weights2code")}
    assert not {name for name in own if not name.startswith(MAY)}


def test_closing_stands_alone() -> None:
    """It is also the file that users get: the standard library, and NumPy where a program is run."""
    assert {
        name
        for name in imported(SOURCE / "kernel" / "closing.py")
        if name.partition(".")[0] not in sys.stdlib_module_names
    } <= {"numpy"}
    done = subprocess.run(
        [sys.executable, "-I", str(SOURCE / "kernel" / "closing.py"), "/nowhere"],
        capture_output=True,
        text=True,
    )
    assert "No such file" in done.stderr


def test_the_kernel_is_small() -> None:
    assert sum(LINES.values()) <= 1500, f"the kernel has {sum(LINES.values())} lines: {LINES}"


def test_what_users_read_is_small() -> None:
    lines = checker().splitlines()
    assert len(lines) <= 400, f"check.py has {len(lines)} lines, of which all are trusted"
