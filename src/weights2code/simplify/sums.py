"""Sums and products in order: like terms collected, signs in front, terms arranged as people write them.

An expression is read as a polynomial in its atoms (variables and whatever is not a sum or product), with
exact coefficients, and written back: present before past, single variables before products, the constant
last, a positive term first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import gcd, lcm
from operator import mul

from weights2code.language import Const, Expr, Number, Op, Var, exact_number

#: The factors of one term, sorted; the empty tuple is the constant term.
Monomial = tuple[Expr, ...]

MOST_TERMS = 64
#: What sums and products are written with.
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "pow")


class Sum(dict[Monomial, Number]):
    """The coefficient of every term; terms that cancel disappear."""

    def __add__(self, other: Mapping[Monomial, Number]) -> Sum:
        total = Sum(self)
        for key, value in other.items():
            total[key] = total.get(key, 0) + value
            if total[key] == 0:
                del total[key]
        return total

    def __sub__(self, other: Sum) -> Sum:
        return self + other * -1

    def __mul__(self, factor: Number) -> Sum:
        return Sum({key: value * factor for key, value in self.items()} if factor else {})

    def __truediv__(self, number: Number) -> Sum:
        return self * (1 / Fraction(number))

    def where(self, holds: Callable[[Monomial, Number], object]) -> Sum:
        """The terms for which something holds."""
        return Sum({key: value for key, value in self.items() if holds(key, value)})

    def varying(self) -> Sum:
        """Without the number."""
        return self.where(lambda key, value: key)

    def sides(self) -> tuple[Sum, Sum]:
        """u = a - b with only positive terms in a and b."""
        return self.where(lambda key, value: value > 0), self.where(lambda key, value: value < 0) * -1

    def written(self, decimals: bool = True) -> Expr:
        """The expression; `decimals` writes 1/4 as 0.25, otherwise as a quotient."""
        ordered = sorted(self.items(), key=lambda item: _term_key(item[0]))
        # start with something positive: 1 - x, not -x + 1
        first = next((item for item in ordered if item[1] > 0), ordered[0] if ordered else ((), 0))
        result = _term(*first, decimals)
        for key, value in ordered:
            if key != first[0]:
                name = "sub" if value < 0 else "add"
                result = Op(name, (result, _term(key, abs(value), decimals)))
        return result


def content(*sums: Sum) -> Fraction:
    """The largest number that all coefficients are whole multiples of; 1 of none."""
    exact = [Fraction(value) for terms in sums for value in terms.values()]
    if not exact:
        return Fraction(1)
    return Fraction(gcd(*(v.numerator for v in exact)), lcm(*(v.denominator for v in exact)))


@lru_cache(maxsize=4096)
def sort_key(expr: Expr) -> tuple:
    """Numbers last; otherwise by the latest variable in it, by size, by its numbers, by its text."""
    numbers = tuple(float(node.value) for node in expr.walk() if isinstance(node, Const))
    if isinstance(expr, Const):
        return (1, 0, 0, numbers, "")
    lags = [variable.lag for variable in expr.variables()]
    return (0, min(lags, default=0), expr.size(), numbers, str(expr))


def polynomial(expr: Expr, *, expand: bool = False) -> Sum:
    """The expression as a sum of products; products of sums are multiplied out only if `expand`."""
    if isinstance(expr, Const):
        value = exact_number(expr.value)
        if not isinstance(value, (int, Fraction)):
            return Sum({(expr,): 1})  # an infinity is no coefficient
        return Sum({(): value} if value else {})
    if not isinstance(expr, Op) or expr.name not in ARITHMETIC:
        return Sum({(expr,): 1})
    first, *others = (polynomial(argument, expand=expand) for argument in expr.args)
    if expr.name == "neg":
        return first * -1
    second = others[0]
    if expr.name in ("add", "sub"):
        return first + second if expr.name == "add" else first - second
    number = second.get((), 0) if len(second) == 1 else 0
    if expr.name == "div" and number:
        return first / number
    made = None
    if expr.name == "mul" or (expr.name == "pow" and number in (2, 3)):
        made = _multiply([first, second] if expr.name == "mul" else [first] * int(number), expand)
    return Sum({(expr,): 1}) if made is None else made


def _multiply(factors: list[Sum], expand: bool) -> Sum | None:
    result = Sum({(): 1})
    for factor in factors:
        pair = [terms if expand or len(terms) <= 1 else {(terms.written(),): 1} for terms in (result, factor)]
        result = Sum()
        for (a, u), (b, v) in product(pair[0].items(), pair[1].items()):
            result += {tuple(sorted((*a, *b), key=sort_key)): u * v}
        if len(result) > MOST_TERMS:
            return None
    return result


def _term_key(key: Monomial) -> tuple:
    if not key:
        return (2, 0, ())
    return (0 if len(key) == 1 and isinstance(key[0], Var) else 1, len(key), tuple(sort_key(f) for f in key))


def _term(key: Monomial, value: Number, decimals: bool) -> Expr:
    """Coefficient first, multiplied from the left, repeated factors as powers: 2*x**2*y; 2*x/3."""
    value = _written(value, decimals)
    if not key:
        return Const(value)
    top, bottom = (value.numerator, value.denominator) if isinstance(value, Fraction) else (value, 1)
    powers = {factor: key.count(factor) for factor in key}
    factors = [f if times == 1 else Op("pow", (f, Const(times))) for f, times in powers.items()]
    made = reduce(mul, factors if top in (1, -1) else [Const(top), *factors])
    made = Op("neg", (made,)) if top == -1 else made
    return made if bottom == 1 else Op("div", (made, Const(bottom)))


def _written(value: Number, decimals: bool) -> Number:
    """A fraction as the decimal that it is, where it is a short one."""
    if not isinstance(value, Fraction) or value.denominator == 1:
        return int(value) if isinstance(value, Fraction) else value
    nearest = float(value)
    short = Fraction(repr(nearest)) == value and len(repr(nearest)) <= 18
    return nearest if decimals and (short or value.denominator > 1000) else value


def has_decimals(expr: Expr) -> bool:
    """Whether the expression is written with decimals, or with fractions that are better as decimals.

    3/10 and 17/20 are; 1/2 and 1/3 are not.
    """
    numbers = [node.value for node in expr.walk() if isinstance(node, Const)]
    bottoms = [number.denominator for number in numbers if isinstance(number, Fraction)]
    return any(isinstance(n, float) for n in numbers) or any(b >= 10 and 10_000 % b == 0 for b in bottoms)
