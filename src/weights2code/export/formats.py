"""The formats, by the names that the command line has for them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.program import Program


@dataclass(frozen=True, slots=True)
class Format:
    """What a file of the format is called, what it holds, in a few words, and the module that writes it."""

    name: str
    file: str
    holds: str
    module: str

    def write(self, program: Program, source: FileSource | None = None) -> bytes:
        """The content of the file; a program that the format cannot hold is an InputError with the reason.

        `source` is the table that the program was found on, whose columns a query names.
        """
        write = import_module(f"weights2code.export.{self.module}").write
        made: str | bytes = write(program, source)
        return made.encode() if isinstance(made, str) else made


FORMATS = {
    form.name: form
    for form in (
        Format(
            "c", "program.c", "a function in C99, with no more memory than the rule looks back", "c_source"
        ),
        Format(
            "javascript",
            "program.mjs",
            "a function of a module, for Node.js and browsers",
            "javascript_module",
        ),
        Format("sql", "program.sql", "a query for SQLite 3.35 or later", "sql_query"),
        Format("excel", "program.xlsx", "a sheet of formulas, for Excel and LibreOffice", "excel_sheet"),
        Format("latex", "program.tex", "the equations", "latex_equations"),
        Format("onnx", "program.onnx", "a graph that loops over the rows", "onnx_graph"),
    )
}


def exported(program: Program, name: str, source: FileSource | None = None) -> bytes:
    """The program in the format of that name."""
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}.")
    return FORMATS[name].write(program, source)
