"""Sums and products in order: like terms collected, signs in front, terms arranged as people write them.

An expression is read as a polynomial in its atoms (variables and whatever is not a sum or product), with
exact coefficients, and written back: present before past, single variables before products, the constant
last, a positive term first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from math import gcd, lcm

from weights2code.language import Const, Expr, Number, Op, Var, exact_number

#: The factors of one term, sorted; the empty tuple is the constant term.
Monomial = tuple[Expr, ...]
Polynomial = dict[Monomial, Number]

MOST_TERMS = 64
#: What sums and products are written with.
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "pow")


@lru_cache(maxsize=4096)
def sort_key(expr: Expr) -> tuple:
    """Numbers last; otherwise by the latest variable in it, by size, by its numbers, by its text."""
    numbers = tuple(float(node.value) for node in expr.walk() if isinstance(node, Const))
    if isinstance(expr, Const):
        return (1, 0, 0, numbers, "")
    lags = [variable.lag for variable in expr.variables()]
    return (0, min(lags, default=0), expr.size(), numbers, str(expr))


def polynomial(expr: Expr, *, expand: bool, bits: Collection[Expr] = ()) -> Polynomial:
    """The expression as a polynomial; products of sums are multiplied out only if `expand`."""
    if isinstance(expr, Const):
        value = exact_number(expr.value)
        if not isinstance(value, (int, Fraction)):
            return {(expr,): 1}  # an infinity is no coefficient
        return {} if value == 0 else {(): value}
    if isinstance(expr, Op):
        read = [polynomial(argument, expand=expand, bits=bits) for argument in expr.args]
        if expr.name == "add":
            return add(read[0], read[1])
        if expr.name == "sub":
            return add(read[0], scale(read[1], -1))
        if expr.name == "neg":
            return scale(read[0], -1)
        if expr.name == "div" and set(read[1]) == {()} and isinstance(read[1][()], (int, Fraction)):
            return scale(read[0], Fraction(1) / Fraction(read[1][()]))
        factors = _factors(expr, read)
        product = None if factors is None else _multiply(factors, expand=expand, bits=bits)
        if product is not None:
            return product
    return {(expr,): 1}


def _factors(expr: Op, read: list[Polynomial]) -> list[Polynomial] | None:
    if expr.name == "mul":
        return read
    exponent = expr.args[1] if expr.name == "pow" else None
    if isinstance(exponent, Const) and exponent.value in (2, 3):
        return [read[0]] * int(exponent.value)
    return None


def _multiply(factors: list[Polynomial], *, expand: bool, bits: Collection[Expr]) -> Polynomial | None:
    result: Polynomial = {(): 1}
    for factor in factors:
        left, right = result, factor
        if not expand:
            left, right = (p if len(p) <= 1 else {(build(p),): 1} for p in (left, right))
        result = {}
        for a, u in left.items():
            for b, v in right.items():
                key = _monomial((*a, *b), bits)
                result = add(result, {key: u * v})
        if len(result) > MOST_TERMS:
            return None
    return result


def _monomial(factors: Monomial, bits: Collection[Expr]) -> Monomial:
    """Sorted factors; a bit times itself is itself."""
    kept: list[Expr] = []
    for factor in sorted(factors, key=sort_key):
        if not (factor in kept and factor in bits):
            kept.append(factor)
    return tuple(kept)


def add(first: Mapping[Monomial, Number], second: Mapping[Monomial, Number]) -> Polynomial:
    """The sum; terms that cancel disappear."""
    total = dict(first)
    for key, value in second.items():
        total[key] = total.get(key, 0) + value
        if total[key] == 0:
            del total[key]
    return total


def scale(terms: Mapping[Monomial, Number], factor: Number) -> Polynomial:
    """Every coefficient times `factor`."""
    return {key: value * factor for key, value in terms.items()} if factor else {}


def content(values: Iterable[Number]) -> Fraction:
    """The largest number that all are whole multiples of; 1 of none."""
    exact = [Fraction(value) for value in values if value]
    if not exact:
        return Fraction(1)
    return Fraction(gcd(*(v.numerator for v in exact)), lcm(*(v.denominator for v in exact)))


def sides(terms: Polynomial) -> tuple[Polynomial, Polynomial]:
    """u = a - b with only positive terms in a and b."""
    return {k: v for k, v in terms.items() if v > 0}, {k: -v for k, v in terms.items() if v < 0}


def build(terms: Mapping[Monomial, Number], *, decimals: bool = True) -> Expr:
    """The expression of a polynomial; `decimals` writes 1/4 as 0.25, otherwise as a quotient."""
    ordered = sorted(terms.items(), key=lambda item: _term_key(item[0]))
    # start with something positive: 1 - x, not -x + 1
    first = next((i for i, (_, value) in enumerate(ordered) if value > 0), 0)
    ordered = [ordered[first], *ordered[:first], *ordered[first + 1 :]] if ordered else []
    result: Expr | None = None
    for key, value in ordered:
        if result is None:
            result = _term(key, value, decimals)
        elif value < 0:
            result = Op("sub", (result, _term(key, -value, decimals)))
        else:
            result = Op("add", (result, _term(key, value, decimals)))
    return Const(0) if result is None else result


def _term_key(key: Monomial) -> tuple:
    if not key:
        return (2, 0, ())
    return (0 if len(key) == 1 and isinstance(key[0], Var) else 1, len(key), tuple(sort_key(f) for f in key))


def _term(key: Monomial, value: Number, decimals: bool) -> Expr:
    value = constant(value, decimals)
    if not key:
        return Const(value)
    if isinstance(value, Fraction):
        return Op("div", (_scaled(value.numerator, key), Const(value.denominator)))
    return _scaled(value, key)


def _scaled(value: Number, key: Monomial) -> Expr:
    """Coefficient first, multiplied from the left: 2*x*y."""
    factors = _powers(key) if value in (1, -1) else [Const(value), *_powers(key)]
    product = reduce(lambda left, right: Op("mul", (left, right)), factors)
    return Op("neg", (product,)) if value == -1 else product


def _powers(key: Monomial) -> list[Expr]:
    """Repeated factors as powers."""
    distinct = list(dict.fromkeys(key))
    counts = {factor: key.count(factor) for factor in distinct}
    return [f if counts[f] == 1 else Op("pow", (f, Const(counts[f]))) for f in distinct]


def constant(value: Number, decimals: bool) -> Number:
    """A fraction as the decimal that it is, where it is a short one."""
    if not isinstance(value, Fraction) or value.denominator == 1:
        return int(value) if isinstance(value, Fraction) else value
    if decimals:
        as_float = float(value)
        if Fraction(repr(as_float)) == value and len(repr(as_float)) <= 18:
            return as_float
        if value.denominator > 1000:
            return as_float
    return value


def has_decimals(expr: Expr) -> bool:
    """Whether the expression is written with decimals, or with fractions that are better as decimals."""
    values = [node.value for node in expr.walk() if isinstance(node, Const)]
    return any(isinstance(v, float) or (isinstance(v, Fraction) and _is_decimal(v)) for v in values)


def _is_decimal(value: Fraction) -> bool:
    """3/10 and 17/20 are; 1/2 and 1/3 are not."""
    return value.denominator >= 10 and 10_000 % value.denominator == 0


def collect(expr: Expr, *, expand: bool = False, bits: Collection[Expr] = ()) -> Expr:
    """Collect like terms everywhere in the tree, innermost first."""
    decimals, bits = has_decimals(expr), frozenset(bits)
    return expr.transform(lambda node: collected(node, expand, bits, decimals))


@lru_cache(maxsize=1 << 14)
def collected(node: Expr, expand: bool, bits: frozenset[Expr], decimals: bool) -> Expr:
    """One node; remembered, because candidates for a simpler form differ in one place each."""
    if not isinstance(node, Op):
        return node
    if node.name in ARITHMETIC:
        return build(polynomial(node, expand=expand, bits=bits), decimals=decimals)
    return _over_one_denominator(node) if node.name == "floor" and not decimals else node


def _over_one_denominator(node: Op) -> Expr:
    """floor((x + 4*y)/6), not floor(x/6 + 2*y/3)."""
    terms = polynomial(node.args[0], expand=False)
    bottom = lcm(*(Fraction(value).denominator for value in terms.values()))
    if len(terms) < 2 or bottom == 1:
        return node
    return Op("floor", (Op("div", (build(scale(terms, bottom)), Const(bottom))),))
