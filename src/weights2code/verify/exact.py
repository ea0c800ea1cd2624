"""Machines on exact numbers: integers and fractions of any size, decimals taken as what they say.

Proofs are guessed from such runs, and tests fall back on them where float64 would run out of digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Var

_MOST_POWER = 64
_MOST_BITS = 20_000


def exact_number(value: Any) -> Any:
    """An int or Fraction; a float is the decimal that it prints as, infinities stay floats."""
    if isinstance(value, (int, Fraction)):
        return value
    value = float(value)
    if not np.isfinite(value):
        return value
    return int(value) if value.is_integer() else Fraction(repr(value))


def exact_value(expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The value on exact numbers; only the branch that `where` takes is computed, as in Python text.

    Roots and the like have no exact value and become floats, which whoever reads them can tell apart.

    Raises
    ------
    ArithmeticError
        If there is no value: a division by zero, infinity minus infinity.
    """
    if isinstance(expr, Const):
        return exact_number(expr.value)
    if isinstance(expr, Var):
        return values[expr]
    assert isinstance(expr, Op)
    if expr.name == "where":
        condition, yes, no = expr.args
        return exact_value(yes if exact_value(condition, values) else no, values)
    arguments = [exact_value(argument, values) for argument in expr.args]
    if expr.name == "floor" and arguments[0] in (float("inf"), float("-inf")):
        return arguments[0]
    if expr.name == "pow" and not (isinstance(arguments[1], int) and abs(arguments[1]) <= _MOST_POWER):
        with np.errstate(all="ignore"):
            result = float(np.power(float(arguments[0]), float(arguments[1])))
    else:
        with np.errstate(all="ignore"):
            result = OPERATORS[expr.name].exact(*arguments)
    if result != result:
        raise ArithmeticError(f"{expr.name} has no value")
    return result.numerator if isinstance(result, Fraction) and result.denominator == 1 else result


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
    for t in range(len(sequence)):
        for step in machine.steps:
            assert isinstance(step.definition, Expr), f"{step.name} is not a formula"
            known = {v: read(machine, past, v, t) for v in step.definition.variables()}
            past[step.name].append(exact_value(step.definition, known))
        if most_bits is not None and any(_bits(past[step.name][t]) > most_bits for step in machine.steps):
            break
    return past


def read(machine: Recurrence, past: Mapping[str, list[Any]], variable: Var, t: int) -> Any:
    """The value that a step at position t reads."""
    if t >= variable.lag:
        return past[variable.name][t - variable.lag]
    start = machine.start_of(variable.name)
    return past[variable.name][0] if start == "first" else exact_number(start)


def run_exact(machine: Recurrence, x: np.ndarray) -> np.ndarray:
    """The outputs for inputs of shape (n, T, columns), rounded to float64 only at the end.

    Raises
    ------
    ArithmeticError
        If something has no value, or more digits than anybody would wait for.
    """
    rows = [exact_trace(machine, sequence, most_bits=_MOST_BITS) for sequence in x.tolist()]
    if any(len(values) < x.shape[1] for trace in rows for values in trace.values()):
        raise ArithmeticError(f"numbers of more than {_MOST_BITS} bits")
    result = [
        [[_float(trace[name][t]) for name in machine.outputs] for t in range(x.shape[1])] for trace in rows
    ]
    return np.array(result, dtype=float).reshape(*x.shape[:2], len(machine.outputs))


def _bits(value: Any) -> int:
    if isinstance(value, Fraction):
        return value.denominator.bit_length() + value.numerator.bit_length()
    return value.bit_length() if isinstance(value, int) else 0


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
