"""A machine on Python integers, for sequences on which double precision would run out of digits.

A few reference machines grow exponentially with the length (a palindrome's prefix as a number, a charge in
a magnetic field). This walk is slow, one sequence at a time, but never rounds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from weights2code.language import Expr, Number, Recurrence, Var, evaluate_exact


def run_exact(machine: Recurrence, x: np.ndarray) -> np.ndarray:
    """The outputs, shape (n, T, outputs), rounded to float64 only at the end.

    Machines with a `Retrieval` step do not grow and are not supported here.
    """
    x = np.asarray(x, dtype=float)
    y = np.empty((*x.shape[:2], len(machine.outputs)))
    for row, sequence in enumerate(x):
        y[row] = _run_one(machine, sequence)
    return y


def _run_one(machine: Recurrence, sequence: np.ndarray) -> np.ndarray:
    past: dict[str, list[Any]] = {
        name: [_number(value) for value in sequence[:, i].tolist()] for i, name in enumerate(machine.inputs)
    }
    past |= {step.name: [] for step in machine.steps}

    def read(variable: Var, t: int) -> Any:
        if t >= variable.lag:
            return past[variable.name][t - variable.lag]
        start = machine.start_of(variable.name)
        return past[variable.name][0] if start == "first" else _number(float(start))

    for t in range(len(sequence)):
        for step in machine.steps:
            assert isinstance(step.definition, Expr), f"{step.name} is not a formula"
            known = {variable: read(variable, t) for variable in step.definition.variables()}
            past[step.name].append(evaluate_exact(step.definition, known))
    outputs = [[float(value) for value in past[name]] for name in machine.outputs]
    return np.array(outputs).reshape(len(outputs), len(sequence)).T


def _number(value: float) -> Number:
    if not np.isfinite(value):
        return value
    return int(value) if value.is_integer() else Fraction(value)
