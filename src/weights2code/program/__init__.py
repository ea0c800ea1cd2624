"""Programs: recurrences with their texts (Python, LaTeX, the paper's listing style), checked and run apart."""

from weights2code.program.kinds import Kinds, kinds_of
from weights2code.program.latex import latex, latex_source
from weights2code.program.program import Program
from weights2code.program.python_source import identifier, python_source
from weights2code.program.sandbox import check_source, run_program

__all__ = [
    "Kinds",
    "Program",
    "check_source",
    "identifier",
    "kinds_of",
    "latex",
    "latex_source",
    "python_source",
    "run_program",
]
