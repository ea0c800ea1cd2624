"""Formulas as people write them: sums, thresholds, tests and branches in their shortest plain form.

`2*a - b + 0.098`, `0.5*(a + b)`, `3 - |x|`. Data only bracket a threshold: it lies somewhere between two
rows. The number with the fewest digits there is meant, zero before all others. On reals `>` is written,
unless only `>=` separates the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, is_boolean, op
from weights2code.simplify.patterns import matches, read_pattern
from weights2code.simplify.sums import ARITHMETIC, has_decimals, polynomial
from weights2code.symbolic.engine import number_cost, preference

#: The share of a gap next to its ends in which no threshold of a sum lies: rounding errors move the ends.
EDGE = 1e-3
#: Other ways to say clip(a, c, d), or clip(a, 0, d).
_CLIPS = [
    read_pattern(text)
    for text in ("min(max(a, c), d)", "max(min(a, d), c)", "min(relu(a), d)", "relu(min(a, d))")
]


def weighted_sum(terms: Sequence[tuple[Number, Expr]], constant: Number = 0) -> Expr:
    """The sum of coefficient times term, plus a constant, in its shortest plain form.

    Terms that share a coefficient (up to sign) are bracketed together; positive terms come first.
    """
    live = [(c, term) for c, term in terms if c != 0]
    groups: dict[Number, list[tuple[int, Expr]]] = {}
    for coefficient, term in live:
        groups.setdefault(abs(coefficient), []).append((1 if coefficient > 0 else -1, term))
    parts: list[tuple[int, Expr]] = []
    for size, members in groups.items():
        if size == 1:
            parts.extend(members)
            continue
        sign = 1 if any(s > 0 for s, _ in members) else -1
        inner = _signed_sum([(s * sign, term) for s, term in members])
        parts.append((sign, scaled(size, inner)))
    if constant != 0 or not parts:
        parts.append((1 if constant >= 0 else -1, Const(abs(constant))))
    return _signed_sum(parts)


def scaled(coefficient: Number, term: Expr) -> Expr:
    """`coefficient * term`, as a quotient where that is exact and shorter to read."""
    if coefficient == 1:
        return term
    if isinstance(coefficient, Fraction) and abs(coefficient.numerator) == 1:
        quotient = op("div", term, coefficient.denominator)
        return quotient if coefficient > 0 else op("neg", quotient)
    if isinstance(term, Op) and term.name == "mul" and not isinstance(term.args[0], Const):
        return op("mul", scaled(coefficient, term.args[0]), term.args[1])
    if isinstance(term, Op) and term.name == "div" and term.args[0] == Const(1):
        return op("div", coefficient, term.args[1])
    return op("mul", coefficient, term)


def _signed_sum(parts: Sequence[tuple[int, Expr]]) -> Expr:
    positive = [term for sign, term in parts if sign > 0]
    negative = [term for sign, term in parts if sign < 0]
    if positive:
        result = positive[0]
        for term in positive[1:]:
            result = op("add", result, term)
    else:
        first, *negative = negative
        if isinstance(first, Const):
            result = Const(-first.value)
        elif isinstance(first, Op) and first.name in ("mul", "div") and isinstance(first.args[0], Const):
            result = op(first.name, -first.args[0].value, first.args[1])
        else:
            result = op("neg", first)
    for term in negative:
        result = op("sub", result, term)
    return result


def clipped(expr: Expr) -> Expr:
    """With `clip(u, a, b)` for `min(max(u, a), b)` and its mirror image, where a < b are numbers."""
    return expr.transform(_clip_node)


def _clip_node(node: Expr) -> Expr:
    for bound in (found for pattern in _CLIPS for found in matches(pattern, node, {})):
        low, high = bound.get(Var("c"), Const(0)), bound[Var("d")]
        if isinstance(low, Const) and isinstance(high, Const) and float(low.value) < float(high.value):
            return op("clip", bound[Var("a")], low, high)
    return node


def tidy(expr: Expr) -> Expr:
    """Without neutral elements and double signs: `x + 0`, `1*x`, `x - -2`; numbers are folded."""
    return expr.transform(_tidy_node)


def _tidy_node(node: Expr) -> Expr:
    if not isinstance(node, Op):
        return node
    if node.name in ("neg", "abs") and isinstance(node.args[0], Const):
        return Const(OPERATORS[node.name].exact(node.args[0].value))
    if node.name not in ("add", "sub", "mul", "div"):
        mirror = OPERATORS[node.name].mirror
        if mirror and isinstance(node.args[0], Const) and not isinstance(node.args[1], Const):
            return Op(mirror, (node.args[1], node.args[0]))
        return node
    a, b = node.args
    if node.name in ("add", "sub"):
        if b == Const(0):
            return a
        if a == b and isinstance(a, Var):
            return Op("mul", (Const(2), a)) if node.name == "add" else Const(0)
        if a == Const(0):
            return b if node.name == "add" else _tidy_node(op("neg", b))
        if isinstance(b, Const) and b.value < 0:
            return Op("sub" if node.name == "add" else "add", (a, Const(-b.value)))
    else:
        if b == Const(1) or (node.name == "mul" and a == Const(0)):
            return a
        if node.name == "mul" and (a == Const(1) or b == Const(0)):
            return b
        if node.name == "mul" and isinstance(b, Const) and not isinstance(a, Const):
            return Op("mul", (b, a))
    return node


def opposite(expr: Expr) -> Expr | None:
    """The negation of a test, if the expression is one."""
    name = OPERATORS[expr.name].opposite if isinstance(expr, Op) else None
    return Op(name, expr.args) if isinstance(expr, Op) and name else None


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
        return compare(name, direction, level)
    if _computed(direction) and 0 not in (below, above):
        margin = EDGE * (above - below)
        below, above = below + margin, above - margin
    level = simplest_between(below, above)
    return compare("gt" if level < above else "ge", direction, Const(level).value)


def _computed(direction: Expr) -> bool:
    """Whether a sum of decimals may miss the number that it stands for by a rounding error.

    Bounds give their numbers exactly.
    """
    nodes = [node for node in direction.walk() if isinstance(node, Op)]
    sums = any(node.name in ("add", "sub", "mul", "div") for node in nodes)
    bounds = any(
        node.name in ("max", "min", "clip", "relu") and Const in map(type, node.args) for node in nodes
    )
    return sums and not bounds and not any(node.name == "relu" for node in nodes)


def compare(name: str, direction: Expr, level: Number) -> Expr:
    """`a - b > 0` reads better as `a > b`, and what is one variable comes first."""
    if level == 0 and isinstance(direction, Op) and direction.name == "sub":
        left, right = direction.args
        if isinstance(right, Var) and isinstance(left, Op):
            return op(OPERATORS[name].mirror or name, right, left)
        return op(name, left, right)
    return op(name, direction, level)


def branch(test: Expr, yes: Expr, no: Expr) -> Expr:
    """`yes` where the test holds, else `no`, in the shortest form: a test itself, and, or, a step added."""
    if yes == no:
        return yes
    turned = opposite(test)
    forms: list[Expr] = [op("where", test, yes, no)]
    if isinstance(test, Op) and test.name in ("gt", "ge") and {yes, no} == {*test.args}:
        forms.append(op("max" if yes == test.args[0] else "min", *test.args))
    for holds, other, condition in ((yes, no, test), (no, yes, turned)):
        if condition is None:
            continue
        if (holds, other) == (Const(1), Const(0)):
            return condition
        if other == Const(0):
            forms.append(op("and" if is_boolean(holds) else "mul", condition, holds))
        if holds == Const(1) and is_boolean(other):
            forms.append(op("or", condition, other))
        stepped = _step(condition, holds, other)
        if stepped is not None:
            forms.append(stepped)
    return min(map(tidy, forms), key=preference)


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
    if any(isinstance(node, Op) and node.name not in ARITHMETIC for node in expr.walk()):
        return None
    terms, decimals = polynomial(expr, expand=True), has_decimals(expr)
    numbers = {key: Const(float(value) if decimals else value).value for key, value in terms.items()}
    weights = {key[0]: value for key, value in numbers.items() if len(key) == 1 and isinstance(key[0], Var)}
    constant = numbers.pop((), 0)
    return (weights, constant) if len(weights) == len(numbers) else None
