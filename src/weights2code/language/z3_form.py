"""Formulas and machines as z3 terms, exactly: whole numbers as integers, decimals as the fractions they say.

Numbers stay Python numbers as long as they are known, so that infinite start values fold away
(`min(inf, x)` is x); z3 has no infinities. A quotient is kept as numerator and divisor, so that comparing
it (`s / n > 1/2`) or rounding it down stays linear. Each value comes with the condition under which it is
defined. z3 is imported when the first machine is translated.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any

from weights2code.language import OPERATORS, Const, Domain, Expr, Op, Var, exact_number
from weights2code.language.evaluation import apply_exact
from weights2code.language.sums import Unwritten

_MOST_POWER = 8


@dataclass(frozen=True, slots=True)
class Quotient:
    """`above / below`, not divided yet; `below` is a term or a positive whole number."""

    above: Any
    below: Any


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction))


class Translator:
    """Translates formulas; one translator holds the symbols for functions that z3 does not know."""

    def __init__(self) -> None:
        import z3

        self.z3, self.all, self.any, self.none = z3, z3.And, z3.Or, z3.Not
        self._functions: dict[str, Any] = {}

    def number(self, value: Any) -> Any:
        """A z3 number, for what is still a Python number; terms stay themselves."""
        if isinstance(value, Quotient):
            return self._real(value.above) / self._real(value.below)
        if not is_number(value):
            return self.z3.If(value, self.z3.IntVal(1), self.z3.IntVal(0)) if self._is_bool(value) else value
        if isinstance(value, float):
            raise Unwritten("an infinite value stays in the state")
        if isinstance(value, Fraction):
            return self.z3.RealVal(f"{value.numerator}/{value.denominator}")
        return self.z3.IntVal(value)

    def variable(self, name: str, domain: Domain) -> tuple[Any, Any]:
        """A fresh input and the condition that it lies in its domain."""
        symbol = self.z3.Int(name) if domain.discrete else self.z3.Real(name)
        low, high = self.number(exact_number(domain.low)), self.number(exact_number(domain.high))
        return symbol, self.z3.And(symbol >= low, symbol <= high)

    def truth(self, value: Any) -> Any:
        """A condition: a Python bool if known, else a z3 formula."""
        if is_number(value):
            return value != 0
        if isinstance(value, Quotient):
            return self.truth(value.above)
        return value if self._is_bool(value) else value != 0

    def equal(self, a: Any, b: Any) -> Any:
        """The z3 formula `a == b`."""
        return self.formula(self.relation("eq", a, b))

    def condition(self, expr: Expr, env: Mapping[Var, Any]) -> Any:
        """A 0/1 formula as a z3 condition."""
        return self.formula(self.truth(self.translate(expr, env)[0]))

    def translate(
        self, expr: Expr, env: Mapping[Var, Any], known: Mapping[Var, Any] | None = None
    ) -> tuple[Any, Any]:
        """(value, condition under which it is defined); `known` has that condition for some variables."""
        cache: dict[Expr, tuple[Any, Any]] = {}

        def visit(node: Expr) -> tuple[Any, Any]:
            if isinstance(node, Const):
                return exact_number(node.value), True
            if isinstance(node, Var):
                return env[node], True if known is None else known.get(node, True)
            if node not in cache:
                assert isinstance(node, Op)
                ways = {"where": choose, "and": connect, "or": connect}
                cache[node] = ways.get(node.name, apply)(node)
            return cache[node]

        def choose(node: Op) -> tuple[Any, Any]:
            known_choice = self.truth(visit(node.args[0])[0])
            if isinstance(known_choice, bool):  # the other branch may have no value at all
                value, defined = visit(node.args[1 if known_choice else 2])
                return value, self._all(visit(node.args[0])[1], defined)
            (_, known), (yes, yes_known), (no, no_known) = (visit(argument) for argument in node.args)
            branch = True
            if yes_known is not True or no_known is not True:
                branch = self.z3.If(known_choice, self.formula(yes_known), self.formula(no_known))
            return self.choose(known_choice, yes, no), self._all(known, branch)

        def connect(node: Op) -> tuple[Any, Any]:
            left, first = visit(node.args[0])
            settles, holds = node.name == "or", self.truth(left)
            if isinstance(holds, bool) and holds == settles:
                return int(settles), first
            right, second = visit(node.args[1])
            if second is not True and not isinstance(holds, bool):
                second = self.z3.Or(holds == settles, self.formula(second))
            return self._apply(node.name, [left, right]), self._all(first, second)

        def apply(node: Op) -> tuple[Any, Any]:
            parts = [visit(argument) for argument in node.args]
            defined, condition = self._all(*(known for _, known in parts)), OPERATORS[node.name].defined
            if condition is not None:
                answers = self.truth(visit(condition(*node.args))[0])
                if answers is False:
                    return 0, self.formula(False)
                defined = self._all(defined, answers)
            return self._apply(node.name, [value for value, _ in parts]), defined

        return visit(expr)

    def _apply(self, name: str, values: list[Any]) -> Any:
        entry = OPERATORS[name]
        if all(is_number(value) for value in values) and not entry.irrational:
            return self._fold(name, values)
        if entry.z3 is None:
            return self._function(name, entry.arity)(*(self._real(value) for value in values))
        conditions = [self.formula(self.truth(value)) for value in values[: entry.truths]]
        return entry.z3(self, *conditions, *values[entry.truths :])

    def choose(self, choice: Any, yes: Any, no: Any) -> Any:
        """`yes` where the condition holds, else `no`."""
        if is_number(yes) and is_number(no) and yes == no:
            return yes
        return self.z3.If(choice, self.number(yes), self.number(no))

    def _fold(self, name: str, values: list[Any]) -> Any:
        try:
            result = apply_exact(name, values)
        except (ArithmeticError, ValueError) as error:
            raise Unwritten(f"{name} has no exact value: {error}") from None
        if isinstance(result, float) and not isinf(result):
            raise Unwritten(f"{name} has no exact value")
        return result

    def relation(self, name: str, a: Any, b: Any) -> Any:
        """A comparison, 0 or 1 where it is known."""
        compare = OPERATORS[name].exact
        if is_number(a) and is_number(b):
            return compare(a, b)
        mirror = OPERATORS[name].mirror or name
        for left, right, relation, turned in ((a, b, name, mirror), (b, a, mirror, name)):
            if isinstance(left, float):  # every number is on the same side of an infinity
                return OPERATORS[relation].exact(left, 0)
            if isinstance(left, Quotient):
                # Multiply through; a negative divisor turns the relation round.
                scaled = self.product(right, left.below)
                forward = self.formula(self.relation(relation, left.above, scaled))
                if relation == turned:
                    return forward
                backward = self.formula(self.relation(turned, left.above, scaled))
                return self.z3.If(self.formula(self.relation("gt", left.below, 0)), forward, backward)
        return getattr(operator, name)(self.number(a), self.number(b))

    def extremum(self, better: str, a: Any, b: Any) -> Any:
        """The one of two numbers that is `better` ("ge" or "le") than the other."""
        for known, other in ((a, b), (b, a)):
            if isinstance(known, float):
                return known if OPERATORS[better].exact(known, 0) else other
        return self.choose(self.formula(self.relation(better, a, b)), a, b)

    def negative(self, value: Any) -> Any:
        if isinstance(value, Quotient):
            return Quotient(self.negative(value.above), value.below)
        return -value if is_number(value) else -self.number(value)

    def sum(self, a: Any, b: Any) -> Any:
        if is_number(a) and is_number(b):
            return self._fold("add", [a, b])
        for one, other in ((a, b), (b, a)):
            if isinstance(one, float):
                return one
            if isinstance(one, Quotient):
                if isinstance(other, Quotient):
                    if self.z3.eq(self.number(one.below), self.number(other.below)):
                        return Quotient(self.sum(one.above, other.above), one.below)
                    return self.number(one) + self.number(other)
                return Quotient(self.sum(one.above, self.product(other, one.below)), one.below)
        if is_number(a) and a == 0:
            return b
        return a if is_number(b) and b == 0 else self.number(a) + self.number(b)

    def product(self, a: Any, b: Any) -> Any:
        if is_number(a) and is_number(b):
            return self._fold("mul", [a, b])
        for one, other in ((a, b), (b, a)):
            if isinstance(one, float):
                raise Unwritten("infinity in a product")
            if isinstance(one, Quotient):
                if isinstance(other, Quotient):
                    return Quotient(
                        self.product(one.above, other.above), self.product(one.below, other.below)
                    )
                return Quotient(self.product(one.above, other), one.below)
        for one, other in ((a, b), (b, a)):
            if is_number(one) and one in (0, 1):
                return 0 if one == 0 else other
            if self._is_bool(one):
                # A 0/1 factor chooses, which keeps products with conditions linear.
                return self.choose(one, other, 0)
        return self.number(a) * self.number(b)

    def divide(self, a: Any, b: Any) -> Any:
        if is_number(b):
            if isinstance(b, float):
                raise Unwritten("infinity in a quotient")
            if isinstance(b, int) and not isinstance(a, (Quotient, float)) and self.z3.is_int(self.number(a)):
                return Quotient(a, b) if b > 0 else Quotient(self.negative(a), -b)
            return self.product(a, Fraction(1) / Fraction(b))
        if isinstance(a, float):
            raise Unwritten("infinity in a quotient")
        if isinstance(b, Quotient):
            return self.divide(self.product(a, b.below), b.above)
        if isinstance(a, Quotient):
            return Quotient(a.above, self.product(a.below, b))
        return Quotient(a, b)

    def power(self, base: Any, exponent: Any) -> Any:
        if not isinstance(exponent, int) or not 0 <= exponent <= _MOST_POWER:
            raise Unwritten("a power that is not a small whole number")
        result: Any = 1
        for _ in range(exponent):
            result = self.product(result, base)
        return result

    def floor(self, value: Any) -> Any:
        if isinstance(value, Quotient) and isinstance(value.below, int):
            above = self.number(value.above)
            if self.z3.is_int(above):
                return above / value.below  # z3 divides integers by positive ones as floor does
        term = self.number(value)
        return term if self.z3.is_int(term) else self.z3.ToInt(term)

    def mod(self, a: Any, b: Any) -> Any:
        if not is_number(b) or isinstance(b, float):
            raise Unwritten("a remainder with a varying divisor")
        if isinstance(a, float):
            raise Unwritten("the remainder of infinity")
        if b < 0:
            return self.negative(self.mod(self.negative(a), -b))
        term = self.number(a)
        if self.z3.is_int(term) and isinstance(b, int):
            return term % b
        term = self._real(term)
        return term - self.number(b) * self.z3.ToReal(self.z3.ToInt(term / self._real(b)))

    def _function(self, name: str, arity: int) -> Any:
        if name not in self._functions:
            self._functions[name] = self.z3.Function(f"fn.{name}", *[self.z3.RealSort()] * (arity + 1))
        return self._functions[name]

    def _real(self, value: Any) -> Any:
        term = self.number(value)
        return self.z3.ToReal(term) if self.z3.is_int(term) else term

    def _is_bool(self, value: Any) -> bool:
        return not is_number(value) and not isinstance(value, Quotient) and self.z3.is_bool(value)

    def formula(self, value: Any) -> Any:
        """What is known to be so, or not, as a z3 formula."""
        return self.z3.BoolVal(bool(value)) if is_number(value) else value

    def _all(self, *conditions: Any) -> Any:
        rest = [condition for condition in conditions if condition is not True]
        if not rest:
            return True
        return rest[0] if len(rest) == 1 else self.z3.And(*(self.formula(condition) for condition in rest))
