"""Rewritings that hold for all numbers and need no check: a first look at what a formula comes to.

Like terms are collected; a comparison loses what both sides share and the factor that all its terms share;
the larger of 2*a - 3 and 2*b - 3 is 2*max(a, b) - 3; a choice between 1 and 0 is its condition. `simplify`
finds all this too, but tries and checks much else on the way.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, isfinite, lcm

from weights2code.language import OPERATORS, Const, Expr, Op, op
from weights2code.simplify.choices import negated
from weights2code.simplify.collect import Polynomial, add, build, has_decimals, polynomial, scale

_ARITHMETIC = ("add", "sub", "mul", "div", "neg", "pow")


def tidied(expr: Expr) -> Expr:
    """The same formula after these rewritings, innermost first."""
    decimals = has_decimals(expr)

    def tidy(node: Expr) -> Expr:
        if not isinstance(node, Op):
            return node
        if node.name in _ARITHMETIC:
            return build(polynomial(node, expand=False), decimals=decimals)
        if OPERATORS[node.name].compares:
            return _comparison(node, decimals)
        if node.name in ("max", "min"):
            return _extremum(node, decimals)
        if node.name == "abs":
            terms = polynomial(node.args[0], expand=False)
            common = content(list(terms.values()))
            inner = op("abs", build(scale(terms, 1 / common), decimals=decimals))
            return build({(inner,): common}, decimals=decimals)
        return _choice(node) if node.name == "where" else node

    return expr.transform(tidy)


def content(values: list) -> Fraction:
    """The largest number that all are whole multiples of; 1 of none."""
    exact = [Fraction(value) for value in values if value]
    if not exact:
        return Fraction(1)
    return Fraction(gcd(*(v.numerator for v in exact)), lcm(*(v.denominator for v in exact)))


def _comparison(node: Op, decimals: bool) -> Expr:
    difference = polynomial(Op("sub", node.args), expand=False)
    if any(isinstance(part, Const) and not isfinite(part.value) for key in difference for part in key):
        return node
    common = content([value for key, value in difference.items() if key])
    difference = scale(difference, 1 / common)
    name = node.name
    if all(value < 0 for key, value in difference.items() if key):
        difference, name = scale(difference, -1), OPERATORS[name].mirror or name
    left: Polynomial = {key: value for key, value in difference.items() if value > 0 and key}
    right = add(left, scale(difference, -1))
    return op(name, build(left, decimals=decimals), build(right, decimals=decimals))


def _extremum(node: Op, decimals: bool) -> Expr:
    first, second = (polynomial(argument, expand=False) for argument in node.args)
    shared: Polynomial = {key: value for key, value in first.items() if second.get(key) == value}
    first, second = (add(terms, scale(shared, -1)) for terms in (first, second))
    common = content([value for terms in (first, second) for key, value in terms.items() if key])
    name = node.name
    if all(value < 0 for value in (*first.values(), *second.values())):
        common, name = -common, "min" if name == "max" else "max"
    inner = op(name, *(build(scale(terms, 1 / common), decimals=decimals) for terms in (first, second)))
    return build(add({(inner,): common}, shared), decimals=decimals)


def _choice(node: Op) -> Expr:
    condition, yes, no = node.args
    if isinstance(condition, Op) and OPERATORS[condition.name].boolean:
        if (yes, no) == (Const(1), Const(0)):
            return condition
        if (yes, no) == (Const(0), Const(1)):
            return negated(condition)
    return node
