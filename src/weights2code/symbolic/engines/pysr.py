"""PySR, the paper's engine, behind the common Protocol (extra `weights2code[pysr]`).

PySR runs Julia, which it downloads when it is first imported, and Julia and torch in one process are known
to crash. So it is never imported here: a subprocess runs it, serially and deterministically, and answers
with its equations as text. Any failure is reported with its cause.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Unpack

import numpy as np

from weights2code.errors import InputError
from weights2code.language import Domain, Var
from weights2code.symbolic.engine import EFFORT, Candidate, Options
from weights2code.symbolic.engines.infix import judged, suiting
from weights2code.symbolic.search.rows import prepare

#: Seconds that Julia may need to start, and the first time to be downloaded and compiled.
START_UP = 900.0

_BINARY = {
    "div": "/",
    "pow": "^",
    "max": "max",
    "min": "min",
    "mod": "mod",
    "gt": "greater",
    "le": "less_equal",
    "where": "cond",
    "and": "logical_and",
}
_UNARY = ("abs", "relu", "floor", "sqrt", "exp", "log", "sin", "cos")

_WORKER = r"""
import json, sys
task = json.load(sys.stdin)
import numpy
from pysr import PySRRegressor
model = PySRRegressor(**task["options"])
names = task["names"]
model.fit(numpy.array(task["X"]), numpy.array(task["y"]), variable_names=names)
equations = [str(e) for e in model.equations_["equation"]]
print("\nEQUATIONS " + json.dumps(equations))
"""


class PySREngine:
    """PySR in a subprocess; `python` is the interpreter that has it."""

    name = "pysr"

    def __init__(self, *, python: str | None = None, niterations: int = 40) -> None:
        self.python = python or sys.executable
        self.niterations = niterations

    def search(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        variables: tuple[Var, ...],
        domains: tuple[Domain, ...],
        **options: Unpack[Options],
    ) -> tuple[Candidate, ...]:
        """See `Engine.search`; the time limit is PySR's own and does not count Julia's start."""
        problem = prepare(
            X, y, variables=variables, domains=domains, **{**options, "effort": 1e9, "operators": None}
        )
        time_limit = options.get("effort", EFFORT)
        binary, unary = operators_for(domains, options.get("operators"))
        task = {
            "X": problem.Xs.tolist(),
            "y": problem.ys.tolist(),
            "names": [f"v{j}" for j in range(len(variables))],
            "options": {
                "binary_operators": binary,
                "unary_operators": unary,
                "niterations": self.niterations,
                "timeout_in_seconds": time_limit,
                "maxsize": options.get("max_complexity") or 30,
                "random_state": options.get("random_state", 0),
                "deterministic": True,
                "parallelism": "serial",
                "progress": False,
                "verbosity": 0,
                "temp_equation_file": True,
            },
        }
        return judged(problem, self._run(task, time_limit), problem.tolerance)

    def _run(self, task: dict[str, object], time_limit: float) -> list[str]:
        try:
            done = subprocess.run(
                [self.python, "-c", _WORKER],
                input=json.dumps(task),
                capture_output=True,
                text=True,
                timeout=START_UP + 2 * time_limit,
                check=False,
            )
        except subprocess.TimeoutExpired as cause:
            raise InputError(f"PySR did not answer within {START_UP + 2 * time_limit:.0f} s.") from cause
        except OSError as cause:
            raise InputError(f"PySR could not be started with {self.python}: {cause}.") from cause
        lines = [line for line in done.stdout.splitlines() if line.startswith("EQUATIONS ")]
        if done.returncode != 0 or not lines:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            hint = " (pip install 'weights2code[pysr]')" if "No module named 'pysr'" in last else ""
            raise InputError(f"PySR failed with exit code {done.returncode}: {last}{hint}.")
        return list(json.loads(lines[-1].removeprefix("EQUATIONS ")))


def operators_for(
    domains: tuple[Domain, ...], operators: frozenset[str] | None
) -> tuple[list[str], list[str]]:
    """PySR's binary and unary operators for what the domains and the user allow."""
    binary = ["+", "-", "*", *(_BINARY[name] for name in suiting(_BINARY, domains, operators))]
    return binary, suiting(_UNARY, domains, operators)
