"""Expressions as weighted sums of leaves and of a few functions of such sums.

Extrema, absolute values, choices, logic, powers and remainders are made of ramps, tests, floors and products.
Weights are fractions, so that what two sides have in common cancels exactly; sums that are tested or rounded
down are multiplied by their common denominator first, so that whole numbers are compared as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, gcd, isfinite, lcm
from typing import NamedTuple

from weights2code.language import Const, Expr, Op, Var, exact_number, is_boolean
from weights2code.language.operators import order_of, ordered

#: Values of one position, each defined by leaves and by values above it.
Steps = Sequence[tuple[Var, Expr]]
#: A weighted sum of symbols; symbol 0 is the number one, leaves are those from 1 on.
Sum = dict[int, Fraction]
ONE = 0
_MOST_POWER = 16
#: A comparison as a sum of [difference >= 0], [difference <= 0] and a number.
_COMPARED = {
    "ge": (1, 0, 0), "le": (0, 1, 0), "gt": (0, -1, 1),
    "lt": (-1, 0, 1), "eq": (1, 1, -1), "ne": (-1, -1, 2),
}  # fmt: skip


class Unwritten(Exception):
    """Something that is not made of such functions."""


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
            self.env[name] = self.sum(definition)

    def is_whole(self, a: Sum) -> bool:
        return all(weight.denominator == 1 and self.whole[place] for place, weight in a.items())

    def sum(self, expr: Expr) -> Sum:
        """An expression as a weighted sum of symbols."""
        if isinstance(expr, Const):
            value = exact_number(expr.value)
            if not isfinite(value):
                raise Unwritten(expr)
            return {ONE: Fraction(value)} if value else {}
        if isinstance(expr, Var):
            if expr not in self.env:
                raise Unwritten(expr)
            return self.env[expr]
        assert isinstance(expr, Op)
        return self._operator(expr.name, expr.args)

    def _operator(self, name: str, arguments: tuple[Expr, ...]) -> Sum:
        if name in ("where", "and", "or", "not"):
            return self._logic(name, arguments)
        parts = [self.sum(argument) for argument in arguments]
        if (order := order_of(name)) is not None:
            return ordered(parts, order[0], self._lesser, self._greater)
        if name in _COMPARED:
            return self._compared(name, added(parts[0], parts[1], -1))
        if name not in _WAYS:
            raise Unwritten(name)
        return _WAYS[name](self, *parts)

    def _logic(self, name: str, arguments: tuple[Expr, ...]) -> Sum:
        holds = self._truth(arguments[0])
        if name == "not":
            return added({ONE: Fraction(1)}, holds, -1)
        if name == "where":
            known = number_of(holds)
            if known is not None:  # the other branch may have no value
                return self.sum(arguments[1 if known else 2])
            yes, no = self.sum(arguments[1]), self.sum(arguments[2])
            return added(no, self._product(holds, added(yes, no, -1)))
        either = added(holds, self._truth(arguments[1]))
        both = self._ramp(added(either, {ONE: Fraction(-1)}))
        return both if name == "and" else added(either, both, -1)

    def _truth(self, expr: Expr) -> Sum:
        return self.sum(expr) if is_boolean(expr) else self._compared("ne", self.sum(expr))

    def _compared(self, name: str, minus: Sum) -> Sum:
        above, below, number = _COMPARED[name]
        result: Sum = added({}, {ONE: Fraction(number)})
        for sign, weight in ((1, above), (-1, below)):
            if weight:
                test = self._made(Atom("test", (_scaled(added({}, minus, sign))[0],)), True)
                result = added(result, test, weight)
        return result

    def _greater(self, a: Sum, b: Sum) -> Sum:
        return added(b, self._ramp(added(a, b, -1)))

    def _lesser(self, a: Sum, b: Sum) -> Sum:
        return added(a, self._ramp(added(a, b, -1)), -1)

    def _ramp(self, a: Sum) -> Sum:
        return self._made(Atom("ramp", (a,)), self.is_whole(a))

    def _floor(self, a: Sum) -> Sum:
        if self.is_whole(a):
            return a
        inner, unit = _scaled(a)
        return self._made(Atom("floor", (added({}, inner, unit.numerator),), unit.denominator), True)

    def _quotient(self, a: Sum, b: Sum) -> Sum:
        divisor = number_of(b)
        if not divisor:
            raise Unwritten("div")
        return added({}, a, 1 / divisor)

    def _remainder(self, a: Sum, b: Sum) -> Sum:
        divisor = number_of(b)
        if not divisor:
            raise Unwritten("mod")
        return added(a, self._floor(added({}, a, 1 / divisor)), -divisor)

    def _product(self, a: Sum, b: Sum) -> Sum:
        for one, other in ((a, b), (b, a)):
            factor = number_of(one)
            if factor is not None:
                return added({}, other, factor)
        one, other = sorted((a, b), key=lambda item: sorted(item.items()))
        whole = self.is_whole(one) and self.is_whole(other)
        return self._made(Atom("square", (one,)) if one == other else Atom("product", (one, other)), whole)

    def _power(self, a: Sum, b: Sum) -> Sum:
        power = number_of(b)
        if power is None or power.denominator != 1 or not 0 <= power <= _MOST_POWER:
            raise Unwritten("pow")
        if power <= 1:
            return a if power else {ONE: Fraction(1)}
        half = self._power(a, {ONE: Fraction(power // 2)})
        square = self._product(half, half)
        return self._product(square, a) if power % 2 else square

    def _made(self, atom: Atom, whole: bool) -> Sum:
        """The symbol that a function of sums is, made when it is first asked for."""
        number = number_of(atom.sums[0])
        if number is not None and atom.kind in ("ramp", "test", "floor"):
            folded = {"ramp": max(number, 0), "test": int(number >= 0), "floor": floor(number / atom.divisor)}
            return added({}, {ONE: Fraction(folded[atom.kind])})
        key = (atom.kind, atom.divisor, *(tuple(sorted(item.items())) for item in atom.sums))
        if key not in self._known:
            self.atoms[len(self.whole)] = atom
            self._known[key] = {len(self.whole): Fraction(1)}
            self.whole.append(whole)
        return self._known[key]


#: What operators are made of.
_WAYS: dict[str, Callable[..., Sum]] = {
    "add": lambda writing, a, b: added(a, b),
    "sub": lambda writing, a, b: added(a, b, -1),
    "neg": lambda writing, a: added({}, a, -1),
    "abs": lambda writing, a: added(added({}, writing._ramp(a), 2), a, -1),
    "clip": lambda writing, a, low, high: writing._lesser(writing._greater(a, low), high),
    "mul": Writing._product,
    "div": Writing._quotient,
    "mod": Writing._remainder,
    "pow": Writing._power,
    "relu": Writing._ramp,
    "max": Writing._greater,
    "min": Writing._lesser,
    "floor": Writing._floor,
}


def _scaled(a: Sum) -> tuple[Sum, Fraction]:
    """The sum in the smallest whole numbers, and what one unit of that is worth (positive)."""
    if not a:
        return {}, Fraction(1)
    below = lcm(*(weight.denominator for weight in a.values()))
    unit = Fraction(gcd(*(int(weight * below) for weight in a.values())), below)
    return {place: weight / unit for place, weight in a.items()}, unit
