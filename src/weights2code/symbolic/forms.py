"""Writing weighted sums well: `2*a - b + 0.098`, `0.5*(a + b)`, `3 - |x|`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, op


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
    outer, inner = _bound(node), None
    if outer is not None:
        inner = _bound(outer[1])
    if outer is None or inner is None or outer[0] == inner[0]:
        return node
    low, high = (outer[2], inner[2]) if outer[0] == "max" else (inner[2], outer[2])
    return op("clip", inner[1], low, high) if float(low) < float(high) else node


def _bound(node: Expr) -> tuple[str, Expr, Number] | None:
    """("max" or "min", what, bound) if the node is an extremum with a number."""
    if isinstance(node, Op) and node.name == "relu":
        return "max", node.args[0], 0
    if isinstance(node, Op) and node.name in ("max", "min") and isinstance(node.args[1], Const):
        return node.name, node.args[0], node.args[1].value
    return None


def tidy(expr: Expr) -> Expr:
    """Without neutral elements and double signs: `x + 0`, `1*x`, `x - -2`; numbers are folded."""
    return expr.transform(_tidy_node)


def _tidy_node(node: Expr) -> Expr:
    if not isinstance(node, Op):
        return node
    if node.name == "neg" and isinstance(node.args[0], Const):
        return Const(-node.args[0].value)
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
