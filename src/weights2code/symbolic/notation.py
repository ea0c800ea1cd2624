"""Formulas as people write them: sums, thresholds, tests and branches in their shortest plain form.

`2*a - b + 0.098`, `0.5*(a + b)`, `3 - |x|`. Data only bracket a threshold: it lies somewhere between two
rows. The number with the fewest digits there is meant, zero before all others. On reals `>` is written,
unless only `>=` separates the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, is_boolean, op
from weights2code.simplify.cost import simplest_between
from weights2code.simplify.forms import tidy
from weights2code.simplify.patterns import matches, read_pattern
from weights2code.simplify.sums import ARITHMETIC, Sum, has_decimals, polynomial
from weights2code.symbolic.engine import number_cost, preference

#: The share of a gap next to its ends in which no threshold of a sum lies: rounding errors move the ends.
EDGE = 1e-3
#: Other ways to say clip(a, c, d).
_CLIPS = [read_pattern(text) for text in ("min(max(a, c), d)", "max(min(a, d), c)")]


def weighted_sum(terms: Sequence[tuple[Number, Expr]], constant: Number = 0) -> Expr:
    """The sum of coefficient times term, plus a constant, in its shortest plain form.

    Terms that share a coefficient (up to sign) are bracketed together.
    """
    alike: dict[Number, Sum] = {}
    for coefficient, term in ((c, term) for c, term in terms if c):
        size, sign = abs(coefficient), 1 if coefficient > 0 else -1
        if isinstance(term, Op) and term.name == "div" and term.args[0] == Const(1):
            size, term = 1, op("div", size, term.args[1])
        alike[size] = alike.get(size, Sum()) + {(term,): sign}
    total = Sum({(): constant} if constant else {})
    for size, members in alike.items():
        if size != 1 and len(members) > 1:
            sign = max(members.values())
            members = Sum({((members * sign).written(),): sign})
        total += members * size
    return total.written(any(isinstance(number, float) for number in total.values()))


def clipped(expr: Expr) -> Expr:
    """With `clip(u, a, b)` for `min(max(u, a), b)` and its mirror image, where a < b are numbers."""
    return expr.transform(_clip_node)


def _clip_node(node: Expr) -> Expr:
    for bound in (found for pattern in _CLIPS for found in matches(pattern, node, {})):
        low, high = bound[Var("c")], bound[Var("d")]
        if isinstance(low, Const) and isinstance(high, Const) and float(low.value) < float(high.value):
            return op("clip", bound[Var("a")], low, high)
    return node


def opposite(expr: Expr) -> Expr | None:
    """The negation of a test, if the expression is one."""
    name = OPERATORS[expr.name].opposite if isinstance(expr, Op) else None
    return Op(name, expr.args) if isinstance(expr, Op) and name else None


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
    names = {node.name for node in direction.walk() if isinstance(node, Op)}
    return not names.isdisjoint(ARITHMETIC) and names.isdisjoint(("max", "min", "clip", "relu"))


def compare(name: str, direction: Expr, level: Number) -> Expr:
    """`a - b > 0` reads better as `a > b`."""
    test = op(name, direction, level)
    return tidy(test, has_decimals(test))


def branch(test: Expr, yes: Expr, no: Expr) -> Expr:
    """`yes` where the test holds, else `no`, in the shortest form: a test itself, and, or, a step added."""
    forms = [op("where", test, yes, no)]
    decimals = has_decimals(forms[0])
    if isinstance(test, Op) and test.name in ("gt", "ge") and {yes, no} == {*test.args}:
        forms.append(op("max" if yes == test.args[0] else "min", *test.args))
    for holds, other, condition in ((yes, no, test), (no, yes, opposite(test))):
        step = polynomial(holds, expand=True) - polynomial(other, expand=True)
        if condition is not None and other == Const(0) and not is_boolean(holds):
            forms.append(op("mul", condition, holds))
        if condition is not None and not step.varying():  # the same up to a number
            number = float(step.get((), 0)) if decimals else step.get((), 0)
            forms.append(weighted_sum([(1, other), (number, condition)]))
    return min((tidy(form, decimals) for form in forms), key=preference)


def affine_form(expr: Expr) -> tuple[dict[Var, Number], Number] | None:
    """Weights of the variables and the constant, if the formula is affine as it is written."""
    if any(isinstance(node, Op) and node.name not in ARITHMETIC for node in expr.walk()):
        return None
    terms, decimals = polynomial(expr, expand=True), has_decimals(expr)
    numbers = {key: Const(float(value) if decimals else value).value for key, value in terms.items()}
    weights = {key[0]: value for key, value in numbers.items() if len(key) == 1 and isinstance(key[0], Var)}
    constant = numbers.pop((), 0)
    return (weights, constant) if len(weights) == len(numbers) else None
