"""What a formula costs its reader: the measure by which simplification chooses.

A variable costs 1, a number 1 and a little more for every character, an operator its weight below. The
order of preference on small domains, where many forms coincide, follows from it: for two bits
`a*b` < `[a and b]` < `min(a, b)`; `[a != b]` < `abs(a - b)` < `(a + b) % 2` < `a + b - 2*a*b`; `1 - a` <
`[not a]`. A truth value used as a number costs extra, so parity of three bits is `(a + b + c) % 2` and not
a chain of brackets; so does arithmetic used as a truth value, as in `[a*b - c and d]`, and a sum that
needs parentheses inside a product.
"""

from __future__ import annotations

from weights2code.language import OPERATORS, Const, Expr, Op, number_text

_WEIGHTS = {
    **dict.fromkeys(("add", "sub", "mul", "pow"), 1.0),
    **dict.fromkeys(("and", "or", "div", "neg"), 1.1),
    **dict.fromkeys(("max", "min", "abs", "eq", "ne", "ge", "gt", "le", "lt"), 1.2),
    **dict.fromkeys(("mod", "floor", "relu"), 1.3),
    **dict.fromkeys(("clip", "where"), 1.4),
    **dict.fromkeys(("not", "sqrt", "exp", "log", "sin", "cos"), 2.2),
}
_NUMBER_CHARACTER = 0.15
_TRUTH_AS_NUMBER = 2.5
_NUMBER_AS_TRUTH = 2.5
_PARENTHESES = 0.5


def cost(expr: Expr) -> float:
    """The cost of reading `expr`; smaller is simpler."""
    return _cost(expr)


def _cost(expr: Expr, *, as_number: bool = False, as_truth: bool = False) -> float:
    if isinstance(expr, Const):
        text = number_text(expr.value).removeprefix("-")
        return 1 + _NUMBER_CHARACTER * (len(text) - 1)
    if not isinstance(expr, Op):
        return 1.0
    total = _WEIGHTS.get(expr.name, 1.5)
    if as_number and OPERATORS[expr.name].boolean:
        total += _TRUTH_AS_NUMBER
    elif as_truth and not OPERATORS[expr.name].boolean:
        total += _NUMBER_AS_TRUTH
    logical = expr.name in ("and", "or", "not")
    if expr.name in ("mul", "div", "mod", "pow"):
        total += _PARENTHESES * sum(isinstance(a, Op) and a.name in ("add", "sub", "neg") for a in expr.args)
    for index, argument in enumerate(expr.args):
        truth = logical or (expr.name == "where" and index == 0)
        total += _cost(argument, as_number=not truth, as_truth=truth)
    return total
