"""Machines on exact numbers: integers and fractions of any size, decimals taken as what they say.

Proofs are guessed from such runs, and sequences on which float64 would run out of digits fall back on them:
a palindrome's prefix as a number, a charge in a magnetic field. It is slow, one sequence at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf, isinf
from typing import Any

import numpy as np

from weights2code.language.evaluation import evaluate_exact, exact_number, nearest
from weights2code.language.expression import Expr, Var
from weights2code.language.recurrence import Recurrence

_MOST_BITS = 20_000


def exact_trace(
    machine: Recurrence, sequence: list[list[Any]], most_bits: int | None = None
) -> dict[str, list[Any]]:
    """Every variable along one sequence, a list of rows of exact numbers. Retrievals are not supported.

    With `most_bits` the lists of steps end early, where a number needs more digits than that.
    """
    past: dict[str, list[Any]] = {
        name: [exact_number(row[i]) for row in sequence] for i, name in enumerate(machine.inputs)
    }
    past |= {step.name: [] for step in machine.steps}
    formulas: list[tuple[str, Expr, tuple[Var, ...]]] = []
    for step in machine.steps:
        assert isinstance(step.definition, Expr), f"{step.name} is not a formula"
        formulas.append((step.name, step.definition, step.definition.variables()))
    for t in range(len(sequence)):
        for name, formula, variables in formulas:
            known = {v: _read(machine, past, v, t) for v in variables}
            past[name].append(evaluate_exact(formula, known))
        if most_bits is not None and any(_bits(past[step.name][t]) > most_bits for step in machine.steps):
            break
    return past


def _read(machine: Recurrence, past: Mapping[str, list[Any]], variable: Var, t: int) -> Any:
    """The value that a step at position t reads."""
    if t >= variable.lag:
        return past[variable.name][t - variable.lag]
    start = machine.start_of(variable.name)
    return past[variable.name][0] if start == "first" else exact_number(start)


def run_exact(
    machine: Recurrence, x: np.ndarray, limit: float = inf, most_bits: int | None = _MOST_BITS
) -> tuple[np.ndarray, np.ndarray]:
    """The outputs for inputs of shape (n, T, columns), rounded to float64 only at the end; and, of shape
    (n, T), whether every value up to that position is below the limit.

    Raises
    ------
    ArithmeticError
        If something has no value, or more digits than anybody would wait for.
    """
    count, length, _ = x.shape
    traces = [exact_trace(machine, sequence, most_bits) for sequence in x.tolist()]
    if any(len(values) < length for trace in traces for values in trace.values()):
        raise ArithmeticError(f"numbers of more than {most_bits} bits")
    outputs = [[[nearest(trace[o][t]) for o in machine.outputs] for t in range(length)] for trace in traces]
    below = [
        [all(abs(values[t]) < limit or isinf(values[t]) for values in trace.values()) for t in range(length)]
        for trace in traces
    ]
    so_far = np.logical_and.accumulate(np.array(below, dtype=bool).reshape(count, length), axis=1)
    return np.array(outputs, dtype=float).reshape(count, length, len(machine.outputs)), so_far


def _bits(value: Any) -> int:
    if isinstance(value, Fraction):
        return value.denominator.bit_length() + value.numerator.bit_length()
    return value.bit_length() if isinstance(value, int) else 0
