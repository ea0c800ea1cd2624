"""Whether rounding can change what a program decides.

Identities and induction reason about exact numbers, the program's text computes in float64. On whole-number
tasks the two agree as long as every comparison, floor and remainder looks at numbers that float64 holds
exactly, or at one quotient of such numbers, which is rounded once and never across a whole number or
another quotient. `0.1*x + 0.2*x == 0.3*x` is the counterexample: true of numbers, false of floats. Such
programs are left to exploration, which runs the float64 arithmetic itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from fractions import Fraction

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Retrieval, Var

_BINARY_PLACES = 2**20


class Precision(IntEnum):
    """How a float64 value relates to the number that it stands for; joins are maxima."""

    EXACT = 0
    ROUNDED_ONCE = 1
    INEXACT = 2


_SELECTIONS = {"max", "min", "clip", "neg", "abs", "relu"}
_ARITHMETIC = {"add", "sub", "mul"}


def decisions_are_exact(program: Recurrence) -> bool:
    """Whether rounding cannot change any decision of a program on whole-number inputs."""
    return _analyse(program)[1]


def values_are_exact(program: Recurrence) -> bool:
    """Whether nothing that a program computes from whole numbers is rounded at all (below 2**53)."""
    kinds, decided = _analyse(program)
    return decided and all(kind == Precision.EXACT for kind in kinds.values())


def _analyse(program: Recurrence) -> tuple[dict[str, Precision], bool]:
    """The precision of every name, from the best that is consistent, and whether all decisions are safe."""
    kinds = dict.fromkeys(program.inputs, Precision.EXACT)
    kinds |= {step.name: _of_number(program.start_of(step.name)) for step in program.steps}
    while True:
        before = dict(kinds)
        fragile = False
        for step in program.steps:
            if isinstance(step.definition, Retrieval):
                query, doubtful = _visit(step.definition.query, kinds)
                fragile |= doubtful or max(query, kinds[step.definition.key]) > Precision.EXACT
                kind = max(kinds[step.definition.value], _of_number(step.definition.default))
            else:
                kind, doubtful = _visit(step.definition, kinds)
                fragile |= doubtful
            kinds[step.name] = max(kinds[step.name], kind)
        if kinds == before:
            return kinds, not fragile


def _of_number(value: object) -> Precision:
    if isinstance(value, str) or value in (float("inf"), float("-inf")):
        return Precision.EXACT
    fraction = value if isinstance(value, Fraction) else Fraction(value)  # type: ignore[arg-type]
    short = (fraction * _BINARY_PLACES).denominator == 1
    return Precision.EXACT if short else Precision.ROUNDED_ONCE


def _visit(expr: Expr, kinds: Mapping[str, Precision]) -> tuple[Precision, bool]:
    """The precision of the value, and whether some decision inside is in doubt."""
    if isinstance(expr, Const):
        return _of_number(expr.value), False
    if isinstance(expr, Var):
        return kinds[expr.name], False
    assert isinstance(expr, Op)
    parts = [_visit(argument, kinds) for argument in expr.args]
    doubtful = any(doubt for _, doubt in parts)
    worst = max(kind for kind, _ in parts)
    if expr.name == "where":
        return max(parts[1][0], parts[2][0]), doubtful or parts[0][0] > Precision.ROUNDED_ONCE
    if OPERATORS[expr.name].boolean or expr.name == "floor":
        return Precision.EXACT, doubtful or worst > Precision.ROUNDED_ONCE
    if expr.name == "mod":
        return worst, doubtful or worst > Precision.EXACT
    if expr.name in _SELECTIONS:
        return worst, doubtful
    if worst == Precision.EXACT:
        if expr.name in _ARITHMETIC or (expr.name == "pow" and _is_whole_power(expr.args[1])):
            return Precision.EXACT, doubtful
        if expr.name == "div":
            divisor = expr.args[1]
            shift = isinstance(divisor, Const) and abs(divisor.value) in (1, 2, 4, 8, 16)
            return Precision.EXACT if shift else Precision.ROUNDED_ONCE, doubtful
    return Precision.INEXACT, doubtful


def _is_whole_power(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, int) and expr.value >= 0
