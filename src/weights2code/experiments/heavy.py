"""Everything heavy that a run imports, imported at once.

A process that has imported it can be forked for each run, which then starts in no time; and a run that
imports it before its clock starts measures the work and not the loading of libraries.
"""

import importlib

from weights2code import pipeline, report
from weights2code.training import train

for _name in ("scipy.optimize", "sympy", "z3"):
    importlib.import_module(_name)

__all__ = ["pipeline", "report", "train"]
