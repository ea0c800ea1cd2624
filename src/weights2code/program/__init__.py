"""Programs: recurrences with their texts (Python, LaTeX, the paper's listings), checked and run apart."""

from weights2code.language.latex import latex_source
from weights2code.language.python_source import identifier, python_source
from weights2code.program.program import Origin, Program, body_lines, total_lines
from weights2code.program.sandbox import check_source, run_program

__all__ = [
    "Origin",
    "Program",
    "body_lines",
    "check_source",
    "identifier",
    "latex_source",
    "python_source",
    "run_program",
    "total_lines",
]
