"""Only the kernel says `Proved`; it is small, and rests on the language alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import weights2code
from case_table import rule, x
from weights2code.export.proof import checker
from weights2code.kernel.claims import Claim, Closure, ProgramText, Proved, Specification
from weights2code.language import BITS

SOURCE = Path(weights2code.__file__).parent
KERNEL = sorted((SOURCE / "kernel").glob("*.py"))
#: What the kernel may import of the package.
MAY = ("weights2code.kernel", "weights2code.language", "weights2code.heads")


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
    claim = Claim(ProgramText("", ("x",)), Specification(rule(y=x)), (BITS,))
    with pytest.raises(TypeError, match="only the kernel"):
        Proved(claim, Closure(1), Fraction(0), None, "it is so", *key)


def test_proofs_are_made_in_one_file() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py")}
    calls = {
        file.relative_to(SOURCE).as_posix()
        for file, text in texts.items()
        if "Proved(" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Proved"
    }
    assert calls == {"kernel/claims.py"}
    keys = {file: text for file, text in texts.items() if "_KEY" in text}
    inside = {file.relative_to(SOURCE).as_posix() for file in keys}
    assert {name for name in inside if name.startswith("kernel/")} == {"kernel/claims.py"}
    assert not [file for file, text in keys.items() if "claims import" in text and "_KEY," in text]


def test_the_kernel_is_small_and_imports_the_language_alone() -> None:
    """`closing` is also the file that users get: the standard library, and NumPy where a program is run."""
    for file in KERNEL:
        own = {name for name in imported(file) if name.startswith("weights2code")}
        assert not {name for name in own if not name.startswith(MAY)}, file
    closing = SOURCE / "kernel" / "closing.py"
    others = {name for name in imported(closing) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert others <= {"numpy"}
    command = [sys.executable, "-I", str(closing), "/nowhere"]
    assert "No such file" in subprocess.run(command, capture_output=True, text=True).stderr
    lines = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in KERNEL}
    assert sum(lines.values()) <= 1500, f"the kernel has {sum(lines.values())} lines: {lines}"
    assert len(checker().splitlines()) <= 400, "check.py is what users read, and all of it is trusted"
