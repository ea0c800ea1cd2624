"""A program in other languages: what each can hold, and nothing that it cannot.

Every format is one small file with one function of a program. The texts apply the operators in the order of
the tree, on IEEE doubles, so what they compute is what `program.py` computes; sines, powers and the like may
differ in their last digit. A format that cannot hold a program says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.program import Program

__all__ = ["ALIASES", "FORMATS", "Format", "format_of"]


@dataclass(frozen=True, slots=True)
class Format:
    """What a file of the format is called, what it holds, in a few words, and the module that writes it, if
    programs do not write it themselves."""

    name: str
    file: str
    holds: str
    module: str = ""

    def write(self, program: Program, source: FileSource | None = None) -> bytes:
        """The content of the file; a program that the format cannot hold is an InputError with the reason.

        `source` is the table that the program was found on, whose columns a query names. Only columns that
        the rule reads are asked for.
        """
        program = program.reading()
        if not self.module:
            return program.latex().encode()
        made = import_module(f"weights2code.export.{self.module}").write(program, source)
        return made.encode() if isinstance(made, str) else made


_FORMATS = (
    ("c", "program.c", "a function in C99, with no more memory than the rule looks back", "c_source"),
    ("javascript", "program.mjs", "a function of a module, for Node.js and browsers", "javascript_module"),
    ("sql", "program.sql", "a query for SQLite 3.39 or later and DuckDB", "sql_query"),
    ("spreadsheet", "program.xlsx", "a sheet of formulas, for Excel and LibreOffice", "spreadsheet"),
    ("latex", "program.tex", "the equations"),
    ("onnx", "program.onnx", "a graph that loops over the rows", "onnx_graph"),
)
FORMATS = {row[0]: Format(*row) for row in _FORMATS}
#: Other names that formats go by.
ALIASES = {"excel": "spreadsheet"}


def format_of(name: str) -> Format:
    """The format of that name."""
    name = ALIASES.get(name, name)
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]
