"""Whether rounding can change what a program decides.

Identities and induction reason about exact numbers, the program's text computes in float64. On whole-number
tasks the two agree as long as every comparison, floor and remainder looks at numbers that float64 holds
exactly, or at one quotient of such numbers: it is rounded once, and never across a number that float64
holds or across another quotient. `0.1*x + 0.2*x == 0.3*x` is the counterexample: true of numbers, false of
floats. Such programs are left to exploration, which runs the float64 arithmetic itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import frexp

from weights2code.language import OPERATORS, Const, Expr, Op, Recurrence, Retrieval, Var, exact_number
from weights2code.language.kinds import is_natural

_BINARY_PLACES = 2**20


class Precision(IntEnum):
    """How a float64 value relates to the number that it stands for; joins are maxima."""

    #: It is that number.
    EXACT = 0
    #: It is a quotient of exact numbers, rounded once: safe to compare with others of its kind.
    QUOTIENT = 1
    #: It is a quotient plus an exact number. Where that ties with an exact number, the quotient is exact too.
    SHIFTED = 2
    #: It is near that number.
    INEXACT = 3


def decisions_are_exact(program: Recurrence) -> bool:
    """Whether rounding cannot change any decision of a program on whole-number inputs."""
    return _analyse(program)[1]


def values_are_exact(program: Recurrence) -> bool:
    """Whether nothing that a program computes from whole numbers is rounded at all (below 2**53)."""
    kinds, decided = _analyse(program)
    return decided and all(kind == Precision.EXACT for kind in kinds.values())


def _analyse(program: Recurrence) -> tuple[dict[str, Precision], bool]:
    """The precision of every name, from the best that is consistent, and whether all decisions are safe."""
    kinds = {name: _of_number(program.start_of(name)) for name in program.inputs}
    kinds |= {step.name: _of_number(program.start_of(step.name)) for step in program.steps}
    while True:
        before = dict(kinds)
        safe = True
        for step in program.steps:
            if isinstance(step.definition, Retrieval):
                query, decided = _visit(step.definition.query, kinds)
                decided &= max(query, kinds[step.definition.key]) == Precision.EXACT
                kind = max(kinds[step.definition.value], _of_number(step.definition.default))
            else:
                kind, decided = _visit(step.definition, kinds)
            safe &= decided
            kinds[step.name] = max(kinds[step.name], kind)
        if kinds == before:
            return kinds, safe


def _of_number(value: object) -> Precision:
    if isinstance(value, str) or value in (float("inf"), float("-inf")):
        return Precision.EXACT
    short = (exact_number(value) * _BINARY_PLACES).denominator == 1
    return Precision.EXACT if short else Precision.QUOTIENT


def _visit(expr: Expr, kinds: Mapping[str, Precision]) -> tuple[Precision, bool]:
    """The precision of the value, and whether all decisions inside are safe."""
    if isinstance(expr, Const):
        return _of_number(expr.value), True
    if isinstance(expr, Var):
        return kinds[expr.name], True
    assert isinstance(expr, Op)
    entry = OPERATORS[expr.name]
    if entry.compares:
        expr = Op(expr.name, _sides(*expr.args))
    parts = [_visit(argument, kinds) for argument in expr.args]
    safe = all(decided for _, decided in parts)
    low, *_, worst = sorted([kind for kind, _ in parts] * 2)
    if entry.compares:
        comparable = worst <= Precision.QUOTIENT or (low == Precision.EXACT and worst <= Precision.SHIFTED)
        return Precision.EXACT, safe and comparable
    if expr.name == "where":
        return max(parts[1][0], parts[2][0]), safe and parts[0][0] <= Precision.SHIFTED
    if entry.boolean or entry.whole:
        return Precision.EXACT, safe and worst <= Precision.SHIFTED
    if expr.name == "mod":
        return worst, safe and worst == Precision.EXACT
    return _of_arithmetic(expr, low, worst), safe


def _sides(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """A difference compared with zero is its two sides compared: float64 gets the sign right."""
    for difference, zero in ((left, right), (right, left)):
        if zero == Const(0) and isinstance(difference, Op) and difference.name == "sub":
            first, second = difference.args
            return (first, second) if difference is left else (second, first)
    return left, right


def _of_arithmetic(expr: Op, low: Precision, worst: Precision) -> Precision:
    if "digits" in OPERATORS[expr.name].keeps:
        return worst
    if expr.name in ("add", "sub"):
        if worst == Precision.EXACT:
            return worst
        return (
            Precision.SHIFTED if low == Precision.EXACT and worst <= Precision.SHIFTED else Precision.INEXACT
        )
    if expr.name == "mul":
        scaled = any(_is_power_of_two(argument) for argument in expr.args)
        return worst if worst == Precision.EXACT or scaled else Precision.INEXACT
    if expr.name == "div":
        if _is_power_of_two(expr.args[1]):
            return worst
        return Precision.QUOTIENT if worst == Precision.EXACT else Precision.INEXACT
    exponent = expr.args[-1]
    if expr.name == "pow" and isinstance(exponent, Const) and is_natural(exponent.value):
        return Precision.EXACT if worst == Precision.EXACT else Precision.INEXACT
    return Precision.INEXACT


def _is_power_of_two(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value != 0 and abs(frexp(float(expr.value))[0]) == 0.5
