"""What holds for all numbers and needs no check: first sight of a formula, and its reading order.

Like terms are collected; a comparison loses what both sides share and the factor that all its terms share;
the larger of 2*a - 3 and 2*b - 3 is 2*max(a, b) - 3; a choice between 1 and 0 is its condition. Arguments of
symmetric operators stand in reading order: the present before the past, numbers last.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, reduce
from math import isfinite

from weights2code.language import OPERATORS, Const, Expr, Op, evaluate_exact, is_boolean, op
from weights2code.simplify.sums import ARITHMETIC, content, has_decimals, polynomial, sort_key


def negated(node: Expr) -> Expr:
    """The opposite truth value."""
    opposite = OPERATORS[node.name].opposite if isinstance(node, Op) else None
    if isinstance(node, Op) and (opposite or node.name == "not"):
        return Op(opposite, node.args) if opposite else node.args[0]
    return op("not", node)


def collect(expr: Expr) -> Expr:
    """Like terms collected everywhere, innermost first."""
    decimals = has_decimals(expr)
    return expr.transform(lambda node: collected(node, decimals))


@lru_cache(maxsize=1 << 14)
def collected(node: Expr, decimals: bool, expand: bool = False) -> Expr:
    """One node whose parts are collected; `decimals` writes 1/4 as 0.25, `expand` multiplies sums out.

    Remembered, because candidates for a simpler form differ in one place each.
    """
    if isinstance(node, Op) and node.name in ARITHMETIC:
        return polynomial(node, expand=expand).written(decimals)
    return node


def tidied(expr: Expr) -> Expr:
    """The same formula, every node tidied, innermost first."""
    decimals = has_decimals(expr)
    return expr.transform(lambda node: tidy(node, decimals))


@lru_cache(maxsize=1 << 14)
def tidy(node: Expr, decimals: bool) -> Expr:
    """One node whose parts are as they should be."""
    if not isinstance(node, Op) or node.name in ARITHMETIC:
        return collected(node, decimals)
    if all(isinstance(argument, Const) for argument in node.args):
        return _folded(node)
    if node.name == "floor":  # a quotient: what the terms are divided by stands once
        terms = polynomial(node.args[0])
        share = Fraction(content(terms)) if terms else Fraction(1)
        if len(terms) > 1 and share.numerator == 1 and share.denominator > 1:
            return op("floor", op("div", (terms / share).written(decimals), share.denominator))
        return node
    if OPERATORS[node.name].compares:
        return _comparison(node, decimals)
    if node.name in ("max", "min"):
        return _extremum(node, decimals)
    return _choice(node) if node.name == "where" else negated(node.args[0]) if node.name == "not" else node


def _folded(node: Op) -> Expr:
    try:
        return Const(evaluate_exact(node, {}))
    except (ArithmeticError, ValueError):
        return node


def _comparison(node: Op, decimals: bool) -> Expr:
    difference = polynomial(Op("sub", node.args))
    if any(isinstance(part, Const) and not isfinite(part.value) for key in difference for part in key):
        return node
    difference, name = difference / content(difference.varying()), node.name
    if all(value < 0 for value in difference.varying().values()):
        difference, name = difference * -1, OPERATORS[name].mirror or name
    left = difference.varying().where(lambda key, value: value > 0)
    made = Op(name, (left.written(decimals), (left - difference).written(decimals)))
    return _folded(made) if not made.variables() else made


def _extremum(node: Op, decimals: bool) -> Expr:
    first, second = (polynomial(argument) for argument in node.args)
    shared = first.where(lambda key, value: second.get(key) == value)
    first, rest, name = first - shared, second - shared, node.name
    common = Fraction(1) if decimals else content(first.varying(), rest.varying())
    if all(value < 0 for value in (*first.values(), *rest.values())):
        common, name = -common, "min" if name == "max" else "max"
    inner = op(name, *((terms / common).written(decimals) for terms in (first, rest)))
    return (shared + {(inner,): common}).written(decimals)


def _choice(node: Op) -> Expr:
    """A branch, if both are alike or it is known which; `1 if p else 0` is p, `q if p else 0` is p and q."""
    condition, yes, no = node.args
    if isinstance(condition, Const) or yes == no:
        return yes if not isinstance(condition, Const) or condition.value else no
    if not is_boolean(condition):
        return node
    for branch, other, test in ((yes, no, condition), (no, yes, negated(condition))):
        if branch == Const(1) and (other == Const(0) or is_boolean(other)):
            return test if other == Const(0) else op("or", test, other)
        if is_boolean(branch) and other == Const(0):
            return op("and", test, branch)
    return node


def arranged(node: Expr) -> Expr:
    """One node with its arguments in reading order; a choice asks for what is, not for what is not."""
    if not isinstance(node, Op):
        return node
    entry = OPERATORS[node.name]
    if entry.associative and node.name not in ("add", "mul"):  # those are arranged as polynomials
        first, *others = sorted(_chain(node, node.name), key=sort_key)
        return reduce(lambda left, right: Op(node.name, (left, right)), others, first)
    if entry.compares and entry.mirror:
        left, right = node.args
        swap = isinstance(left, Const) or (entry.commutative and sort_key(right) < sort_key(left))
        return Op(entry.mirror, (right, left)) if swap else node
    inner = node.args[0]
    if node.name == "where" and isinstance(inner, Op) and inner.name in ("ne", "not"):
        return Op("where", (negated(inner), *node.args[:0:-1]))
    if node.name == "abs" and isinstance(inner, Op) and inner.name == "sub":
        return Op("abs", (Op("sub", tuple(sorted(inner.args, key=sort_key))),))
    return node


def _chain(node: Expr, name: str) -> Iterator[Expr]:
    """The operands of a chain such as a and b and c, however it is nested."""
    if isinstance(node, Op) and node.name == name:
        for argument in node.args:
            yield from _chain(argument, name)
    else:
        yield node
