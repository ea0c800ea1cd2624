"""Tests and branches as people write them: the simplest number in a gap, the shortest form of a choice.

Data only bracket a threshold: it lies somewhere between two rows. The number with the fewest digits there is
meant, zero before all others. On reals `>` is written, unless only `>=` separates the rows.
"""

from __future__ import annotations

import math

from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, op
from weights2code.symbolic.engine import number_cost, preference
from weights2code.symbolic.forms import tidy, weighted_sum
from weights2code.symbolic.inner import opposite


def simplest_between(below: float, above: float) -> float:
    """The number with the fewest digits in the gap; both ends count as inside.

    Examples
    --------
    >>> simplest_between(2.36, 2.43), simplest_between(-0.1, 3.0), simplest_between(17.2, 44.1)
    (2.4, 0.0, 20.0)
    """
    if below <= 0 <= above:
        return 0.0
    size = max(abs(below), abs(above))
    for digits in range(-math.floor(math.log10(size)) - 1, 17):
        unit = 10.0**digits
        first, last = math.ceil(below * unit - 1e-9), math.floor(above * unit + 1e-9)
        inside = [n / unit for n in range(first, min(last, first + 20) + 1) if below <= n / unit <= above]
        if inside:
            middle = 0.5 * (below + above)
            return min(inside, key=lambda v: (round(v * unit) % 5 != 0, abs(v - middle)))
    return above


def simplest_test(direction: Expr, below: float, above: float, *, whole: bool = False) -> Expr:
    """The shortest test that is wrong up to `below` and right from `above` on."""
    if whole:
        # `u >= t` is `u > t - 1`: the simpler number decides
        tests = [("ge", t) for t in range(int(below) + 1, min(int(above), int(below) + 20) + 1)]
        tests += [("gt", t - 1) for _, t in tests]
        name, level = min(tests, key=lambda test: (number_cost(test[1]), test[0]))
        return _compare(name, direction, level)
    level = simplest_between(below, above)
    return _compare("gt" if level < above else "ge", direction, Const(level).value)


def _compare(name: str, direction: Expr, level: Number) -> Expr:
    """`a - b > 0` reads better as `a > b`."""
    if level == 0 and isinstance(direction, Op) and direction.name == "sub":
        return op(name, *direction.args)
    return op(name, direction, level)


def branch(test: Expr, yes: Expr, no: Expr) -> Expr:
    """`yes` where the test holds, else `no`, in the shortest form: a test itself, and, or, a step added."""
    if yes == no:
        return yes
    turned = opposite(test)
    forms: list[Expr] = [op("where", test, yes, no)]
    for holds, other, condition in ((yes, no, test), (no, yes, turned)):
        if condition is None:
            continue
        if (holds, other) == (Const(1), Const(0)):
            return condition
        if other == Const(0):
            forms.append(op("and" if _boolean(holds) else "mul", condition, holds))
        if holds == Const(1) and _boolean(other):
            forms.append(op("or", condition, other))
        stepped = _step(condition, holds, other)
        if stepped is not None:
            forms.append(stepped)
    return min(map(tidy, forms), key=preference)


def _boolean(expr: Expr) -> bool:
    return isinstance(expr, Op) and OPERATORS[expr.name].boolean


def _step(test: Expr, yes: Expr, no: Expr) -> Expr | None:
    """Both sides are the same affine function up to a constant: that function and a multiple of the test."""
    one, other = affine_form(yes), affine_form(no)
    if one is None or other is None or one[0] != other[0]:
        return None
    difference = Const(round(float(one[1]) - float(other[1]), 12)).value
    terms = [(weight, variable) for variable, weight in other[0].items()]
    return weighted_sum([*terms, (difference, test)], other[1])


def affine_form(expr: Expr) -> tuple[dict[Var, Number], Number] | None:
    """Weights of the variables and the constant, if the formula is affine as it is written."""
    if isinstance(expr, Const):
        return {}, expr.value
    if isinstance(expr, Var):
        return {expr: 1}, 0
    assert isinstance(expr, Op)
    if expr.name not in ("add", "sub", "neg", "mul", "div"):
        return None
    parts = [affine_form(argument) for argument in expr.args]
    if any(part is None for part in parts):
        return None
    (weights, constant), *rest = [part for part in parts if part is not None]
    if expr.name == "neg":
        return {v: -w for v, w in weights.items()}, -constant
    other, number = rest[0]
    if expr.name in ("add", "sub"):
        sign = 1 if expr.name == "add" else -1
        total = {v: weights.get(v, 0) + sign * other.get(v, 0) for v in [*weights, *other]}
        return {v: w for v, w in total.items() if w}, constant + sign * number
    if expr.name == "div":
        if other or not number:
            return None
        return {v: w / number for v, w in weights.items()}, constant / number
    if weights and other:
        return None
    if not weights:
        weights, constant, number = other, number, constant
    return {v: w * number for v, w in weights.items() if w * number}, constant * number
