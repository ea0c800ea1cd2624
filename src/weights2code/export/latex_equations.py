"""The equations, as in `program.tex`."""

from __future__ import annotations

from weights2code.data import FileSource
from weights2code.program import Program


def write(program: Program, source: FileSource | None = None) -> str:
    """The text of `program.tex`."""
    return program.latex()
