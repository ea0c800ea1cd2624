"""Expressions as weighted sums of leaves and of a few functions of such sums.

Extrema, absolute values, choices, logic, powers and remainders are made of ramps, tests, floors and products.
Weights are fractions, so that what two sides have in common cancels exactly; sums that are tested or rounded
down are multiplied by their common denominator first, so that whole numbers are compared as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, gcd, isfinite, lcm
from typing import NamedTuple

from weights2code.language import OPERATORS, Const, Expr, Op, Var, exact_number, is_boolean

#: Values of one position, each defined by leaves and by values above it.
Steps = Sequence[tuple[Var, Expr]]
#: A weighted sum of symbols; symbol 0 is the number one, leaves are those from 1 on.
Sum = dict[int, Fraction]
Term = Sum | Fraction | int
ONE = 0
_MOST_POWER = 16
#: A comparison as a sum of [difference >= 0], [difference <= 0] and a number.
_COMPARED = {
    "ge": (1, 0, 0), "le": (0, 1, 0), "gt": (0, -1, 1),
    "lt": (-1, 0, 1), "eq": (1, 1, -1), "ne": (-1, -1, 2),
}  # fmt: skip


class Unwritten(Exception):
    """What has no such form, or none that a solver or a text can have; the text says why."""


class Atom(NamedTuple):
    """A function of sums: of two for a product, else of one; a floor divides by `divisor` first."""

    kind: str
    sums: tuple[Sum, ...]
    divisor: int = 1


def added(a: Sum, b: Sum, factor: Fraction | int = 1) -> Sum:
    """a + factor * b; what cancels is left out."""
    total = dict(a)
    for place, weight in b.items():
        value = factor * weight if place not in total else total[place] + factor * weight
        if value:
            total[place] = value
        else:
            total.pop(place, None)
    return total


def _sum(a: Term) -> Sum:
    """Numbers are sums, too."""
    return a if isinstance(a, dict) else {ONE: Fraction(a)} if a else {}


def number_of(a: Sum) -> Fraction | None:
    """The value of a sum without symbols."""
    return a.get(ONE, Fraction(0)) if not a or (len(a) == 1 and ONE in a) else None


class Writing:
    """Symbols so far: which are whole numbers, and what those that are no leaves are."""

    def __init__(self, leaves: Sequence[Var], whole: Sequence[bool]) -> None:
        self.whole = [True, *whole]
        self.atoms: dict[int, Atom] = {}
        self.env: dict[Var, Sum] = {leaf: {i + 1: Fraction(1)} for i, leaf in enumerate(leaves)}
        self._known: dict[object, Sum] = {}

    def steps(self, steps: Steps) -> None:
        for name, definition in steps:
            self.env[name] = self.of(definition)

    def is_whole(self, a: Sum) -> bool:
        return all(weight.denominator == 1 and self.whole[place] for place, weight in a.items())

    def of(self, expr: Expr) -> Sum:
        """An expression as a weighted sum of symbols."""
        if isinstance(expr, Const):
            value = exact_number(expr.value)
            if not isfinite(value):
                raise Unwritten(expr)
            return _sum(value)
        if isinstance(expr, Var):
            if expr not in self.env:
                raise Unwritten(expr)
            return self.env[expr]
        assert isinstance(expr, Op)
        entry = OPERATORS[expr.name]
        if entry.z3 is None:
            raise Unwritten(expr.name)
        holds = [self._truth(argument) for argument in expr.args[: entry.truths]]
        known = number_of(holds[0]) if expr.name == "where" else None
        if known is not None:  # the other branch may have no value
            return self.of(expr.args[1 if known else 2])
        return entry.z3(self, *holds, *(self.of(argument) for argument in expr.args[entry.truths :]))

    def _truth(self, expr: Expr) -> Sum:
        return self.of(expr) if is_boolean(expr) else self.relation("ne", self.of(expr), 0)

    # -- what operators are made of --------------------------------------------------------------------------

    def all(self, a: Sum, b: Sum) -> Sum:
        return self._ramp(added(added(a, b), _sum(-1)))

    def any(self, a: Sum, b: Sum) -> Sum:
        return added(added(a, b), self.all(a, b), -1)

    def none(self, a: Sum) -> Sum:
        return added(_sum(1), a, -1)

    def choose(self, holds: Sum, yes: Term, no: Term) -> Sum:
        return added(_sum(no), self.product(holds, added(_sum(yes), _sum(no), -1)))

    def relation(self, name: str, a: Term, b: Term) -> Sum:
        above, below, number = _COMPARED[name]
        result, minus = _sum(number), added(_sum(a), _sum(b), -1)
        for sign, weight in ((1, above), (-1, below)):
            if weight:
                test = self._made(Atom("test", (_scaled(added({}, minus, sign))[0],)), True)
                result = added(result, test, weight)
        return result

    def extremum(self, better: str, a: Term, b: Term) -> Sum:
        a, b = _sum(a), _sum(b)
        if b == self.negative(a):  # the ramp of `a` itself may cancel with others
            larger = added(added({}, self._ramp(a), 2), a, -1)
            return larger if better == "ge" else self.negative(larger)
        ramp = self._ramp(added(a, b, -1))
        return added(b, ramp) if better == "ge" else added(a, ramp, -1)

    def sum(self, a: Sum, b: Sum) -> Sum:
        return added(a, b)

    def negative(self, a: Sum) -> Sum:
        return added({}, a, -1)

    def floor(self, a: Sum) -> Sum:
        if self.is_whole(a):
            return a
        inner, unit = _scaled(a)
        return self._made(Atom("floor", (added({}, inner, unit.numerator),), unit.denominator), True)

    def divide(self, a: Sum, b: Sum) -> Sum:
        divisor = number_of(b)
        if not divisor:
            raise Unwritten("div")
        return added({}, a, 1 / divisor)

    def mod(self, a: Sum, b: Sum) -> Sum:
        return added(a, self.product(b, self.floor(self.divide(a, b))), -1)

    def product(self, a: Sum, b: Sum) -> Sum:
        for one, other in ((a, b), (b, a)):
            factor = number_of(one)
            if factor is not None:
                return added({}, other, factor)
        one, other = sorted((a, b), key=lambda item: sorted(item.items()))
        whole = self.is_whole(one) and self.is_whole(other)
        return self._made(Atom("square", (one,)) if one == other else Atom("product", (one, other)), whole)

    def power(self, a: Sum, b: Sum) -> Sum:
        power = number_of(b)
        if power is None or power.denominator != 1 or not 0 <= power <= _MOST_POWER:
            raise Unwritten("pow")
        if power <= 1:
            return a if power else _sum(1)
        half = self.power(a, _sum(power // 2))
        square = self.product(half, half)
        return self.product(square, a) if power % 2 else square

    def _ramp(self, a: Sum) -> Sum:
        return self._made(Atom("ramp", (a,)), self.is_whole(a))

    def _made(self, atom: Atom, whole: bool) -> Sum:
        """The symbol that a function of sums is, made when it is first asked for."""
        number = number_of(atom.sums[0])
        if number is not None and atom.kind in ("ramp", "test", "floor"):
            folded = {"ramp": max(number, 0), "test": int(number >= 0), "floor": floor(number / atom.divisor)}
            return _sum(folded[atom.kind])
        key = (atom.kind, atom.divisor, *(tuple(sorted(item.items())) for item in atom.sums))
        if key not in self._known:
            self.atoms[len(self.whole)] = atom
            self._known[key] = {len(self.whole): Fraction(1)}
            self.whole.append(whole)
        return self._known[key]


def _scaled(a: Sum) -> tuple[Sum, Fraction]:
    """The sum in the smallest whole numbers, and what one unit of that is worth (positive)."""
    if not a:
        return {}, Fraction(1)
    below = lcm(*(weight.denominator for weight in a.values()))
    unit = Fraction(gcd(*(int(weight * below) for weight in a.values())), below)
    return {place: weight / unit for place, weight in a.items()}, unit
